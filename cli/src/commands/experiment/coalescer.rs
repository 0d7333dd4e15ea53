//! Accesses of a warp to L1 against the stride of its lanes: Khairy et al., Fig. 4.

use std::io::Write;

use super::measure::Configuration;
use super::workload::{STRIDES, Workload};
use crate::failure::Failure;
use crate::table;

/// Accesses of a warp that the paper counts: a sector for each lane down to one for each eight.
const PAPER: [u32; 6] = [32, 16, 8, 4, 4, 4];

pub(super) fn run(elements: u32, out: &mut dyn Write) -> Result<(), Failure> {
    let new = Configuration::plain("titan-v").measure(Workload::Strided, elements)?;
    let old = Configuration::plain("titan-v-old").measure(Workload::Strided, elements)?;
    writeln!(out, "Accesses of a warp to L1; `stride` lanes share a line of 128 B.\n")?;
    let mut rows = Vec::new();
    for (((stride, paper), new), old) in STRIDES.iter().zip(PAPER).zip(&new).zip(&old) {
        rows.push([
            stride.to_string(),
            paper.to_string(),
            new.count(&["coalescer.global_load_sectors_by_eight"])?.to_string(),
            new.count(&["coalescer.global_store_sectors_by_eight"])?.to_string(),
            new.count(&["coalescer.global_load_sectors"])?.to_string(),
            old.count(&["l1.load_lines"])?.to_string(),
        ]);
    }
    let heading = [
        "stride",
        "paper (Volta)",
        "reads",
        "writes",
        "distinct sectors read",
        "lines read by the old model",
    ];
    table::write(out, heading, &rows)?;
    Ok(())
}

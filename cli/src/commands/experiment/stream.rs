//! STREAM's bandwidth with L1 and without as SMs are taken away: Khairy et al., Fig. 15.

use std::io::Write;

use super::measure::Configuration;
use super::workload::{ELEMENTS, Workload};
use crate::failure::Failure;
use crate::table;

/// Bytes a second that the TITAN V's DRAM moves at most.
const PEAK: f64 = 652.8e9;
/// Bytes of three arrays.
const BYTES: f64 = 12.0 * ELEMENTS as f64;

/// How many SMs, the change that leaves so many, and what the paper measures on the card, in percent of the peak.
const SMS: [(&str, &[&str], &str); 3] =
    [("all", &[], "82"), ("4", &["chip.sms=4"], "75"), ("2", &["chip.sms=2"], "68")];

pub(super) fn run(out: &mut dyn Write) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for (sms, changes, card) in SMS {
        let mut row =
            [sms.to_owned(), card.to_owned(), String::new(), String::new(), String::new(), String::new()];
        let mut cells = row.iter_mut().skip(2);
        for gpu in ["titan-v", "titan-v-old"] {
            let launches = Configuration { gpu, changes }.measure(Workload::Stream)?;
            for (launch, cell) in launches.iter().skip(1).zip(&mut cells) {
                *cell = format!("{:.1}", 100.0 * BYTES / (launch.nanoseconds()? as f64 * 1e-9) / PEAK);
            }
        }
        rows.push(row);
    }
    writeln!(out, "Bandwidth of STREAM's triad in percent of DRAM's peak.\n")?;
    let heading = ["SMs", "paper's card", "new, L1 on", "new, L1 off", "old, L1 on", "old, L1 off"];
    table::write(out, heading, &rows)?;
    writeln!(
        out,
        "\nThe paper: no difference between L1 on and off in the new model; with L1 on the old one collapses."
    )?;
    Ok(())
}

//! Figures of a card's data sheet, beside which the values of its file are checked.

use super::GpuSpec;
use crate::gpu_file::written::DATA_SHEET;
use crate::gpu_file::{Document, SpecificationError};

/// Deviation of the bandwidth from the data sheet, at most: data sheets round.
const TOLERANCE: f64 = 0.01;

crate::specification! {
    /// Figures of a card's data sheet. No GPU inherits them.
    pub struct DataSheet in "data_sheet" {
        /// Streaming multiprocessors; 0 if the data sheet is not known.
        sms: u32 ["SMs"] = 0,
        /// Bytes of all L2 slices; 0 if the data sheet is not known.
        l2: u64 ["B"] = 0,
        /// Bandwidth of the DRAM; 0 if the data sheet is not known.
        bandwidth: u64 ["MB/s"] = 0,
    }
}

impl DataSheet {
    /// Name of the section.
    pub const SECTION: &'static str = DATA_SHEET;

    /// Checks a GPU beside the figures that are given.
    ///
    /// # Errors
    /// The first value that deviates, or a key that a data sheet does not have.
    pub fn check(document: &Document, gpu: &GpuSpec) -> Result<(), SpecificationError> {
        let given = document.section(DataSheet::SECTION).map(|(name, _)| name);
        let unknown = given.into_iter().find(|name| !DataSheet::KEYS.iter().any(|key| key.name == *name));
        if let Some(name) = unknown {
            return Err(document.wrong(DataSheet::SECTION, name, "a data sheet has sms, l2 and bandwidth"));
        }
        let sheet = DataSheet::read(document)?;
        let l2 = u64::from(gpu.partition.all_slices()) * u64::from(gpu.l2.size);
        let bandwidth = gpu.peak_dram_bandwidth() / 1_000_000;
        let equal = |stated: u64, own: u64| stated == 0 || stated == own;
        let near = (sheet.bandwidth as f64 / bandwidth as f64 - 1.0).abs() <= TOLERANCE;
        let wrong = |name, own: u64| {
            document.wrong(DataSheet::SECTION, name, &format!("the values of [timing] give {own}"))
        };
        if !equal(sheet.sms.into(), gpu.chip.sms.into()) {
            return Err(wrong("sms", gpu.chip.sms.into()));
        }
        if !equal(sheet.l2, l2) {
            return Err(wrong("l2", l2));
        }
        if sheet.bandwidth != 0 && !near {
            return Err(wrong("bandwidth", bandwidth));
        }
        Ok(())
    }
}

//! Files of checksums, looked at like checkpoints.

use std::io::Write;
use std::path::Path;

use saved_run::checksums::{ChecksumsError, ChecksumsReader, Compared, first_difference};

use crate::failure::Failure;

impl From<ChecksumsError> for Failure {
    fn from(error: ChecksumsError) -> Self {
        Failure::new(&error).remedy(error.remedy())
    }
}

/// Says what a file is of.
pub(super) fn info(file: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let mut reader = ChecksumsReader::open(file)?;
    writeln!(out, "checksums   of {}", reader.program())?;
    writeln!(out, "every       {} launches", reader.every())?;
    let (mut launches, mut first, mut last) = (0_u64, 0, 0);
    while let Some(launch) = reader.next_launch()? {
        first = if launches == 0 { launch.number } else { first };
        (launches, last) = (launches + 1, launch.number);
    }
    writeln!(out, "launches    {launches}, from {first} to {last}")?;
    let bytes: u64 = reader.memory().values().map(|sum| sum.size).sum();
    writeln!(out, "at the end  {} allocations, {bytes} bytes", reader.memory().len())?;
    Ok(())
}

/// Checks every byte.
pub(super) fn verify(file: &Path) -> Result<(), Failure> {
    let mut reader = ChecksumsReader::open(file)?;
    while reader.next_launch()?.is_some() {}
    Ok(())
}

/// Says where two runs first differ; whether they do.
pub(super) fn diff(first: &Path, second: &Path, out: &mut dyn Write) -> Result<bool, Failure> {
    let Compared { launches, difference, moved } = first_difference(first, second)?;
    if difference.is_empty() {
        writeln!(out, "the same memory after each of {launches} launches")?;
    }
    for line in difference.iter().chain(&moved) {
        writeln!(out, "{line}")?;
    }
    Ok(!difference.is_empty())
}

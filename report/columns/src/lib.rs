//! Statistics of a run as Parquet tables, for pandas, polars and DuckDB.
//!
//! A table of launches has a row for each launch. Columns are the fields of the launch, all counters
//! and all derived statistics; a null is a counter that the run does not model. A table of series has
//! a row for each point of each launch. Copies, and the sums of streams and of the run, are in JSON
//! alone.

mod error;
mod launches;
mod parquet_file;
mod series;
mod table;
#[cfg(test)]
#[allow(clippy::expect_used, clippy::panic, reason = "a panic is the report of a test")]
mod tests;

use std::io::{Read, Write};

use serde_json::Value;

pub use error::ColumnsError;
use parquet_file::ParquetFile;
use series::Points;
use table::{Kind, Table};

/// Writes the launches of `statistics`, a file of `voltsim run --statistics FILE.json`. Returns `out`.
///
/// # Errors
/// The statistics are no run, a launch has other columns than the first, or the output fails.
pub fn write_launches<W: Write + Send>(statistics: impl Read, out: W) -> Result<W, ColumnsError> {
    let mut out = Some(out);
    let mut file = None;
    let about = launches::read(statistics, &mut |launch: &Value| {
        if let Some(out) = out.take() {
            let table = Table::new("launches", launches::columns(launch));
            file = Some(ParquetFile::new(table, out)?);
        }
        file.as_mut().map_or(Ok(()), |file| file.add(launches::number(launch), launches::fields(launch)))
    })?;
    if let Some(out) = out.take() {
        let table = Table::new("launches", [("launch".to_owned(), Kind::Whole)]);
        file = Some(ParquetFile::new(table, out)?);
    }
    file.ok_or(ColumnsError::NoRun)?.finish(&about)
}

/// Writes the series of the launches, a row for each point, to the output of `make`. Returns the
/// output; none, without a call of `make`, if no launch has a series.
///
/// # Errors
/// As [`write_launches`].
pub fn write_series<W: Write + Send>(
    statistics: impl Read,
    make: impl FnOnce() -> Result<W, ColumnsError>,
) -> Result<Option<W>, ColumnsError> {
    let mut make = Some(make);
    let mut file = None;
    let about = launches::read(statistics, &mut |launch: &Value| {
        let Some(points) = Points::of(launch) else { return Ok(()) };
        if let Some(make) = make.take() {
            file = Some(ParquetFile::new(Table::new("series", points.columns()), make()?)?);
        }
        let Some(file) = &mut file else { return Ok(()) };
        points.rows().try_for_each(|row| file.add(launches::number(launch), row))
    })?;
    file.map(|file| file.finish(&about)).transpose()
}

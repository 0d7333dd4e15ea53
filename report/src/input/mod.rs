//! The files as typed records.

mod correlation;
mod fields;
mod run;
mod series;
mod source;
mod sweep;

use serde_json::Value;

pub use correlation::{Correlation, Pair, Scatter};
pub use run::{Channel, Counts, Energies, Kernel, Launch, Occupancy, Run, Transfer};
pub use series::{Map, Series};
pub use source::{File, Line, LineCounts, Listing, SourceCounts};
pub use sweep::{Configuration, Sweep};

use crate::{ReportError, Source};
use fields::Fields;

/// A file that a report shows.
#[derive(Debug)]
pub enum Input {
    /// Statistics of a run.
    Run(Box<Run>),
    /// Statistics beside a profiler's table.
    Correlation(Correlation),
    /// Estimates of a sweep.
    Sweep(Sweep),
}

impl Input {
    /// Reads a file; its fields tell its form.
    ///
    /// # Errors
    /// The file is no JSON, or of no known form.
    pub fn read(source: Source<'_>) -> Result<Input, ReportError> {
        let value: Value = serde_json::from_str(source.text)
            .map_err(|error| ReportError::Json { file: source.name.to_owned(), error: error.to_string() })?;
        let fields = Fields::new(source.name, &value);
        if value.get("launches").is_some() {
            return Ok(Input::Run(Box::new(Run::read(source.name, &fields)?)));
        }
        if value.get("programs").is_some() {
            return Ok(Input::Correlation(Correlation::read(source.name, &fields)?));
        }
        if value.get("configurations").is_some() {
            return Ok(Input::Sweep(Sweep::read(source.name, &fields)?));
        }
        Err(ReportError::Unknown(source.name.to_owned()))
    }
}

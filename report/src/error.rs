//! Errors of reading what a report shows.

/// Reasons why a file gives no report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// The file is no JSON.
    #[error("{file}: the file is no JSON: {error}")]
    Json {
        /// Name of the file.
        file: String,
        /// Place and reason.
        error: String,
    },
    /// The JSON is of no known form.
    #[error("{0}: the file has neither launches, nor programs, nor configurations of a sweep")]
    Unknown(String),
    /// A field is missing or has another type.
    #[error("{file}: {place}: {what}")]
    Field {
        /// Name of the file.
        file: String,
        /// Path of the field.
        place: String,
        /// Expected value.
        what: &'static str,
    },
    /// The file has no launches and no device copies.
    #[error("{0}: the run has no timed launch")]
    Empty(String),
    /// One of two files is no run.
    #[error("{0}: two files are compared launch by launch, and this one is no run")]
    NoRun(String),
}

impl ReportError {
    /// Remedy for the user.
    pub fn remedy(&self) -> &'static str {
        match self {
            ReportError::Json { .. } | ReportError::Unknown(_) | ReportError::Field { .. } => {
                "give a file of `voltsim run --statistics FILE.json`, the `estimate.json` of a sweep or `voltsim correlate --json`"
            }
            ReportError::Empty(_) => "run the program with --mode detailed, and look at --only",
            ReportError::NoRun(_) => "give two files of `voltsim run --statistics FILE.json`",
        }
    }
}

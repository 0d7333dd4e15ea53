//! Errors of tables.

use std::io;

use parquet::errors::ParquetError;

/// Reasons why statistics give no table.
#[derive(Debug, thiserror::Error)]
pub enum ColumnsError {
    /// The statistics are no JSON of a run.
    #[error("the statistics are no JSON of a run: {0}")]
    Json(#[from] serde_json::Error),
    /// The JSON has no list of launches.
    #[error("the statistics have no list of launches")]
    NoRun,
    /// A launch has a field that the first launch lacks.
    #[error("launch {launch}: the first launch has no field {field}")]
    Column {
        /// Number of the launch in the run.
        launch: u64,
        /// Name of the column.
        field: String,
    },
    /// A field has another type than in the first launch.
    #[error("launch {launch}: field {field} must be {kind}")]
    Value {
        /// Number of the launch in the run.
        launch: u64,
        /// Name of the column.
        field: String,
        /// Expected value.
        kind: &'static str,
    },
    /// The table cannot be encoded.
    #[error("the table cannot be encoded: {0}")]
    Encoding(ParquetError),
    /// The output cannot be written.
    #[error("{0}")]
    Output(#[from] io::Error),
}

impl From<ParquetError> for ColumnsError {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(cause) => match cause.downcast::<io::Error>() {
                Ok(cause) => ColumnsError::Output(*cause),
                Err(cause) => ColumnsError::Encoding(ParquetError::External(cause)),
            },
            error => ColumnsError::Encoding(error),
        }
    }
}

//! The page of error codes, made from the table of the API.

use crate::{Page, code};

/// Codes with both names and their text.
pub(crate) fn page() -> Page {
    let about = "Codes of `cudaError_t` and `CUresult` with the texts that `cudaGetErrorString` gives.\n\
                 [Files that Voltsim writes](../guide/outputs.md#exit-statuses-of-voltsim-run) lists exit statuses.";
    let mut page = Page::new("Error codes", about);
    let errors = api_table::errors::errors().expect("the table is well formed");
    let rows = errors.iter().map(|error| {
        [
            error.code.to_string(),
            code(error.runtime_name.unwrap_or_default()),
            code(error.driver_name.unwrap_or_default()),
            error.text.to_owned(),
        ]
    });
    page.table(["code", "runtime", "driver", "text"], &rows.collect::<Vec<_>>());
    page
}

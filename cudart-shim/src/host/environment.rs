//! Environment variables of the libraries. Empty ones count as unset.

use std::env;
use std::ffi::OsString;

/// Value of a variable.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Value of a variable as text.
pub(crate) fn text(name: &str) -> Option<String> {
    variable(name).map(|value| value.to_string_lossy().into_owned())
}

/// True if the variable is set to a value other than 0.
pub(crate) fn flag(name: &str) -> bool {
    variable(name).is_some_and(|value| value != "0")
}

/// Value of a numeric variable; a malformed value is reported and ignored.
pub(crate) fn number(name: &str) -> Option<u64> {
    let text = text(name)?;
    let number = text.parse().ok();
    if number.is_none() {
        eprintln!("voltsim: {name}: `{text}` is not a number");
    }
    number
}

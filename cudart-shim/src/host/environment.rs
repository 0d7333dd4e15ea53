//! Settings that the environment has for the libraries. An empty one is none.

use std::env;
use std::ffi::OsString;

/// A setting.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// A setting as text.
pub(crate) fn text(name: &str) -> Option<String> {
    variable(name).map(|value| value.to_string_lossy().into_owned())
}

/// Whether something is set, to another value than 0.
pub(crate) fn flag(name: &str) -> bool {
    variable(name).is_some_and(|value| value != "0")
}

/// A setting that is a number; another is told and left out.
pub(crate) fn number(name: &str) -> Option<u64> {
    let text = text(name)?;
    let number = text.parse().ok();
    if number.is_none() {
        eprintln!("voltsim: {name}: `{text}` is not a number");
    }
    number
}

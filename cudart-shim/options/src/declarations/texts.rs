//! Texts of options, before they are read as values.

use std::ffi::{OsStr, OsString};

use super::{DECLARATIONS, Key};

/// Texts of options, before they are read.
#[derive(Clone, Debug)]
pub(crate) struct Texts(Vec<Option<OsString>>);

impl Default for Texts {
    fn default() -> Texts {
        Texts(vec![None; DECLARATIONS.len()])
    }
}

impl Texts {
    /// The text of an option.
    pub(crate) fn get(&self, key: Key) -> Option<&OsStr> {
        self.0.get(key as usize)?.as_deref()
    }

    /// Gives an option a text, or none.
    pub(crate) fn set(&mut self, key: Key, text: Option<OsString>) {
        if let Some(place) = self.0.get_mut(key as usize) {
            *place = text;
        }
    }
}

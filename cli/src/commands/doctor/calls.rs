//! The functions of the CUDA runtime and driver API a file imports, held against the API table.

use std::collections::BTreeMap;

use api_table::{Function, State, TableError};
use ptx_frontend::container::elf::ImportedSymbol;
use serde::Serialize;

/// Functions of the runtime and the driver that a file imports.
#[derive(Debug, Default, Serialize)]
pub(super) struct Calls {
    /// Number of imported functions that are done.
    pub(super) done: usize,
    /// The others, with what they are: words after "functions".
    pub(super) missing: BTreeMap<String, &'static str>,
}

impl Calls {
    /// Looks up each of `imports`.
    pub(super) fn of(imports: &[ImportedSymbol], table: &ApiTable) -> Self {
        let mut calls = Self::default();
        for import in imports {
            match table.reason_missing(&import.name) {
                None => calls.done += 1,
                Some(reason) => {
                    calls.missing.insert(import.name.clone(), reason);
                }
            }
        }
        calls
    }
}

/// The functions of all libraries by name.
pub(super) struct ApiTable(BTreeMap<&'static str, State>);

impl ApiTable {
    pub(super) fn load() -> Result<Self, TableError> {
        let functions = api_table::runtime()?.into_iter().chain(api_table::driver()?);
        let mut states = BTreeMap::new();
        for Function { name, state, .. } in functions {
            // A name with a body for one library version counts as done.
            let known = states.entry(name).or_insert(state);
            if matches!(state, State::Done(_)) {
                *known = state;
            }
        }
        Ok(Self(states))
    }

    /// Why a call of `name` fails; none when it is done.
    fn reason_missing(&self, name: &str) -> Option<&'static str> {
        match self.0.get(name) {
            Some(State::Done(_)) => None,
            Some(State::Stub) => Some("not done yet, which return cudaErrorNotSupported"),
            Some(State::Refused(_)) => Some("not planned, which return an error"),
            None => Some("that no CUDA version has"),
        }
    }
}

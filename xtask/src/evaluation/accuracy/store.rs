//! Results by content, so that an interrupted comparison continues.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::PathBuf;

/// Result of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Outcome {
    /// Simulated time of the second launch in microseconds.
    pub(super) microseconds: f64,
    /// Registers per thread, and their origin.
    pub(super) registers: u64,
    pub(super) source: String,
    /// CTAs that an SM holds, and the resource that limits them.
    pub(super) ctas: u64,
    pub(super) limit: String,
    /// The end of the launch is extrapolated.
    pub(super) extrapolated: bool,
    /// Bound of the extrapolation's error, as a part of the time.
    pub(super) unsure: f64,
}

/// Folder of results.
pub(super) struct Store {
    folder: PathBuf,
}

impl Store {
    /// The results in a folder, which is made.
    pub(super) fn open(folder: PathBuf) -> Result<Store> {
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        Ok(Store { folder })
    }

    /// Name of the result that depends on these texts.
    pub(super) fn key(parts: &[&[u8]]) -> String {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize().to_hex().to_string()
    }

    /// The kept result; `None` for a missing or unreadable one, which is then computed again.
    pub(super) fn get(&self, key: &str) -> Option<Outcome> {
        serde_json::from_slice(&fs::read(self.file(key)).ok()?).ok()
    }

    /// Keeps a result. The file appears whole.
    pub(super) fn put(&self, key: &str, outcome: &Outcome) -> Result<()> {
        let (file, unfinished) = (self.file(key), self.folder.join(format!("{key}.part")));
        let text =
            serde_json::to_string_pretty(outcome).map_err(|error| Error::Metadata(error.to_string()))?;
        fs::write(&unfinished, text).map_err(Error::file(&unfinished))?;
        fs::rename(&unfinished, &file).map_err(Error::file(&file))
    }

    fn file(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn outcome() -> Outcome {
        Outcome {
            microseconds: 600.5,
            registers: 32,
            source: "lowering".to_owned(),
            ctas: 16,
            limit: "warps".to_owned(),
            extrapolated: true,
            unsure: 0.006,
        }
    }

    #[test]
    fn kept_results_outlive_the_command() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("results")).unwrap();
        assert_eq!(store.get("a"), None);
        store.put("a", &outcome()).unwrap();
        let again = Store::open(folder.path().join("results")).unwrap();
        assert_eq!((again.get("a"), again.get("b")), (Some(outcome()), None));
    }

    #[test]
    fn damaged_results_are_computed_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().to_owned()).unwrap();
        fs::write(folder.path().join("a.json"), "{").unwrap();
        assert_eq!(store.get("a"), None);
    }

    #[test]
    fn key_depends_on_every_part_and_its_bounds() {
        let key = Store::key(&[b"ab", b"c"]);
        assert_eq!(key, Store::key(&[b"ab", b"c"]));
        assert_ne!(key, Store::key(&[b"a", b"bc"]));
        assert_ne!(key, Store::key(&[b"ab", b"d"]));
    }
}

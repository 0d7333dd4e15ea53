//! Criterion that ends a timed launch early.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Stability criterion, written `windows=N,deviation=D`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UntilStable {
    /// Windows compared; together they span a wave of CTAs.
    pub windows: u32,
    /// Largest standard deviation of the windows' IPC, relative to the mean.
    pub deviation: f64,
}

impl Default for UntilStable {
    fn default() -> UntilStable {
        UntilStable { windows: 8, deviation: 0.1 }
    }
}

impl UntilStable {
    /// True if the values are valid.
    pub fn is_possible(&self) -> bool {
        (2..=1 << 16).contains(&self.windows) && self.deviation >= 0.0
    }
}

impl fmt::Display for UntilStable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "windows={},deviation={}", self.windows, self.deviation)
    }
}

/// A malformed criterion.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a stability criterion; write windows=N (2 or more) or deviation=D (0.1, say), or both with a comma"
)]
pub struct BadUntilStable(String);

impl FromStr for UntilStable {
    type Err = BadUntilStable;

    fn from_str(text: &str) -> Result<UntilStable, BadUntilStable> {
        let bad = || BadUntilStable(text.to_owned());
        let mut read = UntilStable::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("windows", value)) => read.windows = value.parse().map_err(|_| bad())?,
                Some(("deviation", value)) => read.deviation = value.parse().map_err(|_| bad())?,
                _ => return Err(bad()),
            }
        }
        if read.is_possible() { Ok(read) } else { Err(bad()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_keys_take_defaults_and_text_round_trips() {
        let usual = UntilStable::default();
        assert_eq!("".parse(), Ok(usual));
        let other = UntilStable { windows: 20, ..usual };
        assert_eq!("windows=20".parse(), Ok(other));
        assert_eq!(other.to_string().parse(), Ok(other));
    }

    #[test]
    fn malformed_criterion_error_has_a_remedy() {
        for text in ["3", "windows=1", "windows=x", "deviation=-1", "deviation=NaN", "ipc=3"] {
            let error = text.parse::<UntilStable>().unwrap_err().to_string();
            assert!(error.contains("windows=N"), "{text}: {error}");
        }
    }
}

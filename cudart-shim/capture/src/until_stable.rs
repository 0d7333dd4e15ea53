//! When a timed launch ends early.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A timed launch is taken to go on as it has, written `windows=N,deviation=D`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UntilStable {
    /// Windows of time that are compared; together they are as long as a wave of CTAs.
    pub windows: u32,
    /// Standard deviation of their IPC over its mean, at most.
    pub deviation: f64,
}

impl Default for UntilStable {
    fn default() -> UntilStable {
        UntilStable { windows: 8, deviation: 0.1 }
    }
}

impl UntilStable {
    /// Whether the values can be.
    pub fn is_possible(&self) -> bool {
        (2..=1 << 16).contains(&self.windows) && self.deviation >= 0.0
    }
}

impl fmt::Display for UntilStable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "windows={},deviation={}", self.windows, self.deviation)
    }
}

/// A text that does not say when a launch ends early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` does not say when a launch is stable; write windows=N (2 or more) or deviation=D (0.1, say), or both with a comma"
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
    fn what_is_left_out_is_usual_and_what_is_written_is_read() {
        let usual = UntilStable::default();
        assert_eq!("".parse(), Ok(usual));
        let other = UntilStable { windows: 20, ..usual };
        assert_eq!("windows=20".parse(), Ok(other));
        assert_eq!(other.to_string().parse(), Ok(other));
    }

    #[test]
    fn nonsense_is_refused_with_what_to_write() {
        for text in ["3", "windows=1", "windows=x", "deviation=-1", "deviation=NaN", "ipc=3"] {
            let error = text.parse::<UntilStable>().unwrap_err().to_string();
            assert!(error.contains("windows=N"), "{text}: {error}");
        }
    }
}

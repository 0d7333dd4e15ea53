//! Pass lists: the names of the tests of a suite that pass, one a line, kept in the repository and compared with each run.

use super::read;
use crate::error::{Error, Result};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

/// What became of the tests of a run.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    pub(crate) passed: BTreeSet<String>,
    pub(crate) failed: BTreeSet<String>,
    /// Skipped by themselves, or expected to fail by their authors.
    pub(crate) left_out: BTreeSet<String>,
}

/// A run beside its list.
#[derive(Debug, PartialEq, Eq)]
struct Comparison {
    /// On the list, and not passed though the run reached its file or was to run everything.
    lost: Vec<String>,
    /// Passed, and not on the list.
    gained: Vec<String>,
}

/// The names on the list; lines starting with `#` are comments.
pub(crate) fn parse(text: &str) -> BTreeSet<String> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// Reports a run of a whole suite against its list and, where that is wanted, accepts it; whether all listed tests pass
/// now.
pub(crate) fn judge(suite: &str, list: &Path, outcomes: &Outcomes, accept: bool) -> Result<bool> {
    let text = read(list)?;
    let kept = report(suite, &parse(&text), outcomes);
    if accept {
        write(list, &text, outcomes)?;
    }
    Ok(kept || accept)
}

/// Compares a run with the part of a list that it was to run.
fn compare(listed: &BTreeSet<String>, outcomes: &Outcomes) -> Comparison {
    Comparison {
        lost: listed.difference(&outcomes.passed).cloned().collect(),
        gained: outcomes.passed.difference(listed).cloned().collect(),
    }
}

/// Prints what changed against the listed tests, and how many there are of each outcome; whether all listed ones pass.
pub(crate) fn report(suite: &str, listed: &BTreeSet<String>, outcomes: &Outcomes) -> bool {
    let comparison = compare(listed, outcomes);
    for name in &comparison.gained {
        println!("{suite}: passes now: {name}");
    }
    for name in &comparison.lost {
        println!("{suite}: no longer passes: {name}");
    }
    let count = |names: &BTreeSet<String>| names.len();
    let (passed, failed) = (count(&outcomes.passed), count(&outcomes.failed));
    println!("{suite}: {passed} passed, {failed} failed, {} left out", count(&outcomes.left_out));
    comparison.lost.is_empty()
}

/// Writes the list anew, with the comments that stand at its head.
pub(crate) fn write(path: &Path, present: &str, outcomes: &Outcomes) -> Result<()> {
    let mut text: String =
        present.lines().take_while(|line| line.starts_with('#')).flat_map(|line| [line, "\n"]).collect();
    for name in &outcomes.passed {
        let _ = writeln!(text, "{name}");
    }
    std::fs::write(path, text).map_err(Error::file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> BTreeSet<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_listed_test_that_no_longer_passes_or_runs_is_lost_and_a_new_pass_is_gained() {
        let outcomes = Outcomes { passed: names("a d"), failed: names("b"), left_out: names("e") };
        let comparison = compare(&parse("# tests\na\nb\nc\n"), &outcomes);
        assert_eq!(comparison.lost, ["b", "c"]);
        assert_eq!(comparison.gained, ["d"]);
    }
}

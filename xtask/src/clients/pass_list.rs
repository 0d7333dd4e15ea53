//! Pass lists: names of a suite's passing tests, one a line, kept in the repository and compared
//! with each run.

use super::read;
use crate::error::{Error, Result};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

/// Outcomes of a run.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    pub(crate) passed: BTreeSet<String>,
    pub(crate) failed: BTreeSet<String>,
    /// Skipped, or expected to fail by their authors.
    pub(crate) left_out: BTreeSet<String>,
}

/// Comparison of a run with its list.
#[derive(Debug, PartialEq, Eq)]
struct Comparison {
    /// Listed, but not passed by a run that should include them.
    lost: Vec<String>,
    /// Passed, but not listed.
    gained: Vec<String>,
}

/// Names on a list; lines with `#` are comments.
pub(crate) fn parse(text: &str) -> BTreeSet<String> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// Compares a whole suite's run with its list and, if `accept`, updates the list; true if all
/// listed tests pass.
pub(crate) fn judge(suite: &str, list: &Path, outcomes: &Outcomes, accept: bool) -> Result<bool> {
    let text = read(list)?;
    let kept = report(suite, &parse(&text), outcomes);
    if accept {
        write(list, &text, outcomes)?;
    }
    Ok(kept || accept)
}

/// Compares a run with the part of a list that it covers.
fn compare(listed: &BTreeSet<String>, outcomes: &Outcomes) -> Comparison {
    Comparison {
        lost: listed.difference(&outcomes.passed).cloned().collect(),
        gained: outcomes.passed.difference(listed).cloned().collect(),
    }
}

/// Prints differences and counts of outcomes; true if all listed tests pass.
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

/// Rewrites the list under its head comments.
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
    fn comparison_finds_lost_and_gained_tests() {
        let outcomes = Outcomes { passed: names("a d"), failed: names("b"), left_out: names("e") };
        let comparison = compare(&parse("# tests\na\nb\nc\n"), &outcomes);
        assert_eq!(comparison.lost, ["b", "c"]);
        assert_eq!(comparison.gained, ["d"]);
    }
}

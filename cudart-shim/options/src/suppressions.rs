//! Findings of the checks that the user does not want: a file with a line of JSON for each.
//!
//! A line has fields of a finding as `--check-report findings.jsonl` writes them, so a report serves
//! as it is. A finding is suppressed if every field of a line matches. Texts are globs. `severity`,
//! `launch`, `details`, `host`, threads, CTAs and instructions do not count, because they vary from
//! run to run.

use std::fs;
use std::path::{Path, PathBuf};

use functional::sanitizer::{Finding, Party};
use launch_capture::matches_glob;
use serde::Deserialize;
use serde::de::IgnoredAny;
use warp_stream::kernel_name::signature;

/// The lines of a file of suppressions.
#[derive(Debug, Default)]
pub struct Suppressions(Vec<Line>);

/// A file of suppressions that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadSuppressions {
    /// The file cannot be read.
    #[error("{}: {error}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
    /// A line is no suppression.
    #[error("{}:{line}: {reason}", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// The reason.
        reason: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    check: Option<String>,
    title: Option<String>,
    kernel: Option<String>,
    mangled_kernel: Option<String>,
    #[serde(default)]
    parties: Vec<Place>,
    #[serde(rename = "severity")]
    _severity: Option<IgnoredAny>,
    #[serde(rename = "launch")]
    _launch: Option<IgnoredAny>,
    #[serde(rename = "details")]
    _details: Option<IgnoredAny>,
    #[serde(rename = "host")]
    _host: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    function: Option<String>,
    mangled_function: Option<String>,
    ptx_line: Option<u32>,
    file: Option<String>,
    line: Option<u32>,
    #[serde(rename = "role")]
    _role: Option<IgnoredAny>,
    #[serde(rename = "threads")]
    _threads: Option<IgnoredAny>,
    #[serde(rename = "cta")]
    _cta: Option<IgnoredAny>,
    #[serde(rename = "instruction")]
    _instruction: Option<IgnoredAny>,
    #[serde(rename = "inlined_file")]
    _inlined_file: Option<IgnoredAny>,
    #[serde(rename = "inlined_line")]
    _inlined_line: Option<IgnoredAny>,
}

/// The last line of a report, which counts the findings.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Summary {
    #[serde(rename = "summary")]
    _summary: IgnoredAny,
}

impl Suppressions {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, or a line is no suppression.
    pub fn read(file: &Path) -> Result<Suppressions, BadSuppressions> {
        let text = fs::read_to_string(file)
            .map_err(|error| BadSuppressions::Read { file: file.to_owned(), error })?;
        Suppressions::parse(&text).map_err(|(line, reason)| BadSuppressions::Line {
            file: file.to_owned(),
            line,
            reason,
        })
    }

    /// Reads the lines; an error has the number of the line and the reason.
    fn parse(text: &str) -> Result<Suppressions, (usize, String)> {
        let mut lines = Vec::new();
        for (index, text) in text.lines().enumerate() {
            let text = text.trim();
            if text.is_empty() || serde_json::from_str::<Summary>(text).is_ok() {
                continue;
            }
            let line: Line = serde_json::from_str(text).map_err(|error| {
                (index + 1, format!("{error}; write {{\"check\": \"races\", \"kernel\": \"GLOB\"}}"))
            })?;
            if line.names_nothing() {
                let reason = "the line names nothing, and would suppress every finding; name a check";
                return Err((index + 1, reason.to_owned()));
            }
            lines.push(line);
        }
        Ok(Suppressions(lines))
    }

    /// Tells whether a line matches the finding.
    pub fn contain(&self, finding: &Finding) -> bool {
        self.0.iter().any(|line| line.matches(finding))
    }
}

impl Line {
    fn names_nothing(&self) -> bool {
        let texts = [&self.check, &self.title, &self.kernel, &self.mangled_kernel];
        texts.iter().all(|text| text.is_none()) && self.parties.is_empty()
    }

    fn matches(&self, finding: &Finding) -> bool {
        let readable = finding.kernel.as_deref().map(signature);
        fits(self.check.as_deref(), Some(finding.check.name()))
            && fits(self.title.as_deref(), Some(&finding.title))
            && fits(self.kernel.as_deref(), readable.as_deref())
            && fits(self.mangled_kernel.as_deref(), finding.kernel.as_deref())
            && self.parties.iter().all(|place| finding.parties.iter().any(|party| place.matches(party)))
    }
}

impl Place {
    fn matches(&self, party: &Party) -> bool {
        let spot = &party.spot;
        fits(self.function.as_deref(), Some(signature(&spot.function).as_ref()))
            && fits(self.mangled_function.as_deref(), Some(&spot.function))
            && fits(self.file.as_deref(), Some(&spot.file))
            && self.ptx_line.is_none_or(|line| line == spot.place.line)
            && self.line.is_none_or(|line| line == spot.line)
    }
}

/// Tells whether a text is as a line wants it. An absent glob wants nothing.
fn fits(glob: Option<&str>, text: Option<&str>) -> bool {
    glob.is_none_or(|glob| text.is_some_and(|text| matches_glob(glob, text)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use functional::sanitizer::{Check, Severity};

    fn race() -> Finding {
        Finding {
            check: Check::Races,
            severity: Severity::Error,
            title: "race between CTAs on global memory: write after read".to_owned(),
            kernel: Some("_Z9histogramPi".to_owned()),
            launch: Some(3),
            parties: Vec::new(),
            details: Vec::new(),
            host: Vec::new(),
        }
    }

    fn suppressed(text: &str) -> bool {
        Suppressions::parse(text).unwrap().contain(&race())
    }

    #[test]
    fn every_field_of_a_line_must_match() {
        assert!(suppressed(r#"{"check": "races"}"#));
        assert!(suppressed(r#"{"check": "races", "kernel": "histo*", "title": "race between CTAs*"}"#));
        assert!(suppressed(r#"{"mangled_kernel": "_Z9histogram??"}"#));
        assert!(!suppressed(r#"{"check": "races", "kernel": "scan*"}"#));
        assert!(!suppressed(r#"{"check": "memory", "kernel": "histo*"}"#));
        assert!(!suppressed(r#"{"check": "races", "parties": [{"line": 3}]}"#));
    }

    #[test]
    fn one_matching_line_suffices() {
        assert!(suppressed("{\"check\": \"memory\"}\n\n{\"check\": \"races\"}\n"));
    }

    #[test]
    fn summary_of_a_report_suppresses_nothing() {
        assert!(!suppressed(r#"{"summary": [{"title": "race", "count": 3}]}"#));
    }

    #[test]
    fn wrong_line_is_named_with_a_remedy() {
        for (text, line, word) in [
            ("{\"check\": \"races\"}\n{\"kernal\": \"k\"}", 2, "kernal"),
            ("races", 1, "GLOB"),
            ("{\"severity\": \"error\"}", 1, "name a check"),
        ] {
            let (number, reason) = Suppressions::parse(text).unwrap_err();
            assert!(number == line && reason.contains(word), "{number}: {reason}");
        }
    }
}

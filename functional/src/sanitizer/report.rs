//! Findings of the sanitizer: each error once, with its count.

use std::fmt;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use warp_stream::kernel_name::signature;

use super::Check;
use crate::fault::Spot;

/// Maximum number of distinct findings kept; further ones are only counted.
const KEPT: usize = 100;

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Error of the program.
    Error,
    /// Undefined or suspicious behaviour that works on existing GPUs.
    Warning,
}

/// Threads of a CTA and their action at an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    /// Action: `write`.
    pub role: String,
    /// Threads: `thread (3,0,0)`.
    pub threads: String,
    /// CTA within the grid.
    pub cta: [u32; 3],
    /// Instruction.
    pub spot: Spot,
}

/// A finding. The displayed text has several lines and no final line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Check that made the finding.
    pub check: Check,
    /// Severity.
    pub severity: Severity,
    /// One-line description.
    pub title: String,
    /// Kernel name.
    pub kernel: String,
    /// Threads involved, the ones at fault first.
    pub parties: Vec<Party>,
    /// Additional facts.
    pub details: Vec<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let warning = if self.severity == Severity::Warning { "warning: " } else { "" };
        writeln!(f, "voltsim check {}: {warning}{}", self.check.name(), self.title)?;
        write!(f, "    in kernel {}", signature(&self.kernel))?;
        for Party { role, threads, cta: [x, y, z], spot } in &self.parties {
            write!(f, "\n    {role} by {threads} of CTA ({x},{y},{z})")?;
            if spot.function != self.kernel {
                write!(f, ", in function {}", signature(&spot.function))?;
            }
            write!(f, "\n        {spot}")?;
        }
        for detail in &self.details {
            write!(f, "\n    {detail}")?;
        }
        Ok(())
    }
}

/// Identity of a finding: kind, program, and instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) kind: &'static str,
    pub(crate) program: u64,
    pub(crate) sites: [u32; 2],
}

/// Receives each finding at its first occurrence.
pub type Reporter = Box<dyn Fn(&Finding) + Send + Sync>;

/// All findings so far.
pub(crate) struct Findings {
    reporter: Reporter,
    found: Mutex<FindingCounts>,
}

#[derive(Default)]
struct FindingCounts {
    known: FxHashMap<Key, usize>,
    kept: Vec<(Finding, u64)>,
    left_out: u64,
}

impl fmt::Debug for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Findings").field("kept", &self.found.lock().kept).finish_non_exhaustive()
    }
}

impl Findings {
    pub(crate) fn new(reporter: Reporter) -> Findings {
        Findings { reporter, found: Mutex::default() }
    }

    /// Counts a finding; `describe` is called at the first occurrence.
    pub(crate) fn add(&self, key: Key, describe: impl FnOnce() -> Finding) {
        let mut found = self.found.lock();
        match found.known.get(&key).copied() {
            Some(at) => match found.kept.get_mut(at) {
                Some((_, count)) => *count += 1,
                None => found.left_out += 1,
            },
            None if found.kept.len() >= KEPT => found.left_out += 1,
            None => {
                let finding = describe();
                (self.reporter)(&finding);
                let at = found.kept.len();
                found.known.insert(key, at);
                found.kept.push((finding, 1));
            }
        }
    }

    pub(crate) fn all(&self) -> Vec<(Finding, u64)> {
        self.found.lock().kept.clone()
    }

    /// Summary of the findings, one line each; `None` without findings.
    pub(crate) fn summary(&self) -> Option<String> {
        let found = self.found.lock();
        if found.kept.is_empty() {
            return None;
        }
        let count = |severity| found.kept.iter().filter(|(finding, _)| finding.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        let counted =
            |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        let mut text =
            format!("voltsim check: {}, {}", counted(errors, "mistake"), counted(warnings, "warning"));
        if found.left_out > 0 {
            text += &format!("; {} more occurrences of others", found.left_out);
        }
        for (finding, times) in &found.kept {
            let place =
                finding.parties.first().map(|party| format!(", {}", party.spot.place())).unwrap_or_default();
            text += &format!(
                "\n    {times:>8} x {}: {} ({}{place})",
                finding.check.name(),
                finding.title,
                signature(&finding.kernel)
            );
        }
        Some(text)
    }
}

//! How many findings each folder may have of each rule.

use super::{Finding, Rule};
use std::collections::BTreeMap;
use std::fmt;

/// Allowed findings by top-level folder and rule; none where there is no entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ratchet(BTreeMap<(String, Rule), usize>);

/// A folder and a rule whose count is not the allowed one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The top-level folder; `.` for files of the root.
    pub folder: String,
    /// The rule.
    pub rule: Rule,
    /// Findings that the file allows.
    pub allowed: usize,
    /// Findings that there are.
    pub found: usize,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { folder, rule, allowed, found } = self;
        write!(out, "{folder}: {found} findings of `{}`, {allowed} are allowed", rule.name())
    }
}

impl Ratchet {
    /// Reads lines `folder<TAB>rule<TAB>count`. Lines that begin with `#` are comments.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut ratchet = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let parsed = || {
                let mut fields = line.split('\t');
                let (folder, rule) = (fields.next()?, Rule::named(fields.next()?)?);
                Some(((folder.to_owned(), rule), fields.next()?.parse().ok()?))
            };
            let (place, count) = parsed().ok_or_else(|| format!("`{line}` is not folder, rule and count"))?;
            ratchet.0.insert(place, count);
        }
        Ok(ratchet)
    }

    /// The counts of these findings.
    pub fn of(findings: &[Finding]) -> Self {
        let mut ratchet = Self::default();
        for finding in findings {
            *ratchet.0.entry((finding.folder().to_owned(), finding.rule)).or_default() += 1;
        }
        ratchet
    }

    /// Folders and rules of which `found` has more than is allowed.
    pub fn risen(&self, found: &Self) -> Vec<Difference> {
        self.differences(found).filter(|difference| difference.found > difference.allowed).collect()
    }

    /// Folders and rules of which `found` has less than is allowed.
    pub fn fallen(&self, found: &Self) -> Vec<Difference> {
        self.differences(found).filter(|difference| difference.found < difference.allowed).collect()
    }

    fn differences<'a>(&'a self, found: &'a Self) -> impl Iterator<Item = Difference> + 'a {
        let new = found.0.keys().filter(|place| !self.0.contains_key(*place));
        self.0.keys().chain(new).map(move |place| Difference {
            folder: place.0.clone(),
            rule: place.1,
            allowed: self.0.get(place).copied().unwrap_or(0),
            found: found.0.get(place).copied().unwrap_or(0),
        })
    }

    /// The lower of both counts for each folder and rule, so that no count rises.
    pub fn lowered(&self, found: &Self) -> Self {
        let lower = |(place, allowed): (&(String, Rule), &usize)| {
            let count = found.0.get(place).copied().unwrap_or(0).min(*allowed);
            (count > 0).then(|| (place.clone(), count))
        };
        Self(self.0.iter().filter_map(lower).collect())
    }

    /// The file's lines, sorted by folder and rule.
    pub fn to_text(&self) -> String {
        self.0.iter().map(|((folder, rule), count)| format!("{folder}\t{}\t{count}\n", rule.name())).collect()
    }
}

//! The values of a GPU's file, before anybody knows what they mean.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::de::DeTable;

use super::{Key, Value};

/// Files that build on one another, at most.
const MAXIMUM_BASES: usize = 8;

/// What is wrong with a GPU's file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecificationError {
    /// It is no TOML, or not of the shape `key = { value, unit, source }` in sections.
    #[error("{file}: {message}")]
    Malformed {
        /// File.
        file: String,
        /// What the reader says, with line and column.
        message: String,
    },
    /// A key that no unit knows.
    #[error("{file}, line {line}: no unit has a key `{key}`{}", near(closest))]
    Unknown {
        /// File.
        file: String,
        /// Line, from 1.
        line: usize,
        /// `section.name`.
        key: String,
        /// The key that is spelt most alike.
        closest: Option<String>,
    },
    /// A key that is needed and not there.
    #[error("{file}: `{key}` is missing")]
    Missing {
        /// File.
        file: String,
        /// `section.name`.
        key: String,
    },
    /// A value of another kind, in another unit, or one that makes no sense beside others.
    #[error("{file}, line {line}: `{key} = {value}`: {reason}")]
    Wrong {
        /// File.
        file: String,
        /// Line, from 1.
        line: usize,
        /// `section.name`.
        key: String,
        /// What stands there.
        value: String,
        /// What is the matter.
        reason: String,
    },
    /// A file that cannot be read.
    #[error("{file}: {reason}")]
    Unreadable {
        /// File.
        file: String,
        /// Why.
        reason: String,
    },
    /// A change of a value that cannot be made.
    #[error("{0}")]
    Change(String),
    /// A base that is not there, or files that build on one another without end.
    #[error("{file}: base `{base}`: {reason}")]
    Base {
        /// File.
        file: String,
        /// The base.
        base: String,
        /// What is the matter.
        reason: String,
    },
}

fn near(closest: &Option<String>) -> String {
    closest.as_ref().map(|key| format!("; is `{key}` meant?")).unwrap_or_default()
}

/// A value of a GPU's file.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The value.
    pub value: toml::Value,
    /// Its unit.
    pub unit: String,
    /// Where it comes from: a document, a measurement, a fit.
    pub source: String,
    /// File it stands in.
    pub file: String,
    /// Line in that file, from 1.
    pub line: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenEntry {
    value: toml::Value,
    unit: String,
    source: String,
}

#[derive(Deserialize)]
struct Written {
    base: Option<String>,
    #[serde(flatten)]
    sections: BTreeMap<String, BTreeMap<String, WrittenEntry>>,
}

/// The values of a GPU's file and of those it builds on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Document {
    file: String,
    entries: BTreeMap<(String, String), Entry>,
}

impl Document {
    /// Reads a file that builds on no other one.
    ///
    /// # Errors
    /// It is malformed, or has a base.
    pub fn parse(file: &str, text: &str) -> Result<Document, SpecificationError> {
        Document::with_bases(file, text, &|_| None)
    }

    /// Reads a file; `find` gives the texts of those it builds on by their names.
    ///
    /// # Errors
    /// It or a base is malformed or not there, or they build on one another without end.
    pub fn with_bases(
        file: &str,
        text: &str,
        find: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Document, SpecificationError> {
        let mut document = Document { file: file.to_owned(), entries: BTreeMap::new() };
        let mut next = Some((file.to_owned(), text.to_owned()));
        for _ in 0..MAXIMUM_BASES {
            let Some((file, text)) = next.take() else { return Ok(document) };
            if let Some(base) = document.add(&file, &text)? {
                let Some(text) = find(&base) else {
                    return Err(SpecificationError::Base { file, base, reason: "there is none".to_owned() });
                };
                next = Some((base, text));
            }
        }
        match next {
            None => Ok(document),
            Some((base, _)) => Err(SpecificationError::Base {
                file: file.to_owned(),
                base,
                reason: format!("more than {MAXIMUM_BASES} files build on one another"),
            }),
        }
    }

    /// Adds what is not there yet; gives the base.
    fn add(&mut self, file: &str, text: &str) -> Result<Option<String>, SpecificationError> {
        let malformed = |error: toml::de::Error| SpecificationError::Malformed {
            file: file.to_owned(),
            message: error.to_string(),
        };
        let written: Written = toml::from_str(text).map_err(malformed)?;
        let places = DeTable::parse(text).map_err(malformed)?;
        let places = places.get_ref();
        for (section, entries) in written.sections {
            for (name, WrittenEntry { value, unit, source }) in entries {
                let place = places.get(section.as_str()).and_then(|table| table.get_ref().get(name.as_str()));
                let start = place.map_or(0, |place| place.span().start);
                let line = 1 + text.get(..start).unwrap_or_default().matches('\n').count();
                self.entries.entry((section.clone(), name)).or_insert(Entry {
                    value,
                    unit,
                    source,
                    file: file.to_owned(),
                    line,
                });
            }
        }
        Ok(written.base)
    }

    /// A value, in the unit that its reader counts in.
    ///
    /// # Errors
    /// It is missing, of another kind, or in another unit.
    pub fn get<T: Value>(&self, section: &str, name: &str, unit: &str) -> Result<T, SpecificationError> {
        let entry = self.entry(section, name).ok_or_else(|| SpecificationError::Missing {
            file: self.file.clone(),
            key: format!("{section}.{name}"),
        })?;
        let Some(factor) = factor(&entry.unit, unit) else {
            let reason = format!("the unit is `{}`, and `{unit}` is wanted", entry.unit);
            return Err(self.wrong(section, name, &reason));
        };
        T::read(&entry.value).and_then(|value| value.scaled(factor)).ok_or_else(|| match T::CHOICES {
            [] => self.wrong(section, name, "it is of another kind, or out of range"),
            choices => self.wrong(section, name, &format!("possible are {}", choices.join(", "))),
        })
    }

    /// Replaces a value, or adds one.
    pub fn set(&mut self, section: &str, name: &str, value: toml::Value, unit: &str, source: &str) {
        let entry = self.entries.entry((section.to_owned(), name.to_owned())).or_insert_with(|| Entry {
            value: toml::Value::Boolean(false),
            unit: String::new(),
            source: String::new(),
            file: source.to_owned(),
            line: 1,
        });
        entry.value = value;
        entry.unit = unit.to_owned();
        entry.source = source.to_owned();
    }

    /// What stands at a key.
    pub fn entry(&self, section: &str, name: &str) -> Option<&Entry> {
        self.entries.get(&(section.to_owned(), name.to_owned()))
    }

    /// An error about the value at a key.
    pub fn wrong(&self, section: &str, name: &str, reason: &str) -> SpecificationError {
        let entry = self.entry(section, name);
        SpecificationError::Wrong {
            file: entry.map_or(&self.file, |entry| &entry.file).clone(),
            line: entry.map_or(0, |entry| entry.line),
            key: format!("{section}.{name}"),
            value: entry.map_or_else(String::new, |entry| entry.value.to_string()),
            reason: reason.to_owned(),
        }
    }

    /// Checks that units know all keys.
    ///
    /// # Errors
    /// The first key that none of them knows.
    pub fn check_keys(&self, known: &[Key]) -> Result<(), SpecificationError> {
        let unknown = self
            .entries
            .iter()
            .find(|((section, name), _)| !known.iter().any(|key| key.section == section && key.name == name));
        let Some(((section, name), entry)) = unknown else { return Ok(()) };
        let key = format!("{section}.{name}");
        let candidates = known.iter().map(|key| format!("{}.{}", key.section, key.name));
        let closest = candidates.map(|other| (distance(&key, &other), other)).min();
        Err(SpecificationError::Unknown {
            file: entry.file.clone(),
            line: entry.line,
            closest: closest.filter(|(distance, _)| *distance <= key.len() / 2).map(|(_, key)| key),
            key,
        })
    }
}

/// How many of the wanted unit a unit is; nothing if they measure different things.
fn factor(unit: &str, wanted: &str) -> Option<u64> {
    match (unit, wanted) {
        _ if unit == wanted => Some(1),
        ("KiB", "B") => Some(1 << 10),
        ("MiB", "B") => Some(1 << 20),
        ("GiB", "B") => Some(1 << 30),
        _ => None,
    }
}

/// Letters to change, add or leave out to make one word of the other (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, other) in b.iter().enumerate() {
            let changed = corner + usize::from(letter != *other);
            corner = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &[Key] = &[Key { section: "l1", name: "latency", meaning: "", unit: "cycles", choices: &[] }];

    fn parse(text: &str) -> Document {
        Document::parse("gpu.toml", text).unwrap()
    }

    #[test]
    fn an_unknown_key_is_an_error_with_file_line_and_the_closest_key() {
        let document = parse("[l1]\nlatancy = { value = 1, unit = \"cycles\", source = \"\" }");
        let error = document.check_keys(KEYS).unwrap_err();
        let text = "gpu.toml, line 2: no unit has a key `l1.latancy`; is `l1.latency` meant?";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn a_value_without_a_source_is_an_error() {
        let text = "[l1]\nlatency = { value = 1, unit = \"cycles\" }";
        assert!(matches!(Document::parse("gpu.toml", text), Err(SpecificationError::Malformed { .. })));
    }

    #[test]
    fn a_value_in_another_unit_is_an_error_that_names_both() {
        let document = parse("[l1]\nlatency = { value = 1, unit = \"ns\", source = \"\" }");
        let error = document.get::<u32>("l1", "latency", "cycles").unwrap_err();
        assert_eq!(
            error.to_string(),
            "gpu.toml, line 2: `l1.latency = 1`: the unit is `ns`, and `cycles` is wanted"
        );
    }

    #[test]
    fn kibibytes_are_read_as_bytes() {
        let document = parse("[l1]\nsize = { value = 128, unit = \"KiB\", source = \"\" }");
        assert_eq!(document.get::<u32>("l1", "size", "B"), Ok(128 << 10));
    }

    #[test]
    fn a_value_that_is_too_large_for_its_unit_is_an_error() {
        let document = parse("[l1]\nsize = { value = 4294967295, unit = \"KiB\", source = \"\" }");
        assert!(document.get::<u32>("l1", "size", "B").is_err());
    }

    #[test]
    fn a_missing_key_is_named() {
        let error = parse("").get::<u32>("l1", "size", "B").unwrap_err();
        assert_eq!(error.to_string(), "gpu.toml: `l1.size` is missing");
    }

    #[test]
    fn a_file_changes_what_differs_from_its_base() {
        let entry = |value: u32| format!("{{ value = {value}, unit = \"cycles\", source = \"\" }}");
        let base = format!("[l1]\nlatency = {}\nwidth = {}", entry(1), entry(2));
        let text = format!("base = \"old\"\n[l1]\nlatency = {}", entry(3));
        let document =
            Document::with_bases("new.toml", &text, &|name| (name == "old").then(|| base.clone())).unwrap();
        assert_eq!(document.get::<u32>("l1", "latency", "cycles"), Ok(3));
        assert_eq!(document.get::<u32>("l1", "width", "cycles"), Ok(2));
    }

    #[test]
    fn files_that_build_on_one_another_without_end_are_an_error() {
        let error = Document::with_bases("a.toml", "base = \"a\"", &|_| Some("base = \"a\"".to_owned()));
        assert!(matches!(error, Err(SpecificationError::Base { .. })));
    }
}

//! The values of a GPU's file, before anybody knows what they mean.

use std::collections::BTreeMap;

use super::{Key, Place, SpecificationError, Value, written};

/// Files that build on one another, at most.
const MAXIMUM_BASES: usize = 8;

/// Layer of values that an option changed.
const CHANGED: usize = 0;

/// Layer of the file that no other builds on.
const FIRST_FILE: usize = 1;

/// A value of a GPU's file.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The value.
    pub value: toml::Value,
    /// Its unit.
    pub unit: String,
    /// Where it comes from: a document, a measurement, a fit.
    pub source: String,
    /// Where it stands.
    pub place: Place,
    /// 0 if an option changed it; of files the first, which builds on the others, has 1.
    pub(super) layer: usize,
}

/// The values of a GPU's file and of those it builds on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Document {
    file: String,
    /// Compute capability of the card, ten times.
    capability: Option<u32>,
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
        let mut document = Document { file: file.to_owned(), ..Document::default() };
        let mut next = Some((file.to_owned(), text.to_owned()));
        for layer in FIRST_FILE..FIRST_FILE + MAXIMUM_BASES {
            let Some((file, text)) = next.take() else { return Ok(document) };
            let written = written::read(&file, &text, layer)?;
            document.capability = document.capability.or(written.capability);
            for (section, name, entry) in written.entries {
                document.entries.entry((section, name)).or_insert(entry);
            }
            if let Some(base) = written.base {
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

    /// Compute capability of the card, ten times, if the file or one it builds on tells.
    pub fn capability(&self) -> Option<u32> {
        self.capability
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

    /// A value, in the unit that its reader counts in, or the default where no file has the key.
    ///
    /// # Errors
    /// The value is of another kind, or in another unit.
    pub fn get_or<T: Value>(
        &self,
        section: &str,
        name: &str,
        unit: &str,
        default: T,
    ) -> Result<T, SpecificationError> {
        if self.entry(section, name).is_some() { self.get(section, name, unit) } else { Ok(default) }
    }

    /// Replaces a value, or adds one; `by` says who does: the option of a command.
    pub fn set(&mut self, section: &str, name: &str, value: toml::Value, unit: &str, by: &str) {
        let place = Place { file: by.to_owned(), line: None };
        let entry = Entry { value, unit: unit.to_owned(), source: by.to_owned(), place, layer: CHANGED };
        self.entries.insert((section.to_owned(), name.to_owned()), entry);
    }

    /// What stands at a key.
    pub fn entry(&self, section: &str, name: &str) -> Option<&Entry> {
        self.entries.get(&(section.to_owned(), name.to_owned()))
    }

    /// An error about the value at a key.
    pub fn wrong(&self, section: &str, name: &str, reason: &str) -> SpecificationError {
        self.disagree(&[(section, name)], reason)
    }

    /// An error about values that cannot be together, each with section and name. It blames the one that was given last: by
    /// an option, then by the file that builds on the others; of those the first.
    pub fn disagree(&self, keys: &[(&str, &str)], reason: &str) -> SpecificationError {
        let entry = |(section, name): &(&str, &str)| self.entry(section, name);
        let mut keys = keys.to_vec();
        // Stable: of those given together the first stays so.
        keys.sort_by_key(|key| entry(key).map_or(usize::MAX, |entry| entry.layer));
        let place = keys.first().and_then(entry).map(|entry| entry.place.clone());
        let named = |key: &(&str, &str)| {
            let value = entry(key).map_or_else(String::new, |entry| entry.value.to_string());
            (format!("{}.{}", key.0, key.1), value)
        };
        SpecificationError::Wrong {
            place: place.unwrap_or_else(|| Place { file: self.file.clone(), line: None }),
            values: keys.iter().map(named).collect(),
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
        Err(SpecificationError::Unknown {
            place: entry.place.clone(),
            value: entry.value.to_string(),
            closest: closest(&key, known),
            key,
        })
    }
}

/// The key, `section.name`, that is spelt most like a text; nothing if none is.
pub(super) fn closest(key: &str, known: &[Key]) -> Option<String> {
    let candidates = known.iter().map(|key| format!("{}.{}", key.section, key.name));
    let closest = candidates.map(|other| (distance(key, &other), other)).min();
    closest.filter(|(distance, _)| *distance <= key.len() / 2).map(|(_, key)| key)
}

/// How many of the wanted unit a unit is; nothing if they measure different things.
fn factor(unit: &str, wanted: &str) -> Option<u64> {
    match (unit, wanted) {
        _ if unit == wanted => Some(1),
        ("KiB", "B") => Some(1 << 10),
        ("MiB", "B") => Some(1 << 20),
        ("GiB", "B") => Some(1 << 30),
        ("GHz", "MHz") | ("GB/s", "MB/s") => Some(1000),
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

    const KEYS: &[Key] = &[Key {
        section: "l1",
        name: "latency",
        meaning: "",
        unit: "cycles",
        choices: &[],
        meanings: &[],
        default: None,
    }];

    fn parse(text: &str) -> Document {
        Document::parse("gpu.toml", text).unwrap()
    }

    #[test]
    fn an_unknown_key_is_an_error_with_file_line_and_the_closest_key() {
        let document = parse("[l1]\nlatancy = { value = 1, unit = \"cycles\", source = \"\" }");
        let error = document.check_keys(KEYS).unwrap_err();
        let text = "gpu.toml, line 2: `l1.latancy = 1`: no unit has such a key; is `l1.latency` meant?";
        assert_eq!(error.to_string(), text);
    }

    /// What is said of a file with these lines, of which the first is the section's head.
    fn refused(lines: &[&str]) -> String {
        Document::parse("gpu.toml", &lines.join("\n")).unwrap_err().to_string()
    }

    #[test]
    fn a_part_of_a_key_that_is_missing_is_named_with_the_key_and_its_value() {
        for (written, shown, missing) in [
            ("{ value = 28, source = \"\" }", "28", "unit"),
            ("{ value = 28, unit = \"cycles\" }", "28", "source"),
            ("{ unit = \"cycles\", source = \"\" }", "{ source = \"\", unit = \"cycles\" }", "value"),
        ] {
            let text = refused(&["[l1]", "", &format!("latency = {written}")]);
            let expected = format!("gpu.toml, line 3: `l1.latency = {shown}`: the {missing} is missing");
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn a_bare_number_is_an_error_that_shows_how_to_write_it() {
        assert_eq!(
            refused(&["[l1]", "latency = 28"]),
            "gpu.toml, line 2: `l1.latency = 28`: it has no unit and no source; \
             write { value = 28, unit = \"…\", source = \"…\" }"
        );
    }

    #[test]
    fn another_part_of_a_key_is_an_error_that_names_it() {
        assert_eq!(
            refused(&["[l1]", "latency = { value = 28, unit = \"cycles\", sauce = \"\" }"]),
            "gpu.toml, line 2: `l1.latency = 28`: a key has a value, a unit and a source, and no `sauce`"
        );
    }

    #[test]
    fn a_unit_that_is_no_text_is_an_error() {
        assert_eq!(
            refused(&["[l1]", "latency = { value = 28, unit = 1, source = \"\" }"]),
            "gpu.toml, line 2: `l1.latency = 28`: the unit is no text in quotes"
        );
    }

    #[test]
    fn a_value_outside_of_sections_is_an_error() {
        assert_eq!(
            refused(&["# remark", "latency = 28"]),
            "gpu.toml, line 2: `latency = 28`: keys stand in sections: [section], and name = { value, unit, source } below"
        );
        assert_eq!(
            refused(&["base = 7"]),
            "gpu.toml, line 1: `base = 7`: it is the name of a GPU that is part of the program"
        );
    }

    #[test]
    fn a_line_that_is_no_toml_is_shown_with_its_number() {
        let text = refused(&["[l1]", "  latency = { value 28 }"]);
        let shown = text.strip_prefix("gpu.toml, line 2: `latency = { value 28 }`: ").unwrap();
        assert!(!shown.contains('\n') && !shown.contains("line 1"), "{shown}");
    }

    #[test]
    fn a_value_of_another_kind_is_an_error() {
        let document = parse("[l1]\nlatency = { value = \"28\", unit = \"cycles\", source = \"\" }");
        assert_eq!(
            document.get::<u32>("l1", "latency", "cycles").unwrap_err().to_string(),
            "gpu.toml, line 2: `l1.latency = \"28\"`: it is of another kind, or out of range"
        );
    }

    /// A file over another one, with these values of `l1.size` and `l1.sets`.
    fn layered(size: &str, sets: &str, base: &str) -> Document {
        let line = |name: &str, value: &str| match value {
            "" => String::new(),
            value => format!("{name} = {{ value = {value}, unit = \"\", source = \"\" }}\n"),
        };
        let text = format!("base = \"old\"\n[l1]\n{}{}", line("size", size), line("sets", sets));
        Document::with_bases("new.toml", &text, &|name| (name == "old").then(|| base.to_owned())).unwrap()
    }

    #[test]
    fn of_values_that_cannot_be_together_the_one_that_was_given_last_is_blamed() {
        let base = "[l1]\nsize = { value = 8, unit = \"\", source = \"\" }\nsets = { value = 4, unit = \"\", source = \"\" }";
        let keys = [("l1", "size"), ("l1", "sets")];
        let said = |document: Document| document.disagree(&keys, "no").to_string();
        let changed = |name: &str| {
            let mut document = layered("7", "3", base);
            document.set("l1", name, toml::Value::Integer(5), "", "--set");
            document
        };
        assert_eq!(said(layered("", "", base)), "old, line 2: `l1.size = 8` with `l1.sets = 4`: no");
        assert_eq!(said(layered("", "3", base)), "new.toml, line 3: `l1.sets = 3` with `l1.size = 8`: no");
        assert_eq!(said(layered("7", "3", base)), "new.toml, line 3: `l1.size = 7` with `l1.sets = 3`: no");
        assert_eq!(said(changed("sets")), "--set: `l1.sets = 5` with `l1.size = 7`: no");
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

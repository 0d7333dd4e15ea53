//! A GPU's file as keys and values, before units interpret them.

use std::collections::BTreeMap;

use super::written::{self, DATA_SHEET, DEVICE, POWER};
use super::{Key, Place, SpecificationError, Value};

/// Longest chain of files that build on one another.
const MAXIMUM_BASES: usize = 8;

/// Layer of values changed by an option.
const CHANGED: usize = 0;

/// Layer of the outermost file.
pub(crate) const FIRST_FILE: usize = 1;

/// A value of a GPU's file.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Value as written.
    pub value: toml::Value,
    /// Unit as written.
    pub unit: String,
    /// Origin: a document, a measurement, a fit.
    pub source: String,
    /// Position in its file or option.
    pub place: Place,
    /// 0 for values changed by an option, 1 for the outermost file, higher for its bases.
    pub(crate) layer: usize,
}

/// Values of a GPU's file and of its bases.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Document {
    file: String,
    entries: BTreeMap<(String, String), Entry>,
    /// A device profile of the old layout is among the files; its answers override the model's values.
    is_profile: bool,
    notices: Vec<String>,
}

impl Document {
    /// Reads a file that has no base.
    ///
    /// # Errors
    /// The file is malformed or has a base.
    pub fn parse(file: &str, text: &str) -> Result<Document, SpecificationError> {
        Document::with_bases(file, text, &|_| None)
    }

    /// Reads a file and its bases; `find` returns the text of a base by name.
    ///
    /// # Errors
    /// A file is malformed, a base is missing, or the chain of bases is too long.
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
            document.is_profile |= written.is_profile;
            document.notices.extend(written.old_layout);
            for (section, name, entry) in written.entries {
                document.entries.entry((section, name)).or_insert(entry);
            }
            if let Some(base) = written.base {
                let Some(text) = find(&base) else {
                    return Err(SpecificationError::Base {
                        file,
                        base,
                        reason: "no such GPU file is built in".to_owned(),
                    });
                };
                next = Some((base, text));
            }
        }
        match next {
            None => Ok(document),
            Some((base, _)) => Err(SpecificationError::Base {
                file: file.to_owned(),
                base,
                reason: format!("the chain of bases is longer than {MAXIMUM_BASES} files"),
            }),
        }
    }

    /// Name of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Notices about files in the old layout, one for each file.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// True if launches can be timed: the GPU has a `[timing]` half.
    pub fn has_timing(&self) -> bool {
        !self.is_profile && self.has_model()
    }

    /// True if the files hold values of the model.
    pub(crate) fn has_model(&self) -> bool {
        self.model_entries().any(|((section, _), _)| section != POWER)
    }

    pub(crate) fn is_profile(&self) -> bool {
        self.is_profile
    }

    fn model_entries(&self) -> impl Iterator<Item = (&(String, String), &Entry)> {
        self.entries.iter().filter(|((section, _), _)| section != DEVICE && section != DATA_SHEET)
    }

    /// Names and entries of a section.
    pub fn section<'a>(&'a self, section: &'a str) -> impl Iterator<Item = (&'a str, &'a Entry)> {
        let of_section = self.entries.iter().filter(move |((of, _), _)| of == section);
        of_section.map(|((_, name), entry)| (name.as_str(), entry))
    }

    /// Compute capability times ten, if the file or one of its bases states it.
    pub fn capability(&self) -> Option<u32> {
        self.entry(DEVICE, "capability").and_then(|entry| written::capability(entry.value.as_str()?))
    }

    /// Takes over `[device]` of another document if no file has one.
    pub(crate) fn inherit_device(&mut self, other: &Document) {
        if self.section(DEVICE).next().is_none() {
            let inherited = other.entries.iter().filter(|((section, _), _)| section == DEVICE);
            self.entries.extend(inherited.map(|(key, entry)| (key.clone(), entry.clone())));
        }
    }

    /// A key's value, converted to `unit`.
    ///
    /// # Errors
    /// The key is missing, or its value has the wrong type or unit.
    pub fn get<T: Value>(&self, section: &str, name: &str, unit: &str) -> Result<T, SpecificationError> {
        let entry = self.entry(section, name).ok_or_else(|| self.missing(section, name))?;
        let Some(factor) = factor(&entry.unit, unit) else {
            let reason = format!("the unit is `{}`; must be `{unit}`", entry.unit);
            return Err(self.wrong(section, name, &reason));
        };
        T::read(&entry.value).and_then(|value| value.scaled(factor)).ok_or_else(|| match T::CHOICES {
            [] => self.wrong(section, name, "the value has the wrong type or is out of range"),
            choices => self.wrong(section, name, &format!("must be one of {}", choices.join(", "))),
        })
    }

    /// A key's value, converted to `unit`, or the default, written as in TOML, if no file has the key.
    ///
    /// # Errors
    /// The value has the wrong type or unit.
    pub fn get_or<T: Value>(
        &self,
        section: &str,
        name: &str,
        unit: &str,
        default: &str,
    ) -> Result<T, SpecificationError> {
        if self.entry(section, name).is_none()
            && let Ok(written) = toml::from_str::<toml::Table>(&format!("value = {default}"))
            && let Some(value) = written.get("value").and_then(T::read)
        {
            return Ok(value);
        }
        self.get(section, name, unit)
    }

    /// Replaces or adds a value; `by` names the option that does so.
    pub fn set(&mut self, section: &str, name: &str, value: toml::Value, unit: &str, by: &str) {
        let place = Place { file: by.to_owned(), line: None };
        let entry = Entry { value, unit: unit.to_owned(), source: by.to_owned(), place, layer: CHANGED };
        self.entries.insert((section.to_owned(), name.to_owned()), entry);
    }

    /// Entry of a key.
    pub fn entry(&self, section: &str, name: &str) -> Option<&Entry> {
        self.entries.get(&(section.to_owned(), name.to_owned()))
    }

    /// The error of a missing key.
    pub(crate) fn missing(&self, section: &str, name: &str) -> SpecificationError {
        SpecificationError::Missing { file: self.file.clone(), key: format!("{section}.{name}") }
    }

    /// An error about one key's value.
    pub fn wrong(&self, section: &str, name: &str, reason: &str) -> SpecificationError {
        self.disagree(&[(section, name)], reason)
    }

    /// An error about values that contradict one another, given as section and name. Blames the
    /// most recent layer: an option, then the outermost file; within a layer the first key listed.
    pub fn disagree(&self, keys: &[(&str, &str)], reason: &str) -> SpecificationError {
        let entry = |(section, name): &(&str, &str)| self.entry(section, name);
        let mut keys = keys.to_vec();
        // A stable sort keeps the listed order within a layer.
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

    /// Checks that every key of the model is known.
    ///
    /// # Errors
    /// The first unknown key.
    pub fn check_keys(&self, known: &[Key]) -> Result<(), SpecificationError> {
        let unknown = self
            .model_entries()
            .find(|((section, name), _)| !known.iter().any(|key| key.section == section && key.name == name));
        unknown.map_or(Ok(()), |((section, name), entry)| Err(unknown_key(section, name, entry, known)))
    }
}

/// The error of an unknown key.
pub(crate) fn unknown_key(section: &str, name: &str, entry: &Entry, known: &[Key]) -> SpecificationError {
    let key = format!("{section}.{name}");
    SpecificationError::Unknown {
        place: entry.place.clone(),
        value: entry.value.to_string(),
        closest: closest(&key, known),
        key,
    }
}

/// The known key (`section.name`) closest in spelling, if any is close.
pub(crate) fn closest(key: &str, known: &[Key]) -> Option<String> {
    let candidates = known.iter().map(|key| format!("{}.{}", key.section, key.name));
    let closest = candidates.map(|other| (distance(key, &other), other)).min();
    closest.filter(|(distance, _)| *distance <= key.len() / 2).map(|(_, key)| key)
}

/// Size of a unit in the wanted unit; `None` if the units measure different things.
fn factor(unit: &str, wanted: &str) -> Option<u64> {
    match (unit, wanted) {
        _ if unit == wanted => Some(1),
        ("KiB", "B") => Some(1 << 10),
        ("MiB", "B") => Some(1 << 20),
        ("GiB", "B") => Some(1 << 30),
        ("GHz", "MHz") | ("GB/s", "MB/s") | ("MHz", "kHz") => Some(1000),
        ("W", "mW") | ("V", "mV") | ("pJ", "fJ") => Some(1000),
        ("GHz", "kHz") | ("nJ", "fJ") => Some(1_000_000),
        _ => None,
    }
}

/// Levenshtein distance.
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
    fn unknown_key_error_names_line_and_closest_key() {
        let document = parse("[timing.l1]\nlatancy = { value = 1, unit = \"cycles\", source = \"\" }");
        let error = document.check_keys(KEYS).unwrap_err();
        let text = "gpu.toml, line 2: `l1.latancy = 1`: unknown key; did you mean `l1.latency`?";
        assert_eq!(error.to_string(), text);
    }

    /// Error text for a file of these lines; the first line is the section's head.
    fn refused(lines: &[&str]) -> String {
        Document::parse("gpu.toml", &lines.join("\n")).unwrap_err().to_string()
    }

    #[test]
    fn missing_unit_or_source_is_named_with_key_and_value() {
        for (written, shown, missing) in [
            ("{ value = 28, source = \"\" }", "28", "unit"),
            ("{ value = 28, unit = \"cycles\" }", "28", "source"),
            ("{ unit = \"cycles\", source = \"\" }", "{ source = \"\", unit = \"cycles\" }", "value"),
        ] {
            let text = refused(&["[timing.l1]", "", &format!("latency = {written}")]);
            let expected = format!("gpu.toml, line 3: `l1.latency = {shown}`: the {missing} is missing");
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn bare_number_error_shows_the_full_form() {
        assert_eq!(
            refused(&["[timing.l1]", "latency = 28"]),
            "gpu.toml, line 2: `l1.latency = 28`: unit and source are missing; \
             write { value = 28, unit = \"…\", source = \"…\" }"
        );
    }

    #[test]
    fn unknown_part_of_a_key_is_named() {
        assert_eq!(
            refused(&["[timing.l1]", "latency = { value = 28, unit = \"cycles\", sauce = \"\" }"]),
            "gpu.toml, line 2: `l1.latency = 28`: unknown part `sauce`; a key has value, unit and source"
        );
    }

    #[test]
    fn unit_must_be_text() {
        assert_eq!(
            refused(&["[timing.l1]", "latency = { value = 28, unit = 1, source = \"\" }"]),
            "gpu.toml, line 2: `l1.latency = 28`: the unit must be text in quotes"
        );
    }

    #[test]
    fn value_outside_sections_is_an_error() {
        assert_eq!(
            refused(&["# remark", "latency = 28"]),
            "gpu.toml, line 2: `latency = 28`: keys belong in [device], [timing.UNIT], [power] or \
             [data_sheet], as name = { value, unit, source }"
        );
        assert_eq!(
            refused(&["base = 7"]),
            "gpu.toml, line 1: `base = 7`: must be the name of a built-in GPU or of a file ending in .toml"
        );
    }

    #[test]
    fn malformed_line_is_shown_with_its_number() {
        let text = refused(&["[timing.l1]", "  latency = { value 28 }"]);
        let shown = text.strip_prefix("gpu.toml, line 2: `latency = { value 28 }`: ").unwrap();
        assert!(!shown.contains('\n') && !shown.contains("line 1"), "{shown}");
    }

    #[test]
    fn value_of_the_wrong_type_is_an_error() {
        let document = parse("[timing.l1]\nlatency = { value = \"28\", unit = \"cycles\", source = \"\" }");
        assert_eq!(
            document.get::<u32>("l1", "latency", "cycles").unwrap_err().to_string(),
            "gpu.toml, line 2: `l1.latency = \"28\"`: the value has the wrong type or is out of range"
        );
    }

    /// A file over a base, with these values of `l1.size` and `l1.sets`.
    fn layered(size: &str, sets: &str, base: &str) -> Document {
        let line = |name: &str, value: &str| match value {
            "" => String::new(),
            value => format!("{name} = {{ value = {value}, unit = \"\", source = \"\" }}\n"),
        };
        let text = format!("base = \"old\"\n[timing.l1]\n{}{}", line("size", size), line("sets", sets));
        Document::with_bases("new.toml", &text, &|name| (name == "old").then(|| base.to_owned())).unwrap()
    }

    #[test]
    fn contradiction_blames_the_most_recent_layer() {
        let base = "[timing.l1]\nsize = { value = 8, unit = \"\", source = \"\" }\nsets = { value = 4, unit = \"\", source = \"\" }";
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
    fn wrong_unit_error_names_both_units() {
        let document = parse("[timing.l1]\nlatency = { value = 1, unit = \"ns\", source = \"\" }");
        let error = document.get::<u32>("l1", "latency", "cycles").unwrap_err();
        assert_eq!(
            error.to_string(),
            "gpu.toml, line 2: `l1.latency = 1`: the unit is `ns`; must be `cycles`"
        );
    }

    #[test]
    fn kibibytes_convert_to_bytes() {
        let document = parse("[timing.l1]\nsize = { value = 128, unit = \"KiB\", source = \"\" }");
        assert_eq!(document.get::<u32>("l1", "size", "B"), Ok(128 << 10));
    }

    #[test]
    fn value_too_large_for_its_unit_is_an_error() {
        let document = parse("[timing.l1]\nsize = { value = 4294967295, unit = \"KiB\", source = \"\" }");
        assert!(document.get::<u32>("l1", "size", "B").is_err());
    }

    #[test]
    fn a_missing_key_is_named() {
        let error = parse("").get::<u32>("l1", "size", "B").unwrap_err();
        assert_eq!(error.to_string(), "gpu.toml: `l1.size` is missing");
    }

    #[test]
    fn file_overrides_values_of_its_base() {
        let entry = |value: u32| format!("{{ value = {value}, unit = \"cycles\", source = \"\" }}");
        let base = format!("[timing.l1]\nlatency = {}\nwidth = {}", entry(1), entry(2));
        let text = format!("base = \"old\"\n[timing.l1]\nlatency = {}", entry(3));
        let document =
            Document::with_bases("new.toml", &text, &|name| (name == "old").then(|| base.clone())).unwrap();
        assert_eq!(document.get::<u32>("l1", "latency", "cycles"), Ok(3));
        assert_eq!(document.get::<u32>("l1", "width", "cycles"), Ok(2));
    }

    #[test]
    fn endless_chain_of_bases_is_an_error() {
        let error = Document::with_bases("a.toml", "base = \"a\"", &|_| Some("base = \"a\"".to_owned()));
        assert!(matches!(error, Err(SpecificationError::Base { .. })));
    }
}

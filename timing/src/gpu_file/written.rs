//! The text of a GPU's file: `base`, `[device]`, `[timing.UNIT]`, `[power]`, `[data_sheet]`; each key
//! has a value, a unit and a source.

mod old_layout;

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::document::FIRST_FILE;
use super::{Entry, Place, SpecificationError};

/// Section of the keys that a program is told.
pub(crate) const DEVICE: &str = "device";

/// Section of the figures that a data sheet gives.
pub(crate) const DATA_SHEET: &str = "data_sheet";

/// Section of energies and powers.
pub(crate) const POWER: &str = "power";

/// Table of the model's sections.
const TIMING: &str = "timing";

/// Table within `[device]` of answers for single libraries.
const LIBRARIES: &str = "libraries";

/// Characters of a malformed line that an error shows.
const SHOWN: usize = 100;

/// The form of a value of `base`.
const BASE: &str = "must be the name of a built-in GPU or of a file ending in .toml";

/// The form of a file.
const SHAPE: &str =
    "keys belong in [device], [timing.UNIT], [power] or [data_sheet], as name = { value, unit, source }";

/// Content of a file.
#[derive(Default)]
pub(crate) struct Written {
    /// Name of the base.
    pub base: Option<String>,
    /// Section, name and value of each key.
    pub entries: Vec<(String, String, Entry)>,
    /// Says how the new layout writes a file of the old one.
    pub old_layout: Option<String>,
    /// The file is a device profile of the old layout, which has no timing half.
    pub is_profile: bool,
}

/// A file that is being read.
struct Reader<'a> {
    file: &'a str,
    /// Bytes at which lines end, so that each of the many keys finds its line at once.
    line_ends: Vec<usize>,
    /// Position of each value.
    places: &'a DeTable<'a>,
    layer: usize,
    written: Written,
}

/// Reads a file; `layer` counts the files above it.
///
/// # Errors
/// The text is no TOML, or a key has another form.
pub(crate) fn read(file: &str, text: &str, layer: usize) -> Result<Written, SpecificationError> {
    let malformed = |error| malformed(file, text, &error);
    let table: Table = toml::from_str(text).map_err(malformed)?;
    let places = DeTable::parse(text).map_err(malformed)?;
    let mut reader = Reader {
        file,
        line_ends: line_ends(text),
        places: places.get_ref(),
        layer,
        written: Written::default(),
    };
    for (name, value) in table {
        reader.top_level(&name, value)?;
    }
    Ok(reader.written)
}

impl Reader<'_> {
    fn top_level(&mut self, name: &str, value: Value) -> Result<(), SpecificationError> {
        match (name, value) {
            ("base", Value::String(base)) => self.written.base = Some(base),
            (DEVICE, Value::Table(keys)) => self.device(keys)?,
            (TIMING, Value::Table(sections)) => {
                for (section, keys) in sections {
                    let path = [TIMING, &section];
                    let Value::Table(keys) = keys else { return Err(self.wrong(&path, &keys, SHAPE)) };
                    self.section(&section, &path, keys)?;
                }
            }
            // A file that builds on this one has a data sheet of its own.
            (DATA_SHEET, Value::Table(_)) if self.layer > FIRST_FILE => {}
            (DATA_SHEET, Value::Table(keys)) => self.section(DATA_SHEET, &[DATA_SHEET], keys)?,
            (POWER, Value::Table(keys)) => self.section(POWER, &[POWER], keys)?,
            ("base", other) => return Err(self.wrong(&["base"], &other, BASE)),
            (name, value) => self.old_layout(name, value)?,
        }
        Ok(())
    }

    fn device(&mut self, mut keys: Table) -> Result<(), SpecificationError> {
        if let Some(Value::Table(libraries)) = keys.remove(LIBRARIES) {
            for (library, answers) in libraries {
                let path = [DEVICE, LIBRARIES, &library];
                let Value::Table(answers) = answers else { return Err(self.wrong(&path, &answers, SHAPE)) };
                for (name, value) in answers {
                    let entry = self.entry(&[DEVICE, LIBRARIES, &library, &name], &value)?;
                    self.add(DEVICE, format!("{LIBRARIES}.{library}.{name}"), entry);
                }
            }
        }
        self.section(DEVICE, &[DEVICE], keys)
    }

    fn section(&mut self, section: &str, path: &[&str], keys: Table) -> Result<(), SpecificationError> {
        for (name, value) in keys {
            let entry = self.entry(&[path, &[&name]].concat(), &value)?;
            self.add(section, name, entry);
        }
        Ok(())
    }

    fn add(&mut self, section: &str, name: String, entry: Entry) {
        self.written.entries.push((section.to_owned(), name, entry));
    }

    /// The entry of a key at a path.
    fn entry(&self, path: &[&str], value: &Value) -> Result<Entry, SpecificationError> {
        entry(value, self.place(path), self.layer).map_err(|reason| self.wrong(path, value, &reason))
    }

    fn place(&self, path: &[&str]) -> Place {
        let at = path.split_first().and_then(|(first, rest)| {
            let first: &Spanned<DeValue<'_>> = self.places.get(*first)?;
            rest.iter().try_fold(first, |at, name| at.get_ref().get(*name))
        });
        place(self.file, &self.line_ends, at.map(|value| value.span().start))
    }

    fn wrong(&self, path: &[&str], value: &Value, reason: &str) -> SpecificationError {
        // Options and messages name the model's keys without the table they stand in.
        let key = path.strip_prefix(&[TIMING]).filter(|rest| rest.len() > 1).unwrap_or(path).join(".");
        // The number alone tells which key of the right form is meant.
        let number = value.as_table().and_then(|parts| parts.get("value"));
        let value = number.unwrap_or(value).to_string();
        let values = vec![(key, value)];
        SpecificationError::Wrong { place: self.place(path), values, reason: reason.to_owned() }
    }
}

/// Compute capability times ten: 70 for `7.0`.
pub(crate) fn capability(text: &str) -> Option<u32> {
    let (major, minor) = text.split_once('.')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    (major < 100 && minor < 10).then(|| major * 10 + minor)
}

/// Entry of a key, or the reason why it is malformed.
fn entry(value: &Value, place: Place, layer: usize) -> Result<Entry, String> {
    let Value::Table(parts) = value else {
        return Err(format!(
            "unit and source are missing; write {{ value = {value}, unit = \"…\", source = \"…\" }}"
        ));
    };
    if let Some(other) = parts.keys().find(|part| !["value", "unit", "source"].contains(&part.as_str())) {
        return Err(format!("unknown part `{other}`; a key has value, unit and source"));
    }
    let part = |name: &str| parts.get(name).ok_or_else(|| format!("the {name} is missing"));
    let text = |name: &str| {
        part(name)?.as_str().map(str::to_owned).ok_or_else(|| format!("the {name} must be text in quotes"))
    };
    Ok(Entry { value: part("value")?.clone(), unit: text("unit")?, source: text("source")?, place, layer })
}

/// Bytes at which lines end.
fn line_ends(text: &str) -> Vec<usize> {
    text.match_indices('\n').map(|(byte, _)| byte).collect()
}

/// Position of a byte in a file.
fn place(file: &str, line_ends: &[usize], byte: Option<usize>) -> Place {
    let line = byte.map(|byte| 1 + line_ends.partition_point(|end| *end < byte));
    Place { file: file.to_owned(), line }
}

fn malformed(file: &str, text: &str, error: &toml::de::Error) -> SpecificationError {
    let place = place(file, &line_ends(text), error.span().map(|span| span.start));
    let line = place.line.and_then(|line| text.lines().nth(line - 1)).unwrap_or_default();
    SpecificationError::Malformed {
        place,
        text: line.trim().chars().take(SHOWN).collect(),
        message: error.message().to_owned(),
    }
}

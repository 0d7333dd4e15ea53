//! A GPU's file as it is written: sections of `key = { value, unit, source }`, each with its line.

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::{Entry, Place, SpecificationError};

/// Letters of a malformed line that an error shows.
const SHOWN: usize = 100;

/// What stands in a file.
pub(super) struct Written {
    /// The file it builds on.
    pub base: Option<String>,
    /// Section, name and value of each key.
    pub entries: Vec<(String, String, Entry)>,
}

/// Reads a file; `layer` says how many others build on it.
///
/// # Errors
/// It is no TOML, or a key has not the shape of one.
pub(super) fn read(file: &str, text: &str, layer: usize) -> Result<Written, SpecificationError> {
    let malformed = |error| malformed(file, text, &error);
    let table: Table = toml::from_str(text).map_err(malformed)?;
    let places = DeTable::parse(text).map_err(malformed)?;
    let places = places.get_ref();
    let place = |at: Option<&Spanned<DeValue<'_>>>| place(file, text, at.map(|value| value.span().start));
    let mut written = Written { base: None, entries: Vec::new() };
    for (section, entries) in table {
        let section_at = places.get(section.as_str());
        match entries {
            Value::String(base) if section == "base" => written.base = Some(base),
            Value::Table(entries) if section != "base" => {
                for (name, value) in entries {
                    let place = place(section_at.and_then(|table| table.get_ref().get(name.as_str())));
                    let entry = entry(&value, place.clone(), layer)
                        .map_err(|reason| wrong(place, format!("{section}.{name}"), &value, &reason))?;
                    written.entries.push((section.clone(), name, entry));
                }
            }
            other => {
                let reason = match section.as_str() {
                    "base" => "it is the name of a GPU that is part of the program",
                    _ => "keys stand in sections: [section], and name = { value, unit, source } below",
                };
                return Err(wrong(place(section_at), section, &other, reason));
            }
        }
    }
    Ok(written)
}

/// The value of a key, or what is wrong with its shape.
fn entry(value: &Value, place: Place, layer: usize) -> Result<Entry, String> {
    let Value::Table(parts) = value else {
        return Err(format!(
            "it has no unit and no source; write {{ value = {value}, unit = \"…\", source = \"…\" }}"
        ));
    };
    if let Some(other) = parts.keys().find(|part| !["value", "unit", "source"].contains(&part.as_str())) {
        return Err(format!("a key has a value, a unit and a source, and no `{other}`"));
    }
    let part = |name: &str| parts.get(name).ok_or_else(|| format!("the {name} is missing"));
    let text = |name: &str| {
        part(name)?.as_str().map(str::to_owned).ok_or_else(|| format!("the {name} is no text in quotes"))
    };
    Ok(Entry { value: part("value")?.clone(), unit: text("unit")?, source: text("source")?, place, layer })
}

fn wrong(place: Place, key: String, value: &Value, reason: &str) -> SpecificationError {
    // Of a key as it should be, the number alone says which it is.
    let number = value.as_table().and_then(|parts| parts.get("value"));
    let value = number.unwrap_or(value).to_string();
    SpecificationError::Wrong { place, values: vec![(key, value)], reason: reason.to_owned() }
}

/// Where a byte of a file is.
fn place(file: &str, text: &str, byte: Option<usize>) -> Place {
    let before = byte.and_then(|byte| text.as_bytes().get(..byte));
    let lines = before.map(|before| before.iter().filter(|letter| **letter == b'\n').count());
    Place { file: file.to_owned(), line: lines.map(|lines| lines + 1) }
}

fn malformed(file: &str, text: &str, error: &toml::de::Error) -> SpecificationError {
    let place = place(file, text, error.span().map(|span| span.start));
    let line = place.line.and_then(|line| text.lines().nth(line - 1)).unwrap_or_default();
    SpecificationError::Malformed {
        place,
        text: line.trim().chars().take(SHOWN).collect(),
        message: error.message().to_owned(),
    }
}

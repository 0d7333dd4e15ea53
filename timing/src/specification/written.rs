//! GPU files as written: sections of `key = { value, unit, source }`, each key with its line.

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::{Entry, Place, SpecificationError};

/// Characters of a malformed line that an error shows.
const SHOWN: usize = 100;

/// Form of a compute capability, for errors.
const CAPABILITY: &str = "must be written as in \"7.0\"";

/// Content of a file.
pub(super) struct Written {
    /// Name of the base.
    pub base: Option<String>,
    /// Compute capability times ten.
    pub capability: Option<u32>,
    /// Keys as section, name and entry.
    pub entries: Vec<(String, String, Entry)>,
}

/// Reads a file; `layer` counts the files above it.
///
/// # Errors
/// The file is no TOML, or a key is malformed.
pub(super) fn read(file: &str, text: &str, layer: usize) -> Result<Written, SpecificationError> {
    let malformed = |error| malformed(file, text, &error);
    let table: Table = toml::from_str(text).map_err(malformed)?;
    let places = DeTable::parse(text).map_err(malformed)?;
    let places = places.get_ref();
    let place = |at: Option<&Spanned<DeValue<'_>>>| place(file, text, at.map(|value| value.span().start));
    let mut written = Written { base: None, capability: None, entries: Vec::new() };
    for (section, entries) in table {
        let section_at = places.get(section.as_str());
        match entries {
            Value::String(base) if section == "base" => written.base = Some(base),
            Value::String(text) if section == "capability" => {
                let capability = capability(&text).ok_or_else(|| {
                    let value = Value::String(text.clone());
                    wrong(place(section_at), section.clone(), &value, CAPABILITY)
                })?;
                written.capability = Some(capability);
            }
            Value::Table(entries) if !["base", "capability"].contains(&section.as_str()) => {
                for (name, value) in entries {
                    let place = place(section_at.and_then(|table| table.get_ref().get(name.as_str())));
                    let entry = entry(&value, place.clone(), layer)
                        .map_err(|reason| wrong(place, format!("{section}.{name}"), &value, &reason))?;
                    written.entries.push((section.clone(), name, entry));
                }
            }
            other => {
                let reason = match section.as_str() {
                    "base" => "must be the name of a built-in GPU",
                    "capability" => CAPABILITY,
                    _ => "keys belong in sections: [section], then name = { value, unit, source }",
                };
                return Err(wrong(place(section_at), section, &other, reason));
            }
        }
    }
    Ok(written)
}

/// Compute capability times ten: 70 for `7.0`.
fn capability(text: &str) -> Option<u32> {
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

fn wrong(place: Place, key: String, value: &Value, reason: &str) -> SpecificationError {
    // For a complete key, the value alone identifies it.
    let number = value.as_table().and_then(|parts| parts.get("value"));
    let value = number.unwrap_or(value).to_string();
    SpecificationError::Wrong { place, values: vec![(key, value)], reason: reason.to_owned() }
}

/// Position of a byte in a file.
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

//! `voltsim explain device`: what programs are told about a GPU, and what each answer follows from.

use std::io::Write;

use timing::specification::device::{Answer, KEYS, Origin};
use timing::specification::{DeviceSpec, Document, Key};

use super::unknown;
use crate::failure::Failure;
use crate::gpu_file;
use crate::table;

/// Name of the section.
pub(super) const SECTION: &str = "device";

/// Writes all keys and answers of a GPU.
pub(super) fn section(document: &Document, out: &mut dyn Write) -> Result<(), Failure> {
    let spec = gpu_file::spec(document)?;
    let keys: Vec<[String; 3]> = KEYS
        .iter()
        .map(|key| [key.name.to_owned(), value(key, document, &spec), key.meaning.to_owned()])
        .collect();
    table::write(out, ["key", "value", "meaning"], &keys)?;
    writeln!(out)?;
    let answer =
        |(name, answer): (&String, &Answer)| [name.clone(), answer.value.to_string(), source(&answer.origin)];
    let answers: Vec<[String; 3]> = spec.answers.iter().map(answer).collect();
    table::write(out, ["answer", "value", "follows from"], &answers)?;
    for (library, told) in &spec.libraries {
        for (name, value) in told {
            writeln!(out, "{library}*: {name} = {value}")?;
        }
    }
    Ok(())
}

/// Writes a key or attribute.
pub(super) fn one(name: &str, document: &Document, out: &mut dyn Write) -> Result<(), Failure> {
    let spec = gpu_file::spec(document)?;
    let key = KEYS.iter().find(|key| key.name == name);
    let answer = spec.answers.get(name);
    match (key, answer) {
        (None, None) => return Err(unknown(&format!("{SECTION}.{name}"))),
        (Some(key), _) => {
            writeln!(out, "{SECTION}.{name}: {}", key.meaning)?;
            writeln!(out, "  value: {}", value(key, document, &spec))?;
        }
        (None, Some(answer)) => {
            let attribute = format!("CU_DEVICE_ATTRIBUTE_{}", name.to_ascii_uppercase());
            writeln!(out, "{SECTION}.{name}: The device attribute {attribute} of the CUDA driver API.")?;
            writeln!(out, "  value: {}", answer.value)?;
        }
    }
    match (document.entry(SECTION, name), answer) {
        (Some(entry), _) => writeln!(out, "  source: {} ({})", entry.source, entry.place)?,
        (None, Some(answer)) => writeln!(out, "  source: {}", source(&answer.origin))?,
        (None, None) => {}
    }
    Ok(())
}

/// A key's value: that of the file, that of the model, or the default.
fn value(key: &Key, document: &Document, spec: &DeviceSpec) -> String {
    match (document.entry(SECTION, key.name), spec.answers.get(key.name), key.default) {
        (Some(entry), ..) => format!("{} {}", entry.value, entry.unit),
        (None, Some(answer), _) => format!("{} {}", answer.value, key.unit),
        (None, None, Some(default)) => format!("{default} {} (default)", key.unit),
        (None, None, None) => String::new(),
    }
}

fn source(origin: &Origin) -> String {
    match origin {
        Origin::File(source, place) => format!("{source} ({place})"),
        Origin::Model(keys) => (*keys).to_owned(),
        Origin::Capability(source) => format!("capability: {source}"),
    }
}

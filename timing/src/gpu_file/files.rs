//! GPUs by name and by file: `gpus/NAME.toml` is part of the program, files of users build on these.

use std::fs;
use std::path::Path;

use super::{Document, SpecificationError};

include!(concat!(env!("OUT_DIR"), "/gpus.rs"));

/// The GPU that holds where none is named.
pub const DEFAULT: &str = "titan-v";

/// A name that ends in `.toml` is the path of a file.
pub fn is_file(name: &str) -> bool {
    name.ends_with(".toml")
}

/// The name of a GPU that is part of the program, as its file spells it: hyphens and capitals do not matter.
pub fn spelt(name: &str) -> Option<&'static str> {
    let plain = |name: &str| name.replace('-', "").to_ascii_lowercase();
    let wanted = plain(name);
    BUILT_IN.iter().map(|(known, _)| *known).find(|known| plain(known) == wanted)
}

/// Names of the GPUs that are part of the program, the default first.
pub fn names() -> impl Iterator<Item = &'static str> {
    let others = BUILT_IN.iter().map(|(name, _)| *name).filter(|name| *name != DEFAULT);
    std::iter::once(DEFAULT).chain(others)
}

/// Names of the GPUs of the program that launches can be timed on, the default first.
pub fn timed() -> impl Iterator<Item = &'static str> {
    names().filter(|name| built_in(name).is_ok_and(|document| document.has_timing()))
}

/// The document of a GPU: that in a file if the name ends in `.toml`, else one that is part of the program.
///
/// # Errors
/// There is no GPU of that name, or the file cannot be read, is malformed, or has an unknown base.
pub fn named(name: &str) -> Result<Document, SpecificationError> {
    if !is_file(name) {
        return built_in(name);
    }
    let text = fs::read_to_string(name).map_err(|error| SpecificationError::Unreadable {
        file: name.to_owned(),
        reason: error.to_string(),
    })?;
    document(name, &text)
}

/// The document of a GPU that is part of the program, by name.
///
/// # Errors
/// There is no GPU of that name.
pub fn built_in(name: &str) -> Result<Document, SpecificationError> {
    let (name, text) = text(name)?;
    Document::with_bases(&format!("{name}.toml"), &text, &find)
}

/// The name, and the file as it is written, of a GPU that is part of the program.
///
/// # Errors
/// There is no GPU of that name.
pub fn text(name: &str) -> Result<(&'static str, String), SpecificationError> {
    let found = spelt(name).and_then(|name| Some((name, find(name)?)));
    found.ok_or_else(|| SpecificationError::NoGpu {
        name: name.to_owned(),
        known: names().collect::<Vec<_>>().join(", "),
    })
}

/// The document of a GPU's file, which may start from a GPU that is part of the program, or from a
/// file beside it. A file without `[device]` has that of its base, or of the default.
///
/// # Errors
/// The file is malformed, or its base is unknown.
pub fn document(file: &str, text: &str) -> Result<Document, SpecificationError> {
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let base = |name: &str| match is_file(name) {
        true => fs::read_to_string(folder.join(name)).ok(),
        false => find(name),
    };
    let mut document = Document::with_bases(file, text, &base)?;
    document.inherit_device(&built_in(DEFAULT)?);
    Ok(document)
}

/// Compute capability of a GPU, ten times, by its name or file; nothing if the file does not give it.
pub fn capability(name: &str) -> Option<u32> {
    named(name).ok()?.capability()
}

fn find(name: &str) -> Option<String> {
    let name = spelt(name)?;
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
}

/// First sentence of a GPU's file, which says what the GPU is.
pub fn about(name: &str) -> Option<String> {
    let text = find(name)?;
    let line = text.lines().next()?.trim_start_matches(['#', ' ']);
    let sentence = line.split_once(". ").map_or(line, |(sentence, _)| sentence);
    Some(sentence.trim_end_matches('.').to_owned())
}

//! Changes of single values: `section.key=value`.

use super::document::closest;
use super::{Document, Key, SpecificationError, quantity};

/// Applies a change of one of `keys`; the value may carry a unit or is in the key's unit.
///
/// # Errors
/// The text is malformed, the key unknown or the value unsuitable.
pub(crate) fn change_of(document: &mut Document, text: &str, keys: &[Key]) -> Result<(), SpecificationError> {
    let wrong = SpecificationError::Change;
    let shape = || wrong(format!("`{text}`: must be written as section.key=value"));
    let (key, value) = text.split_once('=').ok_or_else(shape)?;
    let (section, name) = key.trim().split_once('.').ok_or_else(shape)?;
    let known = keys.iter().find(|known| known.section == section && known.name == name);
    let known = known.ok_or_else(|| {
        let near = closest(key.trim(), keys);
        let near = near.map_or_else(String::new, |key| format!("; did you mean `{key}`?"));
        wrong(format!("unknown key `{}`{near}", key.trim()))
    })?;
    let value = quantity::read(value.trim(), known.unit)
        .map_err(|reason| wrong(format!("`{}`: {reason}", text.trim())))?;
    document.set(section, name, value, known.unit, "--set");
    Ok(())
}

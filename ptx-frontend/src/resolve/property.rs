//! Initial values of textures, samplers and surfaces: `{ addr_mode_0 = wrap, filter_mode = linear }` (PTX
//! manual 5.3).

use super::error::ResolveError;
use crate::ir::Initial;
use crate::parse::tree::Word;

/// Allowed properties and the names allowed after `=`; a property without names takes a number.
const PROPERTIES: &[(&str, &[&str])] = &[
    ("width", &[]),
    ("height", &[]),
    ("depth", &[]),
    ("channel_data_type", &[]),
    ("channel_order", &[]),
    ("array_size", &[]),
    ("num_mipmap_levels", &[]),
    ("num_samples", &[]),
    ("memory_layout", &[]),
    ("normalized_coords", &[]),
    ("force_unnormalized_coords", &[]),
    ("filter_mode", &["nearest", "linear"]),
    ("addr_mode_0", ADDRESS_MODES),
    ("addr_mode_1", ADDRESS_MODES),
    ("addr_mode_2", ADDRESS_MODES),
];

const ADDRESS_MODES: &[&str] = &["wrap", "mirror", "clamp_ogl", "clamp_to_edge", "clamp_to_border"];

/// Properties in the braces `text`.
pub(super) fn parse(variable: &str, text: Word<'_>) -> Result<Vec<Initial>, ResolveError> {
    let fail = |reason: String| ResolveError::Initialiser { name: variable.to_owned(), reason };
    let inner = text.text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let inner = inner.ok_or_else(|| fail("properties must be in braces".to_owned()))?;
    let properties = inner.split(',').map(str::trim).filter(|property| !property.is_empty());
    properties
        .map(|property| {
            let (name, value) =
                property.split_once('=').ok_or_else(|| fail(format!("`{property}` is not NAME = VALUE")))?;
            let (name, value) = (name.trim(), value.trim());
            let (_, names) = PROPERTIES
                .iter()
                .find(|(known, _)| *known == name)
                .ok_or_else(|| fail(format!("`{name}` is not a property")))?;
            let fits = if names.is_empty() { value.parse::<u32>().is_ok() } else { names.contains(&value) };
            if !fits {
                return Err(fail(format!("`{value}` is not a value of {name}")));
            }
            Ok(Initial::Property { name: name.to_owned(), value: value.to_owned() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(text: &str) -> Result<Vec<Initial>, ResolveError> {
        parse("s", Word { text, at: 0 })
    }

    #[test]
    fn properties_are_names_and_values() {
        let property =
            |name: &str, value: &str| Initial::Property { name: name.to_owned(), value: value.to_owned() };
        assert_eq!(
            properties("{ addr_mode_0 = clamp_to_border, filter_mode = nearest, width = 4 }"),
            Ok(vec![
                property("addr_mode_0", "clamp_to_border"),
                property("filter_mode", "nearest"),
                property("width", "4")
            ])
        );
        assert_eq!(properties("{}"), Ok(vec![]));
    }

    #[test]
    fn unknown_properties_and_values_are_errors() {
        for text in ["1", "{1}", "{colour = 1}", "{filter_mode = cubic}", "{width = wide}", "{width = 1"] {
            assert!(properties(text).is_err(), "{text}");
        }
    }
}

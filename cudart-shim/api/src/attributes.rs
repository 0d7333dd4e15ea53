//! The table of device attributes, and the Rust enumeration made from it.

use crate::TableError;
use std::fmt::Write as _;

const TABLE: &str = include_str!("../attributes.tsv");

/// Number and name of every attribute, ascending.
pub fn attributes() -> Result<Vec<(u32, &'static str)>, TableError> {
    let mut attributes = Vec::new();
    for (index, line) in TABLE.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let attribute = line.split_once('\t').and_then(|(number, name)| Some((number.parse().ok()?, name)));
        attributes.push(attribute.ok_or_else(|| TableError {
            table: "attributes.tsv",
            line: index + 1,
            message: "not a number and a name".to_owned(),
        })?);
    }
    Ok(attributes)
}

/// Source for `include!` in the core: `enum Attribute` and `ATTRIBUTES`, the pairs of variant and
/// name.
pub fn generate() -> Result<String, TableError> {
    let attributes = attributes()?;
    let mut text = String::from(
        "/// A device attribute; the value is its number in `CUdevice_attribute`.\n\
         #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]\n#[allow(dead_code)]\n#[repr(u32)]\n\
         pub(crate) enum Attribute {\n",
    );
    let variant = |name: &str| name.split('_').map(crate::errors::capitalised).collect::<String>();
    for (number, name) in &attributes {
        let _ = writeln!(text, "/// `{name}`.\n{} = {number},", variant(name));
    }
    let _ = writeln!(text, "}}\npub(crate) static ATTRIBUTES: [(Attribute, &str); {}] = [", attributes.len());
    for (_, name) in &attributes {
        let _ = writeln!(text, "(Attribute::{}, {name:?}),", variant(name));
    }
    text.push_str("];\n");
    Ok(text)
}

#[cfg(test)]
mod tests {
    #[test]
    fn attribute_numbers_ascend() {
        let attributes = super::attributes().unwrap_or_default();
        assert!(attributes.len() > 150);
        assert!(attributes.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}

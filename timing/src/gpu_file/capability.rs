//! Limits by compute capability, as the CUDA programming guide tabulates them: `capabilities.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::written;

/// A row of the table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    unit: String,
    source: String,
    /// Values by the capability from which they hold.
    from: BTreeMap<String, i32>,
}

/// The rows by attribute. A test reads the file, so that it is never malformed.
static TABLE: LazyLock<BTreeMap<String, Row>> =
    LazyLock::new(|| toml::from_str(include_str!("capabilities.toml")).unwrap_or_default());

/// Attribute, value and source of each limit of a capability, which is given ten times.
pub(crate) fn limits(capability: u32) -> impl Iterator<Item = (&'static str, i32, String)> {
    let major = ("compute_capability_major", capability / 10);
    let minor = ("compute_capability_minor", capability % 10);
    let own = [major, minor].map(|(name, value)| (name, value as i32, "the capability itself".to_owned()));
    let of_row = move |(name, row): (&'static String, &'static Row)| {
        Some((name.as_str(), value(row, capability)?, row.source.clone()))
    };
    own.into_iter().chain(TABLE.iter().filter_map(of_row))
}

/// The limit of one attribute.
pub(crate) fn limit(name: &str, capability: u32) -> Option<i32> {
    value(TABLE.get(name)?, capability)
}

/// The unit of an attribute that the table has.
pub(crate) fn unit(name: &str) -> Option<&'static str> {
    TABLE.get(name).map(|row| row.unit.as_str())
}

fn value(row: &Row, capability: u32) -> Option<i32> {
    let known = row.from.iter().filter_map(|(from, value)| Some((written::capability(from)?, *value)));
    known.filter(|(from, _)| *from <= capability).max_by_key(|(from, _)| *from).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_capabilities_is_well_formed() {
        let table: BTreeMap<String, Row> = toml::from_str(include_str!("capabilities.toml")).unwrap();
        for (name, row) in table {
            assert!(!row.source.is_empty() && !row.unit.is_empty(), "{name}");
            assert!(row.from.contains_key("2.0"), "{name}");
            assert!(row.from.keys().all(|from| written::capability(from).is_some()), "{name}");
        }
    }

    #[test]
    fn a_limit_holds_until_a_later_capability_changes_it() {
        let ctas = |capability| limit("max_blocks_per_multiprocessor", capability);
        assert_eq!([70, 72, 75, 80, 86, 89, 90, 120].map(ctas), [32, 32, 16, 32, 16, 24, 32, 24].map(Some));
    }
}

//! Launches of a statistics file, one by one: a file may have more than fit the memory.

use std::fmt;
use std::io::Read;

use serde::de::{DeserializeSeed, Deserializer as _, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::ColumnsError;
use crate::table::Kind;

/// A value of a row with the name of its column.
pub(crate) type Field<'a> = (String, &'a Value);

/// Parts of a launch that are tables of their own.
const TABLES: [&str; 4] = ["series", "source_counts", "dram_channels", "ranges"];

/// Values that belong to the whole file, by name.
pub(crate) type About = Vec<(String, String)>;

/// Reads a file and gives each launch to `take`. Returns what the file says of the whole run.
pub(crate) fn read(
    statistics: impl Read,
    take: &mut dyn FnMut(&Value) -> Result<(), ColumnsError>,
) -> Result<About, ColumnsError> {
    let mut refused = None;
    let mut reader = serde_json::Deserializer::from_reader(std::io::BufReader::new(statistics));
    let run = reader.deserialize_map(Run { take, refused: &mut refused });
    match (refused, run) {
        (Some(error), _) => Err(error),
        (None, Err(error)) => Err(error.into()),
        (None, Ok(run)) => run.ok_or(ColumnsError::NoRun),
    }
}

/// Number of a launch in the run.
pub(crate) fn number(launch: &Value) -> u64 {
    launch["launch"].as_u64().unwrap_or_default()
}

/// Columns of a table with launches like this one.
pub(crate) fn columns(launch: &Value) -> Vec<(String, Kind)> {
    let kinds = fields(launch).into_iter().map(|(name, value)| {
        let is_of = |group: &str| launch[group].get(name.as_str()).is_some();
        let kind = match value {
            _ if is_of("counters") => Kind::Whole,
            _ if is_of("derived") => Kind::Real,
            Value::String(_) => Kind::Text,
            Value::Bool(_) => Kind::Flag,
            Value::Number(number) if number.is_f64() => Kind::Real,
            _ => Kind::Whole,
        };
        (name, kind)
    });
    kinds.collect()
}

/// Fields of a launch: sizes by axis, counters and derived statistics under their own names.
pub(crate) fn fields(launch: &Value) -> Vec<Field<'_>> {
    let mut fields = Vec::new();
    let entries = launch.as_object().into_iter().flatten();
    for (name, value) in entries.filter(|(name, _)| !TABLES.contains(&name.as_str())) {
        match name.as_str() {
            "counters" | "derived" => flatten("", value, &mut fields),
            _ => flatten(name, value, &mut fields),
        }
    }
    if launch.get("mangled").is_none() {
        // The name is not mangled.
        fields.push(("mangled".to_owned(), &launch["kernel"]));
    }
    fields
}

fn flatten<'a>(name: &str, value: &'a Value, fields: &mut Vec<Field<'a>>) {
    match value {
        Value::Object(entries) => entries.iter().for_each(|(inner, value)| {
            let dot = if name.is_empty() { "" } else { "." };
            flatten(&format!("{name}{dot}{inner}"), value, fields);
        }),
        Value::Array(sizes) => {
            let axes = ["x", "y", "z"].iter().zip(sizes);
            fields.extend(axes.map(|(axis, size)| (format!("{name}_{axis}"), size)));
        }
        value => fields.push((name.to_owned(), value)),
    }
}

/// A run: an object with a list of launches.
struct Run<'a> {
    take: &'a mut dyn FnMut(&Value) -> Result<(), ColumnsError>,
    refused: &'a mut Option<ColumnsError>,
}

impl<'de> Visitor<'de> for Run<'_> {
    type Value = Option<About>;

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("an object with the launches of a run")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<About>, A::Error> {
        let Run { take, refused } = self;
        let (mut about, mut has_launches) = (About::new(), false);
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "launches" => {
                    map.next_value_seed(Launches { take: &mut *take, refused: &mut *refused })?;
                    has_launches = true;
                }
                "gpu" | "partial" | "same_bytes" | "version" => {
                    let value: Value = map.next_value()?;
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    about.push((format!("voltsim.{name}"), text));
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(has_launches.then_some(about))
    }
}

/// The list of launches.
struct Launches<'a> {
    take: &'a mut dyn FnMut(&Value) -> Result<(), ColumnsError>,
    refused: &'a mut Option<ColumnsError>,
}

impl<'de> DeserializeSeed<'de> for Launches<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Launches<'_> {
    type Value = ();

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("a list of launches")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(launch) = list.next_element::<Value>()? {
            if let Err(error) = (self.take)(&launch) {
                *self.refused = Some(error);
                return Err(A::Error::custom("the launch gives no row"));
            }
        }
        Ok(())
    }
}

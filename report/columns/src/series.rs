//! Rows of a launch's series.

use serde_json::Value;

use crate::launches::Field;
use crate::table::Kind;

/// A counter that every point has.
const CYCLES: &str = "gpu.cycles";

/// The points of a launch.
pub(crate) struct Points<'a> {
    launch: &'a Value,
    zero: Value,
    /// Number and first cycle of each point.
    places: Vec<(Value, Value)>,
}

impl<'a> Points<'a> {
    /// The points of a launch; none if it has no series.
    pub(crate) fn of(launch: &'a Value) -> Option<Points<'a>> {
        let cycles = launch["series"]["counters"][CYCLES].as_array()?;
        let mut first = 0;
        let places = cycles.iter().enumerate().map(|(point, cycles)| {
            let place = (Value::from(point as u64), Value::from(first));
            first += cycles.as_u64().unwrap_or_default();
            place
        });
        Some(Points { launch, zero: Value::from(0), places: places.collect() })
    }

    /// Columns of a table with such points.
    pub(crate) fn columns(&self) -> Vec<(String, Kind)> {
        let about = [("launch", Kind::Whole), ("kernel", Kind::Text), ("point", Kind::Whole)];
        let about = about.into_iter().chain([("first_cycle", Kind::Whole)]);
        let counters = self.launch["counters"].as_object().into_iter().flatten();
        about
            .map(|(name, kind)| (name.to_owned(), kind))
            .chain(counters.map(|(name, _)| (name.clone(), Kind::Whole)))
            .collect()
    }

    /// Rows, one for each point. A counter that the launch has and the series leaves out is 0.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Vec<Field<'_>>> {
        let counters = || self.launch["counters"].as_object().into_iter().flatten();
        self.places.iter().enumerate().map(move |(point, (number, first))| {
            let about = [
                ("launch", &self.launch["launch"]),
                ("kernel", &self.launch["kernel"]),
                ("point", number),
                ("first_cycle", first),
            ];
            let values = counters().map(|(name, whole)| {
                let values = &self.launch["series"]["counters"][name.as_str()];
                let absent = if whole.is_null() { whole } else { &self.zero };
                (name.clone(), values.get(point).unwrap_or(absent))
            });
            about.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(values).collect()
        })
    }
}

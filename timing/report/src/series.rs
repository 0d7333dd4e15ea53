//! Series of launches in JSON.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use timing::series::{Points, Series};
use timing::statistics::Counts;

/// A series: an array for each counter that the record has and that is not 0 everywhere, and arrays
/// of single units.
pub(super) fn json(series: &Series, counts: &Counts) -> Value {
    let known: HashSet<_> = counts.iter().map(|(counter, _)| (counter.section, counter.name)).collect();
    let columns = series.columns().filter(|(own, _)| known.contains(&(own.section, own.name)));
    let counters =
        columns.map(|(counter, values)| (format!("{}.{}", counter.section, counter.name), json!(values)));
    let mut object = json!({ "points": series.points(), "counters": counters.collect::<Map<_, _>>() });
    let units = &series.units;
    for (name, points) in [("sms", &units.sms), ("channels", &units.channels), ("banks", &units.banks)] {
        if points.width() > 1 && points.sums().iter().skip(1).any(|sum| *sum > 0) {
            object[name] = of_units(points);
        }
    }
    object
}

/// Lengths of the points, and the values of each unit.
fn of_units(points: &Points) -> Value {
    let units: Vec<Vec<u64>> = (1..points.width()).map(|unit| points.column(unit)).collect();
    json!({ "cycles": points.column(0), "units": units })
}

//! Counts of a launch over time.

use std::collections::BTreeMap;

use super::fields::Fields;
use crate::ReportError;

/// Counts of a launch in consecutive intervals.
#[derive(Debug)]
pub struct Series {
    counters: BTreeMap<String, Vec<f64>>,
    /// Instructions of each SM.
    pub sms: Option<Map>,
    /// DRAM cycles of each bank with accesses.
    pub banks: Option<Map>,
    /// DRAM cycles of each channel with data on the bus.
    pub channels: Option<Map>,
}

/// Counts of units of a kind in consecutive intervals, perhaps longer ones.
#[derive(Debug)]
pub struct Map {
    /// Length of each interval in core cycles.
    pub cycles: Vec<f64>,
    /// Counts by unit, then by interval.
    pub units: Vec<Vec<f64>>,
}

impl Series {
    pub(super) fn read(fields: &Fields<'_>) -> Result<Series, ReportError> {
        let mut counters = BTreeMap::new();
        for (name, values) in fields.get("counters").entries()? {
            counters.insert(name.to_owned(), values.numbers()?);
        }
        let map = |name: &str| {
            let fields = fields.get(name);
            (!fields.is_missing()).then(|| Map::read(&fields)).transpose()
        };
        Ok(Series { counters, sms: map("sms")?, banks: map("banks")?, channels: map("channels")? })
    }

    /// Lengths of the intervals in core cycles.
    pub fn cycles(&self) -> &[f64] {
        self.counters.get("gpu.cycles").map_or(&[], Vec::as_slice)
    }

    /// Values of a counter; none if all are 0.
    pub fn counter(&self, name: &str) -> Option<&[f64]> {
        self.counters.get(name).map(Vec::as_slice)
    }

    /// Sums of counters by interval.
    pub fn sum(&self, names: &[&str]) -> Vec<f64> {
        let mut sums = vec![0.0; self.cycles().len()];
        for values in names.iter().filter_map(|name| self.counters.get(*name)) {
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        sums
    }
}

impl Map {
    fn read(fields: &Fields<'_>) -> Result<Map, ReportError> {
        let units = fields.get("units").list()?;
        let units = units.iter().map(Fields::numbers).collect::<Result<_, _>>()?;
        Ok(Map { cycles: fields.get("cycles").numbers()?, units })
    }
}

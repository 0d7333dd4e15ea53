//! Series of launches, compressed, and their form in JSON.

use std::collections::HashSet;
use std::env;
use std::fmt;
use std::io;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use voltsim_checkpoint::codec;
use voltsim_checkpoint::journal::JournalWriter;

use crate::series::{Points, Series};
use crate::statistics::Counts;

/// Most bytes of a series.
const LIMIT: usize = 1 << 28;

/// Series by the places of their launches. A large history moves to a temporary file.
pub(super) struct AllSeries(JournalWriter);

impl AllSeries {
    /// No series; a temporary file would be created in `folder`.
    pub(super) fn new(folder: PathBuf) -> AllSeries {
        AllSeries(JournalWriter::new(folder))
    }

    /// Adds the series of the launch at a place.
    pub(super) fn add(&mut self, place: usize, series: &Series) {
        if let Ok(record) = codec::encode(&(place as u64, series)) {
            // A journal that cannot write its temporary file keeps its records in memory.
            let _ = self.0.push(&record);
        }
    }

    /// Launches in their order, each with its series.
    ///
    /// # Errors
    /// The temporary file is unreadable.
    pub(super) fn beside<T>(
        &self,
        launches: impl Iterator<Item = io::Result<T>>,
    ) -> impl Iterator<Item = io::Result<(T, Option<Series>)>> {
        let decode = |record: &[u8]| codec::decode::<LIMIT, (u64, Series)>(record).map_err(io::Error::other);
        let all = self.0.read();
        let mut all = all.map(move |record| decode(&record.map_err(io::Error::other)?)).peekable();
        launches.enumerate().map(move |(place, launch)| {
            let launch = launch?;
            let is_own = |next: &io::Result<(u64, Series)>| match next {
                Ok((own, _)) => *own == place as u64,
                Err(_) => true,
            };
            let series = all.next_if(is_own).transpose()?;
            Ok((launch, series.map(|(_, series)| series)))
        })
    }
}

impl Default for AllSeries {
    fn default() -> AllSeries {
        AllSeries::new(env::temp_dir())
    }
}

impl fmt::Debug for AllSeries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} series", self.0.records())
    }
}

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

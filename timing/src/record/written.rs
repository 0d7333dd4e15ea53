//! Serialised counts: each counter by its [name](crate::statistics::saved), so that records outlive
//! new counters.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use serde::{Deserialize, Deserializer, Serializer};

use crate::statistics::saved::Name;
use crate::statistics::{Counter, Counters, Counts};
use crate::totals::Totals;

/// All counters, in the order of units, with their names.
static COUNTERS: LazyLock<Vec<(Name, &'static Counter)>> = LazyLock::new(|| {
    let mut counters = Vec::new();
    Totals::default().each(&mut |counter, _| counters.push((Name::of(counter), counter)));
    counters
});

/// Saved value of a counter that the run does not model.
const ABSENT: u64 = u64::MAX;

/// Counters without a value, if there are any with one.
pub fn not_modelled(counts: &Counts) -> impl Iterator<Item = &'static Counter> + use<> {
    let name = |counter: &Counter| (counter.section, counter.name);
    let some = !counts.is_empty() && counts.len() < COUNTERS.len();
    let present: HashSet<_> = counts.iter().filter(|_| some).map(|(counter, _)| name(counter)).collect();
    let all = COUNTERS.iter().map(|(_, counter)| *counter);
    all.filter(move |counter| some && !present.contains(&name(counter)))
}

pub(super) fn serialize<S: Serializer>(counts: &Counts, serializer: S) -> Result<S::Ok, S::Error> {
    let counted = counts.iter().map(|(counter, value)| (Name::of(counter), *value));
    let absent = not_modelled(counts).map(|counter| (Name::of(counter), ABSENT));
    // The encoding needs the length in advance.
    serializer.collect_seq(counted.chain(absent).collect::<Vec<_>>())
}

/// All modelled counters if there are any: those without a value are 0, values without a counter
/// are left out.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Counts, D::Error> {
    let values: HashMap<Name, u64> = Vec::deserialize(deserializer)?.into_iter().collect();
    let value = |name: &Name| values.get(name).copied().unwrap_or(0);
    match values.is_empty() {
        true => Ok(Counts::new()),
        false => {
            let all = COUNTERS.iter().map(|(name, counter)| (*counter, value(name)));
            Ok(all.filter(|(_, value)| *value != ABSENT).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use voltsim_checkpoint::codec;

    use super::*;

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Record(#[serde(with = "super")] Counts);

    #[test]
    fn counter_that_is_not_modelled_stays_absent() {
        let counts: Counts = COUNTERS.iter().skip(2).map(|(_, counter)| (*counter, 3)).collect();
        assert_eq!(not_modelled(&counts).count(), 2);
        let bytes = codec::encode(&Record(counts.clone())).unwrap();
        let Record(read) = codec::decode::<{ 1 << 20 }, Record>(&bytes).unwrap();
        assert_eq!(read, counts);
    }

    #[test]
    fn a_record_outlives_new_and_dropped_counters() {
        let (known, counter) = COUNTERS[3];
        let dropped = known.and(".dropped");
        let bytes = codec::encode(&vec![(dropped, 5_u64), (known, 7)]).unwrap();
        let Record(counts) = codec::decode::<1024, Record>(&bytes).unwrap();
        assert_eq!(counts.len(), COUNTERS.len());
        assert_eq!(counts[3], (counter, 7));
        assert!(counts.iter().enumerate().all(|(place, (_, value))| (place == 3) == (*value != 0)));
    }
}

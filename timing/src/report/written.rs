//! Serialised counts: each counter by its number among all counters of a GPU.

use std::sync::LazyLock;

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::gpu::Totals;
use crate::statistics::{Counter, Counters, Counts};

/// All counters, in the order of units.
static COUNTERS: LazyLock<Vec<&'static Counter>> = LazyLock::new(|| {
    let mut counters = Vec::new();
    Totals::default().each(&mut |counter, _| counters.push(counter));
    counters
});

pub(super) fn serialize<S: Serializer>(counts: &Counts, serializer: S) -> Result<S::Ok, S::Error> {
    let number = |place: usize, counter: &Counter| {
        let in_order = COUNTERS.get(place).is_some_and(|known| *known == counter);
        let number = if in_order { Some(place) } else { COUNTERS.iter().position(|known| *known == counter) };
        number.ok_or_else(|| S::Error::custom(format!("unknown counter {}", counter.name)))
    };
    let numbered = counts.iter().enumerate();
    let numbered = numbered.map(|(place, (counter, value))| Ok((number(place, counter)?, *value)));
    numbered.collect::<Result<Vec<_>, S::Error>>()?.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Counts, D::Error> {
    let numbered = Vec::<(usize, u64)>::deserialize(deserializer)?.into_iter();
    let counter = |number: usize| {
        let counter = COUNTERS.get(number).copied();
        counter.ok_or_else(|| D::Error::custom(format!("unknown counter number {number}")))
    };
    numbered.map(|(number, value)| Ok((counter(number)?, value))).collect()
}

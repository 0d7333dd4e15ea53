//! Energy of an ended launch or transfer, and of each point of its series.

use std::sync::LazyLock;

use crate::power::{Ledger, Places, PowerCounters, PowerSection};
use crate::series::Series;
use crate::statistics::{Counter, Counters as _, Counts};
use crate::totals::Totals;

/// Counters in the order of records: places of events, and the place of the first energy.
static OF_RECORDS: LazyLock<Option<(Places, usize)>> = LazyLock::new(|| {
    let mut counters = Vec::new();
    Totals::default().each(&mut |counter, _| counters.push(counter));
    places(&counters)
});

/// Counters in the order of series: the two places there.
static OF_SERIES: LazyLock<Option<(Places, usize)>> = LazyLock::new(|| places(&Series::counters()));

fn places(counters: &[&'static Counter]) -> Option<(Places, usize)> {
    let is_energy = |counter: &Counter| {
        PowerCounters::COUNTERS.first().is_some_and(|first| first.section == counter.section)
    };
    Some((Places::of(counters)?, counters.iter().position(|counter| is_energy(counter))?))
}

/// Sets the energies of a record that has all counters, and those of its series. A GPU without
/// `[power]` has none.
pub(super) fn account(power: &PowerSection, counters: &mut Counts, series: Option<&mut Series>) {
    let Some((places, first)) = &*OF_RECORDS else { return };
    let Some(power) = power.0.as_deref() else { return counters.truncate(*first) };
    let values: Vec<u64> = counters.iter().map(|(_, value)| *value).collect();
    let energies = Ledger::new(power, places).energies(&values, &values);
    counters[*first..].iter_mut().zip(energies).for_each(|((_, value), energy)| *value = energy);
    if let (Some(series), Some((places, first))) = (series, &*OF_SERIES) {
        let ledger = Ledger::new(power, places);
        let whole = series.sums();
        series.account(*first, |until| ledger.energies(until, &whole));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_of_an_energy_is_a_counter() {
        assert!(OF_RECORDS.is_some() && OF_SERIES.is_some());
    }

    #[test]
    fn energies_are_the_last_counters() {
        let last = Series::counters().len() - OF_SERIES.as_ref().unwrap().1;
        assert_eq!(last, PowerCounters::COUNTERS.len() + crate::power::EventEnergies::COUNTERS.len());
    }
}

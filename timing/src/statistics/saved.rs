//! Counters in saved states: each value by the name of its counter, so that a state outlives new
//! counters.
//!
//! A counter that the state does not know starts at 0, and a value whose counter no longer exists
//! is ignored. Names are written as 64-bit hashes of `section.name`; counters that are 0 are left
//! out.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Counter, Counters};

/// The name of a counter as a number: FNV-1a of `section.name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Name(u64);

impl Name {
    /// The name of a counter.
    pub const fn of(counter: &Counter) -> Name {
        Name(0xcbf2_9ce4_8422_2325).and(counter.section).and(".").and(counter.name)
    }

    /// The name with a text behind it.
    #[must_use]
    pub const fn and(self, text: &str) -> Name {
        let (mut hash, mut place) = (self.0, 0);
        while place < text.len() {
            hash = (hash ^ text.as_bytes()[place] as u64).wrapping_mul(0x0100_0000_01b3);
            place += 1;
        }
        Name(hash)
    }
}

/// Values by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Values(BTreeMap<Name, u64>);

impl Values {
    /// The values of counters.
    pub fn of(counters: &impl Counters) -> Values {
        let mut values = Values::default();
        counters.save(&mut |name, value| values.add(name, value));
        values
    }

    /// Adds a value, unless it is 0.
    pub fn add(&mut self, name: Name, value: u64) {
        if value != 0 {
            self.0.insert(name, value);
        }
    }

    /// The value of a name, 0 if there is none.
    pub fn get(&self, name: Name) -> u64 {
        self.0.get(&name).copied().unwrap_or(0)
    }

    /// Counters with the values.
    pub fn counters<C: Counters + Default>(&self) -> C {
        let mut counters = C::default();
        counters.load(&mut |name| self.get(name));
        counters
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.0)
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Values, D::Error> {
        Ok(Values(Vec::<(Name, u64)>::deserialize(deserializer)?.into_iter().collect()))
    }
}

/// Makes counters a part of saved states, by name.
#[macro_export]
macro_rules! saved_counters {
    ($name:ty) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serde::Serialize::serialize(&$crate::statistics::saved::Values::of(self), serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let values: $crate::statistics::saved::Values =
                    serde::Deserialize::deserialize(deserializer)?;
                Ok(values.counters())
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use voltsim_checkpoint::codec;

    use super::*;
    use crate::l2::L2Counters;
    use crate::totals::Totals;

    mod old {
        crate::counters! {
            /// A unit.
            pub struct UnitCounters in "unit" {
                /// Kept.
                kept: "times" = "",
                /// No longer counted.
                dropped: "times" = "",
            }
        }
    }

    mod new {
        crate::counters! {
            /// The unit, some versions later.
            pub struct UnitCounters in "unit" {
                /// New, before one that stays.
                new: "times" = "",
                /// Kept.
                kept: "times" = "",
            }
        }
    }

    #[test]
    fn a_state_outlives_new_and_dropped_counters() {
        let bytes = codec::encode(&(old::UnitCounters { kept: 7, dropped: 3 }, 9_u32)).unwrap();
        let read = codec::decode::<1024, (new::UnitCounters, u32)>(&bytes).unwrap();
        assert_eq!(read, (new::UnitCounters { new: 0, kept: 7 }, 9));
    }

    #[test]
    fn every_counter_has_a_name_of_its_own() {
        let mut names = BTreeSet::new();
        Totals::default().save(&mut |name, _| assert!(names.insert(name)));
        assert!(names.len() > 300);
    }

    #[test]
    fn every_count_of_a_gpu_is_read_as_it_was_written() {
        let mut totals = Totals::default();
        let mut next = 0;
        totals.load(&mut |_| {
            next += 1;
            next
        });
        let bytes = codec::encode(&totals).unwrap();
        assert_eq!(codec::decode::<{ 1 << 20 }, Totals>(&bytes).unwrap(), totals);
    }

    #[test]
    fn reductions_of_l2_stay_apart_from_atomic_operations() {
        let mut counters = L2Counters::default();
        counters.load(&mut |name| name.0 % 1000);
        assert_eq!(Values::of(&counters).counters::<L2Counters>(), counters);
    }
}

//! Timing wheel: events by cycle, with insertion and removal in a few instructions.

use serde::{Deserialize, Serialize};

use crate::slab::{NONE, Slab};

/// Cycles of a turn. Later events stay for another turn.
const SLOTS: u64 = 512;
const WORDS: usize = (SLOTS / 64) as usize;

#[derive(Debug, Clone, Copy)]
struct Entry<T> {
    cycle: u64,
    next: u32,
    thing: T,
}

/// Events by cycle; those of one cycle in insertion order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Things<T>", into = "Things<T>")]
#[serde(bound(serialize = "T: Copy + Serialize", deserialize = "T: Copy + Deserialize<'de>"))]
pub struct Wheel<T> {
    entries: Slab<Entry<T>>,
    /// First and last entry of each slot.
    slots: Vec<(u32, u32)>,
    occupied: [u64; WORDS],
    count: usize,
    /// Lower bound of all entries.
    now: u64,
}

/// Saved form of a wheel.
#[derive(Serialize, Deserialize)]
struct Things<T> {
    now: u64,
    /// Events with cycles; those of one cycle in order.
    things: Vec<(u64, T)>,
}

impl<T: Copy> From<Things<T>> for Wheel<T> {
    fn from(Things { now, things }: Things<T>) -> Wheel<T> {
        let mut wheel = Wheel { now, ..Wheel::default() };
        things.into_iter().for_each(|(cycle, thing)| wheel.add(cycle, thing));
        wheel
    }
}

impl<T: Copy> From<Wheel<T>> for Things<T> {
    fn from(wheel: Wheel<T>) -> Things<T> {
        Things { now: wheel.now, things: wheel.things().collect() }
    }
}

impl<T: Copy> Default for Wheel<T> {
    fn default() -> Wheel<T> {
        Wheel {
            entries: Slab::default(),
            slots: vec![(NONE, NONE); SLOTS as usize],
            occupied: [0; WORDS],
            count: 0,
            now: 0,
        }
    }
}

impl<T: Copy> Wheel<T> {
    /// Number of events.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True without events.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// First cycle not yet taken.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Pending events with cycles; those of one cycle in order.
    pub fn things(&self) -> impl Iterator<Item = (u64, T)> {
        let mut slots = self.slots.iter();
        let mut index = NONE;
        std::iter::from_fn(move || {
            while index == NONE {
                index = slots.next()?.0;
            }
            let Entry { cycle, next, thing } = self.entries[index];
            index = next;
            Some((cycle, thing))
        })
    }

    /// Adds an event; a past cycle means now.
    pub fn add(&mut self, cycle: u64, thing: T) {
        let cycle = cycle.max(self.now);
        let index = self.entries.insert(Entry { cycle, next: NONE, thing });
        self.append(index);
        self.count += 1;
    }

    fn append(&mut self, index: u32) {
        let slot = (self.entries[index].cycle % SLOTS) as usize;
        match self.slots[slot] {
            (NONE, _) => self.slots[slot] = (index, index),
            (first, last) => {
                self.entries[last].next = index;
                self.slots[slot] = (first, index);
            }
        }
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    /// Cycle of the earliest event, or an earlier one whose slot holds only events of later turns.
    pub fn next_event(&self) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let start = (self.now % SLOTS) as usize;
        (0..=WORDS).find_map(|step| {
            let word = (start / 64 + step) % WORDS;
            let bits = match step {
                0 => self.occupied[word] & (u64::MAX << (start % 64)),
                _ => self.occupied[word],
            };
            (bits != 0).then(|| {
                let slot = (word * 64) as u64 + u64::from(bits.trailing_zeros());
                self.now + (slot + SLOTS - start as u64) % SLOTS
            })
        })
    }

    /// Removes events up to `cycle`, cycle by cycle.
    pub fn take_until(&mut self, cycle: u64, mut take: impl FnMut(T)) {
        while let Some(next) = self.next_event().filter(|next| *next <= cycle) {
            self.now = next;
            let slot = (next % SLOTS) as usize;
            let (mut index, _) = std::mem::replace(&mut self.slots[slot], (NONE, NONE));
            self.occupied[slot / 64] &= !(1 << (slot % 64));
            let mut later = Vec::new();
            while index != NONE {
                let entry = &mut self.entries[index];
                let following = std::mem::replace(&mut entry.next, NONE);
                if entry.cycle == next {
                    take(entry.thing);
                    self.entries.discard(index);
                    self.count -= 1;
                } else {
                    later.push(index);
                }
                index = following;
            }
            // The rest of the slot is for later turns.
            for index in later {
                self.append(index);
            }
            self.now = next + 1;
        }
        self.now = self.now.max(cycle.saturating_add(1));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use voltsim_checkpoint::codec;

    use super::*;

    fn take(wheel: &mut Wheel<u32>, cycle: u64) -> Vec<u32> {
        let mut taken = Vec::new();
        wheel.take_until(cycle, |thing| taken.push(thing));
        taken
    }

    #[test]
    fn events_of_one_cycle_keep_insertion_order() {
        let mut wheel = Wheel::default();
        wheel.add(7, 1);
        wheel.add(3, 2);
        wheel.add(7, 3);
        assert_eq!(wheel.next_event(), Some(3));
        assert_eq!(take(&mut wheel, 10), [2, 1, 3]);
        assert!(wheel.is_empty());
    }

    #[test]
    fn restored_wheel_turns_as_before() {
        let mut wheel = Wheel::default();
        wheel.take_until(99, |_: u32| {});
        for (cycle, thing) in [(2000, 1), (500, 2), (500 + SLOTS, 3), (500, 4), (101, 5)] {
            wheel.add(cycle, thing);
        }
        let bytes = codec::encode(&wheel).unwrap();
        let mut read: Wheel<u32> = codec::decode::<65536, _>(&bytes).unwrap();
        assert_eq!((read.next_event(), read.len()), (wheel.next_event(), wheel.len()));
        for cycle in (100..2100).step_by(50) {
            assert_eq!(take(&mut read, cycle), take(&mut wheel, cycle));
        }
        assert!(read.is_empty());
    }

    proptest! {
        #[test]
        fn events_come_at_their_cycle(
            delays in prop::collection::vec((0_u64..2000, 0_u64..40), 0..100)
        ) {
            let mut wheel = Wheel::default();
            let mut expected = Vec::new();
            let mut taken = Vec::new();
            let mut now = 0;
            for (index, (delay, step)) in delays.into_iter().enumerate() {
                wheel.add(now + delay, index as u32);
                expected.push((now + delay, index as u32));
                wheel.take_until(now, |thing| taken.push((now, thing)));
                for _ in 0..step {
                    now += 1;
                    wheel.take_until(now, |thing| taken.push((now, thing)));
                }
                now += 1;
            }
            for _ in 0..2100 {
                wheel.take_until(now, |thing| taken.push((now, thing)));
                now += 1;
            }
            expected.sort_unstable();
            taken.sort_unstable();
            prop_assert_eq!(taken, expected);
            prop_assert!(wheel.is_empty());
        }
    }
}

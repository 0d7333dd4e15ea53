//! Timing wheel: things by time, those of one time in the order of their calls.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Times of a turn. Later things wait in a heap.
const SLOTS: u64 = 1024;
const WORDS: usize = (SLOTS / 64) as usize;
/// End of a list.
const NONE: u32 = u32::MAX;

/// A thing with the next one of its time.
#[derive(Debug, Clone, Copy)]
struct Entry<T> {
    thing: T,
    next: u32,
}

/// Things by time.
#[derive(Debug, Clone)]
pub(super) struct Wheel<T> {
    entries: Vec<Entry<T>>,
    /// First free entry.
    free: u32,
    /// First and last entry of each slot.
    slots: Vec<[u32; 2]>,
    occupied: [u64; WORDS],
    count: usize,
    /// Lower bound of the times of things.
    first: u64,
    /// Last time asked for; the slots hold those less than a turn later.
    now: u64,
    /// Time, number of the call, thing. A later call for the same time is never here if an earlier one
    /// is in a slot.
    far: BinaryHeap<Reverse<(u64, u64, T)>>,
    calls: u64,
}

impl<T: Copy + Ord> Wheel<T> {
    /// No things.
    pub fn new() -> Wheel<T> {
        Wheel {
            entries: Vec::new(),
            free: NONE,
            slots: vec![[NONE; 2]; SLOTS as usize],
            occupied: [0; WORDS],
            count: 0,
            first: u64::MAX,
            now: 0,
            far: BinaryHeap::new(),
            calls: 0,
        }
    }

    /// Adds a thing. A past time means the last one taken.
    #[inline]
    pub fn add(&mut self, at: u64, thing: T) {
        let at = at.max(self.now);
        self.first = self.first.min(at);
        if at - self.now >= SLOTS {
            self.calls += 1;
            self.far.push(Reverse((at, self.calls, thing)));
            return;
        }
        let entry = Entry { thing, next: NONE };
        let index = match self.free {
            NONE => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
            free => {
                self.free = self.entries[free as usize].next;
                self.entries[free as usize] = entry;
                free
            }
        };
        let slot = (at % SLOTS) as usize;
        match self.slots[slot] {
            [NONE, _] => self.slots[slot] = [index; 2],
            [_, last] => {
                self.entries[last as usize].next = index;
                self.slots[slot][1] = index;
            }
        }
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.count += 1;
    }

    /// Time of the earliest thing.
    #[inline]
    pub fn next(&self) -> Option<u64> {
        let far = self.far.peek().map(|Reverse((at, ..))| *at);
        match (self.next_slot(), far) {
            (Some(near), Some(far)) => Some(near.min(far)),
            (near, far) => near.or(far),
        }
    }

    #[inline]
    fn next_slot(&self) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let start = (self.now % SLOTS) as usize;
        let first = self.occupied[start / 64] & u64::MAX << (start % 64);
        if first != 0 {
            return Some(self.now + u64::from(first.trailing_zeros()) - (start % 64) as u64);
        }
        (1..=WORDS).find_map(|step| {
            let word = (start / 64 + step) % WORDS;
            let slot = (word * 64) as u64 + u64::from(self.occupied[word].trailing_zeros());
            (self.occupied[word] != 0).then(|| self.now + (slot + SLOTS - start as u64) % SLOTS)
        })
    }

    /// Removes the first thing of a time or earlier, and returns it with its time.
    #[inline]
    pub fn take(&mut self, until: u64) -> Option<(u64, T)> {
        if until < self.first {
            self.now = self.now.max(until);
            return None;
        }
        self.take_due(until)
    }

    #[inline]
    fn take_due(&mut self, until: u64) -> Option<(u64, T)> {
        let near = self.next_slot().filter(|at| *at <= until);
        if !self.far.is_empty()
            && let Some(taken) = self.take_far(near, until)
        {
            return Some(taken);
        }
        let Some(at) = near else {
            self.now = self.now.max(until);
            self.first = self.next().unwrap_or(u64::MAX);
            return None;
        };
        self.now = at;
        let slot = (at % SLOTS) as usize;
        let first = self.slots[slot][0];
        let Entry { thing, next } = self.entries[first as usize];
        self.entries[first as usize].next = self.free;
        self.free = first;
        self.slots[slot][0] = next;
        if next == NONE {
            self.occupied[slot / 64] &= !(1 << (slot % 64));
        }
        self.count -= 1;
        Some((at, thing))
    }

    #[inline(never)]
    fn take_far(&mut self, near: Option<u64>, until: u64) -> Option<(u64, T)> {
        let &Reverse((at, _, thing)) = self.far.peek()?;
        if at > near.unwrap_or(until) {
            return None;
        }
        self.far.pop();
        self.now = self.now.max(at);
        Some((at, thing))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn wheel_agrees_with_a_sorted_list(
            calls in prop::collection::vec((any::<bool>(), 0_u64..3000), 1..400)
        ) {
            let mut wheel = Wheel::new();
            let mut list: Vec<(u64, u32)> = Vec::new();
            let mut now = 0;
            for (number, (adds, later)) in calls.into_iter().enumerate() {
                if adds {
                    wheel.add(now + later, number as u32);
                    list.push((now + later, number as u32));
                } else {
                    now += later;
                    list.sort();
                    prop_assert_eq!(wheel.next(), list.first().map(|first| first.0));
                    while let Some(first) = list.first().copied().filter(|first| first.0 <= now) {
                        prop_assert_eq!(wheel.take(now), Some(first));
                        list.remove(0);
                    }
                    prop_assert_eq!(wheel.take(now), None);
                }
            }
        }
    }
}

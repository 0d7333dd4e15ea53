//! A queue of timed items that knows without a memory access if the first is due.

use std::collections::VecDeque;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Items with the cycles at which they are due, in the order of removal.
#[derive(Debug, Clone)]
pub struct TimedQueue<T> {
    /// Cycle of the first item; `u64::MAX` if empty.
    next: u64,
    items: VecDeque<(u64, T)>,
}

impl<T> Default for TimedQueue<T> {
    fn default() -> TimedQueue<T> {
        TimedQueue { next: u64::MAX, items: VecDeque::new() }
    }
}

impl<T: Copy> TimedQueue<T> {
    /// Cycle of the first item; `u64::MAX` if empty.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Appends an item.
    #[inline]
    pub fn push(&mut self, cycle: u64, item: T) {
        if self.items.is_empty() {
            self.next = cycle;
        }
        self.items.push_back((cycle, item));
    }

    /// Inserts an item before later ones.
    #[inline]
    pub fn insert(&mut self, cycle: u64, item: T) {
        if self.items.back().is_none_or(|(last, _)| *last <= cycle) {
            return self.push(cycle, item);
        }
        let later = self.items.iter().rev().take_while(|(other, _)| *other > cycle).count();
        self.items.insert(self.items.len() - later, (cycle, item));
        self.next = self.next.min(cycle);
    }

    /// Removes the first item if it is due at a cycle.
    #[inline]
    pub fn take(&mut self, cycle: u64) -> Option<T> {
        if self.next > cycle {
            return None;
        }
        let first = self.items.pop_front();
        self.next = self.items.front().map_or(u64::MAX, |(cycle, _)| *cycle);
        first.map(|(_, item)| item)
    }

    /// First item.
    pub fn first(&self) -> Option<T> {
        self.items.front().map(|(_, item)| *item)
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True if empty.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All items with their cycles.
    pub fn iter(&self) -> impl Iterator<Item = &(u64, T)> {
        self.items.iter()
    }
}

impl<T: Serialize> Serialize for TimedQueue<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.items.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for TimedQueue<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TimedQueue<T>, D::Error> {
        let items = VecDeque::<(u64, T)>::deserialize(deserializer)?;
        Ok(TimedQueue { next: items.front().map_or(u64::MAX, |(cycle, _)| *cycle), items })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(due: &mut TimedQueue<char>, cycle: u64) -> String {
        std::iter::from_fn(|| due.take(cycle)).collect()
    }

    #[test]
    fn inserted_items_leave_in_cycle_order() {
        let mut due = TimedQueue::default();
        for (cycle, item) in [(5, 'a'), (3, 'b'), (5, 'c'), (4, 'd')] {
            due.insert(cycle, item);
        }
        assert_eq!((due.next(), due.take(2)), (3, None));
        assert_eq!(taken(&mut due, 10), "bdac");
        assert_eq!(due.next(), u64::MAX);
    }

    #[test]
    fn pushed_items_wait_for_earlier_ones() {
        let mut due = TimedQueue::default();
        due.push(5, 'a');
        due.push(3, 'b');
        assert_eq!((due.next(), taken(&mut due, 4).as_str()), (5, ""));
        assert_eq!(taken(&mut due, 5), "ab");
    }

    #[test]
    fn saved_item_is_due_at_the_same_cycle() {
        let mut due = TimedQueue::default();
        due.push(7, 'a');
        let written = serde_json::to_string(&due).unwrap();
        let read: TimedQueue<char> = serde_json::from_str(&written).unwrap();
        assert_eq!((read.next(), read.first()), (7, Some('a')));
    }
}

//! Replacement: which line of a set goes when another one needs its place.

mod fifo;
mod lru;
mod second_chance;

use super::{Entry, set::Set};
use crate::slab::{NONE, Slab};

crate::choice! {
    /// Which line of a set goes.
    pub enum Replacement {
        /// The least recently used.
        Lru = "lru",
        /// The one that came first.
        Fifo = "fifo",
        /// The one that came first and was not used since it was last looked at.
        SecondChance = "second-chance",
    }
}

impl Replacement {
    /// A line was used.
    pub fn used(self, set: &mut Set, entries: &mut Slab<Entry>, number: u32) {
        match self {
            Replacement::Lru => lru::used(set, entries, number),
            Replacement::Fifo => {}
            Replacement::SecondChance => second_chance::used(entries, number),
        }
    }

    /// The line that goes, among those for which `may_go`.
    pub fn victim(
        self,
        set: &mut Set,
        entries: &mut Slab<Entry>,
        may_go: impl Fn(&Entry) -> bool,
    ) -> Option<u32> {
        match self {
            Replacement::Lru => lru::victim(set, entries, may_go),
            Replacement::Fifo => fifo::victim(set, entries, may_go),
            Replacement::SecondChance => second_chance::victim(set, entries, may_go),
        }
    }
}

/// The last line of a set for which `may_go`.
fn last(set: &Set, entries: &Slab<Entry>, may_go: impl Fn(&Entry) -> bool) -> Option<u32> {
    let mut number = set.last;
    while number != NONE && !may_go(&entries[number]) {
        number = entries[number].previous;
    }
    (number != NONE).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines 0, 1, 2 come, 0 is used; then all go.
    fn order(policy: Replacement) -> Vec<u64> {
        let (mut set, mut entries) = (Set::EMPTY, Slab::default());
        let numbers = [0, 1, 2].map(|line| {
            let number = entries.insert(Entry::new(line, 0));
            set.push(&mut entries, number);
            number
        });
        policy.used(&mut set, &mut entries, numbers[0]);
        let mut order = Vec::new();
        while let Some(victim) = policy.victim(&mut set, &mut entries, |_| true) {
            set.remove(&mut entries, victim);
            order.push(entries[victim].line);
        }
        order
    }

    #[test]
    fn lru_evicts_in_the_order_of_use() {
        assert_eq!(order(Replacement::Lru), [1, 2, 0]);
    }

    #[test]
    fn fifo_evicts_in_the_order_of_arrival() {
        assert_eq!(order(Replacement::Fifo), [0, 1, 2]);
    }

    #[test]
    fn second_chance_evicts_what_was_not_used_first() {
        assert_eq!(order(Replacement::SecondChance), [1, 2, 0]);
    }

    #[test]
    fn a_line_that_may_not_go_stays() {
        for policy in [Replacement::Lru, Replacement::Fifo, Replacement::SecondChance] {
            let (mut set, mut entries) = (Set::EMPTY, Slab::default());
            let number = entries.insert(Entry::new(0, 0));
            set.push(&mut entries, number);
            assert_eq!(policy.victim(&mut set, &mut entries, |_| false), None);
        }
    }
}

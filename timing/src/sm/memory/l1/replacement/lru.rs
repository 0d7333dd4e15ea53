//! The least recently used line goes: the list is in the order of use.

use super::{Entry, Set, Slab, last};

pub fn used(set: &mut Set, entries: &mut Slab<Entry>, number: u32) {
    set.move_to_front(entries, number);
}

pub fn victim(set: &Set, entries: &Slab<Entry>, may_go: impl Fn(&Entry) -> bool) -> Option<u32> {
    last(set, entries, may_go)
}

//! The line that came first goes: the list is in the order of arrival.

use super::{Entry, Set, Slab, last};

pub fn victim(set: &Set, entries: &Slab<Entry>, may_go: impl Fn(&Entry) -> bool) -> Option<u32> {
    last(set, entries, may_go)
}

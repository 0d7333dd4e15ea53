//! The line that came first goes, unless it was used: then it is treated as if it had just come.

use super::{Entry, Set, Slab, last};

pub fn used(entries: &mut Slab<Entry>, number: u32) {
    entries[number].used = true;
}

pub fn victim(set: &mut Set, entries: &mut Slab<Entry>, may_go: impl Fn(&Entry) -> bool) -> Option<u32> {
    // Each round clears a mark, so after one round over the set a line without one is last, or none may go.
    for _ in 0..set.lines {
        let number = set.last;
        if !entries[number].used && may_go(&entries[number]) {
            return Some(number);
        }
        entries[number].used = false;
        set.move_to_front(entries, number);
    }
    last(set, entries, may_go)
}

//! What a warp has executed ahead.

use serde::{Deserialize, Serialize};

/// Machine instructions that are executed ahead, at most.
pub(super) const MOST_AHEAD: usize = 8;

/// A machine instruction that was executed ahead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ahead {
    pub(super) position: u32,
    /// Lanes that have executed it.
    pub(super) active: u32,
}

/// Machine instructions that were executed ahead, in order, [`MOST_AHEAD`] at most. They lie with their warp, as they are looked at
/// in each step.
#[derive(Debug, Default)]
pub(super) struct AheadQueue {
    /// The first is at `taken`.
    items: [Ahead; MOST_AHEAD],
    taken: u8,
    added: u8,
}

impl AheadQueue {
    pub(super) fn clear(&mut self) {
        (self.taken, self.added) = (0, 0);
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.taken == self.added
    }

    /// Whether one more can be added: places are used again when all have been taken.
    #[inline(always)]
    pub(super) fn has_room(&self) -> bool {
        usize::from(self.added) < MOST_AHEAD
    }

    #[inline(always)]
    pub(super) fn first(&self) -> Option<Ahead> {
        if self.is_empty() { None } else { self.items.get(usize::from(self.taken)).copied() }
    }

    #[inline(always)]
    pub(super) fn take(&mut self) -> Option<Ahead> {
        let first = self.first()?;
        self.taken += 1;
        if self.is_empty() {
            self.clear();
        }
        Some(first)
    }

    /// Adds one; there is room.
    #[inline(always)]
    pub(super) fn add(&mut self, ahead: Ahead) {
        if let Some(place) = self.items.get_mut(usize::from(self.added)) {
            *place = ahead;
            self.added += 1;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Ahead> {
        self.items[usize::from(self.taken)..usize::from(self.added)].iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_executed_ahead_is_taken_in_order() {
        let mut queue = AheadQueue::default();
        for start in [0, 100] {
            let mut added = 0;
            while queue.has_room() {
                queue.add(Ahead { position: start + added, active: 1 });
                added += 1;
            }
            assert_eq!(added as usize, MOST_AHEAD);
            let taken: Vec<_> = std::iter::from_fn(|| queue.take()).map(|ahead| ahead.position).collect();
            assert!(taken.into_iter().eq(start..start + added));
            assert!(queue.is_empty() && queue.first().is_none());
        }
    }
}

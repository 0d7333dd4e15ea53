//! The warps of a sub-core in the order of their age.

use serde::{Deserialize, Serialize};

use crate::restore::{Validity, ensure};

/// Warps that a sub-core can have: a warp is a number below it, a set of warps a mask.
pub(super) const MOST_WARPS: usize = 32;

/// The warps of a sub-core, and the one that was issued last.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Warps {
    last: u32,
    present: u32,
    /// For each present warp, the present warps that are older.
    older: [u32; MOST_WARPS],
}

impl Warps {
    /// A saved order fits the warps that are present.
    pub(super) fn check(&self, present: u32) -> Validity {
        ensure(self.last < MOST_WARPS as u32, "no such warp can have been issued")?;
        let mut by_age: Vec<u32> = (0..32).filter(|warp| present >> warp & 1 != 0).collect();
        by_age.sort_by_key(|&warp| self.older[warp as usize].count_ones());
        let mut before = 0;
        let ordered = by_age.into_iter().all(|warp| {
            let is_next = self.older[warp as usize] == before;
            before |= 1 << warp;
            is_next
        });
        ensure(ordered && self.present == present, "other warps are in the order of age")
    }

    pub(super) fn begin(&mut self, warp: u32) {
        self.older[warp as usize % MOST_WARPS] = self.present;
        self.present |= 1 << warp;
    }

    pub(super) fn end(&mut self, warp: u32) {
        let others = !(1 << warp);
        self.older.iter_mut().for_each(|older| *older &= others);
        self.present &= others;
    }

    #[inline(always)]
    pub(super) fn issued(&mut self, warp: u32) {
        self.last = warp;
    }

    /// The warp that was issued last.
    #[inline(always)]
    pub fn last(&self) -> u32 {
        self.last
    }

    /// The warps that are present.
    pub fn present(&self) -> u32 {
        self.present
    }

    /// The oldest warp of a set of present warps that is not empty.
    #[inline(always)]
    pub fn oldest(&self, set: u32) -> u32 {
        let mut warp = set.trailing_zeros();
        loop {
            match set & self.older[warp as usize % MOST_WARPS] {
                0 => return warp,
                older => warp = older.trailing_zeros(),
            }
        }
    }

    /// The first warp of a set that is not empty, in turn after the one that was issued last.
    #[inline(always)]
    pub fn after_last(&self, set: u32) -> u32 {
        let start = (self.last + 1) % 32;
        (start + set.rotate_right(start).trailing_zeros()) % 32
    }

    /// The present warps, oldest first.
    pub(super) fn by_age(&self) -> impl Iterator<Item = u32> {
        let mut left = self.present;
        std::iter::from_fn(move || {
            let warp = (left != 0).then(|| self.oldest(left))?;
            left &= !(1 << warp);
            Some(warp)
        })
    }
}

//! Warps of a sub-core in age order.

use serde::{Deserialize, Serialize};

use crate::restore::{Validity, ensure};

/// Most warps of a sub-core: a warp is a number below it, a set of warps a mask.
pub(super) const MOST_WARPS: usize = 32;

/// Warps of a sub-core, and the last issued one.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Warps {
    last: u32,
    present: u32,
    /// For each present warp, the older present warps.
    older: [u32; MOST_WARPS],
}

impl Warps {
    /// Checks a restored order against the present warps.
    pub(super) fn check(&self, present: u32) -> Validity {
        ensure(self.last < MOST_WARPS as u32, "the last issued warp is invalid")?;
        let mut by_age: Vec<u32> = (0..32).filter(|warp| present >> warp & 1 != 0).collect();
        by_age.sort_by_key(|&warp| self.older[warp as usize].count_ones());
        let mut before = 0;
        let ordered = by_age.into_iter().all(|warp| {
            let is_next = self.older[warp as usize] == before;
            before |= 1 << warp;
            is_next
        });
        ensure(ordered && self.present == present, "the age order has other warps")
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

    /// The last issued warp.
    #[inline(always)]
    pub fn last(&self) -> u32 {
        self.last
    }

    /// The warps that are present.
    pub fn present(&self) -> u32 {
        self.present
    }

    /// The oldest warp of a nonempty set of present warps.
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

    /// The first warp of a nonempty set after the last issued one, round robin.
    #[inline(always)]
    pub fn after_last(&self, set: u32) -> u32 {
        let start = (self.last + 1) % 32;
        (start + set.rotate_right(start).trailing_zeros()) % 32
    }

    /// Present warps, oldest first.
    pub(super) fn by_age(&self) -> impl Iterator<Item = u32> {
        let mut left = self.present;
        std::iter::from_fn(move || {
            let warp = (left != 0).then(|| self.oldest(left))?;
            left &= !(1 << warp);
            Some(warp)
        })
    }
}

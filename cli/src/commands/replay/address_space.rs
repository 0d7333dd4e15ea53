//! The device memory in which buffers of captured launches are placed.

use std::ops::Range;

use cuda_driver::{BLOCK, Driver, DriverError};
use launch_capture::{Accessible, Buffer, Capture};

/// Alignment that an allocation keeps of its old address, at most, in bytes.
const ALIGNMENT: u64 = 256;

/// Memory that launches use one after the other.
#[derive(Default)]
pub(super) struct AddressSpace {
    /// Memory at its captured address, in whole blocks.
    claimed: Stretches,
    /// Blocks of it that launches can reach.
    reached: Stretches,
    /// Allocations elsewhere.
    loose: Vec<u64>,
}

/// Stretches of addresses that do not touch each other, in order.
#[derive(Default)]
struct Stretches(Vec<Range<u64>>);

impl Stretches {
    /// The blocks in which ranges lie, given as first byte and bytes.
    fn around(mut ranges: Vec<(u64, u64)>) -> Stretches {
        ranges.sort_unstable();
        let mut stretches: Vec<Range<u64>> = Vec::new();
        for (address, size) in ranges.into_iter().filter(|(_, size)| *size > 0) {
            let Some(end) = address.saturating_add(size).checked_next_multiple_of(BLOCK) else { continue };
            match stretches.last_mut().filter(|last| address / BLOCK * BLOCK <= last.end) {
                Some(last) => last.end = last.end.max(end),
                None => stretches.push(address / BLOCK * BLOCK..end),
            }
        }
        Stretches(stretches)
    }

    fn hold(&self, start: u64, end: u64) -> bool {
        let before = self.0.partition_point(|stretch| stretch.start <= start);
        let stretch = before.checked_sub(1).and_then(|last| self.0.get(last));
        stretch.is_some_and(|stretch| end <= stretch.end)
    }
}

impl AddressSpace {
    /// Claims the addresses of all launches' buffers, and of other memory that was allocated at
    /// their time, as far as the driver grants them. The address of a buffer decides which memory
    /// partitions serve it.
    pub(super) fn claim<'a>(
        driver: &Driver,
        launches: impl IntoIterator<Item = (&'a Capture, Option<&'a Accessible>)>,
    ) -> Result<AddressSpace, DriverError> {
        let (mut reached, mut wanted) = (Vec::new(), Vec::new());
        for (capture, accessible) in launches {
            let is_claimed = |buffer: &&Buffer| buffer.variable.is_none() && !buffer.is_of_heap();
            let buffers = capture.launch().buffers.iter().filter(is_claimed);
            reached.extend(buffers.map(|buffer| (buffer.address.0, buffer.size)));
            if driver.can_narrow() {
                wanted.extend(accessible.iter().flat_map(|accessible| &accessible.ranges));
            }
        }
        wanted.extend(&reached);
        let mut space = AddressSpace { reached: Stretches::around(reached), ..AddressSpace::default() };
        for stretch in Stretches::around(wanted).0 {
            if driver.map_at(stretch.start, stretch.end - stretch.start)? {
                space.claimed.0.push(stretch);
            }
        }
        Ok(space)
    }

    /// True if several launches use it.
    pub(super) fn is_used_again(&self) -> bool {
        !self.claimed.0.is_empty()
    }

    /// True if these addresses lie where they lay.
    pub(super) fn has(&self, start: u64, end: u64) -> bool {
        self.claimed.hold(start, end)
    }

    /// True if these addresses lie where they lay and launches can reach them.
    pub(super) fn reaches(&self, start: u64, end: u64) -> bool {
        self.has(start, end) && self.reached.hold(start, end)
    }

    /// Room for what lay from `start` to `end`: there, if that is possible.
    pub(super) fn room(&mut self, driver: &Driver, start: u64, end: u64) -> Result<u64, DriverError> {
        if end > start && self.has(start, end) {
            return Ok(start);
        }
        let above = start % ALIGNMENT;
        let address = driver.allocate((end - start).max(1).saturating_add(above))?;
        self.loose.push(address);
        Ok(address + above)
    }

    /// Frees what was allocated for a launch that is over.
    pub(super) fn clear(&mut self, driver: &Driver) -> Result<(), DriverError> {
        self.loose.drain(..).try_for_each(|address| driver.free(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_in_the_same_or_adjacent_blocks_share_a_stretch() {
        let ranges = vec![(5 * BLOCK + 8, 8), (BLOCK - 1, 2), (100, 1), (9 * BLOCK, 0), (6 * BLOCK, BLOCK)];
        assert_eq!(Stretches::around(ranges).0, [0..2 * BLOCK, 5 * BLOCK..7 * BLOCK]);
    }

    #[test]
    fn stretches_hold_what_lies_in_one_of_them() {
        let stretches = Stretches(vec![10..20, 30..40]);
        let held = [(10, 20), (35, 40), (9, 11), (19, 21), (15, 35), (20, 25)];
        assert_eq!(
            held.map(|(start, end)| stretches.hold(start, end)),
            [true, true, false, false, false, false]
        );
    }
}

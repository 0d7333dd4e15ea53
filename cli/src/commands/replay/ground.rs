//! The device memory in which buffers of captured launches are placed.

use std::collections::BTreeSet;

use cuda_driver::{BLOCK, Driver, DriverError};
use launch_capture::{Buffer, Capture};

/// What an allocation keeps of its old address: alignment up to this many bytes.
const ALIGNMENT: u64 = 256;

/// Memory that launches use one after the other.
#[derive(Default)]
pub(super) struct Ground {
    /// Numbers of the blocks that lie where they lay when the launches were captured.
    blocks: BTreeSet<u64>,
    /// What was allocated elsewhere.
    loose: Vec<u64>,
}

impl Ground {
    /// Takes the addresses that the buffers of all launches had, as far as the driver gives them. Where buffers lie decides
    /// which partitions of the memory they use.
    pub(super) fn claim<'a>(
        driver: &Driver,
        captures: impl IntoIterator<Item = &'a Capture>,
    ) -> Result<Ground, DriverError> {
        let mut wanted = BTreeSet::new();
        for capture in captures {
            let is_claimed = |buffer: &&Buffer| buffer.variable.is_none() && !buffer.is_of_heap();
            for buffer in capture.launch().buffers.iter().filter(is_claimed) {
                wanted.extend(blocks(buffer.address.0, buffer.address.0.saturating_add(buffer.size)));
            }
        }
        let mut ground = Ground::default();
        let wanted: Vec<u64> = wanted.into_iter().collect();
        for run in wanted.chunk_by(|one, next| one + 1 == *next) {
            if let (Some(first), Some(last)) = (run.first(), run.last())
                && driver.map_at(first * BLOCK, (last - first + 1) * BLOCK)?
            {
                ground.blocks.extend(run);
            }
        }
        Ok(ground)
    }

    /// Whether several launches use it.
    pub(super) fn is_used_again(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Whether these addresses lie where they lay.
    pub(super) fn has(&self, start: u64, end: u64) -> bool {
        blocks(start, end).all(|block| self.blocks.contains(&block))
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

/// The blocks in which bytes lie.
fn blocks(start: u64, end: u64) -> impl Iterator<Item = u64> {
    start / BLOCK..end.div_ceil(BLOCK)
}

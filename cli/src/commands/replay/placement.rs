//! Where the buffers of a captured launch lie in this run, and what becomes of the pointers to
//! them.

use std::collections::HashMap;

use cuda_driver::{Driver, DriverError, Module};
use launch_capture::{Accessible, Buffer, Capture, Ranges, Words, word_at};

use super::address_space::AddressSpace;

/// New places for old ones.
pub(super) struct Placement {
    before: Ranges,
    /// Address of each buffer in this run.
    addresses: Vec<u64>,
    /// Addresses of device functions: old and new, as far as variables of the module hold them.
    functions: HashMap<u64, u64>,
    /// Handles of textures and surfaces: old and new.
    pub(super) objects: HashMap<u64, u64>,
    /// Warning of a part that cannot be as it was.
    pub(super) warnings: Vec<String>,
}

impl Placement {
    /// Finds room for the buffers. Adjacent buffers stay adjacent, because their common boundary is
    /// the end of one and the start of the other.
    pub(super) fn new(
        driver: &Driver,
        module: Module,
        (capture, accessible): (&Capture, Option<&Accessible>),
        space: &mut AddressSpace,
    ) -> Result<Placement, DriverError> {
        let buffers = &capture.launch().buffers;
        let mut placement = Placement {
            before: capture.ranges(),
            addresses: vec![0; buffers.len()],
            functions: HashMap::new(),
            objects: HashMap::new(),
            warnings: Vec::new(),
        };
        let has_heap = driver.set_heap(&capture.launch().heap(accessible));
        let mut loose: Vec<usize> = Vec::new();
        for (number, buffer) in buffers.iter().enumerate() {
            let in_heap = (has_heap && buffer.is_of_heap()).then_some(buffer.address.0);
            match in_heap.or_else(|| placement.variable(driver, module, buffer)) {
                Some(address) => placement.set(number, address),
                None => loose.push(number),
            }
        }
        let range = |number: &usize| {
            let buffer = buffers.get(*number);
            buffer.map_or((0, 0), |buffer| (buffer.address.0, buffer.address.0.saturating_add(buffer.size)))
        };
        loose.sort_by_key(range);
        for group in loose.chunk_by(|one, next| range(one).1 == range(next).0) {
            let (start, end) =
                (group.first().map_or(0, |n| range(n).0), group.last().map_or(0, |n| range(n).1));
            let address = space.room(driver, start, end)?;
            for number in group {
                placement.set(*number, address + (range(number).0 - start));
            }
        }
        Ok(placement)
    }

    fn set(&mut self, number: usize, address: u64) {
        if let Some(place) = self.addresses.get_mut(number) {
            *place = address;
        }
    }

    fn variable(&mut self, driver: &Driver, module: Module, buffer: &Buffer) -> Option<u64> {
        let name = buffer.variable.as_ref()?;
        let found = driver.variable(module, name);
        if found.is_none_or(|(_, size)| size != buffer.size) {
            let text = "is not shown by the driver at its size, so the kernel sees its initial value";
            self.warnings.push(format!("variable `{name}` {text}"));
            return None;
        }
        found.map(|(address, _)| address)
    }

    /// Address of a buffer in this run.
    pub(super) fn address(&self, number: usize) -> u64 {
        self.addresses.get(number).copied().unwrap_or(0)
    }

    /// Where what was at an address is in this run.
    pub(super) fn moved(&self, address: u64) -> Option<u64> {
        let place = self.before.find(address)?;
        Some(self.address(place.buffer).wrapping_add(place.offset))
    }

    /// Changes the words that are addresses.
    pub(super) fn relocate(&self, bytes: &mut [u8], pointers: &Words) {
        replace(bytes, pointers, |address| self.moved(address));
    }

    /// Changes the words that are handles of textures and surfaces.
    pub(super) fn relocate_objects(&self, bytes: &mut [u8], objects: &Words) {
        replace(bytes, objects, |handle| self.objects.get(&handle).copied());
    }

    /// Learns the new addresses of device functions from a variable of the module, by its captured
    /// and its loaded contents. The variable keeps the loaded addresses.
    pub(super) fn learn_functions(&mut self, bytes: &mut [u8], loaded: &[u8], functions: &Words) {
        for offset in functions.offsets() {
            if let (Some(before), Some(now)) = (word_at(bytes, offset), word_at(loaded, offset)) {
                self.functions.insert(before, now);
            }
        }
        replace(bytes, functions, |address| self.functions.get(&address).copied());
    }

    /// Changes the addresses of device functions in memory that is no variable.
    pub(super) fn relocate_functions(&mut self, number: usize, bytes: &mut [u8], functions: &Words) {
        let mut lost = 0;
        replace(bytes, functions, |address| {
            let now = self.functions.get(&address).copied();
            lost += usize::from(now.is_none());
            now
        });
        if lost > 0 {
            self.warnings.push(format!(
                "buffer {number} holds {lost} addresses of device functions that no variable of the module has; \
                 they are left as they were"
            ));
        }
    }
}

/// Changes the words for which there is a new value.
fn replace(bytes: &mut [u8], words: &Words, mut change: impl FnMut(u64) -> Option<u64>) {
    for offset in words.offsets() {
        let value = word_at(bytes, offset).and_then(&mut change);
        let from = offset as usize;
        if let (Some(value), Some(place)) = (value, bytes.get_mut(from..from.saturating_add(8))) {
            place.copy_from_slice(&value.to_le_bytes());
        }
    }
}

//! Addresses in registered memory. Registrations lie elsewhere in another run, so a checkpoint
//! identifies them by number.

use crate::session::simulator::Simulator;
use crate::session::state::Session;
use functional::memory::{Allocation, AllocationKind, Memory, MemoryError};
use saved_run::{Address, DeviceState};
use std::ops::Range;

/// Bytes of device memory searched at once.
const AT_ONCE: u64 = 1 << 20;

/// An address in checkpoint form.
pub(super) fn of(session: &'static Session, address: u64) -> Address {
    match session.owner_of(address) {
        Some((owner, found)) if found.kind == AllocationKind::Registered => Address::Registered {
            device: owner.ordinal as u64,
            number: found.number,
            offset: address - found.address,
        },
        _ => Address::Same(address),
    }
}

/// The address in this run.
pub(super) fn address(session: &'static Session, address: Address) -> Option<u64> {
    match address {
        Address::Same(address) => Some(address),
        Address::Registered { device, number, offset } => {
            let owner = session.started().find(|simulator| simulator.ordinal as u64 == device)?;
            let registered = *owner.registered.lock().get(&number)?;
            (offset < registered.size).then(|| registered.address + offset)
        }
    }
}

/// Describes the first registration that differs between the saved run and this one.
pub(super) fn other_registration(saved: &DeviceState, simulator: &Simulator) -> Option<String> {
    let registered = simulator.registered.lock();
    let numbers = saved.registered.keys().chain(registered.keys());
    let sizes = |number| [&saved.registered, &*registered].map(|all| all.get(number).map(|found| found.size));
    numbers.map(|number| (number, sizes(number))).find(|(_, [was, is])| was != is).map(|(number, sizes)| {
        let [was, is] = sizes.map(|size| size.map_or("nothing".to_owned(), |size| format!("{size} bytes")));
        format!("registration {number} with device {} had {was} when saved and has {is} now", saved.number)
    })
}

/// Former address ranges of registered memory that moved since the saved run. Addresses in them are
/// invalid here.
#[derive(Debug, Default)]
pub(super) struct Moved {
    ranges: Vec<Range<u64>>,
}

impl Moved {
    /// The ranges moved so far, compared with the saved devices.
    pub(super) fn since(session: &'static Session, saved: &[DeviceState]) -> Moved {
        let mut ranges = Vec::new();
        for state in saved {
            let owner = session.started().find(|simulator| simulator.ordinal as u64 == state.number);
            let Some(owner) = owner else { continue };
            let registered = owner.registered.lock();
            for (number, there) in &state.registered {
                let here = registered.get(number);
                if here.is_some_and(|here| here.address != there.address) {
                    ranges.push(there.address..there.address.saturating_add(there.size));
                }
            }
        }
        Moved { ranges }
    }

    /// Tells whether no registration moved.
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The first word that is a former address, at any alignment.
    pub(super) fn first_in(&self, bytes: &[u8]) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        let words = bytes.array_windows::<8>().map(|word| u64::from_le_bytes(*word));
        words.into_iter().find(|word| self.ranges.iter().any(|range| range.contains(word)))
    }

    /// The first former address in a device's memory.
    pub(super) fn first_in_memory(
        &self,
        memory: &Memory,
        allocations: &[Allocation],
    ) -> Result<Option<u64>, MemoryError> {
        if self.is_empty() {
            return Ok(None);
        }
        let mut bytes = vec![0; AT_ONCE as usize];
        for range in memory.touched(allocations) {
            let mut at = range.start;
            while at + 8 <= range.end {
                let length = AT_ONCE.min(range.end - at);
                let Some(bytes) = bytes.get_mut(..length as usize) else { break };
                memory.read_pages(at, bytes)?;
                if let Some(word) = self.first_in(bytes) {
                    return Ok(Some(word));
                }
                // A word may span two parts.
                at += length - 7;
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn former_address_is_found_at_any_alignment() {
        let moved = Moved { ranges: vec![0x5000..0x6000, 0x9000..0x9100] };
        let mut bytes = [0xff; 32];
        assert_eq!(moved.first_in(&bytes), None);
        bytes[13..21].copy_from_slice(&0x5fff_u64.to_le_bytes());
        assert_eq!(moved.first_in(&bytes), Some(0x5fff));
        bytes[13..21].copy_from_slice(&0x9000_u64.to_le_bytes());
        assert_eq!(moved.first_in(&bytes), Some(0x9000));
        bytes[13..21].copy_from_slice(&0x6000_u64.to_le_bytes());
        assert_eq!(moved.first_in(&bytes), None);
        assert_eq!(moved.first_in(&bytes[..7]), None);
    }

    #[test]
    fn word_across_two_parts_of_memory_is_found() {
        let memory = Memory::new(1 << 30).unwrap();
        let address = memory.allocate(4 << 20, 1, AllocationKind::Device).unwrap();
        let moved = Moved { ranges: vec![0x5000..0x6000, 0x9000..0x9100] };
        memory.write(address, &vec![0xff; 4 << 20]).unwrap();
        assert_eq!(moved.first_in_memory(&memory, &memory.allocations()).unwrap(), None);
        memory.write(address + AT_ONCE - 3, &0x5123_u64.to_le_bytes()).unwrap();
        assert_eq!(moved.first_in_memory(&memory, &memory.allocations()).unwrap(), Some(0x5123));
    }
}

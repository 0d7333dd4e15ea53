//! Claimed memory: address ranges of another process, restored at their addresses. Kernels may be limited
//! to the parts that were allocated there.

use super::allocator::{Allocation, AllocationKind};
use super::{Allocations, Memory};

impl Memory {
    /// Claims addresses for memory of another process. The memory is zeroed, counts nothing, and keeps what
    /// is written there. Returns `false` if part of it is taken.
    pub fn claim(&self, address: u64, size: u64) -> bool {
        let is_claimed = self.allocate_again(address, size, AllocationKind::Mapped);
        if is_claimed {
            self.state.write().claimed.push(address..address + size);
        }
        is_claimed
    }

    /// Limits the allocations in claimed memory to these ranges (address, bytes); without ranges, each
    /// claim is one allocation. Ranges elsewhere are ignored. No kernel may run meanwhile.
    pub fn narrow(&self, ranges: Option<&[(u64, u64)]>) {
        let state = &mut *self.state.write();
        let claimed = state.claimed.clone();
        for stretch in &claimed {
            let inside: Vec<u64> = state.live.range(stretch.clone()).map(|(address, _)| *address).collect();
            for address in inside {
                state.live.remove(&address);
            }
        }
        let Some(ranges) = ranges else {
            for stretch in claimed {
                let size = stretch.end - stretch.start;
                state.set_claimed(stretch.start, size, AllocationKind::Mapped);
            }
            return;
        };
        for (address, size) in ranges.iter().copied().filter(|(_, size)| *size > 0) {
            let holds = |end| claimed.iter().any(|stretch| stretch.start <= address && end <= stretch.end);
            if address.checked_add(size).is_some_and(holds) {
                state.set_claimed(address, size, AllocationKind::Imported);
            }
        }
    }
}

impl Allocations {
    /// Adds an allocation that no call requested.
    fn set_claimed(&mut self, address: u64, size: u64, kind: AllocationKind) {
        let serial = self.next_serial;
        self.next_serial += 1;
        let (reserved, number, idle) = (size, 0, false);
        self.live.insert(address, Allocation { address, size, reserved, kind, serial, number, idle });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: u64 = 2 << 20;

    /// Memory with one claim, and the claim's address.
    fn claimed() -> (Memory, u64) {
        let memory = Memory::new(BLOCK).unwrap();
        let address = memory.allocate(8 * BLOCK, 1, AllocationKind::Host).unwrap();
        memory.free(address).unwrap();
        assert!(memory.claim(address, 4 * BLOCK));
        (memory, address)
    }

    #[test]
    fn narrowed_claims_allocate_exactly_their_ranges() {
        let (memory, address) = claimed();
        memory.narrow(Some(&[(address + 256, 1000), (address + BLOCK, 2 * BLOCK)]));
        assert!(memory.check_range(address + 256, 1000).is_ok());
        assert!(memory.check_range(address + BLOCK, 2 * BLOCK).is_ok());
        for (start, length) in [(255, 1), (255, 2), (256, 1001), (1256, 1), (BLOCK, 2 * BLOCK + 1)] {
            assert!(memory.check_range(address + start, length).is_err(), "{start}, {length}");
        }
    }

    #[test]
    fn adjacent_ranges_stay_separate() {
        let (memory, address) = claimed();
        memory.narrow(Some(&[(address, 4096), (address + 4096, 4096)]));
        assert!(memory.check_range(address + 4090, 6).is_ok());
        assert!(memory.check_range(address + 4090, 7).is_err());
    }

    #[test]
    fn narrowing_keeps_contents_of_claimed_memory() {
        let (memory, address) = claimed();
        memory.write(address + BLOCK - 2, b"volta").unwrap();
        memory.narrow(Some(&[(address, 16)]));
        memory.narrow(Some(&[(address + 32, 16)]));
        assert!(memory.check_range(address, 1).is_err());
        memory.narrow(None);
        let mut bytes = [0; 5];
        memory.read(address + BLOCK - 2, &mut bytes).unwrap();
        assert_eq!((&bytes, memory.used()), (b"volta", 0));
        assert!(memory.check_range(address, 4 * BLOCK).is_ok());
    }

    #[test]
    fn taken_addresses_cannot_be_claimed() {
        let (memory, address) = claimed();
        assert!(!memory.claim(address + 3 * BLOCK, 2 * BLOCK));
        let other = memory.allocate(100, 1, AllocationKind::Device).unwrap();
        memory.narrow(Some(&[(other, 50), (address + 4 * BLOCK - 8, 16), (u64::MAX, 2)]));
        assert_eq!(memory.allocation_of(other).map(|found| found.size), Some(100));
        assert!(memory.check_range(address + 4 * BLOCK - 8, 1).is_err());
    }
}

//! Reserved addresses for module variables and arrays, which must lie where they lay in another process.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;

use crate::memory::{Memory, MemoryError};

/// Reserved addresses. The memory belongs to other allocations and outlives objects placed in it.
#[derive(Debug, Default)]
pub struct ReservedAddresses {
    /// Reserved address of each module variable, by name.
    variables: Mutex<HashMap<String, u64>>,
    /// Reserved addresses of the next arrays, in order.
    arrays: Mutex<VecDeque<u64>>,
}

impl ReservedAddresses {
    /// Replaces all reserved addresses of variables.
    pub fn set_variables(&self, addresses: HashMap<String, u64>) {
        *self.variables.lock() = addresses;
    }

    /// Reserves the address of the next array without one.
    pub fn add_array(&self, address: u64) {
        self.arrays.lock().push_back(address);
    }

    /// Reserved address of a variable of `bytes` bytes, if the memory there is allocated.
    pub(crate) fn variable(&self, memory: &Memory, name: &str, bytes: u64) -> Option<u64> {
        let address = self.variables.lock().get(name).copied()?;
        memory.check_range(address, bytes).is_ok().then_some(address)
    }

    /// Takes the reserved address of the next array. Fails if the memory there is not allocated.
    pub fn next_array(&self, memory: &Memory, bytes: u64) -> Result<Option<u64>, MemoryError> {
        let Some(address) = self.arrays.lock().pop_front() else { return Ok(None) };
        memory.check_range(address, bytes).map(|()| Some(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::AllocationKind;

    #[test]
    fn arrays_consume_addresses_and_variables_keep_theirs() {
        let memory = Memory::new(1 << 20).unwrap();
        let there = memory.allocate(4096, 256, AllocationKind::Device).unwrap();
        let places = ReservedAddresses::default();
        places.add_array(there);
        places.add_array(there + 1024);
        places.set_variables(HashMap::from([("table".to_owned(), there + 512)]));
        let arrays = [100, 100, 100].map(|bytes| places.next_array(&memory, bytes).unwrap());
        assert_eq!(arrays, [Some(there), Some(there + 1024), None]);
        let variables = ["table", "table", "other"].map(|name| places.variable(&memory, name, 8));
        assert_eq!(variables, [Some(there + 512), Some(there + 512), None]);
    }

    #[test]
    fn too_small_reservations_fail_arrays_not_variables() {
        let memory = Memory::new(1 << 20).unwrap();
        let there = memory.allocate(4096, 256, AllocationKind::Device).unwrap();
        let places = ReservedAddresses::default();
        places.add_array(there + 4000);
        places.set_variables(HashMap::from([("table".to_owned(), there + 4000)]));
        assert!(places.next_array(&memory, 100).is_err());
        assert_eq!(places.variable(&memory, "table", 100), None);
    }
}

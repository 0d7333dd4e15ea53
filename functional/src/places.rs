//! Memory that is there for what is made later: variables of modules, and arrays, that are to lie where they lay in another process.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;

use crate::memory::{Memory, MemoryError};

/// Which memory is there for what. It lies within allocations of others, and is not given back with what was made in it.
#[derive(Debug, Default)]
pub struct Places {
    /// First bytes, by name, of variables of modules that are loaded from now on.
    variables: Mutex<HashMap<String, u64>>,
    /// First bytes of the next arrays.
    arrays: Mutex<VecDeque<u64>>,
}

impl Places {
    /// From now on variables of these names lie at these addresses, and no others have a place.
    pub fn set_variables(&self, addresses: HashMap<String, u64>) {
        *self.variables.lock() = addresses;
    }

    /// The next array that has no place yet lies at this address.
    pub fn add_array(&self, address: u64) {
        self.arrays.lock().push_back(address);
    }

    /// Where a variable of so many bytes lies, if it has a place in memory that is there.
    pub(crate) fn variable(&self, memory: &Memory, name: &str, bytes: u64) -> Option<u64> {
        let address = self.variables.lock().get(name).copied()?;
        memory.check_range(address, bytes).is_ok().then_some(address)
    }

    /// Where the next array lies, which has so many bytes, if it has a place. An error if that is not in memory that is there.
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
    fn each_array_takes_one_place_and_a_variable_keeps_its_own() {
        let memory = Memory::new(1 << 20).unwrap();
        let there = memory.allocate(4096, 256, AllocationKind::Device).unwrap();
        let places = Places::default();
        places.add_array(there);
        places.add_array(there + 1024);
        places.set_variables(HashMap::from([("table".to_owned(), there + 512)]));
        let arrays = [100, 100, 100].map(|bytes| places.next_array(&memory, bytes).unwrap());
        assert_eq!(arrays, [Some(there), Some(there + 1024), None]);
        let variables = ["table", "table", "other"].map(|name| places.variable(&memory, name, 8));
        assert_eq!(variables, [Some(there + 512), Some(there + 512), None]);
    }

    #[test]
    fn a_place_that_is_too_small_is_refused_to_an_array_and_none_for_a_variable() {
        let memory = Memory::new(1 << 20).unwrap();
        let there = memory.allocate(4096, 256, AllocationKind::Device).unwrap();
        let places = Places::default();
        places.add_array(there + 4000);
        places.set_variables(HashMap::from([("table".to_owned(), there + 4000)]));
        assert!(places.next_array(&memory, 100).is_err());
        assert_eq!(places.variable(&memory, "table", 100), None);
    }
}

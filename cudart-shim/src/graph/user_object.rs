//! User objects: objects of the program that graphs keep alive (`cudaUserObject_t`).

use crate::abi::UserObjectHandle;
use crate::abi::error::{Error, Result};
use crate::work::host_call::HostCall;
use rustc_hash::FxHashMap;

/// Handles lie in an address range without memory.
const USER_OBJECTS: usize = 0x5f00_0000_0000_0000;

/// References held by a graph.
pub(crate) type References = FxHashMap<UserObjectHandle, u32>;

#[derive(Clone, Copy, Debug)]
struct UserObject {
    references: u64,
    destructor: HostCall,
}

/// All user objects with their reference counts.
#[derive(Debug, Default)]
pub(crate) struct UserObjects {
    live: FxHashMap<UserObjectHandle, UserObject>,
    created: usize,
}

impl UserObjects {
    /// A new object with a number of references.
    pub(crate) fn create(&mut self, destructor: HostCall, references: u32) -> UserObjectHandle {
        self.created += 1;
        let handle = UserObjectHandle(USER_OBJECTS | (self.created << 4));
        self.live.insert(handle, UserObject { references: references.into(), destructor });
        handle
    }

    /// Adds references.
    pub(crate) fn retain(&mut self, handle: UserObjectHandle, count: u32) -> Result<()> {
        let object = self.live.get_mut(&handle).ok_or(Error::InvalidValue)?;
        object.references = object.references.saturating_add(count.into());
        Ok(())
    }

    /// Removes references. The last one removes the object and returns its destructor.
    pub(crate) fn release(&mut self, handle: UserObjectHandle, count: u32) -> Result<Option<HostCall>> {
        let object = self.live.get_mut(&handle).ok_or(Error::InvalidValue)?;
        object.references = object.references.checked_sub(count.into()).ok_or(Error::InvalidValue)?;
        if object.references > 0 {
            return Ok(None);
        }
        Ok(self.live.remove(&handle).map(|object| object.destructor))
    }

    /// Adds another holder of the same references.
    pub(crate) fn share(&mut self, references: &References) -> References {
        for (handle, count) in references {
            // Objects referenced by a graph are alive.
            let _ = self.retain(*handle, *count);
        }
        references.clone()
    }

    /// Removes a holder; returns the destructors to call.
    pub(crate) fn release_all(&mut self, references: References) -> Vec<HostCall> {
        references
            .into_iter()
            .filter_map(|(handle, count)| self.release(handle, count).ok().flatten())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn nothing(_: *mut std::ffi::c_void) {}

    #[test]
    fn object_is_removed_with_its_last_reference() {
        let destructor = HostCall::new(Some(nothing), std::ptr::null_mut()).unwrap();
        let mut objects = UserObjects::default();
        let handle = objects.create(destructor, 1);
        let graph = References::from_iter([(handle, 2)]);
        objects.retain(handle, 2).unwrap();
        assert!(objects.release(handle, 1).is_ok_and(|destructor| destructor.is_none()));
        assert_eq!(objects.release_all(graph).len(), 1);
        assert_eq!(objects.retain(handle, 1), Err(Error::InvalidValue));
    }

    #[test]
    fn release_beyond_the_count_is_an_error() {
        let destructor = HostCall::new(Some(nothing), std::ptr::null_mut()).unwrap();
        let mut objects = UserObjects::default();
        let handle = objects.create(destructor, 1);
        assert_eq!(objects.release(handle, 2).err(), Some(Error::InvalidValue));
        assert!(objects.release(handle, 1).is_ok_and(|destructor| destructor.is_some()));
    }
}

//! Values that libraries store in contexts.

use crate::abi::ContextHandle;
use rustc_hash::FxHashMap;
use std::ffi::c_void;

/// Called with context, key and value at the context's destruction.
pub(crate) type Destructor = Option<unsafe extern "C" fn(ContextHandle, *mut c_void, *mut c_void)>;

/// A library's value in a context.
#[derive(Clone, Copy)]
pub(crate) struct Stored {
    pub(crate) value: usize,
    pub(crate) destructor: Destructor,
}

/// Libraries' values by context and key.
#[derive(Default)]
pub(crate) struct ContextStorage(FxHashMap<(ContextHandle, usize), Stored>);

impl ContextStorage {
    /// Stores a value in a context under a key.
    pub(crate) fn put(&mut self, context: ContextHandle, key: usize, stored: Stored) {
        self.0.insert((context, key), stored);
    }

    /// The value stored under a key.
    pub(crate) fn get(&self, context: ContextHandle, key: usize) -> Option<Stored> {
        self.0.get(&(context, key)).copied()
    }

    /// Removes a value. Returns false if there is none.
    pub(crate) fn remove(&mut self, context: ContextHandle, key: usize) -> bool {
        self.0.remove(&(context, key)).is_some()
    }

    /// Removes the values of a destroyed context, each with its key.
    pub(crate) fn take_all(&mut self, context: ContextHandle) -> Vec<(usize, Stored)> {
        let mut gone = Vec::new();
        self.0.retain(|(of, key), stored| {
            let stays = *of != context;
            if !stays {
                gone.push((*key, *stored));
            }
            stays
        });
        gone
    }
}

impl Stored {
    /// Calls the destructor, if any, for the value that a context held under a key.
    pub(crate) fn destroy(self, context: ContextHandle, key: usize) {
        if let Some(destructor) = self.destructor {
            // SAFETY: the library that stored the value promises a function that takes these
            // arguments.
            unsafe { destructor(context, key as *mut c_void, self.value as *mut c_void) };
        }
    }
}

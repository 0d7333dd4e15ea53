//! User objects.

use crate::abi::error::{Error, Result};
use crate::abi::{Out, UserObjectHandle};
use crate::api::entry::shared;
use crate::graph::handle::GraphHandle;
use crate::work::host_call::{HostCall, HostFunction};
use std::ffi::{c_uint, c_void};

/// `cudaUserObjectNoDestructorSync`, which is mandatory.
const NO_DESTRUCTOR_SYNC: c_uint = 1;
/// `cudaGraphUserObjectMove`.
const MOVE: c_uint = 1;

/// Validates a count of references.
fn count_of(count: c_uint) -> Result<u32> {
    if count == 0 || count > i32::MAX as u32 { Err(Error::InvalidValue) } else { Ok(count) }
}

shared! {
    /// An object kept alive by graphs.
    fn cudaUserObjectCreate = cuUserObjectCreate(
        object: Out<UserObjectHandle>, ptr: *mut c_void, destroy: HostFunction, initialRefcount: c_uint, flags: c_uint,
    ) {
        let simulator = context()?;
        object.check()?;
        if flags != NO_DESTRUCTOR_SYNC {
            return Err(Error::InvalidValue);
        }
        object.set(simulator.create_user_object(HostCall::new(destroy, ptr)?, count_of(initialRefcount)?))
    }

    /// Adds references to an object.
    fn cudaUserObjectRetain = cuUserObjectRetain(object: UserObjectHandle, count: c_uint) {
        context()?.retain_user_object(object, count_of(count)?)
    }

    /// Removes references to an object.
    fn cudaUserObjectRelease = cuUserObjectRelease(object: UserObjectHandle, count: c_uint) {
        context()?.release_user_object(object, count_of(count)?)
    }

    /// Gives a graph references to an object.
    fn cudaGraphRetainUserObject = cuGraphRetainUserObject(
        graph: GraphHandle, object: UserObjectHandle, count: c_uint, flags: c_uint,
    ) {
        if flags & !MOVE != 0 {
            return Err(Error::InvalidValue);
        }
        context()?.give_user_object(graph, object, count_of(count)?, flags & MOVE != 0)
    }

    /// Removes a graph's references to an object.
    fn cudaGraphReleaseUserObject = cuGraphReleaseUserObject(
        graph: GraphHandle, object: UserObjectHandle, count: c_uint,
    ) {
        context()?.take_user_object(graph, object, count_of(count)?)
    }
}

//! Handles: numbers that stand for objects, and the device in each.

use super::call::Subject;
#[cfg(test)]
use super::check;
use std::fmt;
use std::ops::RangeInclusive;

/// Most devices.
pub(crate) const MAX_DEVICES: usize = run_options::values::MAX_DEVICES as usize;

/// Bit position of the device number in object numbers, and thus in handles.
pub(crate) const DEVICE_SHIFT: u32 = 36;

/// The device in a handle.
pub(crate) fn device_of(handle: usize) -> usize {
    (handle >> (DEVICE_SHIFT + 4)) & (MAX_DEVICES - 1)
}

/// `cudaStreamLegacy`.
pub(crate) const LEGACY: usize = 1;
/// `cudaStreamPerThread`.
pub(crate) const PER_THREAD: usize = 2;

/// Tells whether the handle is a default stream.
pub(crate) fn is_default(handle: StreamHandle) -> bool {
    matches!(handle.0, 0 | LEGACY | PER_THREAD)
}

/// A handle of an object.
pub(crate) trait Handle {
    /// Context of the object, as far as the handle identifies it.
    fn subject(&self) -> Subject;
}

/// First bytes of device-issued handles.
const OF_DEVICES: RangeInclusive<usize> = 0x51..=0x5e;

/// Device that issued a handle.
fn giver(handle: usize) -> Option<usize> {
    OF_DEVICES.contains(&(handle >> 56)).then(|| device_of(handle))
}

macro_rules! of_devices {
    ($($name:ident)*) => {$(
        impl Handle for $name {
            fn subject(&self) -> Subject {
                Subject { device: giver(self.0), is_default_stream: false }
            }
        }
    )*};
}

of_devices! {
    EventHandle ContextHandle ModuleHandle FunctionHandle ArrayHandle MipmappedArrayHandle TextureObject
    SurfaceObject TextureReferenceHandle SurfaceReferenceHandle GraphHandle NodeHandle ExecutableHandle
}

impl Handle for StreamHandle {
    fn subject(&self) -> Subject {
        Subject { device: giver(self.0), is_default_stream: is_default(*self) }
    }
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub(crate) struct $name(pub(crate) usize);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }

        #[cfg(test)]
        impl check::Abi for $name {
            const CLASS: api_table::Class = api_table::Class::Word;
        }
    )*};
}

handles! {
    /// `cudaStream_t`, `CUstream`.
    StreamHandle;
    /// `cudaEvent_t`, `CUevent`.
    EventHandle;
    /// `CUcontext`.
    ContextHandle;
    /// `CUmodule`.
    ModuleHandle;
    /// `CUlibrary`, `cudaLibrary_t`.
    LibraryHandle;
    /// `CUfunction`, `CUkernel`, `cudaKernel_t`, `cudaFunction_t`.
    FunctionHandle;
    /// `CUmemoryPool`, `cudaMemPool_t`.
    PoolHandle;
    /// `CUarray`, `cudaArray_t`.
    ArrayHandle;
    /// `CUmipmappedArray`, `cudaMipmappedArray_t`.
    MipmappedArrayHandle;
    /// `CUtexObject`, `cudaTextureObject_t`.
    TextureObject;
    /// `CUsurfObject`, `cudaSurfaceObject_t`.
    SurfaceObject;
    /// `CUtexref`.
    TextureReferenceHandle;
    /// `CUsurfref`.
    SurfaceReferenceHandle;
    /// `cudaGraph_t`, `CUgraph`.
    GraphHandle;
    /// `cudaGraphNode_t`, `CUgraphNode`.
    NodeHandle;
    /// `cudaGraphExec_t`, `CUgraphExec`.
    ExecutableHandle;
    /// `cudaUserObject_t`, `CUuserObject`.
    UserObjectHandle;
    /// An address of the caller: `void *` as a number, or `CUdeviceptr`.
    Address;
}

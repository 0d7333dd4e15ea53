//! Types that cross the C boundary: pointers of the caller, handles, structures passed by value.
//!
//! API functions are `unsafe extern "C"`: the calling program promises that its pointers satisfy
//! the CUDA documentation. These wrappers add the one possible check, for null, and confine the
//! access.

#[cfg(test)]
mod against_headers;
pub(crate) mod call;
#[cfg(test)]
pub(crate) mod check;
pub(crate) mod error;
pub(crate) mod function_attributes;
pub(crate) mod handle;
pub(crate) mod launch_attribute;
pub(crate) mod launch_sizes;
pub(crate) mod texture;

pub(crate) use handle::*;

use crate::abi::error::{Error, Result};
use std::ffi::{CStr, c_char, c_int};
use std::fmt;

/// `T *result`: destination of a value.
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

/// `const T *structure`: a value of the caller.
#[repr(transparent)]
pub(crate) struct In<T>(*const T);

/// `const char *text`: a C string of the caller.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Text(*const c_char);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Out<T> {}
impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for In<T> {}

impl<T> Out<T> {
    /// A destination inside a structure of the caller.
    pub(crate) const fn new(pointer: *mut T) -> Self {
        Self(pointer)
    }

    /// Stores the value; a null pointer is an invalid value.
    pub(crate) fn set(self, value: T) -> Result<()> {
        if self.set_if_wanted(value) { Ok(()) } else { Err(Error::InvalidValue) }
    }

    /// Stores the value unless the pointer is null; true if stored.
    pub(crate) fn set_if_wanted(self, value: T) -> bool {
        if self.0.is_null() {
            return false;
        }
        // SAFETY: not null, so by the API's contract it points to room for a `T`.
        unsafe { self.0.write_unaligned(value) };
        true
    }

    /// Rejects null before work whose result could not be stored.
    pub(crate) fn check(self) -> Result<()> {
        if self.0.is_null() { Err(Error::InvalidValue) } else { Ok(()) }
    }

    /// The pointer itself.
    pub(crate) fn pointer(self) -> *mut T {
        self.0
    }
}

impl<T> In<T> {
    /// A value inside a structure of the caller.
    pub(crate) const fn new(pointer: *const T) -> Self {
        Self(pointer)
    }
}

impl<T: Copy> In<T> {
    /// Reads the value; a null pointer is an invalid value.
    pub(crate) fn get(self) -> Result<T> {
        self.get_if_given().ok_or(Error::InvalidValue)
    }

    /// Reads the value; `None` for null.
    pub(crate) fn get_if_given(self) -> Option<T> {
        // SAFETY: not null, so by the API's contract it points to a `T`.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }

    /// Address of the value.
    pub(crate) fn address(self) -> usize {
        self.0 as usize
    }

    /// Reads `count` values; null is an invalid value unless `count` is 0.
    pub(crate) fn list(self, count: usize) -> Result<Vec<T>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        if self.0.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: by the API's contract there are `count` values.
        Ok((0..count).map(|index| unsafe { self.0.add(index).read_unaligned() }).collect())
    }
}

impl Text {
    /// A text of a test.
    #[cfg(test)]
    pub(crate) const fn new(pointer: *const c_char) -> Self {
        Self(pointer)
    }

    /// Reads the text; a null pointer is an invalid value.
    pub(crate) fn get(&self) -> Result<&CStr> {
        if self.0.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: not null, so by the API's contract a C string that outlives the call.
        Ok(unsafe { CStr::from_ptr(self.0) })
    }
}

impl<T: fmt::Debug> fmt::Debug for Out<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self.0, f)
    }
}

impl<T: fmt::Debug> fmt::Debug for In<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self.0, f)
    }
}

/// Formats a pointer. The alternate form, for successful calls, adds the pointee unless it is
/// untyped (`void`, bytes).
fn show<T: fmt::Debug>(pointer: *const T, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{pointer:?}")?;
    if !f.alternate() || pointer.is_null() || size_of::<T>() < size_of::<c_int>() {
        return Ok(());
    }
    // SAFETY: the call has succeeded, so that by the API's contract a `T` lies there; it is not
    // dropped.
    let value = std::mem::ManuallyDrop::new(unsafe { pointer.read_unaligned() });
    write!(f, " -> {:?}", *value)
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Ok(text) => text.fmt(f),
            Err(_) => f.write_str("NULL"),
        }
    }
}

/// `dim3` and `uint3`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Dim3 {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) z: u32,
}

impl fmt::Debug for Dim3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{},{})", self.x, self.y, self.z)
    }
}

/// Meaning of stream handle 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefaultStream {
    /// The legacy default stream.
    Legacy,
    /// The calling thread's default stream (`_ptds`, `_ptsz`).
    PerThread,
}

/// `cudaExtent`: the width is in bytes, or in elements where an array is involved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct CudaExtent {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
}

/// `cudaPos`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct CudaPosition {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) z: usize,
}

/// `cudaPitchedPtr`: `xsize` and `ysize` are the logical width in bytes and height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct PitchedPointer {
    pub(crate) address: Address,
    pub(crate) pitch: usize,
    pub(crate) xsize: usize,
    pub(crate) ysize: usize,
}

/// `cudaMemLocation`, `CUmemLocation`: a kind (1 device, 2 host, …) and an ordinal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct MemoryLocation {
    pub(crate) kind: c_int,
    pub(crate) id: c_int,
}

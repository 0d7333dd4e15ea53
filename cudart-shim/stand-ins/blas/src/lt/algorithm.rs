//! Algorithms: there is one, which needs no workspace.

use std::ffi::{c_int, c_void};

use crate::handle::store;
use crate::lt::descriptor::{Layout, Operation, Preference};
use crate::lt::matmul;
use crate::status::{Status, code};

/// `cublasLtMatmulAlgo_t`: attributes by their numbers.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(8))]
pub(crate) struct Algorithm {
    attributes: [u32; 16],
}

/// `cublasLtMatmulHeuristicResult_t`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Choice {
    algorithm: Algorithm,
    workspace: usize,
    state: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

/// Number of the algorithm, which attribute 0 holds.
const NUMBER: u32 = 1;

fn algorithm() -> Algorithm {
    let mut attributes = [0; 16];
    attributes[0] = NUMBER;
    // Parts of the inner dimension.
    attributes[2] = 1;
    Algorithm { attributes }
}

fn choice() -> Choice {
    Choice { algorithm: algorithm(), workspace: 0, state: 0, waves: 1.0, reserved: [0; 4] }
}

/// `cublasLtMatmulAlgoGetHeuristic`
///
/// # Safety
/// Descriptors are null or live; `choices` has room for `requested`, and `count` is null or has room.
pub(crate) unsafe extern "C" fn heuristic(
    _handle: *mut c_void,
    operation: *const Operation,
    a: *const Layout,
    b: *const Layout,
    c: *const Layout,
    d: *const Layout,
    _preference: *const Preference,
    requested: c_int,
    choices: *mut Choice,
    count: *mut c_int,
) -> c_int {
    code(|| {
        if requested < 1 {
            return Err(Status::InvalidValue);
        }
        // SAFETY: the caller's promises.
        unsafe {
            store(count, 0)?;
            matmul::check(operation, [a, b, c, d])?;
            store(choices, choice())?;
            store(count, 1)
        }
    })
}

/// `cublasLtMatmulAlgoCheck`
///
/// # Safety
/// Descriptors are null or live; `result` is null or has room.
pub(crate) unsafe extern "C" fn check(
    _handle: *mut c_void,
    operation: *const Operation,
    a: *const Layout,
    b: *const Layout,
    c: *const Layout,
    d: *const Layout,
    _algorithm: *const Algorithm,
    result: *mut Choice,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promises.
        unsafe {
            matmul::check(operation, [a, b, c, d])?;
            store(result, choice())
        }
    })
}

/// `cublasLtMatmulAlgoGetIds`
///
/// # Safety
/// `ids` has room for `requested`, and `count` is null or has room.
pub(crate) unsafe extern "C" fn numbers(
    _handle: *mut c_void,
    _compute: c_int,
    _scale: c_int,
    _a: c_int,
    _b: c_int,
    _c: c_int,
    _d: c_int,
    requested: c_int,
    ids: *mut c_int,
    count: *mut c_int,
) -> c_int {
    code(|| {
        if requested < 1 {
            return Err(Status::InvalidValue);
        }
        // SAFETY: the caller's promises.
        unsafe {
            store(ids, NUMBER as c_int)?;
            store(count, 1)
        }
    })
}

/// `cublasLtMatmulAlgoInit`
///
/// # Safety
/// `place` is null or has room.
pub(crate) unsafe extern "C" fn init(
    _handle: *mut c_void,
    _compute: c_int,
    _scale: c_int,
    _a: c_int,
    _b: c_int,
    _c: c_int,
    _d: c_int,
    number: c_int,
    place: *mut Algorithm,
) -> c_int {
    code(|| {
        if number != NUMBER as c_int {
            return Err(Status::InvalidValue);
        }
        // SAFETY: the caller's promise.
        unsafe { store(place, algorithm()) }
    })
}

/// Capabilities that are not zero: batches with a stride, results beside the third matrix.
const CAPABILITIES: [(c_int, u32); 3] = [(3, 1), (4, 1), (10, 1)];

/// `cublasLtMatmulAlgoCapGetAttribute`
///
/// # Safety
/// `value` is null or has room for `bytes`; `written` is null or has room.
pub(crate) unsafe extern "C" fn capability(
    _algorithm: *const Algorithm,
    number: c_int,
    value: *mut c_void,
    bytes: usize,
    written: *mut usize,
) -> c_int {
    let known = CAPABILITIES.iter().find(|(known, _)| *known == number).map_or(0, |(_, value)| *value);
    // SAFETY: the caller's promises.
    code(|| unsafe { tell(known, value, bytes, written) })
}

/// Stores a value of 32 bits where there is room for it.
unsafe fn tell(told: u32, value: *mut c_void, bytes: usize, written: *mut usize) -> Result<(), Status> {
    // SAFETY: the caller's promises.
    unsafe {
        if !written.is_null() {
            store(written, 4)?;
        }
        if bytes < 4 {
            return if bytes == 0 { Ok(()) } else { Err(Status::InvalidValue) };
        }
        store(value.cast::<u32>(), told)
    }
}

/// `cublasLtMatmulAlgoConfigSetAttribute`
///
/// # Safety
/// `algorithm` is null or live; `value` is null or has `bytes`.
pub(crate) unsafe extern "C" fn set(
    algorithm: *mut Algorithm,
    number: c_int,
    value: *const c_void,
    bytes: usize,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        let algorithm = unsafe { algorithm.as_mut() }.ok_or(Status::InvalidValue)?;
        let index = usize::try_from(number).map_err(|_| Status::InvalidValue)?;
        let place = algorithm.attributes.get_mut(index).ok_or(Status::InvalidValue)?;
        if value.is_null() || bytes < 2 {
            return Err(Status::InvalidValue);
        }
        // SAFETY: not null; some attributes have 16 bits.
        *place = unsafe {
            if bytes < 4 {
                value.cast::<u16>().read_unaligned().into()
            } else {
                value.cast::<u32>().read_unaligned()
            }
        };
        Ok(())
    })
}

/// `cublasLtMatmulAlgoConfigGetAttribute`
///
/// # Safety
/// `algorithm` is null or live; `value` is null or has room for `bytes`; `written` is null or has room.
pub(crate) unsafe extern "C" fn get(
    algorithm: *const Algorithm,
    number: c_int,
    value: *mut c_void,
    bytes: usize,
    written: *mut usize,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        let algorithm = unsafe { algorithm.as_ref() }.ok_or(Status::InvalidValue)?;
        let index = usize::try_from(number).map_err(|_| Status::InvalidValue)?;
        let known = *algorithm.attributes.get(index).ok_or(Status::InvalidValue)?;
        // SAFETY: the caller's promises.
        unsafe { tell(known, value, bytes, written) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_have_the_sizes_of_the_documentation() {
        assert_eq!((size_of::<Algorithm>(), size_of::<Choice>()), (64, 96));
    }
}

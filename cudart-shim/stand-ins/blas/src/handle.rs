//! Handles: the context, the stream, and modes of the calls.

use std::ffi::{c_int, c_void};

use parking_lot::Mutex;
use standin_driver::{Address, Context, Stream, driver};

use crate::kernels::MODULES;
use crate::status::{Answer, Status, code};

/// `cublasPointerMode_t`: where scalars lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PointerMode {
    Host,
    Device,
}

/// Bytes of the device's memory for results of reductions.
const SCRATCH: usize = 64 << 10;

/// Modes that calls change.
#[derive(Clone, Copy, Debug)]
struct Modes {
    stream: Stream,
    pointers: PointerMode,
    math: c_int,
    atomics: c_int,
    sms: c_int,
}

/// A `cublasHandle_t`, and a `cublasLtHandle_t`.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) context: Context,
    /// Compute capability of the device, ten times.
    pub(crate) capability: i32,
    /// [`SCRATCH`] bytes of the device's memory.
    pub(crate) scratch: Address,
    modes: Mutex<Modes>,
}

/// `cublasHandle_t`
pub(crate) type Raw = *mut Handle;

/// `CUBLAS_DEFAULT_MATH` with TF32 for products of single precision.
const TF32_MATH: c_int = 3;
/// The bits of `cublasMath_t` that choose a mode; the others are flags.
const MATH_MODE: c_int = 15;

impl Handle {
    fn new() -> Answer<Handle> {
        let driver = driver()?;
        let context = driver.current()?;
        MODULES.load(context)?;
        let modes = Modes { stream: 0, pointers: PointerMode::Host, math: 0, atomics: 0, sms: 0 };
        Ok(Handle {
            context,
            capability: driver.capability()?,
            scratch: driver.allocate(SCRATCH)?,
            modes: Mutex::new(modes),
        })
    }

    /// The handle of a pointer.
    ///
    /// # Safety
    /// `handle` is null or a live handle.
    pub(crate) unsafe fn of<'a>(handle: Raw) -> Answer<&'a Handle> {
        // SAFETY: the caller's promise.
        unsafe { handle.as_ref() }.ok_or(Status::NotInitialized)
    }

    pub(crate) fn stream(&self) -> Stream {
        self.modes.lock().stream
    }

    pub(crate) fn pointers(&self) -> PointerMode {
        self.modes.lock().pointers
    }

    /// Tells whether products of single precision may have the precision of TF32.
    pub(crate) fn allows_tf32(&self) -> bool {
        self.modes.lock().math & MATH_MODE == TF32_MATH
    }

    /// Computes a result of some bytes: `launch` gets the address at which its kernel stores the result.
    ///
    /// # Safety
    /// `result` is null or has room, on the host or the device by the mode.
    pub(crate) unsafe fn reduce(
        &self,
        result: *mut c_void,
        bytes: usize,
        launch: impl FnOnce(Address) -> Answer,
    ) -> Answer {
        if result.is_null() {
            return Err(Status::InvalidValue);
        }
        if self.pointers() == PointerMode::Device {
            return launch(result as Address);
        }
        launch(self.scratch)?;
        // SAFETY: the caller's promise.
        unsafe { driver()?.read(result.cast(), self.scratch, bytes, self.stream())? };
        Ok(())
    }

    /// Runs `body` with some bytes of the device's memory.
    pub(crate) fn with_memory(&self, bytes: usize, body: impl FnOnce(Address) -> Answer) -> Answer {
        if bytes <= SCRATCH {
            return body(self.scratch);
        }
        let driver = driver()?;
        let memory = driver.allocate(bytes)?;
        let result = body(memory);
        // Work of the stream uses the memory.
        driver.synchronize(self.stream())?;
        driver.free(memory)?;
        result
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Ok(driver) = driver() {
            // A context that the program has destroyed has no memory any more.
            let _: Answer = driver.with_context(self.context, || Ok(driver.free(self.scratch)?));
        }
    }
}

/// Stores a value for the caller.
///
/// # Safety
/// `place` is null or has room for the value.
pub(crate) unsafe fn store<T>(place: *mut T, value: T) -> Answer {
    if place.is_null() {
        return Err(Status::InvalidValue);
    }
    // SAFETY: not null, so there is room.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

/// `cublasCreate`
///
/// # Safety
/// `handle` is null or has room.
pub(crate) unsafe extern "C" fn create(handle: *mut Raw) -> c_int {
    code(|| {
        if handle.is_null() {
            return Err(Status::InvalidValue);
        }
        let new = Box::new(Handle::new()?);
        // SAFETY: the caller's promise.
        unsafe { store(handle, Box::into_raw(new)) }
    })
}

/// `cublasDestroy`
///
/// # Safety
/// `handle` is null or a live handle, which is dead afterwards.
pub(crate) unsafe extern "C" fn destroy(handle: Raw) -> c_int {
    code(|| {
        if handle.is_null() {
            return Err(Status::NotInitialized);
        }
        // SAFETY: `create` made the box, and the caller has no other use.
        drop(unsafe { Box::from_raw(handle) });
        Ok(())
    })
}

/// Changes modes of a handle.
///
/// # Safety
/// `handle` is null or a live handle.
unsafe fn set(handle: Raw, change: impl FnOnce(&mut Modes)) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        change(&mut unsafe { Handle::of(handle) }?.modes.lock());
        Ok(())
    })
}

/// Stores a part of a handle's modes.
///
/// # Safety
/// `handle` is null or a live handle; `place` is null or has room.
unsafe fn get<T>(handle: Raw, place: *mut T, part: impl FnOnce(&Modes) -> T) -> c_int {
    // SAFETY: the caller's promises.
    code(|| unsafe { store(place, part(&Handle::of(handle)?.modes.lock())) })
}

/// Functions that change or tell a mode.
macro_rules! modes {
    ($($(#[$doc:meta])* $set:ident, $get:ident: $type:ty, |$modes:ident, $value:ident| $change:expr, $part:expr;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// `handle` is null or a live handle.
            pub(crate) unsafe extern "C" fn $set(handle: Raw, $value: $type) -> c_int {
                // SAFETY: the caller's promise.
                unsafe { set(handle, |$modes| $change) }
            }

            /// The mode that the function above sets.
            ///
            /// # Safety
            /// `handle` is null or a live handle; `place` is null or has room.
            pub(crate) unsafe extern "C" fn $get(handle: Raw, place: *mut $type) -> c_int {
                // SAFETY: the caller's promises.
                unsafe { get(handle, place, |$modes| $part) }
            }
        )*
    };
}

modes! {
    /// `cublasSetStream`
    set_stream, get_stream: Stream, |modes, value| modes.stream = value, modes.stream;
    /// `cublasSetMathMode`
    set_math_mode, get_math_mode: c_int, |modes, value| modes.math = value, modes.math;
    /// `cublasSetAtomicsMode`: sums have one order in both modes.
    set_atomics_mode, get_atomics_mode: c_int, |modes, value| modes.atomics = value, modes.atomics;
    /// `cublasSetSmCountTarget`: a hint.
    set_sms, get_sms: c_int, |modes, value| modes.sms = value, modes.sms;
}

/// `cublasSetPointerMode`
///
/// # Safety
/// `handle` is null or a live handle.
pub(crate) unsafe extern "C" fn set_pointer_mode(handle: Raw, mode: c_int) -> c_int {
    let pointers = match mode {
        0 => PointerMode::Host,
        1 => PointerMode::Device,
        _ => return Status::InvalidValue as c_int,
    };
    // SAFETY: the caller's promise.
    unsafe { set(handle, |modes| modes.pointers = pointers) }
}

/// `cublasGetPointerMode`
///
/// # Safety
/// `handle` is null or a live handle; `place` is null or has room.
pub(crate) unsafe extern "C" fn get_pointer_mode(handle: Raw, place: *mut c_int) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { get(handle, place, |modes| c_int::from(modes.pointers == PointerMode::Device)) }
}

/// `cublasSetWorkspace`: the kernels need no workspace.
///
/// # Safety
/// `handle` is null or a live handle.
pub(crate) unsafe extern "C" fn set_workspace(handle: Raw, workspace: *mut c_void, bytes: usize) -> c_int {
    if workspace.is_null() && bytes > 0 {
        return Status::InvalidValue as c_int;
    }
    // SAFETY: the caller's promise.
    unsafe { set(handle, |_| ()) }
}

/// Version that the library tells: the major version is that of the name under which the program
/// loaded it.
const MINOR: c_int = 4;

/// `cublasGetVersion`
///
/// # Safety
/// `place` is null or has room.
pub(crate) unsafe extern "C" fn get_version<const MAJOR: c_int>(_handle: Raw, place: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    code(|| unsafe { store(place, version(MAJOR)) })
}

/// Number of a version: 120400, and before 12 with the same digits.
pub(crate) fn version(major: c_int) -> c_int {
    major * 10_000 + MINOR * 100
}

/// `cublasGetProperty`: a part of the version.
///
/// # Safety
/// `place` is null or has room.
pub(crate) unsafe extern "C" fn get_property<const MAJOR: c_int>(part: c_int, place: *mut c_int) -> c_int {
    code(|| {
        let value = match part {
            0 => MAJOR,
            1 => MINOR,
            2 => 0,
            _ => return Err(Status::InvalidValue),
        };
        // SAFETY: the caller's promise.
        unsafe { store(place, value) }
    })
}

/// `cublasGetCudartVersion`
pub(crate) extern "C" fn runtime_version<const MAJOR: c_int>() -> usize {
    usize::try_from(MAJOR * 1000).unwrap_or_default()
}

/// `cublasLoggerConfigure` and other functions for messages: there are none.
pub(crate) extern "C" fn no_messages() -> c_int {
    0
}

/// `cublasLtGetVersion`
pub(crate) extern "C" fn number_of_version<const MAJOR: c_int>() -> usize {
    usize::try_from(version(MAJOR)).unwrap_or_default()
}

/// `cublasLtHeuristicsCacheGetCapacity`: there is no cache.
///
/// # Safety
/// `place` is null or has room.
pub(crate) unsafe extern "C" fn no_cache(place: *mut usize) -> c_int {
    // SAFETY: the caller's promise.
    code(|| unsafe { store(place, 0) })
}

//! Functions of the CUDA driver that this library calls.

use crate::status::{Answer, Failure};
use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

/// `CUstream`.
pub type Stream = *mut c_void;
/// `CUcontext`, as a number.
pub type Context = usize;
/// A host function of a stream.
pub type HostFunction = unsafe extern "C" fn(*mut c_void);

type Init = unsafe extern "C" fn(u32) -> c_int;
type GetCurrent = unsafe extern "C" fn(*mut Context) -> c_int;
type GetDevice = unsafe extern "C" fn(*mut c_int) -> c_int;
type Retain = unsafe extern "C" fn(*mut Context, c_int) -> c_int;
type Push = unsafe extern "C" fn(Context) -> c_int;
type Pop = unsafe extern "C" fn(*mut Context) -> c_int;
type Launch = unsafe extern "C" fn(Stream, HostFunction, *mut c_void) -> c_int;
type Capturing = unsafe extern "C" fn(Stream, *mut c_int) -> c_int;
type Range = unsafe extern "C" fn(*mut u64, *mut usize, u64) -> c_int;
type Allocate = unsafe extern "C" fn(*mut u64, usize) -> c_int;
type Free = unsafe extern "C" fn(u64) -> c_int;

/// The driver's functions.
#[derive(Clone, Copy, Debug)]
pub struct Driver {
    get_current: GetCurrent,
    get_device: GetDevice,
    retain: Retain,
    push: Push,
    pop: Pop,
    launch: Launch,
    capturing: Capturing,
    range: Range,
    allocate: Allocate,
    free: Free,
}

/// The driver of the process.
pub fn driver() -> Answer<&'static Driver> {
    static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();
    DRIVER.get_or_init(Driver::open).as_ref().ok_or(Failure::System)
}

impl Driver {
    fn open() -> Option<Driver> {
        // SAFETY: a C string; the program has loaded the driver, or the loader finds it.
        let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if library.is_null() {
            return None;
        }
        let symbol = |name: &CStr| {
            // SAFETY: a live handle and a C string.
            let address = unsafe { libc::dlsym(library, name.as_ptr()) };
            (!address.is_null()).then_some(address)
        };
        // SAFETY: the driver's functions of these names have these types, by its documentation.
        unsafe {
            let init = std::mem::transmute::<*mut c_void, Init>(symbol(c"cuInit")?);
            checked(init(0)).ok()?;
            Some(Driver {
                get_current: std::mem::transmute::<*mut c_void, GetCurrent>(symbol(c"cuCtxGetCurrent")?),
                get_device: std::mem::transmute::<*mut c_void, GetDevice>(symbol(c"cuCtxGetDevice")?),
                retain: std::mem::transmute::<*mut c_void, Retain>(symbol(c"cuDevicePrimaryCtxRetain")?),
                push: std::mem::transmute::<*mut c_void, Push>(symbol(c"cuCtxPushCurrent_v2")?),
                pop: std::mem::transmute::<*mut c_void, Pop>(symbol(c"cuCtxPopCurrent_v2")?),
                launch: std::mem::transmute::<*mut c_void, Launch>(symbol(c"cuLaunchHostFunc")?),
                capturing: std::mem::transmute::<*mut c_void, Capturing>(symbol(c"cuStreamIsCapturing")?),
                range: std::mem::transmute::<*mut c_void, Range>(symbol(c"cuMemGetAddressRange_v2")?),
                allocate: std::mem::transmute::<*mut c_void, Allocate>(symbol(c"cuMemAlloc_v2")?),
                free: std::mem::transmute::<*mut c_void, Free>(symbol(c"cuMemFree_v2")?),
            })
        }
    }

    /// The current context and its device.
    pub fn current(&self) -> Answer<(Context, c_int)> {
        let (mut context, mut device) = (0, 0);
        // SAFETY: addresses of values.
        unsafe {
            checked((self.get_current)(&mut context))?;
            checked((self.get_device)(&mut device))?;
        }
        Ok((context, device))
    }

    /// Runs `body` with the primary context of a device, which stays for the communicator.
    pub fn with_device<T>(&self, device: c_int, body: impl FnOnce() -> Answer<T>) -> Answer<T> {
        let mut context = 0;
        // SAFETY: the address of a value.
        checked(unsafe { (self.retain)(&mut context, device) })?;
        self.with_context(context, body)
    }

    /// Runs `body` with a context, which the null stream and the checks of handles refer to.
    pub fn with_context<T>(&self, context: Context, body: impl FnOnce() -> Answer<T>) -> Answer<T> {
        // SAFETY: a context that the driver gave.
        checked(unsafe { (self.push)(context) })?;
        let result = body();
        // SAFETY: the address of a value.
        checked(unsafe { (self.pop)(&mut 0) })?;
        result
    }

    /// Appends a host function to a stream of the current context.
    ///
    /// # Safety
    /// As for the function with its argument.
    pub unsafe fn launch(&self, stream: Stream, function: HostFunction, argument: *mut c_void) -> Answer {
        // SAFETY: passed on from the caller.
        checked(unsafe { (self.launch)(stream, function, argument) })
    }

    /// Tells whether a graph captures the stream.
    pub fn is_capturing(&self, stream: Stream) -> Answer<bool> {
        let mut status = 0;
        // SAFETY: a stream of the caller and the address of a value.
        checked(unsafe { (self.capturing)(stream, &mut status) })?;
        Ok(status != 0)
    }

    /// Checks that bytes are memory of a device.
    pub fn check(&self, address: u64, bytes: usize) -> Answer {
        let Some(last) = (bytes as u64).checked_sub(1) else { return Ok(()) };
        let last = address.checked_add(last).ok_or(Failure::InvalidArgument)?;
        for address in [address, last] {
            let (mut base, mut size) = (0, 0);
            // SAFETY: addresses of values.
            if unsafe { (self.range)(&mut base, &mut size, address) } != 0 {
                return Err(Failure::InvalidArgument);
            }
        }
        Ok(())
    }

    /// Allocates memory of the current device.
    pub fn allocate(&self, bytes: usize) -> Answer<u64> {
        let mut address = 0;
        // SAFETY: the address of a value.
        checked(unsafe { (self.allocate)(&mut address, bytes) })?;
        Ok(address)
    }

    /// Frees memory of [`Driver::allocate`].
    pub fn free(&self, address: u64) -> Answer {
        // SAFETY: the driver checks the address.
        checked(unsafe { (self.free)(address) })
    }
}

fn checked(code: c_int) -> Answer {
    if code == 0 { Ok(()) } else { Err(Failure::Cuda) }
}

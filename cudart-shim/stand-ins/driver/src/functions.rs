//! Functions of `libcuda.so.1`.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use crate::Error;

/// `CUstream`, as a number.
pub type Stream = usize;
/// `CUcontext`, as a number.
pub type Context = usize;
/// `CUmodule`, as a number.
pub(crate) type Module = usize;
/// `CUfunction`, as a number.
pub(crate) type Function = usize;
/// `CUdeviceptr`.
pub type Address = u64;

/// CTAs and threads of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// CTAs in x, y and z.
    pub ctas: [u32; 3],
    /// Threads of a CTA, in x.
    pub threads: u32,
}

/// The driver's library.
fn library() -> Option<*mut c_void> {
    let flags = libc::RTLD_NOW | libc::RTLD_GLOBAL;
    // SAFETY: a C string; the program has loaded the driver, or the loader finds it.
    let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), flags) };
    (!library.is_null()).then_some(library)
}

macro_rules! functions {
    ($($field:ident = $name:literal: ($($argument:ty),*);)*) => {
        /// The driver's functions.
        #[derive(Clone, Copy, Debug)]
        pub struct Driver {
            $($field: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Driver {
            fn open() -> Option<Driver> {
                let library = library()?;
                // SAFETY: a live handle and C strings. The driver's functions of these names have these
                // types, by its documentation.
                let driver = unsafe {
                    Driver { $($field: {
                        let address = libc::dlsym(library, concat!($name, "\0").as_ptr().cast());
                        if address.is_null() {
                            return None;
                        }
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> c_int>(address)
                    },)* }
                };
                // SAFETY: the flags must be 0.
                checked(unsafe { (driver.init)(0) }).ok()?;
                Some(driver)
            }
        }
    };
}

functions! {
    init = "cuInit": (c_uint);
    get_current = "cuCtxGetCurrent": (*mut Context);
    set_current = "cuCtxSetCurrent": (Context);
    push = "cuCtxPushCurrent_v2": (Context);
    pop = "cuCtxPopCurrent_v2": (*mut Context);
    get_device = "cuCtxGetDevice": (*mut c_int);
    retain = "cuDevicePrimaryCtxRetain": (*mut Context, c_int);
    attribute = "cuDeviceGetAttribute": (*mut c_int, c_int, c_int);
    load = "cuModuleLoadData": (*mut Module, *const c_void);
    function = "cuModuleGetFunction": (*mut Function, Module, *const c_char);
    launch = "cuLaunchKernel": (Function, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Stream,
        *mut *mut c_void, *mut *mut c_void);
    allocate = "cuMemAlloc_v2": (*mut Address, usize);
    free = "cuMemFree_v2": (Address);
    to_host = "cuMemcpyDtoHAsync_v2": (*mut c_void, Address, usize, Stream);
    copy = "cuMemcpyAsync": (Address, Address, usize, Stream);
    fill = "cuMemsetD8Async": (Address, u8, usize, Stream);
    synchronize = "cuStreamSynchronize": (Stream);
}

/// The driver of the process.
///
/// # Errors
/// [`Error::NO_DRIVER`].
pub fn driver() -> Result<&'static Driver, Error> {
    static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();
    DRIVER.get_or_init(Driver::open).as_ref().ok_or(Error::NO_DRIVER)
}

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`.
const CAPABILITY: [c_int; 2] = [75, 76];
/// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`.
const SMS: c_int = 16;

impl Driver {
    /// The current context. A thread without one gets the primary context of device 0, as from the
    /// runtime.
    ///
    /// # Errors
    /// The driver's.
    pub fn current(&self) -> Result<Context, Error> {
        let mut context = 0;
        // SAFETY: addresses of values, and a context that the driver gave.
        unsafe {
            checked((self.get_current)(&mut context))?;
            if context == 0 {
                checked((self.retain)(&mut context, 0))?;
                checked((self.set_current)(context))?;
            }
        }
        Ok(context)
    }

    /// Runs `body` with a context.
    ///
    /// # Errors
    /// Errors of the body and of the driver.
    pub fn with_context<T, E: From<Error>>(
        &self,
        context: Context,
        body: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        // SAFETY: a context that the driver gave.
        checked(unsafe { (self.push)(context) })?;
        let result = body();
        // SAFETY: the address of a value.
        checked(unsafe { (self.pop)(&mut 0) })?;
        result
    }

    fn of_device(&self, attribute: c_int) -> Result<c_int, Error> {
        let (mut device, mut value) = (0, 0);
        // SAFETY: addresses of values.
        unsafe {
            checked((self.get_device)(&mut device))?;
            checked((self.attribute)(&mut value, attribute, device))?;
        }
        Ok(value)
    }

    /// Compute capability of the current device, ten times.
    ///
    /// # Errors
    /// The driver's.
    pub fn capability(&self) -> Result<i32, Error> {
        let [major, minor] = CAPABILITY;
        Ok(self.of_device(major)? * 10 + self.of_device(minor)?)
    }

    /// SMs of the current device.
    ///
    /// # Errors
    /// The driver's.
    pub fn sms(&self) -> Result<i32, Error> {
        self.of_device(SMS)
    }

    /// Loads PTX into the current context.
    pub(crate) fn load(&self, ptx: &CStr) -> Result<Module, Error> {
        let mut module = 0;
        // SAFETY: the address of a value, and a C string.
        checked(unsafe { (self.load)(&mut module, ptx.as_ptr().cast()) })?;
        Ok(module)
    }

    pub(crate) fn function(&self, module: Module, name: &CStr) -> Result<Function, Error> {
        let mut function = 0;
        // SAFETY: the address of a value, a loaded module, and a C string.
        checked(unsafe { (self.function)(&mut function, module, name.as_ptr()) })?;
        Ok(function)
    }

    /// Launches a kernel.
    ///
    /// # Safety
    /// `arguments` are the addresses of values with the types of the kernel's parameters.
    pub(crate) unsafe fn launch(
        &self,
        function: Function,
        grid: Grid,
        stream: Stream,
        arguments: &mut [*mut c_void],
    ) -> Result<(), Error> {
        let [x, y, z] = grid.ctas;
        let arguments = arguments.as_mut_ptr();
        // SAFETY: a function of the current context; the arguments are the caller's promise.
        checked(unsafe {
            (self.launch)(function, x, y, z, grid.threads, 1, 1, 0, stream, arguments, std::ptr::null_mut())
        })
    }

    /// Allocates memory of the current device, in bytes.
    ///
    /// # Errors
    /// The driver's.
    pub fn allocate(&self, bytes: usize) -> Result<Address, Error> {
        let mut address = 0;
        // SAFETY: the address of a value.
        checked(unsafe { (self.allocate)(&mut address, bytes) })?;
        Ok(address)
    }

    /// Frees memory of [`Driver::allocate`].
    ///
    /// # Errors
    /// The driver's.
    pub fn free(&self, address: Address) -> Result<(), Error> {
        // SAFETY: the driver checks the address.
        checked(unsafe { (self.free)(address) })
    }

    /// Copies a device's bytes into `value`, and waits for the stream.
    ///
    /// # Safety
    /// `value` is the address of `bytes` writable bytes.
    ///
    /// # Errors
    /// The driver's.
    pub unsafe fn read(
        &self,
        value: *mut u8,
        from: Address,
        bytes: usize,
        stream: Stream,
    ) -> Result<(), Error> {
        // SAFETY: passed on from the caller; the driver checks the address of the device.
        unsafe {
            checked((self.to_host)(value.cast(), from, bytes, stream))?;
            checked((self.synchronize)(stream))
        }
    }

    /// Copies bytes of memory of the host or of a device, in the order of the stream.
    ///
    /// # Errors
    /// The driver's, for memory that the program does not own.
    pub fn copy(&self, to: Address, from: Address, bytes: usize, stream: Stream) -> Result<(), Error> {
        // SAFETY: the driver checks addresses; those of the host are the program's.
        checked(unsafe { (self.copy)(to, from, bytes, stream) })
    }

    /// Sets bytes of a device to a value, in the order of the stream.
    ///
    /// # Errors
    /// The driver's.
    pub fn fill(&self, to: Address, value: u8, bytes: usize, stream: Stream) -> Result<(), Error> {
        // SAFETY: the driver checks the address.
        checked(unsafe { (self.fill)(to, value, bytes, stream) })
    }

    /// Waits for a stream.
    ///
    /// # Errors
    /// The driver's.
    pub fn synchronize(&self, stream: Stream) -> Result<(), Error> {
        // SAFETY: a stream of the program.
        checked(unsafe { (self.synchronize)(stream) })
    }
}

fn checked(code: c_int) -> Result<(), Error> {
    if code == 0 { Ok(()) } else { Err(Error(code)) }
}

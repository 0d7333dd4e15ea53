//! Any library with the CUDA driver API: ours or a real one, given by its path.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::Path;

use libloading::Library;

use super::{Job, Machine, MachineError, THREADS, bytes_of, words_of};

/// What a driver says to PTX that it does not take: the PTX is invalid, or for another architecture or version.
const REFUSALS: [c_int; 4] = [209, 218, 222, 223];

/// The functions of the driver API that are needed.
struct Functions {
    init: unsafe extern "C" fn(c_uint) -> c_int,
    version: unsafe extern "C" fn(*mut c_int) -> c_int,
    device: unsafe extern "C" fn(*mut c_int, c_int) -> c_int,
    device_name: unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int,
    retain: unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int,
    set_current: unsafe extern "C" fn(*mut c_void) -> c_int,
    load: unsafe extern "C" fn(*mut *mut c_void, *const c_void) -> c_int,
    unload: unsafe extern "C" fn(*mut c_void) -> c_int,
    function: unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *const c_char) -> c_int,
    allocate: unsafe extern "C" fn(*mut u64, usize) -> c_int,
    free: unsafe extern "C" fn(u64) -> c_int,
    to_device: unsafe extern "C" fn(u64, *const c_void, usize) -> c_int,
    from_device: unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int,
    launch: unsafe extern "C" fn(
        *mut c_void,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        *mut c_void,
        *mut *mut c_void,
        *mut *mut c_void,
    ) -> c_int,
    synchronize: unsafe extern "C" fn() -> c_int,
}

/// The first device of a driver.
pub struct Driver {
    functions: Functions,
    device: c_int,
    /// Its functions are called as long as this is there.
    _library: Library,
}

fn call(name: &str, code: c_int) -> Result<(), MachineError> {
    match code {
        0 => Ok(()),
        code if REFUSALS.contains(&code) => Err(MachineError::Refused(format!("{name}: error {code}"))),
        code => Err(MachineError::Failed(format!("{name}: error {code}"))),
    }
}

impl Driver {
    /// Opens the library at `path` and makes its first device's primary context current to this thread.
    pub fn open(path: &Path) -> Result<Driver, MachineError> {
        let failed = |error: libloading::Error| MachineError::Failed(error.to_string());
        // SAFETY: whoever names the library wants its initialisers to run.
        let library = unsafe { Library::new(path) }.map_err(failed)?;
        macro_rules! symbol {
            ($name:literal) => {
                // SAFETY: the driver API's functions have these types, by its documentation.
                *unsafe { library.get($name) }.map_err(failed)?
            };
        }
        let functions = Functions {
            init: symbol!("cuInit"),
            version: symbol!("cuDriverGetVersion"),
            device: symbol!("cuDeviceGet"),
            device_name: symbol!("cuDeviceGetName"),
            retain: symbol!("cuDevicePrimaryCtxRetain"),
            set_current: symbol!("cuCtxSetCurrent"),
            load: symbol!("cuModuleLoadData"),
            unload: symbol!("cuModuleUnload"),
            function: symbol!("cuModuleGetFunction"),
            allocate: symbol!("cuMemAlloc_v2"),
            free: symbol!("cuMemFree_v2"),
            to_device: symbol!("cuMemcpyHtoD_v2"),
            from_device: symbol!("cuMemcpyDtoH_v2"),
            launch: symbol!("cuLaunchKernel"),
            synchronize: symbol!("cuCtxSynchronize"),
        };
        let (mut device, mut context) = (0, std::ptr::null_mut());
        // SAFETY: the pointers are those of variables that live during the calls.
        unsafe {
            call("cuInit", (functions.init)(0))?;
            call("cuDeviceGet", (functions.device)(&mut device, 0))?;
            call("cuDevicePrimaryCtxRetain", (functions.retain)(&mut context, device))?;
            call("cuCtxSetCurrent", (functions.set_current)(context))?;
        }
        Ok(Driver { functions, device, _library: library })
    }

    /// The card's name and the driver's version, such as `13.0`.
    pub fn names(&self) -> Result<(String, String), MachineError> {
        let mut name = [0u8; 256];
        let mut version = 0;
        // SAFETY: the name's buffer has room for as many bytes as is said.
        unsafe {
            let length = name.len() as c_int;
            let named = (self.functions.device_name)(name.as_mut_ptr().cast(), length, self.device);
            call("cuDeviceGetName", named)?;
            call("cuDriverGetVersion", (self.functions.version)(&mut version))?;
        }
        let card = CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy().into_owned();
        Ok((card, format!("{}.{}", version / 1000, version % 1000 / 10)))
    }

    /// Runs the kernel of a loaded module on buffers that lie on the device.
    fn launch(
        &self,
        module: *mut c_void,
        job: Job<'_>,
        from: u64,
        to: u64,
    ) -> Result<Vec<u64>, MachineError> {
        let functions = &self.functions;
        let mut results = vec![0u8; job.rows() * job.result_words * 8];
        let operands = bytes_of(job.operands);
        let mut function = std::ptr::null_mut();
        let (mut from, mut to, mut rows) = (from, to, job.rows() as u32);
        let mut parameters: [*mut c_void; 3] =
            [(&raw mut from).cast(), (&raw mut to).cast(), (&raw mut rows).cast()];
        let none: *mut *mut c_void = std::ptr::null_mut();
        // SAFETY: both buffers are as long on the device as here; the parameters are those that the kernel declares.
        unsafe {
            let found = (functions.function)(&mut function, module, c"one".as_ptr());
            call("cuModuleGetFunction", found)?;
            call("cuMemcpyHtoD", (functions.to_device)(from, operands.as_ptr().cast(), operands.len()))?;
            call("cuMemcpyHtoD", (functions.to_device)(to, results.as_ptr().cast(), results.len()))?;
            let parameters = parameters.as_mut_ptr();
            let launched = (functions.launch)(
                function,
                job.ctas(),
                1,
                1,
                THREADS,
                1,
                1,
                0,
                std::ptr::null_mut(),
                parameters,
                none,
            );
            call("cuLaunchKernel", launched)?;
            call("cuCtxSynchronize", (functions.synchronize)())?;
            call("cuMemcpyDtoH", (functions.from_device)(results.as_mut_ptr().cast(), to, results.len()))?;
        }
        Ok(words_of(&results))
    }

    fn allocate(&self, bytes: usize) -> Result<u64, MachineError> {
        let mut address = 0;
        // SAFETY: the pointer is that of a variable that lives during the call.
        call("cuMemAlloc", unsafe { (self.functions.allocate)(&mut address, bytes.max(1)) })?;
        Ok(address)
    }
}

impl Machine for Driver {
    fn run(&mut self, job: Job<'_>) -> Result<Vec<u64>, MachineError> {
        let text = CString::new(job.text).map_err(|error| MachineError::Refused(error.to_string()))?;
        let mut module = std::ptr::null_mut();
        // SAFETY: the text ends with a zero byte.
        call("cuModuleLoadData", unsafe { (self.functions.load)(&mut module, text.as_ptr().cast()) })?;
        let from = self.allocate(job.operands.len() * 8)?;
        let to = self.allocate(job.rows() * job.result_words * 8)?;
        let results = self.launch(module, job, from, to);
        // SAFETY: all three came from this driver and are not used again.
        unsafe {
            call("cuMemFree", (self.functions.free)(from))?;
            call("cuMemFree", (self.functions.free)(to))?;
            call("cuModuleUnload", (self.functions.unload)(module))?;
        }
        results
    }
}

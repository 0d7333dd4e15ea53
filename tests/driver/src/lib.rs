//! Any library with the CUDA driver API, ours or a real one, as tests use it: its first device, modules of PTX, memory, textures
//! and launches.

mod functions;
mod image;

pub use image::{Address, Array, Filter, Format, Image, Reading, Reference, Shape};

use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::path::Path;

use functions::{Functions, LaunchAttribute, LaunchSpec};
use libloading::Library;

/// What a driver says to PTX that it does not take: the PTX is invalid, or for another architecture or version.
const REFUSALS: [c_int; 4] = [209, 218, 222, 223];

/// `CU_JIT_ERROR_LOG_BUFFER` and its size's option, in that order.
const ERROR_LOG: [c_int; 2] = [5, 6];
/// Bytes of the assembler's complaints that are kept.
const LOG_BYTES: usize = 4096;

/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const MOST_SHARED: c_int = 8;
/// `CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`.
const LARGE_CLUSTERS: c_int = 14;
/// Shared memory that a launch has without asking, in bytes.
const USUAL_SHARED: u32 = 48 << 10;
/// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`.
const CLUSTER: c_uint = 4;

/// Why a call did not do what it should.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DriverError {
    /// The library cannot be opened, or lacks a function.
    #[error("{0}")]
    Library(String),
    /// The module is not accepted.
    #[error("{call}: error {code} {log}")]
    Refused {
        /// The function.
        call: &'static str,
        /// Its answer.
        code: c_int,
        /// What the assembler says.
        log: String,
    },
    /// A call failed.
    #[error("{call}: error {code}")]
    Failed {
        /// The function.
        call: &'static str,
        /// Its answer.
        code: c_int,
    },
}

/// `Ok` for success.
fn check(call: &'static str, code: c_int) -> Result<(), DriverError> {
    match code {
        0 => Ok(()),
        code if REFUSALS.contains(&code) => Err(DriverError::Refused { call, code, log: String::new() }),
        code => Err(DriverError::Failed { call, code }),
    }
}

/// The first device of a driver, whose primary context is current to the thread that opened it.
pub struct Driver {
    functions: Functions,
    device: c_int,
    /// Its functions are called as long as this is there.
    _library: Library,
}

/// A loaded module.
#[derive(Debug, Clone, Copy)]
pub struct Module(*mut c_void);

/// A kernel of a loaded module.
#[derive(Debug, Clone, Copy)]
pub struct Kernel(*mut c_void);

/// Everything a launch needs but the kernel.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory, in bytes.
    pub shared: u32,
    /// Bytes of the parameters, as the kernel declares them.
    pub parameters: &'a [u8],
}

impl Driver {
    /// Opens the library at `path` and makes its first device's primary context current to this thread.
    pub fn open(path: &Path) -> Result<Driver, DriverError> {
        let failed = |error: libloading::Error| DriverError::Library(error.to_string());
        // SAFETY: whoever names the library wants its initialisers to run.
        let library = unsafe { Library::new(path) }.map_err(failed)?;
        let functions = Functions::of(&library).map_err(failed)?;
        let (mut device, mut context) = (0, std::ptr::null_mut());
        // SAFETY: the pointers are those of variables that live during the calls.
        unsafe {
            check("cuInit", (functions.init)(0))?;
            check("cuDeviceGet", (functions.device)(&mut device, 0))?;
            check("cuDevicePrimaryCtxRetain", (functions.retain)(&mut context, device))?;
            check("cuCtxSetCurrent", (functions.set_current)(context))?;
        }
        Ok(Driver { functions, device, _library: library })
    }

    /// The card's name and the driver's version, such as `13.0`.
    pub fn names(&self) -> Result<(String, String), DriverError> {
        let mut name = [0u8; 256];
        let mut version = 0;
        // SAFETY: the name's buffer has room for as many bytes as is said.
        unsafe {
            let length = name.len() as c_int;
            let named = (self.functions.device_name)(name.as_mut_ptr().cast(), length, self.device);
            check("cuDeviceGetName", named)?;
            check("cuDriverGetVersion", (self.functions.version)(&mut version))?;
        }
        let card = CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy().into_owned();
        Ok((card, format!("{}.{}", version / 1000, version % 1000 / 10)))
    }

    /// Loads a module of PTX.
    pub fn load(&self, text: &str) -> Result<Module, DriverError> {
        let text = CString::new(text).map_err(|error| DriverError::Library(error.to_string()))?;
        let mut module = std::ptr::null_mut();
        let mut log = vec![0u8; LOG_BYTES];
        let mut options = ERROR_LOG;
        // An option's value is the pointer itself.
        let mut values = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut::<c_void>(LOG_BYTES)];
        let (count, options) = (options.len() as c_uint, options.as_mut_ptr());
        // SAFETY: the text ends with a zero byte, and the log has as many bytes as is said.
        let loaded = unsafe {
            (self.functions.load)(&mut module, text.as_ptr().cast(), count, options, values.as_mut_ptr())
        };
        check("cuModuleLoadDataEx", loaded).map(|()| Module(module)).map_err(|error| match error {
            DriverError::Refused { call, code, .. } => {
                let log = CStr::from_bytes_until_nul(&log).unwrap_or_default();
                DriverError::Refused { call, code, log: log.to_string_lossy().trim().to_owned() }
            }
            other => other,
        })
    }

    /// Unloads a module, of which nothing may be used afterwards.
    pub fn unload(&self, module: Module) -> Result<(), DriverError> {
        // SAFETY: it came from this driver.
        check("cuModuleUnload", unsafe { (self.functions.unload)(module.0) })
    }

    /// A module's kernel of this name.
    pub fn kernel(&self, module: Module, name: &str) -> Result<Kernel, DriverError> {
        let name = CString::new(name).map_err(|error| DriverError::Library(error.to_string()))?;
        let mut kernel = std::ptr::null_mut();
        // SAFETY: the name ends with a zero byte.
        let found = unsafe { (self.functions.function)(&mut kernel, module.0, name.as_ptr()) };
        check("cuModuleGetFunction", found).map(|()| Kernel(kernel))
    }

    /// So many bytes of device memory; at least one is allocated.
    pub fn allocate(&self, bytes: usize) -> Result<u64, DriverError> {
        let mut address = 0;
        // SAFETY: the pointer is that of a variable that lives during the call.
        let allocated = unsafe { (self.functions.allocate)(&mut address, bytes.max(1)) };
        check("cuMemAlloc", allocated).map(|()| address)
    }

    /// Frees what `allocate` has given.
    pub fn free(&self, address: u64) -> Result<(), DriverError> {
        // SAFETY: the driver checks the address.
        check("cuMemFree", unsafe { (self.functions.free)(address) })
    }

    /// Copies to the device.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DriverError> {
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the bytes are there.
        let copied = unsafe { (self.functions.to_device)(address, bytes.as_ptr().cast(), bytes.len()) };
        check("cuMemcpyHtoD", copied)
    }

    /// Copies from the device.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DriverError> {
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: there is room for the bytes.
        let copied = unsafe { (self.functions.from_device)(bytes.as_mut_ptr().cast(), address, bytes.len()) };
        check("cuMemcpyDtoH", copied)
    }

    /// Launches a kernel and waits for its end.
    pub fn launch(&self, kernel: Kernel, launch: Launch<'_>) -> Result<(), DriverError> {
        let functions = &self.functions;
        let mut bytes = launch.parameters.len();
        let mut attribute = launch.cluster.map(|cluster| LaunchAttribute::new(CLUSTER, cluster));
        let attributes = attribute.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
        let spec = LaunchSpec {
            grid: launch.grid,
            block: launch.block,
            shared: launch.shared,
            stream: std::ptr::null_mut(),
            attributes,
            attribute_count: launch.cluster.is_some().into(),
        };
        // The end, the parameters' place and their size are 0, 1 and 2.
        let mark = std::ptr::without_provenance_mut::<c_void>;
        let place = launch.parameters.as_ptr().cast_mut().cast();
        let mut extra = [mark(1), place, mark(2), (&raw mut bytes).cast(), mark(0)];
        // SAFETY: all that the structures point to lives during the call; the driver only reads the parameters.
        unsafe {
            if launch.shared > USUAL_SHARED {
                let most = launch.shared as c_int;
                check("cuFuncSetAttribute", (functions.set_attribute)(kernel.0, MOST_SHARED, most))?;
            }
            if launch.cluster.is_some_and(|cluster| cluster.iter().product::<u32>() > 8) {
                check("cuFuncSetAttribute", (functions.set_attribute)(kernel.0, LARGE_CLUSTERS, 1))?;
            }
            let extra = if bytes == 0 { std::ptr::null_mut() } else { extra.as_mut_ptr() };
            let launched = (functions.launch)(&spec, kernel.0, std::ptr::null_mut(), extra);
            check("cuLaunchKernelEx", launched)?;
            check("cuCtxSynchronize", (functions.synchronize)())
        }
    }
}

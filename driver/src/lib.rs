//! Loader of a CUDA driver, Voltsim's or NVIDIA's, from a `libcuda.so.1`, with the calls for single kernel
//! launches.
//!
//! Functions are declared by their published signatures in the driver API's manual.

#![allow(unsafe_code)]
#![allow(non_snake_case, reason = "the driver's own names")]

mod extensions;
mod fixed;
mod images;
mod references;

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};

use libloading::Library;

use extensions::CoreExtensions;
pub use fixed::BLOCK;
pub use images::{Array, Texels};
use warp_stream::LaunchShape;

/// Failed driver call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} failed with {name}{}", if detail.is_empty() { String::new() } else { format!(":\n{detail}") })]
pub struct DriverError {
    call: &'static str,
    /// Name of the error, such as `CUDA_ERROR_ILLEGAL_ADDRESS`.
    pub name: String,
    /// Log of the compiler.
    detail: String,
}

impl DriverError {
    /// Returns whether the driver refused the PTX.
    pub fn is_refusal(&self) -> bool {
        REFUSALS.contains(&self.name.as_str())
    }
}

type Handle = *mut c_void;

macro_rules! functions {
    ($($name:ident($($argument:ty),*);)*) => {
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Functions {
            /// # Safety
            /// The library is a CUDA driver.
            unsafe fn of(library: &Library) -> Result<Functions, libloading::Error> {
                // SAFETY: the driver's functions have these signatures.
                unsafe { Ok(Functions { $($name: *library.get(concat!(stringify!($name), "\0"))?,)* }) }
            }
        }
    };
}

functions! {
    cuInit(c_uint);
    cuGetErrorName(c_int, *mut *const c_char);
    cuDeviceGet(*mut c_int, c_int);
    cuDevicePrimaryCtxRetain(*mut Handle, c_int);
    cuDeviceGetName(*mut c_char, c_int, c_int);
    cuDriverGetVersion(*mut c_int);
    cuCtxSetCurrent(Handle);
    cuCtxSynchronize();
    cuModuleLoadDataEx(*mut Handle, *const c_void, c_uint, *const c_int, *mut *mut c_void);
    cuModuleUnload(Handle);
    cuModuleGetFunction(*mut Handle, Handle, *const c_char);
    cuModuleGetGlobal_v2(*mut u64, *mut usize, Handle, *const c_char);
    cuLinkCreate_v2(c_uint, *const c_int, *mut *mut c_void, *mut Handle);
    cuLinkAddData_v2(Handle, c_int, *mut c_void, usize, *const c_char, c_uint, *const c_int, *mut *mut c_void);
    cuLinkComplete(Handle, *mut *mut c_void, *mut usize);
    cuMemAlloc_v2(*mut u64, usize);
    cuMemFree_v2(u64);
    cuMemAddressReserve(*mut u64, usize, usize, u64, u64);
    cuMemAddressFree(u64, usize);
    cuMemCreate(*mut u64, usize, *const fixed::Properties, u64);
    cuMemMap(u64, usize, usize, u64, u64);
    cuMemSetAccess(u64, usize, *const fixed::Access, usize);
    cuMemcpyHtoD_v2(u64, *const c_void, usize);
    cuMemcpyDtoH_v2(*mut c_void, u64, usize);
    cuFuncSetAttribute(Handle, c_int, c_int);
    cuArray3DCreate_v2(*mut Handle, *const images::ArrayDescription);
    cuMipmappedArrayCreate(*mut Handle, *const images::ArrayDescription, c_uint);
    cuMipmappedArrayGetLevel(*mut Handle, Handle, c_uint);
    cuMemcpy3D_v2(*const images::Copy3d);
    cuTexObjectCreate(*mut u64, *const images::Resource, *const images::Texture, *const c_void);
    cuSurfObjectCreate(*mut u64, *const images::Resource);
    cuTexObjectDestroy(u64);
    cuSurfObjectDestroy(u64);
    cuModuleGetTexRef(*mut Handle, Handle, *const c_char);
    cuTexRefSetArray(Handle, Handle, c_uint);
    cuTexRefSetMipmappedArray(Handle, Handle, c_uint);
    cuTexRefSetFormat(Handle, c_uint, c_int);
    cuTexRefSetAddress_v2(*mut usize, Handle, u64, usize);
    cuTexRefSetAddress2D_v3(Handle, *const images::Rows, u64, usize);
    cuTexRefSetFlags(Handle, c_uint);
    cuTexRefSetFilterMode(Handle, c_uint);
    cuTexRefSetAddressMode(Handle, c_int, c_uint);
    cuTexRefSetMipmapFilterMode(Handle, c_uint);
    cuTexRefSetMipmapLevelBias(Handle, f32);
    cuTexRefSetMipmapLevelClamp(Handle, f32, f32);
    cuTexRefSetMaxAnisotropy(Handle, c_uint);
    cuTexRefSetBorderColor(Handle, *mut f32);
    cuModuleGetSurfRef(*mut Handle, Handle, *const c_char);
    cuSurfRefSetArray(Handle, Handle, c_uint);
    cuArrayDestroy(Handle);
    cuMipmappedArrayDestroy(Handle);
    cuLaunchKernel(Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void);
    cuLaunchCooperativeKernel(Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void);
}

/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const MAX_DYNAMIC_SHARED: c_int = 8;
/// `CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`.
const NON_PORTABLE_CLUSTERS: c_int = 14;
/// `CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH`, `_HEIGHT`, `_DEPTH`.
const REQUIRED_CLUSTER: std::ops::RangeInclusive<c_int> = 11..=13;
/// Dynamic shared memory that needs no attribute, in bytes.
const USUAL_SHARED: u32 = 48 << 10;
/// `CU_JIT_ERROR_LOG_BUFFER`, `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
const LOG_OPTIONS: [c_int; 2] = [5, 6];
/// Limit of a device name in bytes.
const NAME_SIZE: usize = 256;
/// Errors for refused PTX: invalid, or for another architecture or version.
const REFUSALS: [&str; 4] = [
    "CUDA_ERROR_NO_BINARY_FOR_GPU",
    "CUDA_ERROR_INVALID_PTX",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
    "CUDA_ERROR_JIT_COMPILATION_DISABLED",
];
/// Size of the compiler log in bytes.
const LOG_SIZE: usize = 8192;
/// `CU_JIT_INPUT_PTX`.
const PTX: c_int = 1;
/// `CU_LAUNCH_PARAM_BUFFER_POINTER`, `CU_LAUNCH_PARAM_BUFFER_SIZE`.
const PARAMETER_BUFFER: usize = 1;
const PARAMETER_SIZE: usize = 2;

/// Driver with a context on its first device.
pub struct Driver {
    functions: Functions,
    /// Voltsim's extensions.
    extensions: Option<CoreExtensions>,
}

/// Loaded module.
#[derive(Clone, Copy)]
pub struct Module(Handle);

/// Kernel of a loaded module.
#[derive(Clone, Copy)]
pub struct Function(Handle);

/// Dimensions of a launch.
#[derive(Clone, Copy)]
pub struct Sizes {
    /// CTAs of the grid and threads of a CTA.
    pub shape: LaunchShape,
    /// Dynamic shared memory of a CTA in bytes.
    pub dynamic_shared: u32,
    /// Cooperative launch, whose CTAs are all resident at once.
    pub cooperative: bool,
    /// CTAs of a cluster along x, y and z.
    pub cluster: Option<[u32; 3]>,
}

impl Sizes {
    /// Returns the dimensions of a plain launch.
    pub fn of(shape: LaunchShape) -> Sizes {
        Sizes { shape, dynamic_shared: 0, cooperative: false, cluster: None }
    }
}

impl Driver {
    /// Loads the library at `path` and makes the primary context of its first device current.
    pub fn open(path: &Path) -> Result<Driver, DriverError> {
        let failed = |error: libloading::Error| DriverError {
            call: "dlopen",
            name: error.to_string(),
            detail: String::new(),
        };
        // SAFETY: the user specifies a driver; loading runs its constructors.
        let library = unsafe { Library::new(path) }.map_err(failed)?;
        // SAFETY: as above.
        let functions = unsafe { Functions::of(&library) }.map_err(failed)?;
        // The driver's threads outlive any unloading.
        std::mem::forget(library);
        let driver = Driver { functions, extensions: CoreExtensions::load(path) };
        driver.start()?;
        Ok(driver)
    }

    fn start(&self) -> Result<(), DriverError> {
        let call = &self.functions;
        let (mut device, mut context) = (0, null_mut());
        // SAFETY: the outputs are valid.
        unsafe {
            self.check("cuInit", (call.cuInit)(0))?;
            self.check("cuDeviceGet", (call.cuDeviceGet)(&raw mut device, 0))?;
            self.check(
                "cuDevicePrimaryCtxRetain",
                (call.cuDevicePrimaryCtxRetain)(&raw mut context, device),
            )?;
            self.check("cuCtxSetCurrent", (call.cuCtxSetCurrent)(context))
        }
    }

    /// Returns the device's name and the driver's version, such as `13.0`.
    pub fn names(&self) -> Result<(String, String), DriverError> {
        let call = &self.functions;
        let (mut name, mut version) = ([0_u8; NAME_SIZE], 0);
        // SAFETY: the outputs are valid and have the given size.
        unsafe {
            let code = (call.cuDeviceGetName)(name.as_mut_ptr().cast(), NAME_SIZE as c_int, 0);
            self.check("cuDeviceGetName", code)?;
            self.check("cuDriverGetVersion", (call.cuDriverGetVersion)(&raw mut version))?;
        }
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, format!("{}.{}", version / 1000, version % 1000 / 10)))
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<(), DriverError> {
        if code == 0 {
            return Ok(());
        }
        let mut name = null();
        // SAFETY: the output is valid.
        let known = unsafe { (self.functions.cuGetErrorName)(code, &raw mut name) } == 0 && !name.is_null();
        let name = if known {
            // SAFETY: the driver returned a static string.
            unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
        } else {
            code.to_string()
        };
        Err(DriverError { call, name, detail: String::new() })
    }

    /// Loads PTX. Several texts are linked first.
    pub fn load(&self, texts: &[String]) -> Result<Module, DriverError> {
        let texts: Vec<CString> = texts.iter().map(|text| text_of(text)).collect();
        match texts.as_slice() {
            [text] => self.load_image(text.as_ptr().cast()),
            texts => self.load_image(self.link(texts)?),
        }
    }

    fn load_image(&self, image: *const c_void) -> Result<Module, DriverError> {
        let mut module = null_mut();
        let mut messages = vec![0_u8; LOG_SIZE];
        let mut values: [*mut c_void; 2] = [messages.as_mut_ptr().cast(), LOG_SIZE as *mut c_void];
        // SAFETY: the image is a NUL-terminated text or a linked image, and each option has a value.
        let code = unsafe {
            (self.functions.cuModuleLoadDataEx)(
                &raw mut module,
                image,
                2,
                LOG_OPTIONS.as_ptr(),
                values.as_mut_ptr(),
            )
        };
        let detail = String::from_utf8_lossy(messages.split(|byte| *byte == 0).next().unwrap_or_default())
            .into_owned();
        self.check("cuModuleLoadDataEx", code).map_err(|error| DriverError { detail, ..error })?;
        Ok(Module(module))
    }

    /// Unloads an unused module.
    pub fn unload(&self, module: Module) -> Result<(), DriverError> {
        // SAFETY: the module is from this driver.
        self.check("cuModuleUnload", unsafe { (self.functions.cuModuleUnload)(module.0) })
    }

    /// Links texts. The link state, which owns the image, is kept.
    fn link(&self, texts: &[CString]) -> Result<*const c_void, DriverError> {
        let call = &self.functions;
        let (mut state, mut image, mut size) = (null_mut(), null_mut(), 0);
        // SAFETY: there are no options, each text has its size, and the outputs are valid.
        unsafe {
            self.check("cuLinkCreate", (call.cuLinkCreate_v2)(0, null(), null_mut(), &raw mut state))?;
            for text in texts {
                let bytes = text.as_bytes_with_nul();
                let start = bytes.as_ptr().cast_mut().cast();
                let code = (call.cuLinkAddData_v2)(
                    state,
                    PTX,
                    start,
                    bytes.len(),
                    c"PTX".as_ptr(),
                    0,
                    null(),
                    null_mut(),
                );
                self.check("cuLinkAddData", code)?;
            }
            self.check("cuLinkComplete", (call.cuLinkComplete)(state, &raw mut image, &raw mut size))?;
        }
        Ok(image)
    }

    /// Returns a kernel by name.
    pub fn function(&self, module: Module, name: &str) -> Result<Function, DriverError> {
        let mut function = null_mut();
        let name = text_of(name);
        // SAFETY: the module is from this driver, and the name is NUL-terminated.
        let code =
            unsafe { (self.functions.cuModuleGetFunction)(&raw mut function, module.0, name.as_ptr()) };
        self.check("cuModuleGetFunction", code).map(|()| Function(function))
    }

    /// Returns the address and size of a module's visible variable.
    pub fn variable(&self, module: Module, name: &str) -> Option<(u64, u64)> {
        let (mut address, mut size) = (0, 0);
        let name = text_of(name);
        // SAFETY: the module is from this driver, and the name is NUL-terminated.
        let code = unsafe {
            (self.functions.cuModuleGetGlobal_v2)(&raw mut address, &raw mut size, module.0, name.as_ptr())
        };
        (code == 0).then_some((address, size as u64))
    }

    /// Allocates device memory.
    pub fn allocate(&self, size: u64) -> Result<u64, DriverError> {
        let mut address = 0;
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        // SAFETY: the output is valid.
        self.check("cuMemAlloc", unsafe { (self.functions.cuMemAlloc_v2)(&raw mut address, size) })?;
        Ok(address)
    }

    /// Frees memory from [`Driver::allocate`].
    pub fn free(&self, address: u64) -> Result<(), DriverError> {
        // SAFETY: the driver checks the address.
        self.check("cuMemFree", unsafe { (self.functions.cuMemFree_v2)(address) })
    }

    /// Copies to device memory.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DriverError> {
        // SAFETY: the driver checks the address, and the buffer is valid.
        let code = unsafe { (self.functions.cuMemcpyHtoD_v2)(address, bytes.as_ptr().cast(), bytes.len()) };
        self.check("cuMemcpyHtoD", code)
    }

    /// Copies from device memory.
    pub fn read(&self, address: u64, size: u64) -> Result<Vec<u8>, DriverError> {
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        // SAFETY: the driver checks the address, and the buffer is valid.
        let code =
            unsafe { (self.functions.cuMemcpyDtoH_v2)(bytes.as_mut_ptr().cast(), address, bytes.len()) };
        self.check("cuMemcpyDtoH", code).map(|()| bytes)
    }

    /// Launches a kernel. `parameters` is the parameter block, and `offsets` gives the position of each
    /// parameter in it.
    pub fn launch(
        &self,
        function: Function,
        sizes: Sizes,
        parameters: &mut [u8],
        offsets: &[usize],
    ) -> Result<(), DriverError> {
        let call = &self.functions;
        let LaunchShape { grid: [gx, gy, gz], block: [bx, by, bz] } = sizes.shape;
        if sizes.dynamic_shared > USUAL_SHARED {
            self.set_attribute(function, MAX_DYNAMIC_SHARED, sizes.dynamic_shared)?;
        }
        if let Some(cluster) = sizes.cluster {
            self.set_attribute(function, NON_PORTABLE_CLUSTERS, 1)?;
            for (attribute, extent) in REQUIRED_CLUSTER.zip(cluster) {
                self.set_attribute(function, attribute, extent)?;
            }
        }
        let (shared, stream) = (sizes.dynamic_shared, null_mut());
        let mut size = parameters.len();
        let start = parameters.as_mut_ptr();
        // SAFETY: the block is valid until the call returns, which copies it.
        let code = unsafe {
            if sizes.cooperative {
                let pointers = offsets.iter().map(|offset| start.wrapping_add(*offset).cast());
                let mut pointers: Vec<*mut c_void> = pointers.collect();
                let list = pointers.as_mut_ptr();
                (call.cuLaunchCooperativeKernel)(function.0, gx, gy, gz, bx, by, bz, shared, stream, list)
            } else {
                let mut extra: [*mut c_void; 5] = [
                    PARAMETER_BUFFER as *mut c_void,
                    start.cast(),
                    PARAMETER_SIZE as *mut c_void,
                    (&raw mut size).cast(),
                    null_mut(),
                ];
                (call.cuLaunchKernel)(
                    function.0,
                    gx,
                    gy,
                    gz,
                    bx,
                    by,
                    bz,
                    shared,
                    stream,
                    null_mut(),
                    if size == 0 { null_mut() } else { extra.as_mut_ptr() },
                )
            }
        };
        self.check("cuLaunchKernel", code)
    }

    fn set_attribute(&self, function: Function, attribute: c_int, value: u32) -> Result<(), DriverError> {
        let value = c_int::try_from(value).unwrap_or(c_int::MAX);
        // SAFETY: the function is from this driver.
        let code = unsafe { (self.functions.cuFuncSetAttribute)(function.0, attribute, value) };
        self.check("cuFuncSetAttribute", code)
    }

    /// Waits for the launched kernel. A fault of the kernel is returned as the error.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        // SAFETY: no arguments.
        self.check("cuCtxSynchronize", unsafe { (self.functions.cuCtxSynchronize)() })
    }
}

/// Converts to a C string, up to the first NUL.
fn text_of(text: &str) -> CString {
    let before = text.split('\0').next().unwrap_or_default();
    CString::new(before).unwrap_or_default()
}

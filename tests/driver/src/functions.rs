//! The functions of the driver API that are called, and the structures that they take (`cuda.h`).

use std::ffi::{c_char, c_int, c_uint, c_void};

use libloading::Library;

type Code = c_int;

/// `CUlaunchConfig`.
#[repr(C)]
pub(crate) struct LaunchSpec {
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared: c_uint,
    pub(crate) stream: *mut c_void,
    pub(crate) attributes: *mut LaunchAttribute,
    pub(crate) attribute_count: c_uint,
}

/// `CUlaunchAttribute`, whose value has 64 bytes.
#[repr(C)]
pub(crate) struct LaunchAttribute {
    id: c_uint,
    padding: c_uint,
    value: [c_uint; 16],
}

impl LaunchAttribute {
    pub(crate) fn new(id: c_uint, dimensions: [u32; 3]) -> LaunchAttribute {
        let mut value = [0; 16];
        value[..3].copy_from_slice(&dimensions);
        LaunchAttribute { id, padding: 0, value }
    }
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
pub(crate) struct ArraySpec {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
    pub(crate) format: c_uint,
    pub(crate) channels: c_uint,
    pub(crate) flags: c_uint,
}

/// One side of `CUDA_MEMCPY3D`.
#[repr(C)]
pub(crate) struct CopySide {
    pub(crate) offset: [usize; 3],
    pub(crate) level: usize,
    pub(crate) memory: c_uint,
    pub(crate) host: *mut c_void,
    pub(crate) device: u64,
    pub(crate) array: *mut c_void,
    pub(crate) reserved: *mut c_void,
    pub(crate) pitch: usize,
    pub(crate) height: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
pub(crate) struct CopySpec {
    pub(crate) from: CopySide,
    pub(crate) to: CopySide,
    /// Bytes, rows and slices.
    pub(crate) extent: [usize; 3],
}

/// `CUDA_RESOURCE_DESC`, whose union has 128 bytes.
#[repr(C)]
pub(crate) struct ResourceSpec {
    pub(crate) kind: c_uint,
    pub(crate) value: [u64; 16],
    pub(crate) flags: c_uint,
}

/// `CUDA_TEXTURE_DESC`.
#[repr(C)]
pub(crate) struct TextureSpec {
    pub(crate) address: [c_uint; 3],
    pub(crate) filter: c_uint,
    pub(crate) flags: c_uint,
    pub(crate) anisotropy: c_uint,
    pub(crate) level_filter: c_uint,
    pub(crate) bias: f32,
    pub(crate) level_range: [f32; 2],
    pub(crate) border: [f32; 4],
    pub(crate) reserved: [c_int; 12],
}

/// Declares the table of functions, each with the name it has in the library.
macro_rules! functions {
    ($($field:ident = $name:literal ( $($argument:ty),* );)*) => {
        /// Functions of the driver API.
        pub(crate) struct Functions {
            $(pub(crate) $field: unsafe extern "C" fn($($argument),*) -> Code,)*
        }

        impl Functions {
            /// Finds all of them in a library.
            pub(crate) fn of(library: &Library) -> Result<Functions, libloading::Error> {
                Ok(Functions {
                    // SAFETY: the driver API's functions have these types, by its documentation.
                    $($field: *unsafe { library.get($name) }?,)*
                })
            }
        }
    };
}

functions! {
    init = "cuInit"(c_uint);
    version = "cuDriverGetVersion"(*mut c_int);
    device = "cuDeviceGet"(*mut c_int, c_int);
    device_name = "cuDeviceGetName"(*mut c_char, c_int, c_int);
    retain = "cuDevicePrimaryCtxRetain"(*mut *mut c_void, c_int);
    set_current = "cuCtxSetCurrent"(*mut c_void);
    load = "cuModuleLoadDataEx"(*mut *mut c_void, *const c_void, c_uint, *mut c_int, *mut *mut c_void);
    unload = "cuModuleUnload"(*mut c_void);
    function = "cuModuleGetFunction"(*mut *mut c_void, *mut c_void, *const c_char);
    set_attribute = "cuFuncSetAttribute"(*mut c_void, c_int, c_int);
    allocate = "cuMemAlloc_v2"(*mut u64, usize);
    free = "cuMemFree_v2"(u64);
    to_device = "cuMemcpyHtoD_v2"(u64, *const c_void, usize);
    from_device = "cuMemcpyDtoH_v2"(*mut c_void, u64, usize);
    launch = "cuLaunchKernelEx"(*const LaunchSpec, *mut c_void, *mut *mut c_void, *mut *mut c_void);
    synchronize = "cuCtxSynchronize"();
    array = "cuArray3DCreate_v2"(*mut *mut c_void, *const ArraySpec);
    levels = "cuMipmappedArrayCreate"(*mut *mut c_void, *const ArraySpec, c_uint);
    level = "cuMipmappedArrayGetLevel"(*mut *mut c_void, *mut c_void, c_uint);
    copy = "cuMemcpy3D_v2"(*const CopySpec);
    texture = "cuTexObjectCreate"(*mut u64, *const ResourceSpec, *const TextureSpec, *const c_void);
    surface = "cuSurfObjectCreate"(*mut u64, *const ResourceSpec);
    texture_reference = "cuModuleGetTexRef"(*mut *mut c_void, *mut c_void, *const c_char);
    reference_array = "cuTexRefSetArray"(*mut c_void, *mut c_void, c_uint);
    reference_levels = "cuTexRefSetMipmappedArray"(*mut c_void, *mut c_void, c_uint);
    reference_flags = "cuTexRefSetFlags"(*mut c_void, c_uint);
    reference_filter = "cuTexRefSetFilterMode"(*mut c_void, c_uint);
    reference_address = "cuTexRefSetAddressMode"(*mut c_void, c_int, c_uint);
    surface_reference = "cuModuleGetSurfRef"(*mut *mut c_void, *mut c_void, *const c_char);
    surface_array = "cuSurfRefSetArray"(*mut c_void, *mut c_void, c_uint);
}

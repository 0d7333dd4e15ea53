//! What nvcc's host stubs call before `main` and when a library is closed.

use crate::abi::Dim3;
use crate::api::entry::{Api, api};
use crate::objects::registry::{FatBinaryHandle, Kind, Name, registry};
use crate::session::context::{self, Need, Subject};
use crate::session::simulator::{simulator, started};
use std::ffi::{c_char, c_int, c_void};

fn add(handle: *mut *mut c_void, address: *const c_void, name: *const c_char, kind: Kind) {
    let handle = FatBinaryHandle::from_pointer(handle.cast_const().cast());
    // SAFETY: the stub passes a string literal of the library that registers, which unregisters before it goes.
    let name = unsafe { Name::new(name) };
    registry().lock().add(handle, address as usize, name, kind);
}

api! { Runtime;
    /// Presents a fat binary; the result names it in the other calls.
    fn __cudaRegisterFatBinary(fatCubin: *mut c_void) -> *mut *mut c_void = std::ptr::null_mut(); {
        registry().lock().add_fat_binary(fatCubin as usize).to_pointer()
    }

    /// Nothing more will be registered with the fat binary.
    fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) -> () = (); {}

    /// The program ends or the library is closed.
    fn __cudaUnregisterFatBinary(handle: *mut *mut c_void) -> () = (); {
        let handle = FatBinaryHandle::from_pointer(handle.cast_const().cast());
        for simulator in started() {
            simulator.unload_registered(handle);
        }
        registry().lock().remove_fat_binary(handle);
    }

    /// Loads a fat binary, so that the host can read its managed variables.
    fn __cudaInitModule(handle: *mut *mut c_void) -> c_char = 0; {
        let handle = FatBinaryHandle::from_pointer(handle.cast_const().cast());
        let loaded = context::enter(Api::Runtime, Need::Initialises, Subject::default())
            .and_then(|_entered| simulator()?.registered_module(handle));
        match loaded {
            Ok(_) => 1,
            Err(error) => {
                error.remember();
                0
            }
        }
    }

    /// Ties a kernel's host stub to its name in the PTX.
    fn __cudaRegisterFunction(
        handle: *mut *mut c_void, hostFun: *const c_char, _deviceFun: *mut c_char, deviceName: *const c_char,
        _threadLimit: c_int, _tid: *mut Dim3, _bid: *mut Dim3, _blockDim: *mut Dim3, _gridDim: *mut Dim3, _warpSize: *mut c_int,
    ) -> () = (); {
        add(handle, hostFun.cast(), deviceName, Kind::Kernel)
    }

    /// Ties a variable's host shadow to its name in the PTX.
    fn __cudaRegisterVar(
        handle: *mut *mut c_void, hostVar: *mut c_char, _deviceAddress: *mut c_char, deviceName: *const c_char,
        _ext: c_int, size: usize, _constant: c_int, _global: c_int,
    ) -> () = (); {
        add(handle, hostVar.cast_const().cast(), deviceName, Kind::Variable { size })
    }

    /// Ties the pointer through which the host reads a managed variable to its name in the PTX.
    fn __cudaRegisterManagedVar(
        handle: *mut *mut c_void, hostVarPtrAddress: *mut *mut c_void, _deviceAddress: *mut c_char,
        deviceName: *const c_char, _ext: c_int, size: usize, _constant: c_int, _global: c_int,
    ) -> () = (); {
        add(handle, hostVarPtrAddress.cast_const().cast(), deviceName, Kind::ManagedVariable { size })
    }

    /// A variable of the host the device may reach; nothing is needed, as both share one address space.
    fn __cudaRegisterHostVar(
        _handle: *mut *mut c_void, _deviceName: *const c_char, _hostVar: *mut c_char, _bytes: usize,
    ) -> () = (); {}

    /// Ties a texture reference (CUDA 11 and earlier) to its name in the PTX.
    fn __cudaRegisterTexture(
        handle: *mut *mut c_void, hostVar: *const c_void, _deviceAddress: *mut *const c_void,
        deviceName: *const c_char, _dim: c_int, norm: c_int, _ext: c_int,
    ) -> () = (); {
        add(handle, hostVar, deviceName, Kind::Texture { normalized_reads: norm != 0 })
    }

    /// Ties a surface reference (CUDA 11 and earlier) to its name in the PTX.
    fn __cudaRegisterSurface(
        handle: *mut *mut c_void, hostVar: *const c_void, _deviceAddress: *mut *const c_void,
        deviceName: *const c_char, _dim: c_int, _ext: c_int,
    ) -> () = (); {
        add(handle, hostVar, deviceName, Kind::Surface)
    }
}

//! Calls of nvcc's host stubs before `main` and at a library's end.

use crate::abi::Dim3;
use crate::abi::call::{Api, Need, Subject};
use crate::api::entry::api;
use crate::code::registry::{FatBinaryHandle, Kind, Name, registry};
use crate::objects::last_error;
use crate::root::{session, simulator, started};
use crate::session::context;
use std::ffi::{c_char, c_int, c_void};

fn add(handle: *mut *mut c_void, address: *const c_void, name: *const c_char, kind: Kind) {
    let handle = FatBinaryHandle::from_pointer(handle.cast_const().cast());
    // SAFETY: the stub passes a literal of the registering library, which unregisters before it is
    // unloaded.
    let name = unsafe { Name::new(name) };
    registry().lock().add(handle, address as usize, name, kind);
}

api! { Runtime;
    /// Registers a fat binary; the result identifies it in the other calls.
    fn __cudaRegisterFatBinary(fatCubin: *mut c_void) -> *mut *mut c_void = std::ptr::null_mut(); {
        registry().lock().add_fat_binary(fatCubin as usize).to_pointer()
    }

    /// Ends the registrations of a fat binary.
    fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) -> () = (); {}

    /// Unregisters a fat binary at the program's or library's end.
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
        let loaded = context::enter(session(), Api::Runtime, Need::Initialises, Subject::default())
            .and_then(|_entered| simulator()?.registered_module(handle));
        match loaded {
            Ok(_) => 1,
            Err(error) => {
                last_error::remember(error);
                0
            }
        }
    }

    /// Maps a kernel's host stub to its mangled name.
    fn __cudaRegisterFunction(
        handle: *mut *mut c_void, hostFun: *const c_char, _deviceFun: *mut c_char, deviceName: *const c_char,
        _threadLimit: c_int, _tid: *mut Dim3, _bid: *mut Dim3, _blockDim: *mut Dim3, _gridDim: *mut Dim3, _warpSize: *mut c_int,
    ) -> () = (); {
        add(handle, hostFun.cast(), deviceName, Kind::Kernel)
    }

    /// Maps a variable's host shadow to its name in the PTX.
    fn __cudaRegisterVar(
        handle: *mut *mut c_void, hostVar: *mut c_char, _deviceAddress: *mut c_char, deviceName: *const c_char,
        _ext: c_int, size: usize, _constant: c_int, _global: c_int,
    ) -> () = (); {
        add(handle, hostVar.cast_const().cast(), deviceName, Kind::Variable { size })
    }

    /// Maps the host's pointer to a managed variable to the name in the PTX.
    fn __cudaRegisterManagedVar(
        handle: *mut *mut c_void, hostVarPtrAddress: *mut *mut c_void, _deviceAddress: *mut c_char,
        deviceName: *const c_char, _ext: c_int, size: usize, _constant: c_int, _global: c_int,
    ) -> () = (); {
        add(handle, hostVarPtrAddress.cast_const().cast(), deviceName, Kind::ManagedVariable { size })
    }

    /// Registers a host variable that the device may access; the shared address space needs no
    /// action.
    fn __cudaRegisterHostVar(
        _handle: *mut *mut c_void, _deviceName: *const c_char, _hostVar: *mut c_char, _bytes: usize,
    ) -> () = (); {}

    /// Maps a texture reference (CUDA 11 and earlier) to its name in the PTX.
    fn __cudaRegisterTexture(
        handle: *mut *mut c_void, hostVar: *const c_void, _deviceAddress: *mut *const c_void,
        deviceName: *const c_char, _dim: c_int, norm: c_int, _ext: c_int,
    ) -> () = (); {
        add(handle, hostVar, deviceName, Kind::Texture { normalized_reads: norm != 0 })
    }

    /// Maps a surface reference (CUDA 11 and earlier) to its name in the PTX.
    fn __cudaRegisterSurface(
        handle: *mut *mut c_void, hostVar: *const c_void, _deviceAddress: *mut *const c_void,
        deviceName: *const c_char, _dim: c_int, _ext: c_int,
    ) -> () = (); {
        add(handle, hostVar, deviceName, Kind::Surface)
    }
}

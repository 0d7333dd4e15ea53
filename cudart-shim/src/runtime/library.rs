//! Libraries the program loads itself.

use crate::abi::{Address, FunctionHandle, In, LibraryHandle, Out, Text};
use crate::context::runtime_context;
use crate::driver::{code_of_file, code_of_image, count, enumerate, find, global};
use crate::entry::api;
use crate::error::Error;
use crate::jit::JitOptions;
use std::ffi::{c_int, c_uint, c_void};

api! { Runtime;
    /// Loads an image.
    fn cudaLibraryLoadData(
        library: Out<LibraryHandle>, code: Address, jitOptions: In<c_int>, jitOptionsValues: *mut *mut c_void,
        numJitOptions: c_uint, _libraryOptions: *mut c_int, _libraryOptionValues: *mut *mut c_void,
        _numLibraryOptions: c_uint,
    ) {
        library.check()?;
        let simulator = runtime_context()?;
        let options = JitOptions::read(numJitOptions, jitOptions, jitOptionsValues)?;
        let module = simulator.add_module(code_of_image(simulator, code, options)?)?;
        library.set(LibraryHandle::of(module))
    }

    /// Loads a file.
    fn cudaLibraryLoadFromFile(
        library: Out<LibraryHandle>, fileName: Text, jitOptions: In<c_int>, jitOptionsValues: *mut *mut c_void,
        numJitOptions: c_uint, _libraryOptions: *mut c_int, _libraryOptionValues: *mut *mut c_void,
        _numLibraryOptions: c_uint,
    ) {
        library.check()?;
        let simulator = runtime_context()?;
        let options = JitOptions::read(numJitOptions, jitOptions, jitOptionsValues)?;
        let module = simulator.add_module(code_of_file(simulator, fileName, options)?)?;
        library.set(LibraryHandle::of(module))
    }

    /// Forgets a library and its variables.
    fn cudaLibraryUnload(library: LibraryHandle) { runtime_context()?.unload_module(library.module()) }

    /// A kernel by name.
    fn cudaLibraryGetKernel(kernel: Out<FunctionHandle>, library: LibraryHandle, name: Text) {
        kernel.check()?;
        let found = find(runtime_context()?, library.module(), name.get()?);
        kernel.set(found.map_err(|error| match error {
            Error::SymbolNotFound => Error::InvalidDeviceFunction,
            other => other,
        })?)
    }

    /// How many kernels a library has.
    fn cudaLibraryGetKernelCount(result: Out<c_uint>, library: LibraryHandle) {
        result.set(count(runtime_context()?, library.module())?)
    }

    /// The kernels of a library.
    fn cudaLibraryEnumerateKernels(kernels: Out<FunctionHandle>, numKernels: c_uint, library: LibraryHandle) {
        enumerate(runtime_context()?, kernels, numKernels, library.module())
    }

    /// A variable by name.
    fn cudaLibraryGetGlobal(dptr: Out<Address>, bytes: Out<usize>, library: LibraryHandle, name: Text) {
        global(runtime_context()?, dptr, bytes, library.module(), name)
    }

    /// A managed variable by name.
    fn cudaLibraryGetManaged(dptr: Out<Address>, bytes: Out<usize>, library: LibraryHandle, name: Text) {
        global(runtime_context()?, dptr, bytes, library.module(), name)
    }
}

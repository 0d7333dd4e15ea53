//! Libraries loaded by the program.

use crate::abi::call::Api;
use crate::abi::error::Error;
use crate::abi::{Address, FunctionHandle, In, LibraryHandle, Out, Text};
use crate::api::driver::{code_of_file, code_of_image, global};
use crate::api::entry::shared;
use crate::objects::jit::JitOptions;
use crate::objects::library;
use crate::root::{shared, simulator};
use std::ffi::{c_int, c_uint, c_void};

shared! {
    /// Loads an image.
    fn cudaLibraryLoadData = cuLibraryLoadData (
        library: Out<LibraryHandle>, code: Address, jitOptions: In<c_int>, jitOptionsValues: *mut *mut c_void,
        numJitOptions: c_uint, _libraryOptions: *mut c_int, _libraryOptionValues: *mut *mut c_void,
        _numLibraryOptions: c_uint,
    ) {
        library.check()?;
        let simulator = simulator()?;
        let options = JitOptions::read(numJitOptions, jitOptions, jitOptionsValues)?;
        library.set(simulator.add_library(code_of_image(simulator, code, options)?)?)
    }

    /// Loads a file.
    fn cudaLibraryLoadFromFile = cuLibraryLoadFromFile (
        library: Out<LibraryHandle>, fileName: Text, jitOptions: In<c_int>, jitOptionsValues: *mut *mut c_void,
        numJitOptions: c_uint, _libraryOptions: *mut c_int, _libraryOptionValues: *mut *mut c_void,
        _numLibraryOptions: c_uint,
    ) {
        library.check()?;
        let simulator = simulator()?;
        let options = JitOptions::read(numJitOptions, jitOptions, jitOptionsValues)?;
        library.set(simulator.add_library(code_of_file(simulator, fileName, options)?)?)
    }

    /// Unloads a library and frees its variables.
    fn cudaLibraryUnload = cuLibraryUnload (library: LibraryHandle) {
        simulator()?;
        library::unload(shared(), library)
    }

    /// A kernel by name.
    fn cudaLibraryGetKernel = cuLibraryGetKernel (kernel: Out<FunctionHandle>, library: LibraryHandle, name: Text) {
        kernel.check()?;
        let found = simulator()?.find_library_kernel(library, name.get()?);
        kernel.set(found.map_err(|error| match (API, error) {
            (Api::Runtime, Error::SymbolNotFound) => Error::InvalidDeviceFunction,
            (_, other) => other,
        })?)
    }

    /// Number of kernels in a library.
    fn cudaLibraryGetKernelCount = cuLibraryGetKernelCount (result: Out<c_uint>, library: LibraryHandle) {
        result.set(simulator()?.library_kernel_count(library)?)
    }

    /// The kernels of a library.
    fn cudaLibraryEnumerateKernels = cuLibraryEnumerateKernels (
        kernels: Out<FunctionHandle>, numKernels: c_uint, library: LibraryHandle,
    ) {
        simulator()?.enumerate_library_kernels(kernels, numKernels, library)
    }

    /// A variable by name, on the current device.
    fn cudaLibraryGetGlobal = cuLibraryGetGlobal (
        dptr: Out<Address>, bytes: Out<usize>, library: LibraryHandle, name: Text,
    ) {
        let simulator = simulator()?;
        global(simulator, dptr, bytes, simulator.library_module(library)?, name)
    }

    /// A managed variable by name, shared by all devices.
    fn cudaLibraryGetManaged = cuLibraryGetManaged (
        dptr: Out<Address>, bytes: Out<usize>, library: LibraryHandle, name: Text,
    ) {
        let simulator = simulator()?;
        let module = simulator.library_module(library)?;
        simulator.module(module)?.check_managed(name.get()?)?;
        global(simulator, dptr, bytes, module, name)
    }
}

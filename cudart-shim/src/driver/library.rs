//! Libraries: modules that belong to no context. Here a library is a module, and a kernel is a function.

use crate::abi::{Address, FunctionHandle, In, LibraryHandle, ModuleHandle, Out, Text};
use crate::context::{check_device, driver, driver_context};
use crate::driver::{code_of_file, code_of_image, count, enumerate, find, global};
use crate::entry::api;
use crate::error::Error;
use crate::function::parameter;
use crate::jit::JitOptions;
use std::ffi::{c_char, c_int, c_uint, c_void};

impl LibraryHandle {
    /// The module behind the library.
    pub(crate) fn module(self) -> ModuleHandle {
        ModuleHandle(self.0)
    }

    /// The library of a module.
    pub(crate) fn of(module: ModuleHandle) -> Self {
        Self(module.0)
    }
}

api! { Driver;
    /// Loads an image.
    fn cuLibraryLoadData(
        library: Out<LibraryHandle>, code: Address, jitOptions: In<c_int>, jitOptionsValues: *mut *mut c_void,
        numJitOptions: c_uint, _libraryOptions: *mut c_int, _libraryOptionValues: *mut *mut c_void,
        _numLibraryOptions: c_uint,
    ) {
        library.check()?;
        let simulator = driver()?;
        let options = JitOptions::read(numJitOptions, jitOptions, jitOptionsValues)?;
        let module = simulator.add_module(code_of_image(simulator, code, options)?)?;
        library.set(LibraryHandle::of(module))
    }

    /// Loads a file.
    fn cuLibraryLoadFromFile(
        library: Out<LibraryHandle>, fileName: Text, jitOptions: In<c_int>, jitOptionsValues: *mut *mut c_void,
        numJitOptions: c_uint, _libraryOptions: *mut c_int, _libraryOptionValues: *mut *mut c_void,
        _numLibraryOptions: c_uint,
    ) {
        library.check()?;
        let simulator = driver()?;
        let options = JitOptions::read(numJitOptions, jitOptions, jitOptionsValues)?;
        let module = simulator.add_module(code_of_file(simulator, fileName, options)?)?;
        library.set(LibraryHandle::of(module))
    }

    /// Forgets a library and its variables.
    fn cuLibraryUnload(library: LibraryHandle) { driver()?.unload_module(library.module()) }

    /// A kernel by name.
    fn cuLibraryGetKernel(kernel: Out<FunctionHandle>, library: LibraryHandle, name: Text) {
        kernel.check()?;
        kernel.set(find(driver()?, library.module(), name.get()?)?)
    }

    /// How many kernels a library has.
    fn cuLibraryGetKernelCount(result: Out<c_uint>, library: LibraryHandle) {
        result.set(count(driver()?, library.module())?)
    }

    /// The kernels of a library.
    fn cuLibraryEnumerateKernels(kernels: Out<FunctionHandle>, numKernels: c_uint, library: LibraryHandle) {
        enumerate(driver()?, kernels, numKernels, library.module())
    }

    /// The module of a library.
    fn cuLibraryGetModule(module: Out<ModuleHandle>, library: LibraryHandle) {
        driver()?.module(library.module())?;
        module.set(library.module())
    }

    /// A variable by name.
    fn cuLibraryGetGlobal(dptr: Out<Address>, bytes: Out<usize>, library: LibraryHandle, name: Text) {
        global(driver()?, dptr, bytes, library.module(), name)
    }

    /// A managed variable by name.
    fn cuLibraryGetManaged(dptr: Out<Address>, bytes: Out<usize>, library: LibraryHandle, name: Text) {
        global(driver()?, dptr, bytes, library.module(), name)
    }

    /// The function of a kernel.
    fn cuKernelGetFunction(function: Out<FunctionHandle>, kernel: FunctionHandle) {
        driver()?.kernel(kernel)?;
        function.set(kernel)
    }

    /// The library of a kernel.
    fn cuKernelGetLibrary(library: Out<LibraryHandle>, kernel: FunctionHandle) {
        let simulator = driver()?;
        let module = simulator.module_handle(&simulator.kernel(kernel)?.module).ok_or(Error::NotSupported)?;
        library.set(LibraryHandle::of(module))
    }

    /// The kernel's name in the PTX.
    fn cuKernelGetName(name: Out<*const c_char>, kernel: FunctionHandle) {
        let simulator = driver()?;
        if kernel.0 == 0 {
            return Err(Error::InvalidValue);
        }
        name.set(simulator.kernel(kernel)?.name.as_ptr())
    }

    /// One attribute.
    fn cuKernelGetAttribute(value: Out<c_int>, attribute: c_int, kernel: FunctionHandle, dev: c_int) {
        value.check()?;
        let simulator = driver()?;
        check_device(dev)?;
        value.set(simulator.kernel_attribute(&*simulator.kernel(kernel)?, attribute)?)
    }

    /// Sets one attribute.
    fn cuKernelSetAttribute(attribute: c_int, value: c_int, kernel: FunctionHandle, dev: c_int) {
        let simulator = driver()?;
        check_device(dev)?;
        simulator.set_kernel_attribute(&*simulator.kernel(kernel)?, attribute, value)
    }

    /// Preferred split of L1 and shared memory.
    fn cuKernelSetCacheConfig(kernel: FunctionHandle, config: c_int, dev: c_int) {
        driver()?.kernel(kernel)?;
        check_device(dev)?;
        if (0..=3).contains(&config) { Ok(()) } else { Err(Error::InvalidValue) }
    }

    /// Offset and size of a parameter.
    fn cuKernelGetParamInfo(kernel: FunctionHandle, index: usize, offset: Out<usize>, size: Out<usize>) {
        parameter(&*driver_context()?.kernel(kernel)?, index, offset, size)
    }

    /// How many parameters the kernel has.
    fn cuKernelGetParamCount(kernel: FunctionHandle, count: Out<usize>) {
        count.set(driver()?.kernel(kernel)?.program()?.kernel().source.parameters.len())
    }
}

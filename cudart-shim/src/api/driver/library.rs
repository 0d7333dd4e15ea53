//! Kernels of libraries, which belong to no device; [`crate::api::shared`] holds the calls of both
//! APIs.

use crate::abi::error::Error;
use crate::abi::{FunctionHandle, LibraryHandle, ModuleHandle, Out};
use crate::api::entry::api;
use crate::objects::function::parameter;
use crate::root::{kernel_on, process, simulator};
use std::ffi::{c_char, c_int};

api! { Driver;
    /// The module of a library in the current context.
    fn cuLibraryGetModule(module: Out<ModuleHandle>, library: LibraryHandle) {
        module.check()?;
        module.set(simulator()?.library_module(library)?)
    }

    /// The function of a kernel in the current context.
    fn cuKernelGetFunction(function: Out<FunctionHandle>, kernel: FunctionHandle) {
        function.check()?;
        function.set(simulator()?.kernel(kernel)?.handle())
    }

    /// The library of a kernel.
    fn cuKernelGetLibrary(library: Out<LibraryHandle>, kernel: FunctionHandle) {
        simulator()?.kernel(kernel)?;
        let found = process().libraries.lock().kernel(kernel);
        library.set(found.ok_or(Error::NotSupported)?.0)
    }

    /// Mangled name of the kernel.
    fn cuKernelGetName(name: Out<*const c_char>, kernel: FunctionHandle) {
        let simulator = simulator()?;
        if kernel.0 == 0 {
            return Err(Error::InvalidValue);
        }
        name.set(simulator.kernel(kernel)?.name.as_ptr())
    }

    /// An attribute, on a device.
    fn cuKernelGetAttribute(value: Out<c_int>, attribute: c_int, kernel: FunctionHandle, dev: c_int) {
        value.check()?;
        let (simulator, kernel) = kernel_on(kernel, dev)?;
        value.set(simulator.kernel_attribute(&kernel, attribute)?)
    }

    /// Sets one attribute, on a device.
    fn cuKernelSetAttribute(attribute: c_int, value: c_int, kernel: FunctionHandle, dev: c_int) {
        let (simulator, kernel) = kernel_on(kernel, dev)?;
        simulator.set_kernel_attribute(&kernel, attribute, value)
    }

    /// Preferred split of L1 and shared memory.
    fn cuKernelSetCacheConfig(kernel: FunctionHandle, config: c_int, dev: c_int) {
        kernel_on(kernel, dev)?;
        if (0..=3).contains(&config) { Ok(()) } else { Err(Error::InvalidValue) }
    }

    /// Offset and size of a parameter.
    fn cuKernelGetParamInfo(kernel: FunctionHandle, index: usize, offset: Out<usize>, size: Out<usize>) {
        parameter(&*simulator()?.kernel(kernel)?, index, offset, size)
    }

    /// Number of parameters of the kernel.
    fn cuKernelGetParamCount(kernel: FunctionHandle, count: Out<usize>) {
        count.set(simulator()?.kernel(kernel)?.resources()?.source.parameters.len())
    }
}

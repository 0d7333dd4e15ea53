//! Modules: loading, functions, variables.

use crate::abi::error::{Error, Result};
use crate::abi::{Address, FunctionHandle, In, ModuleHandle, Out, Text};
use crate::api::entry::api;
use crate::code::image::Code;
use crate::code::unresolved::Stage;
use crate::objects::jit::JitOptions;
use crate::root::simulator;
use crate::session::simulator::Simulator;
use std::ffi::{CStr, OsStr, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Functions are bound at their first launch (`CU_MODULE_LAZY_LOADING`).
const LAZY_LOADING: c_int = 2;

/// Code of an image in the program's memory.
pub(crate) fn code_of_image(simulator: &Simulator, image: Address, options: JitOptions) -> Result<Code> {
    if image.0 == 0 {
        return Err(Error::InvalidValue);
    }
    // SAFETY: by the API's contract the image is one of the kinds CUDA loads.
    let code = unsafe { Code::of_image(image.0, simulator.capability()) };
    options.finish(code.and_then(|code| code.resolved(Stage::Load)), simulator.capability())
}

/// Code of a file.
pub(crate) fn code_of_file(simulator: &Simulator, name: Text, options: JitOptions) -> Result<Code> {
    let path = Path::new(OsStr::from_bytes(name.get()?.to_bytes())).to_owned();
    let code = Code::of_file(&path, simulator.capability());
    options.finish(code.and_then(|code| code.resolved(Stage::Load)), simulator.capability())
}

fn load(result: Out<ModuleHandle>, image: Address, options: JitOptions) -> Result<()> {
    result.check()?;
    let simulator = simulator()?;
    let code = code_of_image(simulator, image, options)?;
    result.set(simulator.add_module(code)?)
}

/// Stores the address and size of a variable of a module.
pub(crate) fn global(
    simulator: &Simulator,
    address: Out<Address>,
    size: Out<usize>,
    module: ModuleHandle,
    name: Text,
) -> Result<()> {
    let name = name.get()?.to_str().map_err(|_| Error::SymbolNotFound)?;
    let variable = simulator.module_variable(module, name)?;
    address.set_if_wanted(Address(variable.address as usize));
    size.set_if_wanted(variable.size as usize);
    Ok(())
}

/// Stores handles of up to `room` kernels of a module.
pub(crate) fn enumerate(
    simulator: &Simulator,
    result: Out<FunctionHandle>,
    room: c_uint,
    module: ModuleHandle,
) -> Result<()> {
    result.check()?;
    let names = simulator.module(module)?.kernel_names();
    for (index, name) in names.iter().take(room as usize).enumerate() {
        let kernel = simulator.find_kernel(module, name)?;
        Out::new(result.pointer().wrapping_add(index)).set(kernel.handle())?;
    }
    Ok(())
}

/// Number of kernels in a module.
pub(crate) fn count(simulator: &Simulator, module: ModuleHandle) -> Result<c_uint> {
    c_uint::try_from(simulator.module(module)?.kernel_names().len()).map_err(|_| Error::InvalidValue)
}

/// The kernel of a name.
pub(crate) fn find(simulator: &Simulator, module: ModuleHandle, name: &CStr) -> Result<FunctionHandle> {
    simulator.kernel_handle(module, name)
}

api! { Driver;
    /// Loads a file.
    fn cuModuleLoad(module: Out<ModuleHandle>, fname: Text) {
        module.check()?;
        let simulator = simulator()?;
        let code = code_of_file(simulator, fname, JitOptions::none())?;
        module.set(simulator.add_module(code)?)
    }

    /// Loads an image.
    fn cuModuleLoadData(module: Out<ModuleHandle>, image: Address) { load(module, image, JitOptions::none()) }

    /// Loads an image, with options.
    fn cuModuleLoadDataEx(
        module: Out<ModuleHandle>, image: Address, numOptions: c_uint, options: In<c_int>, optionValues: *mut *mut c_void,
    ) {
        load(module, image, JitOptions::read(numOptions, options, optionValues)?)
    }

    /// Loads a fat binary.
    fn cuModuleLoadFatBinary(module: Out<ModuleHandle>, fatCubin: Address) {
        load(module, fatCubin, JitOptions::none())
    }

    /// Unloads a module and frees its variables.
    fn cuModuleUnload(module: ModuleHandle) { simulator()?.unload_module(module) }

    /// A kernel by name.
    fn cuModuleGetFunction(function: Out<FunctionHandle>, module: ModuleHandle, name: Text) {
        function.check()?;
        function.set(find(simulator()?, module, name.get()?)?)
    }

    /// A variable by name.
    fn cuModuleGetGlobal_v2(dptr: Out<Address>, bytes: Out<usize>, module: ModuleHandle, name: Text) {
        global(simulator()?, dptr, bytes, module, name)
    }

    /// Loading mode: functions load at their first use.
    fn cuModuleGetLoadingMode(mode: Out<c_int>) {
        mode.set(LAZY_LOADING)
    }

    /// Number of kernels in a module.
    fn cuModuleGetFunctionCount(result: Out<c_uint>, module: ModuleHandle) {
        result.set(count(simulator()?, module)?)
    }

    /// The kernels of a module.
    fn cuModuleEnumerateFunctions(functions: Out<FunctionHandle>, numFunctions: c_uint, module: ModuleHandle) {
        enumerate(simulator()?, functions, numFunctions, module)
    }

    /// The module of a function.
    fn cuFuncGetModule(result: Out<ModuleHandle>, function: FunctionHandle) {
        let simulator = simulator()?;
        let kernel = simulator.kernel(function)?;
        result.set(simulator.module_handle(&kernel.module).ok_or(Error::NotSupported)?)
    }

    /// Mangled name of the function.
    fn cuFuncGetName(name: Out<*const c_char>, function: FunctionHandle) {
        let simulator = simulator()?;
        if function.0 == 0 {
            return Err(Error::InvalidValue);
        }
        name.set(simulator.kernel(function)?.name.as_ptr())
    }
}

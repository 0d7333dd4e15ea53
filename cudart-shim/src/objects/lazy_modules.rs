//! Lazy loading of modules and kernels.
//!
//! Up to CUDA 10, the runtime passes every fat binary of the process to the driver at its first
//! call. The runtime then looks up every kernel and variable: tens of thousands, of which a run
//! uses few. A module is therefore loaded when one of its kernels is used. For the address of a
//! variable, the module is parsed, its variables are placed, and the code is dropped.

use crate::abi::error::{Error, Result};
use crate::abi::{FunctionHandle, ModuleHandle};
use crate::code::image::Code;
use crate::objects::device::DeviceObjects;
use crate::objects::module::{Kernel, LoadedModule, image_error, place};
use functional::device::Device;
use functional::module::{LoadedVariable, PlacedVariables};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::ffi::{CStr, CString};
use std::sync::Arc;

/// A deferred module.
struct Module {
    /// Address of its fat binary's wrapper.
    wrapper: usize,
    /// Handles returned for its kernels.
    kernels: Vec<FunctionHandle>,
    state: Arc<Mutex<State>>,
}

/// Load state of a module.
#[derive(Default)]
enum State {
    #[default]
    Nothing,
    /// Variables are in device memory; the code is not loaded.
    Variables(PlacedVariables),
    All(Arc<LoadedModule>),
    Failed(Error),
}

/// All deferred modules.
#[derive(Default)]
pub(crate) struct Deferred {
    modules: FxHashMap<ModuleHandle, Module>,
    kernels: FxHashMap<FunctionHandle, (ModuleHandle, CString)>,
}

impl State {
    fn is_loaded(&self) -> bool {
        matches!(self, Self::All(_))
    }
}

impl Deferred {
    /// Removes a module and its kernels. Returns false if the module was not deferred.
    pub(crate) fn forget(&mut self, module: ModuleHandle, device: &Device) -> bool {
        let Some(module) = self.modules.remove(&module) else { return false };
        for kernel in module.kernels {
            self.kernels.remove(&kernel);
        }
        if let State::Variables(variables) = std::mem::take(&mut *module.state.lock()) {
            variables.free(device);
        }
        true
    }
}

impl DeviceObjects {
    /// Adds a fat binary by its wrapper, which must remain mapped until the module is unloaded.
    pub(crate) fn defer_module(&self, wrapper: usize) -> Result<ModuleHandle> {
        if wrapper == 0 {
            return Err(Error::InvalidValue);
        }
        let mut modules = self.modules.lock();
        let handle = modules.new_module_handle();
        modules
            .deferred
            .modules
            .insert(handle, Module { wrapper, kernels: Vec::new(), state: Arc::default() });
        Ok(handle)
    }

    /// The handle of a kernel. For a module that is not loaded yet, a missing kernel is reported at
    /// the handle's first use.
    pub(crate) fn kernel_handle(&self, module: ModuleHandle, name: &CStr) -> Result<FunctionHandle> {
        {
            let modules = &mut *self.modules.lock();
            let handle = modules.new_function_handle();
            let known = modules.deferred.modules.get_mut(&module);
            if let Some(unused) = known.filter(|module| !module.state.lock().is_loaded()) {
                unused.kernels.push(handle);
                modules.deferred.kernels.insert(handle, (module, name.to_owned()));
                return Ok(handle);
            }
        }
        Ok(self.find_kernel(module, name)?.handle())
    }

    fn deferred_state(&self, handle: ModuleHandle) -> Option<(usize, Arc<Mutex<State>>)> {
        let modules = self.modules.lock();
        modules.deferred.modules.get(&handle).map(|module| (module.wrapper, Arc::clone(&module.state)))
    }

    /// The module of a deferred handle, loaded at the first call.
    pub(crate) fn deferred_module(&self, handle: ModuleHandle) -> Result<Arc<LoadedModule>> {
        let (wrapper, state) = self.deferred_state(handle).ok_or(Error::InvalidResourceHandle)?;
        let state = &mut *state.lock();
        let variables = match std::mem::take(state) {
            State::Nothing => PlacedVariables::default(),
            State::Variables(variables) => variables,
            State::All(module) => {
                *state = State::All(Arc::clone(&module));
                return Ok(module);
            }
            State::Failed(error) => {
                *state = State::Failed(error);
                return Err(error);
            }
        };
        let module = self.read(wrapper).and_then(|code| LoadedModule::load_around(self, code, variables));
        let module = module.map(Arc::new);
        *state = match &module {
            Ok(module) => State::All(Arc::clone(module)),
            Err(error) => State::Failed(*error),
        };
        module
    }

    /// A variable of a deferred module that is not loaded; `None` for any other module.
    pub(crate) fn deferred_variable(
        &self,
        handle: ModuleHandle,
        name: &str,
    ) -> Result<Option<Option<LoadedVariable>>> {
        let Some((wrapper, state)) = self.deferred_state(handle) else { return Ok(None) };
        let state = &mut *state.lock();
        if matches!(state, State::Nothing) {
            let read = self.read(wrapper);
            let placed = read.and_then(|code| place(self, code.modules, PlacedVariables::default()));
            *state = placed.map_or_else(State::Failed, |module| State::Variables(module.into_variables()));
        }
        match state {
            State::Variables(variables) => Ok(Some(variables.get(name))),
            State::Failed(error) => Err(*error),
            State::Nothing | State::All(_) => Ok(None),
        }
    }

    fn read(&self, wrapper: usize) -> Result<Code> {
        // SAFETY: the program keeps the wrapper mapped until the module is unloaded.
        unsafe { Code::of_registered(wrapper, self.capability()) }.map_err(|error| image_error(&error))
    }

    /// The name of a kernel whose handle was created before its module was loaded.
    pub(crate) fn deferred_name(&self, handle: FunctionHandle) -> Option<String> {
        let modules = self.modules.lock();
        modules.deferred.kernels.get(&handle).map(|(_, name)| name.to_string_lossy().into_owned())
    }

    /// The kernel of a handle that was created before its module was loaded.
    pub(crate) fn deferred_kernel(&self, handle: FunctionHandle) -> Result<Option<Arc<Kernel>>> {
        let Some((module, name)) = self.modules.lock().deferred.kernels.get(&handle).cloned() else {
            return Ok(None);
        };
        let module = self.module(module)?;
        module.check_kernel(&name.to_string_lossy())?;
        Ok(Some(self.modules.lock().add_kernel_as(handle, name, module)))
    }
}

//! Modules and kernels that nothing has used yet.
//!
//! The runtime of CUDA 10 and before has the driver load every fat binary of the process at its first call and asks for every
//! kernel, tens of thousands of them, of which a run launches a few. A module is read when a kernel or variable of it is
//! used.

use crate::abi::{FunctionHandle, ModuleHandle};
use crate::error::{Error, Result};
use crate::image::Code;
use crate::module::{Kernel, LoadedModule, image_error};
use crate::simulator::Simulator;
use rustc_hash::FxHashMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, OnceLock};

/// A module that has been handed over.
struct Module {
    /// Where its fat binary's wrapper lies.
    wrapper: usize,
    /// Handles given for its kernels.
    kernels: Vec<FunctionHandle>,
    loaded: Arc<OnceLock<Result<Arc<LoadedModule>>>>,
}

/// What has been handed over and not been used.
#[derive(Default)]
pub(crate) struct Deferred {
    modules: FxHashMap<ModuleHandle, Module>,
    kernels: FxHashMap<FunctionHandle, (ModuleHandle, CString)>,
}

impl Deferred {
    /// Forgets a module and its kernels; was it one of these?
    pub(crate) fn forget(&mut self, module: ModuleHandle) -> bool {
        let Some(module) = self.modules.remove(&module) else { return false };
        for kernel in module.kernels {
            self.kernels.remove(&kernel);
        }
        true
    }
}

impl Simulator {
    /// Takes a fat binary over by its wrapper, which stays where it is until the module is unloaded.
    pub(crate) fn defer_module(&self, wrapper: usize) -> Result<ModuleHandle> {
        if wrapper == 0 {
            return Err(Error::InvalidValue);
        }
        let mut modules = self.modules.lock();
        let handle = modules.new_module_handle();
        modules
            .deferred
            .modules
            .insert(handle, Module { wrapper, kernels: Vec::new(), loaded: Arc::default() });
        Ok(handle)
    }

    /// The handle of a kernel of a module. Whether there is such a kernel in a module that nothing has used is told when
    /// the handle is used.
    pub(crate) fn kernel_handle(&self, module: ModuleHandle, name: &CStr) -> Result<FunctionHandle> {
        {
            let modules = &mut *self.modules.lock();
            let handle = modules.new_function_handle();
            let known = modules.deferred.modules.get_mut(&module);
            if let Some(unused) = known.filter(|module| module.loaded.get().is_none()) {
                unused.kernels.push(handle);
                modules.deferred.kernels.insert(handle, (module, name.to_owned()));
                return Ok(handle);
            }
        }
        Ok(self.find_kernel(module, name)?.handle())
    }

    /// The module of a handle that was handed over, read at the first call.
    pub(crate) fn deferred_module(&self, handle: ModuleHandle) -> Result<Arc<LoadedModule>> {
        let (wrapper, loaded) = {
            let modules = self.modules.lock();
            let module = modules.deferred.modules.get(&handle).ok_or(Error::InvalidResourceHandle)?;
            (module.wrapper, Arc::clone(&module.loaded))
        };
        let load = || {
            // SAFETY: whoever handed the wrapper over keeps it until the module is unloaded.
            let code = unsafe { Code::of_registered(wrapper, self.capability()) };
            let module = LoadedModule::load(self, code.map_err(|error| image_error(&error))?)?;
            Ok(Arc::new(module))
        };
        loaded.get_or_init(load).clone()
    }

    /// The kernel of a handle that was given before its module was read.
    pub(crate) fn deferred_kernel(&self, handle: FunctionHandle) -> Result<Option<Arc<Kernel>>> {
        let Some((module, name)) = self.modules.lock().deferred.kernels.get(&handle).cloned() else {
            return Ok(None);
        };
        let module = self.module(module)?;
        module.check_kernel(&name.to_string_lossy())?;
        Ok(Some(self.modules.lock().add_kernel_as(handle, name, module)))
    }
}

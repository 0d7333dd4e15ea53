//! A kernel of a loaded module, with the attributes that the program set.

use super::LoadedModule;
use crate::abi::FunctionHandle;
use crate::abi::error::{Error, Result};
use crate::code::code_cache;
use crate::objects::cluster::ClusterSettings;
use crate::objects::sass_only;
use functional::assembled::Assembled;
use functional::bind::{BindError, KernelResources};
use functional::engine::program::Program;
use parking_lot::Mutex;
use ptx_frontend::analyse::ParametersRead;
use saved_run::Digest;
use std::ffi::CString;
use std::sync::{Arc, OnceLock};

/// A kernel of a loaded module.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// The kernel's name in the PTX.
    pub(crate) name: CString,
    pub(crate) module: Arc<LoadedModule>,
    handle: FunctionHandle,
    /// Set by `cudaFuncSetAttribute`.
    pub(crate) settings: Mutex<KernelSettings>,
    /// Set by the first launch.
    program: OnceLock<Arc<Program>>,
    code: OnceLock<Digest>,
    parameters_read: OnceLock<ParametersRead>,
}

impl Kernel {
    /// A kernel of `module` without attributes.
    pub(super) fn new(handle: FunctionHandle, name: CString, module: Arc<LoadedModule>) -> Kernel {
        let settings =
            KernelSettings { max_dynamic_shared: None, carveout: -1, clusters: ClusterSettings::default() };
        Kernel {
            name,
            module,
            handle,
            settings: Mutex::new(settings),
            program: OnceLock::new(),
            code: OnceLock::new(),
            parameters_read: OnceLock::new(),
        }
    }

    /// Digest of the PTX that defines it.
    pub(crate) fn code(&self) -> Digest {
        *self.code.get_or_init(|| {
            let sources = self.module.sources_of(&self.name.to_string_lossy());
            let texts: Vec<u8> = sources.iter().flat_map(|source| source.source().text().bytes()).collect();
            Digest::of(&texts)
        })
    }

    /// The parameter bytes that the kernel's code reads.
    pub(crate) fn parameters_read(&self, program: &Program) -> &ParametersRead {
        self.parameters_read.get_or_init(|| ParametersRead::of(&program.kernel().source))
    }

    /// The kernel's handle.
    pub(crate) fn handle(&self) -> FunctionHandle {
        self.handle
    }

    /// Tells whether the kernel exists as PTX, not only as machine code.
    pub(crate) fn is_executable(&self) -> bool {
        self.module.has_kernel(&self.name.to_string_lossy())
    }

    /// The kernel's program, decoded and bound at the first call. Later calls look up no name.
    pub(crate) fn program(&self) -> Result<Arc<Program>> {
        if let Some(program) = self.program.get() {
            return Ok(Arc::clone(program));
        }
        let name = self.name.to_string_lossy();
        self.module.check_executable(&name)?;
        let program = self.module.module.kernel(&name);
        code_cache::log_problem();
        let program = program.map_err(|error| self.refused(&error))?;
        Ok(Arc::clone(self.program.get_or_init(|| program)))
    }

    /// The kernel's registers and memory. They need no binding.
    pub(crate) fn resources(&self) -> Result<Arc<KernelResources>> {
        let name = self.name.to_string_lossy();
        self.module.check_executable(&name)?;
        let resources = self.module.module.resources(&name);
        code_cache::log_problem();
        resources.map_err(|error| self.refused(&error))
    }

    /// Resources that replace those of the lowered code.
    pub(crate) fn assembled(&self) -> Option<Assembled> {
        self.module.assembled(&self.name.to_string_lossy())
    }

    /// Reports a kernel that cannot be bound and returns the API error.
    fn refused(&self, error: &BindError) -> Error {
        let name = self.name.to_string_lossy();
        let (code, remedy) = match error {
            BindError::Instruction { .. } => {
                (Error::NotSupported, "`voltsim status isa` lists the instruction forms that run")
            }
            BindError::Unresolved { .. } | BindError::TooLarge { .. } | BindError::Frontend(_) => {
                (Error::InvalidPtx, "")
            }
        };
        let place = self.module.place().map_or_else(String::new, |place| format!(" of {place}"));
        sass_only::report(&format!("kernel {name}{place}: {error}"), remedy, code)
    }
}

/// Attributes that a program sets on a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KernelSettings {
    /// Dynamic shared memory allowed beyond the default limit, in bytes.
    pub(crate) max_dynamic_shared: Option<u32>,
    /// Preferred shared memory carveout in percent; -1 for no preference.
    pub(crate) carveout: i32,
    /// Cluster attributes.
    pub(crate) clusters: ClusterSettings,
}

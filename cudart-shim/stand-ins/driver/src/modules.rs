//! Kernels of a stand-in, loaded once for each context.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::sync::LazyLock;

use parking_lot::Mutex;

use crate::functions::{Context, Driver, Function, Grid, Module, Stream};
use crate::{Error, driver};

/// A PTX file of a stand-in.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The text, which ends with a zero byte.
    pub ptx: &'static str,
    /// Least compute capability, ten times.
    pub capability: i32,
}

/// The kernels of some PTX files. Each context loads a file once, when its first handle is made: a
/// capture of a graph could not load it.
#[derive(Debug)]
pub struct Modules {
    sources: &'static [Source],
    loaded: LazyLock<Mutex<HashMap<Context, Kernels>>>,
}

/// Modules and kernels of a context.
#[derive(Debug, Default)]
struct Kernels {
    modules: Vec<Module>,
    functions: HashMap<&'static str, Function>,
}

impl Modules {
    /// Kernels of these files; nothing is loaded.
    pub const fn new(sources: &'static [Source]) -> Self {
        Self { sources, loaded: LazyLock::new(Mutex::default) }
    }

    /// Loads the files into the current context, unless they are loaded.
    ///
    /// # Errors
    /// The driver's.
    pub fn load(&self, context: Context) -> Result<(), Error> {
        let driver = driver()?;
        let mut loaded = self.loaded.lock();
        let kernels = loaded.entry(context).or_default();
        // A context with the address of a destroyed one has none of its modules.
        let is_live = kernels.modules.first().is_none_or(|module| is_live(driver, *module));
        if !is_live {
            *kernels = Kernels::default();
        }
        if kernels.modules.is_empty() {
            let capability = driver.capability()?;
            for source in self.sources.iter().filter(|source| source.capability <= capability) {
                let ptx = CStr::from_bytes_with_nul(source.ptx.as_bytes()).map_err(|_| INVALID_PTX)?;
                kernels.modules.push(driver.load(ptx)?);
            }
        }
        Ok(())
    }

    /// Launches a kernel of the files.
    ///
    /// # Safety
    /// `arguments` are the addresses of values with the types of the kernel's parameters.
    ///
    /// # Errors
    /// The driver's.
    pub unsafe fn launch(
        &self,
        context: Context,
        kernel: &'static str,
        grid: Grid,
        stream: Stream,
        arguments: &mut [*mut c_void],
    ) -> Result<(), Error> {
        let driver = driver()?;
        let function = match self.function(driver, context, kernel) {
            // Another copy of the library, under another name, made the handle.
            Err(Error::NO_DRIVER) => {
                self.load(context)?;
                self.function(driver, context, kernel)?
            }
            function => function?,
        };
        // SAFETY: passed on from the caller.
        unsafe { driver.launch(function, grid, stream, arguments) }
    }

    fn function(&self, driver: &Driver, context: Context, kernel: &'static str) -> Result<Function, Error> {
        let mut loaded = self.loaded.lock();
        let kernels = loaded.entry(context).or_default();
        if let Some(function) = kernels.functions.get(kernel) {
            return Ok(*function);
        }
        let name = CString::new(kernel).unwrap_or_default();
        let mut missing = Error::NO_DRIVER;
        for module in &kernels.modules {
            match driver.function(*module, &name) {
                Ok(function) => {
                    kernels.functions.insert(kernel, function);
                    return Ok(function);
                }
                Err(error) => missing = error,
            }
        }
        Err(missing)
    }
}

/// Name of a function that no file has: a live module says so, and a dead one is no module.
const NO_FUNCTION: &CStr = c"voltsim_no_such_kernel";
/// `CUDA_ERROR_INVALID_PTX`.
const INVALID_PTX: Error = Error(218);
/// `CUDA_ERROR_NOT_FOUND`.
const NOT_FOUND: Error = Error(500);

fn is_live(driver: &Driver, module: Module) -> bool {
    driver.function(module, NO_FUNCTION).err() == Some(NOT_FOUND)
}

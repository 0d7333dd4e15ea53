//! Device runtime of kernels that launch kernels (CUDA programming guide, "CUDA Dynamic
//! Parallelism").

use crate::abi::error::UNRECOGNIZED;
use crate::abi::error::{Error, Result, texts};
use crate::abi::function_attributes::FunctionAttributes12;
use crate::objects::module::{Kernel, LoadedModule};
use crate::session::simulator::Simulator;
use crate::session::summary;
use functional::bind::BindError;
use functional::dynamic_parallelism;
use functional::engine::program::Program;
use functional::launch::LaunchStatistics;
use std::sync::Arc;

/// The device runtime for the kernels of one module.
#[derive(Clone)]
pub(crate) struct DeviceRuntime {
    simulator: &'static Simulator,
    module: Arc<LoadedModule>,
}

impl std::fmt::Debug for DeviceRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceRuntime").field("module", &self.module).finish_non_exhaustive()
    }
}

impl DeviceRuntime {
    /// The runtime for the kernels of a module.
    pub(crate) fn of(
        simulator: &'static Simulator,
        module: &Arc<LoadedModule>,
    ) -> Arc<dyn dynamic_parallelism::DeviceRuntime> {
        Arc::new(Self { simulator, module: Arc::clone(module) })
    }

    fn kernel(&self, program: &Program) -> Result<Arc<Kernel>> {
        self.simulator.kernel_in(&self.module, &program.kernel().name)
    }
}

impl dynamic_parallelism::DeviceRuntime for DeviceRuntime {
    fn kernel_at(&self, address: u64) -> Option<std::result::Result<Arc<Program>, BindError>> {
        self.module.kernel_at(address)
    }

    fn attribute(&self, number: i32) -> std::result::Result<i32, i32> {
        self.simulator.profile.attribute_by_number(number).ok_or(Error::InvalidValue.code())
    }

    fn limit(&self, number: i32) -> std::result::Result<u64, i32> {
        self.simulator.limit(number).map_err(Error::code)
    }

    fn device(&self) -> (i32, i32) {
        (0, 1)
    }

    fn function_attributes(&self, kernel: &Arc<Program>) -> std::result::Result<Vec<u8>, i32> {
        let attributes = self.kernel(kernel).and_then(|kernel| self.simulator.kernel_attributes(&kernel));
        attributes.map(|attributes| FunctionAttributes12::from(attributes).to_bytes()).map_err(Error::code)
    }

    fn resident_ctas(
        &self,
        kernel: &Arc<Program>,
        threads: u32,
        shared: u64,
    ) -> std::result::Result<u32, i32> {
        let shared = usize::try_from(shared).map_err(|_| Error::InvalidValue.code())?;
        if threads == 0 {
            return Err(Error::InvalidValue.code());
        }
        let known = self.kernel(kernel).map_err(Error::code)?;
        let resources = known.resources().map_err(Error::code)?;
        Ok(self.simulator.active_ctas(&known, &resources, threads, shared))
    }

    fn error_texts(&self, code: i32) -> (String, String) {
        let known = texts(code);
        let name = known.and_then(|texts| texts.runtime_name).unwrap_or(UNRECOGNIZED);
        let text = known.map_or(UNRECOGNIZED, |texts| texts.text);
        (name.to_string_lossy().into_owned(), text.to_string_lossy().into_owned())
    }

    fn finished(&self, kernel: &Arc<Program>, statistics: &LaunchStatistics) {
        summary::add(self.simulator.session, &kernel.kernel().name, statistics);
    }
}

//! Functional engine in this process.

use std::sync::Arc;

use functional::device::{Device, DeviceSpec, Settings};
use functional::launch::{LaunchConfig, LaunchShape, launch};
use functional::memory::AllocationKind;
use functional::module::Module;

use super::{Job, Machine, MachineError, THREADS, bytes_of, words_of};

/// Simulated device.
#[derive(Debug)]
pub struct Engine(Arc<Device>);

impl Engine {
    /// Creates a device with empty memory.
    pub fn new() -> Result<Engine, MachineError> {
        let spec = DeviceSpec { memory_bytes: 4 << 30, ..DeviceSpec::default() };
        let settings = Settings { threads: 1, ..Settings::default() };
        let device = Device::new(spec, settings).map_err(failed)?;
        Ok(Engine(Arc::new(device)))
    }
}

fn failed(error: impl std::fmt::Display) -> MachineError {
    MachineError::Failed(error.to_string())
}

fn refused(error: impl std::fmt::Display) -> MachineError {
    MachineError::Refused(error.to_string())
}

impl Machine for Engine {
    fn run(&mut self, job: Job<'_>) -> Result<Vec<u64>, MachineError> {
        let source = ptx_frontend::Module::parse(job.text, "one.ptx").map_err(refused)?;
        let module = Module::load(&self.0, vec![Arc::new(source)]).map_err(refused)?;
        let kernel = module.kernel("one").map_err(refused)?;
        let memory = &self.0.memory;
        let operands = bytes_of(job.operands);
        let mut results = vec![0; job.rows() * job.result_words * 8];
        let allocate = |bytes: &[u8]| memory.allocate(bytes.len() as u64, 256, AllocationKind::Device);
        let from = allocate(&operands).map_err(failed)?;
        let to = allocate(&results).map_err(failed)?;
        memory.write(from, &operands).map_err(failed)?;
        memory.write(to, &results).map_err(failed)?;
        let mut parameters = bytes_of(&[from, to]);
        parameters.extend((job.rows() as u32).to_le_bytes());
        let config = LaunchConfig {
            shape: LaunchShape::new([job.ctas(), 1, 1], [THREADS, 1, 1]),
            parameters,
            ..LaunchConfig::default()
        };
        launch(&self.0, &kernel, config).map_err(failed)?;
        memory.read(to, &mut results).map_err(failed)?;
        for address in [from, to] {
            memory.free(address).map_err(failed)?;
        }
        module.unload();
        Ok(words_of(&results))
    }
}

//! Any library with the CUDA driver API: ours or a real one.

use cuda_driver::{Driver, DriverError, Launch};

use super::{Job, Machine, MachineError, THREADS, bytes_of, words_of};

impl From<DriverError> for MachineError {
    fn from(error: DriverError) -> MachineError {
        match error {
            DriverError::Refused { .. } => MachineError::Refused(error.to_string()),
            _ => MachineError::Failed(error.to_string()),
        }
    }
}

impl Machine for Driver {
    fn run(&mut self, job: Job<'_>) -> Result<Vec<u64>, MachineError> {
        let module = self.load(job.text)?;
        let kernel = self.kernel(module, "one")?;
        let operands = bytes_of(job.operands);
        let mut results = vec![0u8; job.rows() * job.result_words * 8];
        let (from, to) = (self.allocate(operands.len())?, self.allocate(results.len())?);
        self.write(from, &operands)?;
        self.write(to, &results)?;
        let mut parameters = bytes_of(&[from, to]);
        parameters.extend((job.rows() as u32).to_le_bytes());
        let (grid, block) = ([job.ctas(), 1, 1], [THREADS, 1, 1]);
        self.launch(kernel, Launch { grid, block, cluster: None, shared: 0, parameters: &parameters })?;
        self.read(to, &mut results)?;
        self.free(from)?;
        self.free(to)?;
        self.unload(module)?;
        Ok(words_of(&results))
    }
}

//! Machine with the CUDA driver API, Voltsim's or a real GPU's.

use cuda_driver::{Driver, DriverError, Sizes};
use functional::launch::LaunchShape;

use super::{Job, Machine, MachineError, THREADS, bytes_of, words_of};

impl From<DriverError> for MachineError {
    fn from(error: DriverError) -> MachineError {
        match error.is_refusal() {
            true => MachineError::Refused(error.to_string()),
            false => MachineError::Failed(error.to_string()),
        }
    }
}

impl Machine for Driver {
    fn run(&mut self, job: Job<'_>) -> Result<Vec<u64>, MachineError> {
        let module = self.load(&[job.text.to_owned()])?;
        let kernel = self.function(module, "one")?;
        let (operands, results) = (bytes_of(job.operands), vec![0u8; job.rows() * job.result_words * 8]);
        let (from, to) = (self.allocate(operands.len() as u64)?, self.allocate(results.len() as u64)?);
        self.write(from, &operands)?;
        self.write(to, &results)?;
        let mut parameters = bytes_of(&[from, to]);
        parameters.extend((job.rows() as u32).to_le_bytes());
        self.launch(
            kernel,
            Sizes::of(LaunchShape::new([job.ctas(), 1, 1], [THREADS, 1, 1])),
            &mut parameters,
            &[],
        )?;
        self.synchronize()?;
        let results = self.read(to, results.len() as u64)?;
        self.free(from)?;
        self.free(to)?;
        self.unload(module)?;
        Ok(words_of(&results))
    }
}

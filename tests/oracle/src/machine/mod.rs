//! Machines that execute a kernel on rows of operands.

mod driver;
mod engine;

pub use engine::Engine;

/// Threads of a CTA.
const THREADS: u32 = 128;

/// Failure to execute a job.
#[derive(Debug, Clone, thiserror::Error)]
pub enum MachineError {
    /// The module or kernel was refused.
    #[error("refused: {0}")]
    Refused(String),
    /// The machine does not work, or the kernel failed.
    #[error("{0}")]
    Failed(String),
}

/// Kernel `one` with its rows.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// Text of the module.
    pub text: &'a str,
    /// Rows of operands, concatenated.
    pub operands: &'a [u64],
    /// Words per row of operands.
    pub operand_words: usize,
    /// Words per row of results.
    pub result_words: usize,
}

impl Job<'_> {
    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.operands.len() / self.operand_words.max(1)
    }

    fn ctas(&self) -> u32 {
        (self.rows() as u32).div_ceil(THREADS)
    }
}

/// Machine that executes PTX.
pub trait Machine {
    /// Executes a job. Returns the concatenated rows of results.
    fn run(&mut self, job: Job<'_>) -> Result<Vec<u64>, MachineError>;
}

/// Converts words to little-endian bytes.
pub fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn words_of(bytes: &[u8]) -> Vec<u64> {
    let words = bytes.as_chunks::<8>().0.iter();
    words.map(|word| u64::from_le_bytes(*word)).collect()
}

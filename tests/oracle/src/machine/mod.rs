//! What executes a kernel on rows of operands.

mod driver;
mod engine;

pub use engine::Engine;

/// Threads of a CTA.
const THREADS: u32 = 128;

/// Why there are no answers.
#[derive(Debug, Clone, thiserror::Error)]
pub enum MachineError {
    /// The module or kernel is not accepted.
    #[error("refused: {0}")]
    Refused(String),
    /// The machine does not work, or the kernel failed.
    #[error("{0}")]
    Failed(String),
}

/// One kernel `one` with its rows.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The module.
    pub text: &'a str,
    /// Rows of operands, one after another.
    pub operands: &'a [u64],
    /// Words of a row of operands.
    pub operand_words: usize,
    /// Words of a row of results.
    pub result_words: usize,
}

impl Job<'_> {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.operands.len() / self.operand_words.max(1)
    }

    fn ctas(&self) -> u32 {
        (self.rows() as u32).div_ceil(THREADS)
    }
}

/// Something that executes PTX.
pub trait Machine {
    /// The results, rows one after another.
    fn run(&mut self, job: Job<'_>) -> Result<Vec<u64>, MachineError>;
}

/// Words as bytes, little endian.
pub fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn words_of(bytes: &[u8]) -> Vec<u64> {
    let words = bytes.as_chunks::<8>().0.iter();
    words.map(|word| u64::from_le_bytes(*word)).collect()
}

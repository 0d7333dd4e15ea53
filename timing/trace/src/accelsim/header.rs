//! Header of a trace: lines `-key = value` before the first line with `#`.

use super::parse::{hexadecimal, number, triple};
use warp_stream::LaunchShape;

/// The launch that a header describes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub name: String,
    pub launch: u64,
    pub stream: u64,
    pub shape: LaunchShape,
    pub shared_bytes: u32,
    pub registers: u32,
    /// Compute capability of the traced code times ten; opcodes depend on it.
    pub binary_version: u32,
    /// Start of generic addresses of shared memory; 0 if not given.
    pub shared_base: u64,
    /// Start of generic addresses of local memory; 0 if not given.
    pub local_base: u64,
    /// True for a trace from a card; a model's recordings lack the line.
    pub of_card: bool,
    /// Instructions carry a source line before their address.
    pub source_lines: bool,
    /// Instructions start with four numbers of CTA and warp.
    pub numbered: bool,
}

impl Header {
    /// Takes a line and ignores unknown keys.
    pub fn take(&mut self, line: &str) -> Result<(), String> {
        let (key, value) = line
            .strip_prefix('-')
            .and_then(|line| line.split_once('='))
            .ok_or("a header line must be `-key = value`")?;
        let (key, value) = (key.trim(), value.trim());
        self.set(key, value).ok_or_else(|| format!("`{value}` is not a value of `{key}`"))
    }

    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "kernel name" => value.clone_into(&mut self.name),
            "kernel id" => self.launch = number(value)?,
            "cuda stream id" => self.stream = number(value)?,
            "grid dim" => self.shape.grid = triple(value)?,
            "block dim" => self.shape.block = triple(value)?,
            "shmem" => self.shared_bytes = number(value)?,
            "nregs" => self.registers = number(value)?,
            "binary version" => self.binary_version = number(value)?,
            "shmem base_addr" => self.shared_base = hexadecimal(value)?,
            "local mem base_addr" => self.local_base = hexadecimal(value)?,
            "nvbit version" => self.of_card = true,
            "enable lineinfo" => self.source_lines = number::<u32>(value)? != 0,
            "accelsim tracer version" => self.numbered = number::<u32>(value)? < 3,
            _ => {}
        }
        Some(())
    }

    /// Reports missing or oversized values.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=1024).contains(&self.shape.threads_per_cta()) {
            return Err("the block must have 1 to 1,024 threads".to_owned());
        }
        if !(1..1 << 40).contains(&self.shape.cta_count()) {
            return Err("the grid has no CTA, or too many".to_owned());
        }
        match self.binary_version {
            70..=89 => Ok(()),
            version => Err(format!(
                "the trace is of binary version {version}; opcodes of Volta (70), Turing (75), Ampere (80, 86) and Ada (89) are \
                 known: trace code of one of these"
            )),
        }
    }
}

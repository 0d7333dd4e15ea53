//! Stream memory operations, checked at the call (CUDA driver API, "Stream Memory Operations").

use crate::abi::error::{Error, Result};
use functional::memory::Memory;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// `CUstreamBatchMemOpParams`, a union of structures with fields in 8-byte words.
pub(crate) type Parameters = [u64; 6];

/// Most operations in a batch.
const BATCH: usize = 256;

/// `CU_STREAM_WAIT_VALUE_FLUSH`, which has no effect: all writes are visible immediately.
const FLUSH: u32 = 1 << 30;

/// `CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER`.
const NO_BARRIER: u32 = 1;

/// A word in device-accessible memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    pub(crate) address: usize,
    /// Set for 64 bits, else 32.
    pub(crate) is_wide: bool,
}

/// Comparison of a word with a value, `CUstreamWaitValue_flags`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Comparison {
    /// Greater or equal, with wraparound.
    AtLeast,
    Equal,
    And,
    Nor,
}

/// Atomic operation on a word, `CUstreamAtomicReductionOpType`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reduction {
    Add,
    And,
    Or,
}

/// A stream memory operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    /// Waits until the comparison holds.
    Wait(Word, Comparison, u64),
    /// Stores the value.
    Write(Word, u64),
    /// Combines the word with the value.
    Reduce(Word, Reduction, u64),
    /// Memory barrier. Memory is always ordered here.
    Barrier,
}

impl Word {
    fn new(address: u64, is_wide: bool) -> Result<Self> {
        let width = if is_wide { 8 } else { 4 };
        if address == 0 || !address.is_multiple_of(width) {
            return Err(Error::InvalidValue);
        }
        Ok(Self { address: address as usize, is_wide })
    }

    pub(crate) fn bytes(self) -> usize {
        if self.is_wide { 8 } else { 4 }
    }

    /// # Safety
    /// The word must be memory that any thread may write.
    pub(crate) unsafe fn load(self) -> u64 {
        // SAFETY: the caller upholds the contract; the address is aligned.
        unsafe {
            if self.is_wide {
                AtomicU64::from_ptr(self.address as *mut u64).load(Ordering::SeqCst)
            } else {
                AtomicU32::from_ptr(self.address as *mut u32).load(Ordering::SeqCst).into()
            }
        }
    }

    /// Tells whether the comparison of a found value with a given one holds.
    pub(crate) fn holds(self, comparison: Comparison, found: u64, value: u64) -> bool {
        let mask = if self.is_wide { u64::MAX } else { u32::MAX.into() };
        match comparison {
            Comparison::AtLeast if self.is_wide => found.wrapping_sub(value) as i64 >= 0,
            Comparison::AtLeast => found.wrapping_sub(value) as i32 >= 0,
            Comparison::Equal => found == value & mask,
            Comparison::And => found & value & mask != 0,
            Comparison::Nor => !(found | value) & mask != 0,
        }
    }
}

impl Operation {
    /// `cuStreamWaitValue32` and `64`.
    pub(crate) fn wait(address: u64, is_wide: bool, value: u64, flags: u32) -> Result<Self> {
        let comparison = match flags & !FLUSH {
            0 => Comparison::AtLeast,
            1 => Comparison::Equal,
            2 => Comparison::And,
            3 => Comparison::Nor,
            _ => return Err(Error::InvalidValue),
        };
        Ok(Self::Wait(Word::new(address, is_wide)?, comparison, value))
    }

    /// `cuStreamWriteValue32` and `64`.
    pub(crate) fn write(address: u64, is_wide: bool, value: u64, flags: u32) -> Result<Self> {
        if flags & !NO_BARRIER != 0 {
            return Err(Error::InvalidValue);
        }
        Ok(Self::Write(Word::new(address, is_wide)?, value))
    }

    /// An operation of `cuStreamBatchMemOp`.
    pub(crate) fn from_parameters(parameters: &Parameters) -> Result<Self> {
        let [tag, second, third, fourth, ..] = *parameters;
        let (tag, upper) = (tag as u32, (tag >> 32) as u32);
        match tag {
            1 | 4 => Self::wait(second, tag == 4, third, fourth as u32),
            2 | 5 => Self::write(second, tag == 5, third, fourth as u32),
            // A flush of remote writes takes no flags, and a barrier takes its scope.
            3 if upper == 0 => Ok(Self::Barrier),
            6 if upper <= 1 => Ok(Self::Barrier),
            8 if upper == 0 => Self::reduce(second as u32, (second >> 32) as u32, third, fourth),
            _ => Err(Error::InvalidValue),
        }
    }

    /// `operation` is a `CUatomicOperation`, and the type is unsigned with 32 or 64 bits.
    fn reduce(operation: u32, data_type: u32, address: u64, value: u64) -> Result<Self> {
        let reduction = match operation {
            0 => Reduction::Add,
            5 => Reduction::And,
            6 => Reduction::Or,
            _ => return Err(Error::InvalidValue),
        };
        let is_wide = match data_type {
            14 => false,
            22 => true,
            _ => return Err(Error::InvalidValue),
        };
        Ok(Self::Reduce(Word::new(address, is_wide)?, reduction, value))
    }

    /// Encodes the operation for `cuStreamBatchMemOp`.
    fn parameters(self) -> Parameters {
        let narrow_or_wide = |word: Word, narrow, wide| if word.is_wide { wide } else { narrow };
        let address = |word: Word| word.address as u64;
        match self {
            Self::Wait(word, comparison, value) => {
                [narrow_or_wide(word, 1, 4), address(word), value, comparison as u64, 0, 0]
            }
            Self::Write(word, value) => [narrow_or_wide(word, 2, 5), address(word), value, 0, 0, 0],
            Self::Reduce(word, reduction, value) => {
                let operation = match reduction {
                    Reduction::Add => 0,
                    Reduction::And => 5,
                    Reduction::Or => 6,
                };
                [8, operation | narrow_or_wide(word, 14, 22) << 32, address(word), value, 0, 0]
            }
            Self::Barrier => [6, 0, 0, 0, 0, 0],
        }
    }

    /// The word, if the operation has one.
    pub(crate) fn word(self) -> Option<Word> {
        match self {
            Self::Wait(word, ..) | Self::Write(word, _) | Self::Reduce(word, ..) => Some(word),
            Self::Barrier => None,
        }
    }
}

/// A sequence of operations, as in a graph node.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) operations: Box<[Operation]>,
    /// The operations as the program passed them.
    parameters: Box<[Parameters]>,
}

impl Batch {
    /// Checks the operations.
    pub(crate) fn new(memory: &Memory, operations: &[Operation]) -> Result<Self> {
        if operations.is_empty() || operations.len() > BATCH {
            return Err(Error::InvalidValue);
        }
        check_words(memory, operations)?;
        let parameters = operations.iter().map(|operation| operation.parameters()).collect();
        Ok(Self { operations: operations.into(), parameters })
    }

    /// The operations as the program passed them.
    pub(crate) fn parameters(&self) -> &[Parameters] {
        &self.parameters
    }
}

/// Rejects operations on words outside of live allocations.
pub(crate) fn check_words(memory: &Memory, operations: &[Operation]) -> Result<()> {
    for word in operations.iter().filter_map(|operation| operation.word()) {
        memory.check_range(word.address as u64, word.bytes() as u64)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(is_wide: bool, comparison: Comparison, found: u64, value: u64) -> bool {
        Word { address: 8, is_wide }.holds(comparison, found, value)
    }

    #[test]
    fn at_least_comparison_wraps_around() {
        assert!(holds(false, Comparison::AtLeast, 3, 0xffff_fffe));
        assert!(!holds(false, Comparison::AtLeast, 0xffff_fffe, 3));
        assert!(!holds(true, Comparison::AtLeast, 3, 0xffff_fffe));
    }

    #[test]
    fn nor_comparison_holds_if_a_bit_is_clear_in_both() {
        assert!(!holds(false, Comparison::Nor, 0xffff_fff0, 0xf));
        assert!(holds(true, Comparison::Nor, 0xffff_fff0, 0xf));
    }

    #[test]
    fn operation_parameters_round_trip() {
        for parameters in
            [[1, 0x1004, 7, 1, 0, 0], [5, 0x1008, 7, 0, 0, 0], [8, 22 << 32 | 5, 0x1008, 7, 0, 0]]
        {
            assert_eq!(Operation::from_parameters(&parameters).unwrap().parameters(), parameters);
        }
    }

    #[test]
    fn misaligned_word_or_unknown_comparison_is_invalid() {
        assert_eq!(Operation::wait(0x1002, false, 0, 0).unwrap_err(), Error::InvalidValue);
        assert_eq!(Operation::wait(0x1004, true, 0, 0).unwrap_err(), Error::InvalidValue);
        assert_eq!(Operation::wait(0x1000, true, 0, 4).unwrap_err(), Error::InvalidValue);
    }
}

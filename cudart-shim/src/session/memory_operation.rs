//! Stream memory operations: writes to a word, and waits for a value (CUDA driver API, "Stream
//! Memory Operations").

use crate::abi::error::{Error, Result};
use crate::host::log;
use crate::objects::allocation::end_unmapped;
use crate::objects::fault::DeviceFault;
use crate::session::checkpoint;
use crate::session::operation::Operation as DeviceOperation;
use crate::session::sanitizer_report;
use crate::session::simulator::Simulator;
use functional::memory::Memory;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use stream_engine::{Context, StreamId, Submission};

/// `CUstreamBatchMemOpParams`, a union of structures with fields in 8-byte words.
pub(crate) type Parameters = [u64; 6];

/// Polling interval of a wait in a graph.
const PAUSE: Duration = Duration::from_micros(50);

/// Most operations in a batch.
const BATCH: usize = 256;

/// `CU_STREAM_WAIT_VALUE_FLUSH`. It has no effect: all writes are visible immediately.
const FLUSH: u32 = 1 << 30;

/// `CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER`.
const NO_BARRIER: u32 = 1;

/// A word in device-accessible memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    address: usize,
    /// Set for 64 bits, else 32.
    is_wide: bool,
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

    fn bytes(self) -> usize {
        if self.is_wide { 8 } else { 4 }
    }

    /// # Safety
    /// The word must be memory that any thread may write.
    unsafe fn load(self) -> u64 {
        // SAFETY: the caller upholds the contract; the address is aligned.
        unsafe {
            if self.is_wide {
                AtomicU64::from_ptr(self.address as *mut u64).load(Ordering::SeqCst)
            } else {
                AtomicU32::from_ptr(self.address as *mut u32).load(Ordering::SeqCst).into()
            }
        }
    }

    /// Replaces the word's value by a function of it.
    ///
    /// # Safety
    /// See [`Word::load`].
    unsafe fn update(self, new: impl Fn(u64) -> u64) {
        // SAFETY: the caller upholds the contract; the address is aligned.
        unsafe {
            if self.is_wide {
                let word = AtomicU64::from_ptr(self.address as *mut u64);
                let _ = word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| Some(new(old)));
            } else {
                let word = AtomicU32::from_ptr(self.address as *mut u32);
                let _ =
                    word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| Some(new(old.into()) as u32));
            }
        }
        sanitizer_report::note_written(self.address, self.bytes());
    }

    fn holds(self, comparison: Comparison, found: u64, value: u64) -> bool {
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

    fn word(self) -> Option<Word> {
        match self {
            Self::Wait(word, ..) | Self::Write(word, _) | Self::Reduce(word, ..) => Some(word),
            Self::Barrier => None,
        }
    }

    /// Executes an operation other than a wait.
    ///
    /// # Safety
    /// See [`Word::load`].
    unsafe fn execute(self) {
        // SAFETY: the caller upholds the contract.
        unsafe {
            match self {
                Self::Write(word, value) => word.update(|_| value),
                Self::Reduce(word, Reduction::Add, value) => word.update(|old| old.wrapping_add(value)),
                Self::Reduce(word, Reduction::And, value) => word.update(|old| old & value),
                Self::Reduce(word, Reduction::Or, value) => word.update(|old| old | value),
                Self::Wait(..) | Self::Barrier => {}
            }
        }
    }
}

/// A sequence of operations, as in a graph node.
#[derive(Debug)]
pub(crate) struct Batch {
    operations: Box<[Operation]>,
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

    /// Executes the operations on the calling thread, including waits.
    pub(crate) fn run(
        &self,
        simulator: &Simulator,
        context: &Context<DeviceFault>,
    ) -> std::result::Result<(), DeviceFault> {
        for operation in &self.operations {
            let is_there = || {
                check_present(&simulator.device.memory, *operation)
                    .map_err(|error| DeviceFault { device: simulator.ordinal, error })
            };
            is_there()?;
            if let Operation::Wait(word, comparison, value) = *operation {
                // SAFETY: the word was just found in a live allocation.
                let holds = || word.holds(comparison, unsafe { word.load() }, value);
                let step = checkpoint::next_step();
                let patience = Patience::of(simulator);
                while !checkpoint::is_met(step, word.address as u64, holds) && !context.is_cancelled() {
                    std::thread::sleep(PAUSE);
                    is_there()?;
                    if patience.is_over() {
                        return Err(patience.fault(simulator, word));
                    }
                }
            }
            // SAFETY: as above.
            unsafe { operation.execute() };
        }
        Ok(())
    }
}

/// Watchdog timer of a wait. It starts at the first check.
struct Patience {
    limit: Option<Duration>,
    began: OnceLock<Instant>,
    ended: AtomicBool,
}

impl Patience {
    fn of(simulator: &Simulator) -> Self {
        let limit = simulator.device.settings.watchdog;
        Self { limit, began: OnceLock::new(), ended: AtomicBool::new(false) }
    }

    /// Tells whether the wait exceeded its limit. Called while the condition is not met.
    fn is_over(&self) -> bool {
        let Some(limit) = self.limit else { return false };
        let over = self.began.get_or_init(Instant::now).elapsed() > limit;
        self.ended.fetch_or(over, Ordering::Relaxed) || over
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// The sticky error of a timed-out wait.
    fn fault(&self, simulator: &Simulator, word: Word) -> DeviceFault {
        let seconds = self.limit.map_or(0, |limit| limit.as_secs());
        log::report(|| {
            let address = word.address;
            format!(
                "a stream waited for the word at {address:#x} longer than the watchdog's limit of {seconds} s"
            )
        });
        DeviceFault { device: simulator.ordinal, error: Error::LaunchTimeout }
    }
}

fn check_words(memory: &Memory, operations: &[Operation]) -> Result<()> {
    for word in operations.iter().filter_map(|operation| operation.word()) {
        memory.check_range(word.address as u64, word.bytes() as u64)?;
    }
    Ok(())
}

/// Rejects an operation on freed or unmapped memory.
fn check_present(memory: &Memory, operation: Operation) -> Result<()> {
    end_unmapped();
    check_words(memory, &[operation])
}

impl Simulator {
    /// The fault of an operation whose word was freed or unmapped.
    fn word_gone(&self) -> DeviceFault {
        DeviceFault { device: self.ordinal, error: Error::IllegalAddress }
    }

    /// Submits operations to a stream in order, or adds them as a node to the graph being captured.
    pub(crate) fn submit_memory_operations(
        &'static self,
        stream: StreamId,
        operations: &[Operation],
    ) -> Result<()> {
        let batch = Batch::new(&self.device.memory, operations)?;
        self.engine.stream_info(stream)?;
        if self.add_if_capturing(stream, || DeviceOperation::MemoryOperations(Arc::new(batch)))? {
            return Ok(());
        }
        for &operation in operations {
            if let Operation::Wait(word, comparison, value) = operation {
                let is_gone = move || check_present(&self.device.memory, operation).is_err();
                // SAFETY: the word was just found in a live allocation. Freed memory ends the wait.
                let holds = move || is_gone() || word.holds(comparison, unsafe { word.load() }, value);
                let step = checkpoint::next_step();
                let patience = Arc::new(Patience::of(self));
                let (watched, simulator) = (Arc::clone(&patience), self);
                let is_met =
                    move || checkpoint::is_met(step, word.address as u64, holds) || watched.is_over();
                let then = move || match patience.has_ended() {
                    true => Err(patience.fault(simulator, word)),
                    false if is_gone() => Err(simulator.word_gone()),
                    false => Ok(()),
                };
                self.engine.submit_condition_then(stream, is_met, then)?;
            } else {
                let work = move |_: &Context<DeviceFault>| {
                    check_present(&self.device.memory, operation).map_err(|_| self.word_gone())?;
                    // SAFETY: as above.
                    unsafe { operation.execute() };
                    Ok(())
                };
                self.engine.submit(stream, Submission::transfer(work))?;
            }
        }
        Ok(())
    }
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

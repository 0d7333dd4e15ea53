//! Stream memory operations: a stream writes a word of memory, or waits until one has a value (CUDA driver API, "Stream
//! Memory Operations").

use crate::abi::error::{Error, Result};
use crate::host::log;
use crate::objects::allocation::end_unmapped;
use crate::session::checkpoint;
use crate::session::operation::Operation as DeviceOperation;
use crate::session::sanitizer_report;
use crate::session::simulator::{DeviceFault, Simulator};
use functional::memory::Memory;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use stream_engine::{Context, StreamId, Submission};

/// `CUstreamBatchMemOpParams`: the structures of its operations have their fields in words of 8 bytes.
pub(crate) type Parameters = [u64; 6];

/// Between two looks of a wait in a graph.
const PAUSE: Duration = Duration::from_micros(50);

/// Most operations of one batch.
const BATCH: usize = 256;

/// `CU_STREAM_WAIT_VALUE_FLUSH`. All writes are visible here at once.
const FLUSH: u32 = 1 << 30;

/// `CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER`.
const NO_BARRIER: u32 = 1;

/// A word that the device reaches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    address: usize,
    /// 64 bits, or 32.
    is_wide: bool,
}

/// How a word is compared with a value, `CUstreamWaitValue_flags`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Comparison {
    /// At or behind it, on the circle of the word's values.
    AtLeast,
    Equal,
    And,
    Nor,
}

/// What a word is combined with, `CUstreamAtomicReductionOpType`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reduction {
    Add,
    And,
    Or,
}

/// One operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    /// Waits until the comparison holds.
    Wait(Word, Comparison, u64),
    /// Stores the value.
    Write(Word, u64),
    /// Combines the word with the value.
    Reduce(Word, Reduction, u64),
    /// Orders memory, which is ordered here.
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
    /// The word is memory of the program that any thread may write.
    unsafe fn load(self) -> u64 {
        // SAFETY: as the caller promises; the address is aligned.
        unsafe {
            if self.is_wide {
                AtomicU64::from_ptr(self.address as *mut u64).load(Ordering::SeqCst)
            } else {
                AtomicU32::from_ptr(self.address as *mut u32).load(Ordering::SeqCst).into()
            }
        }
    }

    /// Replaces the word's value by one computed from it.
    ///
    /// # Safety
    /// As for [`Word::load`].
    unsafe fn update(self, new: impl Fn(u64) -> u64) {
        // SAFETY: as the caller promises; the address is aligned.
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

    /// One of `cuStreamBatchMemOp`.
    pub(crate) fn from_parameters(parameters: &Parameters) -> Result<Self> {
        let [tag, second, third, fourth, ..] = *parameters;
        let (tag, upper) = (tag as u32, (tag >> 32) as u32);
        match tag {
            1 | 4 => Self::wait(second, tag == 4, third, fourth as u32),
            2 | 5 => Self::write(second, tag == 5, third, fourth as u32),
            // Flushing remote writes has no flags, a barrier those of its scope.
            3 if upper == 0 => Ok(Self::Barrier),
            6 if upper <= 1 => Ok(Self::Barrier),
            8 if upper == 0 => Self::reduce(second as u32, (second >> 32) as u32, third, fourth),
            _ => Err(Error::InvalidValue),
        }
    }

    /// The operation is a `CUatomicOperation`, the type unsigned scalars of 32 or 64 bits for reductions.
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

    /// As `cuStreamBatchMemOp` has it.
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

    /// Does what does not wait.
    ///
    /// # Safety
    /// As for [`Word::load`].
    unsafe fn execute(self) {
        // SAFETY: as the caller promises.
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

/// Operations one after the other, as a node of a graph has them.
#[derive(Debug)]
pub(crate) struct Batch {
    operations: Box<[Operation]>,
    /// As the program gives them.
    parameters: Box<[Parameters]>,
}

impl Batch {
    /// Checks operations.
    pub(crate) fn new(memory: &Memory, operations: &[Operation]) -> Result<Self> {
        if operations.is_empty() || operations.len() > BATCH {
            return Err(Error::InvalidValue);
        }
        check_words(memory, operations)?;
        let parameters = operations.iter().map(|operation| operation.parameters()).collect();
        Ok(Self { operations: operations.into(), parameters })
    }

    /// The operations as the program gives them.
    pub(crate) fn parameters(&self) -> &[Parameters] {
        &self.parameters
    }

    /// Does them on the calling thread, waiting where they wait.
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
                // SAFETY: just found in a live allocation.
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

/// The watchdog's time for a wait, which begins when the wait is looked at first.
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

    /// Has the wait taken longer than it may? Asked where its condition is not met.
    fn is_over(&self) -> bool {
        let Some(limit) = self.limit else { return false };
        let over = self.began.get_or_init(Instant::now).elapsed() > limit;
        self.ended.fetch_or(over, Ordering::Relaxed) || over
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// The sticky error of a wait for a word that took too long.
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

/// Refuses an operation on a word that was freed or unmapped.
fn check_present(memory: &Memory, operation: Operation) -> Result<()> {
    end_unmapped();
    check_words(memory, &[operation])
}

impl Simulator {
    /// The fault of an operation whose word was freed or unmapped.
    fn word_gone(&self) -> DeviceFault {
        DeviceFault { device: self.ordinal, error: Error::IllegalAddress }
    }

    /// Adds operations to a stream, to be done one after the other, or as a node to the graph that it is captured into.
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
                // SAFETY: just found in a live allocation. A word that is gone ends the wait.
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
    fn a_word_is_at_least_a_value_also_after_it_has_wrapped() {
        assert!(holds(false, Comparison::AtLeast, 3, 0xffff_fffe));
        assert!(!holds(false, Comparison::AtLeast, 0xffff_fffe, 3));
        assert!(!holds(true, Comparison::AtLeast, 3, 0xffff_fffe));
    }

    #[test]
    fn nor_holds_while_some_bit_is_set_in_neither() {
        assert!(!holds(false, Comparison::Nor, 0xffff_fff0, 0xf));
        assert!(holds(true, Comparison::Nor, 0xffff_fff0, 0xf));
    }

    #[test]
    fn an_operation_is_described_as_it_was_given() {
        for parameters in
            [[1, 0x1004, 7, 1, 0, 0], [5, 0x1008, 7, 0, 0, 0], [8, 22 << 32 | 5, 0x1008, 7, 0, 0]]
        {
            assert_eq!(Operation::from_parameters(&parameters).unwrap().parameters(), parameters);
        }
    }

    #[test]
    fn a_misaligned_word_or_an_unknown_comparison_is_an_invalid_value() {
        assert_eq!(Operation::wait(0x1002, false, 0, 0).unwrap_err(), Error::InvalidValue);
        assert_eq!(Operation::wait(0x1004, true, 0, 0).unwrap_err(), Error::InvalidValue);
        assert_eq!(Operation::wait(0x1000, true, 0, 4).unwrap_err(), Error::InvalidValue);
    }
}

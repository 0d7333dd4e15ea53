//! Stream memory operations: writes to a word, and waits for a value (CUDA driver API, "Stream
//! Memory Operations").

use crate::abi::error::{Error, Result};
use crate::host::log;
use crate::objects::allocation::end_unmapped;
use crate::objects::fault::DeviceFault;
use crate::session::checkpoint;
use crate::session::sanitizer_report;
use crate::session::simulator::Simulator;
use crate::session::state::Session;
use crate::work::memory_operation::{Batch, Operation, Reduction, Word, check_words};
use crate::work::operation::Operation as DeviceOperation;
use functional::memory::Losses;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use stream_engine::{Context, StreamId, Submission};

/// Polling interval of a wait in a graph.
const PAUSE: Duration = Duration::from_micros(50);

impl Word {
    /// Replaces the word's value by a function of it.
    ///
    /// # Safety
    /// See [`Word::load`].
    unsafe fn update(self, session: &'static Session, new: impl Fn(u64) -> u64) {
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
        sanitizer_report::note_written(session, self.address, self.bytes());
    }
}

impl Operation {
    /// Executes an operation other than a wait.
    ///
    /// # Safety
    /// See [`Word::load`].
    unsafe fn execute(self, session: &'static Session) {
        // SAFETY: the caller upholds the contract.
        unsafe {
            match self {
                Self::Write(word, value) => word.update(session, |_| value),
                Self::Reduce(word, Reduction::Add, value) => {
                    word.update(session, |old| old.wrapping_add(value))
                }
                Self::Reduce(word, Reduction::And, value) => word.update(session, |old| old & value),
                Self::Reduce(word, Reduction::Or, value) => word.update(session, |old| old | value),
                Self::Wait(..) | Self::Barrier => {}
            }
        }
    }
}

impl Batch {
    /// Executes the operations on the calling thread, including waits.
    pub(crate) fn run(
        &self,
        simulator: &Simulator,
        context: &Context<DeviceFault>,
    ) -> std::result::Result<(), DeviceFault> {
        let before = Losses::now();
        for operation in &self.operations {
            let is_there = || {
                check_present(simulator, *operation)
                    .map_err(|error| DeviceFault { device: simulator.ordinal, error })
            };
            is_there()?;
            if let Operation::Wait(word, comparison, value) = *operation {
                // SAFETY: the word was just found in a live allocation.
                let holds = || word.holds(comparison, unsafe { word.load() }, value);
                let step = checkpoint::next_step(simulator.session);
                let patience = Patience::of(simulator);
                while !checkpoint::is_met(simulator.session, step, word.address as u64, holds)
                    && !context.is_cancelled()
                {
                    std::thread::sleep(PAUSE);
                    is_there()?;
                    if patience.is_over() {
                        return Err(patience.fault(simulator, word));
                    }
                }
            }
            // SAFETY: as above.
            unsafe { operation.execute(simulator.session) };
        }
        // The program may have protected registered memory.
        before.since().map_or(Ok(()), |_| Err(simulator.word_protected()))
    }
}

/// Watchdog timer of a wait, from the first check on.
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

/// Rejects an operation on freed or unmapped memory.
fn check_present(simulator: &Simulator, operation: Operation) -> Result<()> {
    end_unmapped(simulator.shared);
    check_words(&simulator.device.memory, &[operation])
}

impl Simulator {
    /// The fault of an operation whose word was freed or unmapped.
    fn word_gone(&self) -> DeviceFault {
        DeviceFault { device: self.ordinal, error: Error::IllegalAddress }
    }

    /// The fault of an operation whose word lies in registered memory that the program has protected.
    fn word_protected(&self) -> DeviceFault {
        log::report(|| {
            "a stream accessed a word of registered host memory that the program has protected; \
             call cudaHostUnregister before mprotect"
                .to_owned()
        });
        end_unmapped(self.shared);
        self.word_gone()
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
                let is_gone = move || check_present(self, operation).is_err();
                // SAFETY: the word was just found in a live allocation. Freed memory ends the wait.
                let holds = move || is_gone() || word.holds(comparison, unsafe { word.load() }, value);
                let step = checkpoint::next_step(self.session);
                let patience = Arc::new(Patience::of(self));
                let (watched, simulator) = (Arc::clone(&patience), self);
                let is_met = move || {
                    checkpoint::is_met(self.session, step, word.address as u64, holds) || watched.is_over()
                };
                let then = move || match patience.has_ended() {
                    true => Err(patience.fault(simulator, word)),
                    false if is_gone() => Err(simulator.word_gone()),
                    false => Ok(()),
                };
                self.engine.submit_condition_then(stream, is_met, then)?;
            } else {
                let work = move |_: &Context<DeviceFault>| {
                    check_present(self, operation).map_err(|_| self.word_gone())?;
                    let before = Losses::now();
                    // SAFETY: as above.
                    unsafe { operation.execute(self.session) };
                    // The program may have protected registered memory.
                    before.since().map_or(Ok(()), |_| Err(self.word_protected()))
                };
                self.engine.submit(stream, Submission::transfer(work))?;
            }
        }
        Ok(())
    }
}

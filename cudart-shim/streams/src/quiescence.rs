//! Work on demand: the engine gathers all concurrent work before any of it advances.
//!
//! The caller that gives running items their time ([`Engine::wait_until_gathered`]) must know all
//! concurrent items. All are known once every startable item has started and waits for its time
//! ([`Engine::gather`]). Meanwhile the program's thread waits for the engine and cannot add more.
//! With one such thread, concurrency depends on the program's calls alone.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread_local;
use std::time::{Duration, Instant};

use crate::engine::{Engine, Inner, Shared, Start};
use crate::error::Error;
use crate::executor::{Choice, is_engine_thread};
use crate::handles::ItemId;
use crate::lanes::Lane;
use crate::work::Fault;

/// Time to wait for events that may never come. One is a call of the program, which may poll memory
/// instead. The other is the end of an item that waits for a gathered one.
const PATIENCE: Duration = Duration::from_secs(1);

/// State of work on demand.
#[derive(Debug)]
pub(crate) struct Quiescence {
    /// Running items that wait for their time.
    gathered: usize,
    /// A call has queried an unfinished item.
    asked: bool,
    /// Changes at each completion.
    steps: u64,
    last_call: Instant,
}

impl Default for Quiescence {
    fn default() -> Self {
        Self { gathered: 0, asked: false, steps: 0, last_call: Instant::now() }
    }
}

impl Quiescence {
    /// Records a call of the program.
    pub(crate) fn called(&mut self) {
        self.last_call = Instant::now();
    }

    /// Records a completion, which answers pending queries.
    pub(crate) fn stepped(&mut self) {
        self.asked = false;
        self.steps += 1;
    }
}

impl<F: Fault> Inner<F> {
    /// Time at which work may start, if not now.
    pub(crate) fn starts_at(&self, start: Start) -> Option<Instant> {
        let waits = !self.waiters.is_empty() || self.quiescence.asked || self.state.running(Lane::Caller) > 0;
        let at = self.quiescence.last_call + PATIENCE;
        (start == Start::OnDemand && !waits && Instant::now() < at).then_some(at)
    }

    fn is_gathered(&self, shared: &Shared<F>) -> bool {
        let running: usize = Lane::ALL.into_iter().map(|lane| self.state.running(lane)).sum();
        let executing = running - self.state.running(Lane::Caller);
        let all_execute = executing >= shared.config.max_executors.max(1);
        running == self.quiescence.gathered
            && self.starts_at(Start::OnDemand).is_none()
            && self.state.first_ready(Lane::Caller).is_none()
            && (all_execute || !matches!(self.choose(&shared.config, Instant::now()), Choice::Run(_)))
    }
}

impl<F: Fault> Shared<F> {
    /// Records demand for an item.
    pub(crate) fn ask(self: &Arc<Self>, inner: &mut Inner<F>) {
        inner.quiescence.asked = true;
        self.settled.notify_all();
        self.wake_executor(inner);
    }
}

/// Work on demand.
impl<F: Fault> Engine<F> {
    /// True if work starts on demand.
    pub fn is_on_demand(&self) -> bool {
        self.shared.config.start == Start::OnDemand
    }

    /// Lets the device advance to the next completion, for calls that query completion. Waits a
    /// second at most. If work starts by itself, only yields the processor.
    pub fn step(&self) -> Result<(), Error<F>> {
        if is_engine_thread() {
            return Ok(());
        }
        if !self.is_on_demand() {
            std::thread::yield_now();
            return Ok(());
        }
        let mut inner = self.shared.lock()?;
        let before = inner.quiescence.steps;
        let until = Instant::now() + PATIENCE;
        self.shared.ask(&mut inner);
        while inner.quiescence.steps == before && Lane::ALL.into_iter().any(|lane| inner.state.has_work(lane))
        {
            if self.shared.settled.wait_until(&mut inner, until).timed_out() {
                break;
            }
        }
        inner.quiescence.asked = false;
        inner.quiescence.called();
        Ok(())
    }

    /// Flag set once an item fails or the engine ends; running items must give up.
    pub fn cancel_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.shared.cancelled)
    }

    /// Marks the calling item as waiting for its time.
    pub fn gather(&self) -> Result<(), Error<F>> {
        self.shared.lock()?.quiescence.gathered += 1;
        self.shared.settled.notify_all();
        Ok(())
    }

    /// Marks a waiting item as running again.
    pub fn release(&self) -> Result<(), Error<F>> {
        self.shared.lock()?.quiescence.gathered -= 1;
        Ok(())
    }

    /// Waits until all running items wait for their time and no other can start, or for a second.
    pub fn wait_until_gathered(&self) -> Result<(), Error<F>> {
        let mut inner = self.shared.lock()?;
        let until = Instant::now() + PATIENCE;
        while !inner.is_gathered(&self.shared) && !inner.state.is_closed() {
            if self.shared.settled.wait_until(&mut inner, until).timed_out() {
                break;
            }
        }
        Ok(())
    }

    /// Waits until an item fails, or for a second.
    pub fn wait_for_fault(&self) -> Result<(), Error<F>> {
        let mut inner = self.shared.lock()?;
        let until = Instant::now() + PATIENCE;
        while inner.state.fault().is_none() && !inner.state.is_closed() {
            if self.shared.settled.wait_until(&mut inner, until).timed_out() {
                break;
            }
        }
        Ok(())
    }
}

thread_local! {
    static RUNNING: Cell<Option<Running>> = const { Cell::new(None) };
}

/// An item run by a thread, ordered by urgency, then age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Running {
    /// A smaller number is more urgent.
    pub priority: i32,
    /// The item.
    pub item: ItemId,
}

/// Item that the calling thread runs.
pub fn running_item() -> Option<Running> {
    RUNNING.try_with(Cell::get).ok().flatten()
}

/// Sets the item that the calling thread runs.
pub(crate) fn set_running_item(item: Option<Running>) {
    let _ = RUNNING.try_with(|running| running.set(item));
}

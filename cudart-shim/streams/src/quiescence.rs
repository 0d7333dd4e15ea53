//! Work that starts on demand: all that runs at the same time is brought together before any of it goes on.
//!
//! Whoever gives running items their time ([`Engine::wait_until_gathered`]) has to know all that runs beside each other. That is
//! known once every item that can start has started and waits for its time ([`Engine::gather`]), and no call of the program can
//! add another: its thread waits for the engine. With one such thread the answer depends on the program's calls alone.

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

/// How long is waited for what may never come: a call of the program, which may look at memory instead, or the end of an item
/// that waits for one of those that are gathered.
const PATIENCE: Duration = Duration::from_secs(1);

/// Who asks for work where it starts on demand, and how far it is.
#[derive(Debug)]
pub(crate) struct Quiescence {
    /// Items that run and wait for their time.
    gathered: usize,
    /// A call has asked whether something is over that is not.
    asked: bool,
    /// Changes each time that an item is over.
    steps: u64,
    last_call: Instant,
}

impl Default for Quiescence {
    fn default() -> Self {
        Self { gathered: 0, asked: false, steps: 0, last_call: Instant::now() }
    }
}

impl Quiescence {
    /// The program has made a call.
    pub(crate) fn called(&mut self) {
        self.last_call = Instant::now();
    }

    /// An item is over: who has asked gets an answer.
    pub(crate) fn stepped(&mut self) {
        self.asked = false;
        self.steps += 1;
    }
}

impl<F: Fault> Inner<F> {
    /// When work may start on demand, if not now.
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
    /// Somebody wants an item to be over.
    pub(crate) fn ask(self: &Arc<Self>, inner: &mut Inner<F>) {
        inner.quiescence.asked = true;
        self.settled.notify_all();
        self.wake_executor(inner);
    }
}

/// Work on demand.
impl<F: Fault> Engine<F> {
    /// Whether work starts on demand.
    pub fn is_on_demand(&self) -> bool {
        self.shared.config.start == Start::OnDemand
    }

    /// Lets the device do something, until an item is over: for a call of the program that asks whether some are. Waits for a
    /// second at most, and not at all where work starts by itself: there it offers its core to the threads that work.
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

    /// Set once an item has failed, or the engine ends: what runs is to be given up.
    pub fn cancel_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.shared.cancelled)
    }

    /// The calling item, which runs, waits for its time from now on.
    pub fn gather(&self) -> Result<(), Error<F>> {
        self.shared.lock()?.quiescence.gathered += 1;
        self.shared.settled.notify_all();
        Ok(())
    }

    /// An item that has waited goes on.
    pub fn release(&self) -> Result<(), Error<F>> {
        self.shared.lock()?.quiescence.gathered -= 1;
        Ok(())
    }

    /// Waits until all items that run wait for their time and no other can come beside them, or for a second.
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

    /// Waits until some item has failed, or for a second.
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

/// An item that a thread runs. The more urgent, and of these the older, is the lesser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Running {
    /// A smaller one is more urgent.
    pub priority: i32,
    /// The item.
    pub item: ItemId,
}

/// The item that the calling thread runs.
pub fn running_item() -> Option<Running> {
    RUNNING.try_with(Cell::get).ok().flatten()
}

/// Says which item the calling thread runs from now on.
pub(crate) fn set_running_item(item: Option<Running>) {
    let _ = RUNNING.try_with(|running| running.set(item));
}

//! The engine: ordering rules behind a lock, with waiting and executing threads.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use rustc_hash::FxHashMap;

use crate::clock::{Clock, HostClock};
use crate::condition::Conditions;
use crate::error::Error;
use crate::executor::{Executors, is_engine_thread};
use crate::handles::{EventFlags, EventId, ItemId, StreamId, StreamInfo, StreamKind};
use crate::lanes::{Lane, Limits};
use crate::per_thread;
use crate::quiescence::Quiescence;
use crate::state::{Node, Scope};
use crate::wait::{Meanwhile, Moment, Waited};
use crate::work::{Context, Fault, Submission, Work};

pub(crate) type State<F> = crate::state::State<Work<F>, F>;

/// Time that [`Engine::shutdown`] gives running items to notice their cancellation.
const CANCEL_GRACE: Duration = Duration::from_millis(100);

/// Time at which ready work starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Immediately, within the limits.
    #[default]
    AtOnce,
    /// One kernel or copy at a time; a submission returns when no runnable one is left. Results
    /// then depend on the calls alone.
    OneAtATime,
    /// Once a call waits for or queries the device, or after a second without calls. All ready work
    /// then starts together, so concurrency depends on the calls alone
    /// ([`Engine::wait_until_gathered`]).
    OnDemand,
}

/// Configuration of an engine.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Number of the engine, for faults.
    pub number: usize,
    /// Concurrent items of each kind while items make progress.
    pub limits: Limits,
    /// Time without progress of a kind after which one item beyond the limit starts. `None` keeps
    /// the limit strictly; items that wait for one another across streams then hang.
    pub overlap_after: Option<Duration>,
    /// Most executor threads; a device runs at most 128 kernels at once (compute capability 7.0).
    pub max_executors: usize,
    /// Unfinished items of a stream at which a submission waits.
    pub queue_depth: usize,
    /// Time at which ready work starts.
    pub start: Start,
    /// Runs the closure that starts a thread; the thread inherits the caller's signal mask.
    pub start_thread: fn(&mut dyn FnMut()),
}

impl Default for Config {
    fn default() -> Self {
        Self {
            number: 0,
            limits: Limits::default(),
            overlap_after: Some(Duration::from_millis(10)),
            max_executors: 128,
            queue_depth: 1024,
            start: Start::default(),
            start_thread: |start| start(),
        }
    }
}

/// Result of [`Engine::shutdown`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shutdown {
    /// Items not executed to their end.
    pub abandoned: usize,
}

/// The streams and events of one CUDA context.
///
/// Calls return at once unless their documentation says that they wait. After a work item has
/// failed, every call that submits, queries or waits returns [`Error::Fault`] until
/// [`reset`](Self::reset). Calls must not come from a [host function](is_engine_thread).
pub struct Engine<F: Fault> {
    pub(crate) shared: Arc<Shared<F>>,
}

pub(crate) struct Shared<F: Fault> {
    pub(crate) inner: Mutex<Inner<F>>,
    /// Idle executors wait here.
    pub(crate) work_ready: Condvar,
    /// Threads that gather items wait here for any change.
    pub(crate) settled: Condvar,
    /// Submissions wait here if items run one at a time. All wait for the same, so one is woken and
    /// wakes the next when it leaves. Waking a thousand would only find the device busy again.
    pub(crate) submissions: Condvar,
    /// Shutdown waits here for executors to end.
    pub(crate) executor_gone: Condvar,
    pub(crate) config: Config,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cancelled: Arc<AtomicBool>,
    forked: AtomicBool,
}

pub(crate) struct Inner<F: Fault> {
    pub(crate) state: State<F>,
    pub(crate) waiters: FxHashMap<(ItemId, Moment), Vec<Arc<Condvar>>>,
    pub(crate) executors: Executors,
    pub(crate) conditions: Conditions,
    pub(crate) quiescence: Quiescence,
    /// Executors end once nothing is ready.
    pub(crate) stopping: bool,
}

impl<F: Fault> Shared<F> {
    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, Inner<F>>, Error<F>> {
        // Another thread of the parent may hold the lock forever in a forked child.
        if self.forked.load(Ordering::Relaxed) { Err(Error::Forked) } else { Ok(self.inner.lock()) }
    }
}

impl<F: Fault> Default for Engine<F> {
    fn default() -> Self {
        Self::new(Config::default(), Arc::new(HostClock::default()))
    }
}

impl<F: Fault> fmt::Debug for Engine<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("config", &self.shared.config).finish_non_exhaustive()
    }
}

/// Creation, reset and end of the engine.
impl<F: Fault> Engine<F> {
    /// An engine with the legacy default stream. Threads start with the first submission.
    pub fn new(config: Config, clock: Arc<dyn Clock>) -> Self {
        let inner = Inner {
            state: State::default(),
            waiters: FxHashMap::default(),
            executors: Executors::default(),
            conditions: Conditions::default(),
            quiescence: Quiescence::default(),
            stopping: false,
        };
        Self {
            shared: Arc::new(Shared {
                inner: Mutex::new(inner),
                work_ready: Condvar::new(),
                settled: Condvar::new(),
                submissions: Condvar::new(),
                executor_gone: Condvar::new(),
                config,
                clock,
                cancelled: Arc::default(),
                forked: AtomicBool::new(false),
            }),
        }
    }

    /// Waits for all pending work, then forgets all streams, events and faults (`cudaDeviceReset`).
    /// Concurrent submissions are rejected.
    pub fn reset(&self) -> Result<(), Error<F>> {
        let mut inner = self.shared.lock()?;
        inner.state.drain();
        while !inner.state.clear() {
            self.wait_for_scope(&mut inner, Scope::Context, Meanwhile::Help)?;
            if inner.state.is_closed() {
                return Err(Error::ShutDown);
            }
        }
        self.shared.cancelled.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Rejects further submissions, waits up to `drain` for pending work, abandons the rest and
    /// ends the executors. Never takes longer than `drain` plus a tenth of a second.
    pub fn shutdown(&self, drain: Duration) -> Result<Shutdown, Error<F>> {
        let mut inner = self.shared.lock()?;
        inner.state.drain();
        // A host function that ends the process cannot be awaited.
        if !is_engine_thread() {
            let until = Instant::now().checked_add(drain);
            // An error means that another shutdown has closed the state.
            let _ = self.wait_for_scope(&mut inner, Scope::Context, |_| Meanwhile::Sleep(until));
        }
        let abandoned = inner.state.pending_items();
        self.close(&mut inner);
        if !is_engine_thread() {
            let until = Instant::now() + CANCEL_GRACE;
            while inner.executors.threads > 0
                && !self.shared.executor_gone.wait_until(&mut inner, until).timed_out()
            {}
        }
        Ok(Shutdown { abandoned })
    }

    fn close(&self, inner: &mut MutexGuard<'_, Inner<F>>) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
        let effects = inner.state.close(self.shared.clock.now());
        inner.stopping = true;
        self.shared.work_ready.notify_all();
        for waiter in inner.waiters.values().flatten() {
            waiter.notify_one();
        }
        self.shared.publish(inner, effects);
    }

    /// Makes every later call return [`Error::Forked`], since a forked child has no executors. Only
    /// stores a flag, so a `pthread_atfork` handler may call it.
    pub fn after_fork_in_child(&self) {
        self.shared.forked.store(true, Ordering::Relaxed);
    }
}

impl<F: Fault> Drop for Engine<F> {
    /// Abandons pending work without waiting.
    fn drop(&mut self) {
        if let Ok(mut inner) = self.shared.lock() {
            self.close(&mut inner);
        }
    }
}

/// Streams.
impl<F: Fault> Engine<F> {
    /// Creates a stream. A smaller `priority` is more urgent and 0 the default, as in CUDA. For the
    /// legacy kind, returns the existing stream.
    pub fn create_stream(&self, kind: StreamKind, priority: i32) -> Result<StreamId, Error<F>> {
        Ok(self.shared.lock()?.state.create_stream(kind, priority))
    }

    /// Default stream of the calling thread, created on first use and destroyed with the thread.
    pub fn per_thread_stream(&self) -> Result<StreamId, Error<F>> {
        per_thread::stream(&self.shared)
    }

    /// Destroys a stream without waiting: its pending work completes.
    pub fn destroy_stream(&self, stream: StreamId) -> Result<(), Error<F>> {
        self.shared.lock()?.state.destroy_stream(stream)
    }

    /// Properties of a stream.
    pub fn stream_info(&self, stream: StreamId) -> Result<StreamInfo, Error<F>> {
        self.shared.lock()?.state.stream_info(stream)
    }

    /// True if all work submitted to the streams in `scope` has completed.
    pub fn is_complete(&self, scope: Scope) -> Result<bool, Error<F>> {
        let inner = self.shared.lock()?;
        inner.state.check_fault()?;
        Ok(inner.state.last_items(scope)?.is_empty())
    }

    /// Waits for all work submitted so far to the streams in `scope`. The calling thread may run
    /// kernels and copies among it.
    pub fn synchronize(&self, scope: Scope) -> Result<(), Error<F>> {
        let mut inner = self.shared.lock()?;
        self.wait_for_scope(&mut inner, scope, Meanwhile::Help)?;
        inner.state.check_fault()
    }

    /// Waits until `until` at most for all work submitted so far to the streams in `scope`; true if
    /// it has completed. The calling thread runs nothing.
    pub fn wait_until(&self, scope: Scope, until: Instant) -> bool {
        let Ok(mut inner) = self.shared.lock() else { return true };
        // An error means that no more work will run.
        let _ = self.wait_for_scope(&mut inner, scope, |_| Meanwhile::Sleep(Some(until)));
        inner.state.last_items(scope).map_or(true, |items| items.is_empty())
    }

    fn wait_for_scope(
        &self,
        inner: &mut MutexGuard<'_, Inner<F>>,
        scope: Scope,
        meanwhile: impl Fn(Scope) -> Meanwhile,
    ) -> Result<(), Error<F>> {
        for item in inner.state.last_items(scope)? {
            if self.shared.wait_for(inner, item, Moment::Retired, meanwhile(scope))? == Waited::TimedOut {
                break;
            }
        }
        Ok(())
    }
}

/// Work.
impl<F: Fault> Engine<F> {
    /// Adds work to a stream. Waits while the stream's queue is full.
    pub fn submit(&self, stream: StreamId, submission: Submission<F>) -> Result<ItemId, Error<F>> {
        let mut inner = self.lock_with_room(stream)?;
        self.shared.ensure_executor(&mut inner).map_err(|error| Error::ThreadStart(error.kind()))?;
        let Submission { kind, runs_after_fault, work } = submission;
        let now = self.shared.clock.now();
        let (item, effects) = inner.state.submit(stream, kind.into(), runs_after_fault, work, now)?;
        self.shared.publish(&mut inner, effects);
        self.shared.settle(&mut inner);
        self.shared.wake_executor(&mut inner);
        Ok(item)
    }

    /// Adds a graph to a stream as one unit, optionally after another item, and returns its end
    /// item.
    pub fn submit_graph(
        &self,
        stream: StreamId,
        after: Option<ItemId>,
        nodes: Vec<Node<Work<F>>>,
    ) -> Result<ItemId, Error<F>> {
        let mut inner = self.lock_with_room(stream)?;
        self.shared.ensure_executor(&mut inner).map_err(|error| Error::ThreadStart(error.kind()))?;
        let now = self.shared.clock.now();
        let (end, effects) = inner.state.submit_graph(stream, after, nodes, now)?;
        self.shared.publish(&mut inner, effects);
        self.shared.settle(&mut inner);
        self.shared.wake_executor(&mut inner);
        Ok(end)
    }

    /// True if an item has not completed. The query counts as demand for it.
    pub fn is_pending(&self, item: ItemId) -> Result<bool, Error<F>> {
        let mut inner = self.shared.lock()?;
        let is_pending = inner.state.is_pending(item);
        if is_pending {
            self.shared.ask(&mut inner);
        }
        Ok(is_pending)
    }

    /// Runs `work` on the calling thread when its turn in the stream comes (`cudaMemcpy`). An idle
    /// stream needs no other thread. A returned fault becomes the context's.
    pub fn run_now<R>(
        &self,
        stream: StreamId,
        work: impl FnOnce(&Context<F>) -> Result<R, F>,
    ) -> Result<R, Error<F>> {
        let shared = &self.shared;
        let mut inner = shared.lock()?;
        // The item only reserves the turn. The work stays here, so it may borrow.
        let place: Work<F> = Box::new(|_| Ok(()));
        let now = shared.clock.now();
        let (item, effects) = inner.state.submit(stream, Lane::Caller, false, place, now)?;
        shared.publish(&mut inner, effects);
        shared.wait_for(&mut inner, item, Moment::Callable, Meanwhile::Help(Scope::Stream(stream)))?;
        let result = shared.run_item_with(&mut inner, item, |_, context| work(context));
        shared.wake_executor(&mut inner);
        match result {
            Some(result) => result.map_err(Error::Fault),
            None => Err(inner.state.check_fault().err().unwrap_or(Error::ShutDown)),
        }
    }

    /// Takes the lock once the stream has room for another item.
    pub(crate) fn lock_with_room(&self, stream: StreamId) -> Result<MutexGuard<'_, Inner<F>>, Error<F>> {
        let mut inner = self.shared.lock()?;
        inner.quiescence.called();
        while let Some(oldest) = inner.state.oldest_of_full(stream, self.shared.config.queue_depth.max(1))? {
            self.shared.wait_for(&mut inner, oldest, Moment::Retired, Meanwhile::Sleep(None))?;
        }
        Ok(inner)
    }
}

/// Events.
impl<F: Fault> Engine<F> {
    /// Creates an event.
    pub fn create_event(&self, flags: EventFlags) -> Result<EventId, Error<F>> {
        Ok(self.shared.lock()?.state.create_event(flags))
    }

    /// Destroys an event without waiting. Submitted waits on it keep their effect.
    pub fn destroy_event(&self, event: EventId) -> Result<(), Error<F>> {
        self.shared.lock()?.state.destroy_event(event)
    }

    /// Properties of an event.
    pub fn event_flags(&self, event: EventId) -> Result<EventFlags, Error<F>> {
        self.shared.lock()?.state.event_flags(event)
    }

    /// Records the event at the stream's present position. Waits while the stream's queue is full.
    pub fn record_event(&self, event: EventId, stream: StreamId) -> Result<(), Error<F>> {
        let mut inner = self.lock_with_room(stream)?;
        let effects = inner.state.record_event(event, stream, self.shared.clock.now())?.1;
        self.shared.publish(&mut inner, effects);
        Ok(())
    }

    /// Makes later work of the stream wait for the event's latest record, if there is one. Waits
    /// while the stream's queue is full.
    pub fn wait_event(&self, stream: StreamId, event: EventId) -> Result<(), Error<F>> {
        let mut inner = self.lock_with_room(stream)?;
        let effects = inner.state.wait_event(stream, event, self.shared.clock.now())?;
        self.shared.publish(&mut inner, effects);
        Ok(())
    }

    /// Records the event at the end of all work submitted so far.
    pub fn record_event_behind_all(&self, event: EventId) -> Result<(), Error<F>> {
        let mut inner = self.shared.lock()?;
        let effects = inner.state.record_event_behind_all(event, self.shared.clock.now())?;
        self.shared.publish(&mut inner, effects);
        Ok(())
    }

    /// Makes later work of every existing stream wait for the event's latest record.
    pub fn wait_event_everywhere(&self, event: EventId) -> Result<(), Error<F>> {
        let mut inner = self.shared.lock()?;
        for stream in inner.state.live_streams() {
            let effects = inner.state.wait_event(stream, event, self.shared.clock.now())?;
            self.shared.publish(&mut inner, effects);
        }
        Ok(())
    }

    /// True if the device has reached the event's latest record, or without a record.
    pub fn is_event_complete(&self, event: EventId) -> Result<bool, Error<F>> {
        let inner = self.shared.lock()?;
        inner.state.check_fault()?;
        Ok(inner.state.pending_record(event)?.is_none())
    }

    /// Latest record of the event, until the device reaches it.
    pub fn pending_record(&self, event: EventId) -> Result<Option<ItemId>, Error<F>> {
        Ok(self.shared.lock()?.state.pending_record(event)?.map(|(item, _)| item))
    }

    /// Waits until the device reaches the event's present record.
    pub fn synchronize_event(&self, event: EventId) -> Result<(), Error<F>> {
        let mut inner = self.shared.lock()?;
        if let Some((item, stream)) = inner.state.pending_record(event)? {
            self.shared.wait_for(
                &mut inner,
                item,
                Moment::Retired,
                Meanwhile::Help(Scope::Stream(stream)),
            )?;
        }
        inner.state.check_fault()
    }

    /// Milliseconds between two events; never 0 between different records, negative when `end` came
    /// first.
    pub fn elapsed_milliseconds(&self, start: EventId, end: EventId) -> Result<f32, Error<F>> {
        let inner = self.shared.lock()?;
        inner.state.check_fault()?;
        let start = inner.state.event_time(start)?;
        Ok(inner.state.event_time(end)?.milliseconds_since(start))
    }
}

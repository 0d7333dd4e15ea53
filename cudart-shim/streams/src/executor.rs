//! Executor threads: started when work first needs one, and when ready work would otherwise starve.
//!
//! Kernels are internally parallel, so normally one item of a kind runs at a time. An item may
//! however wait for another: a kernel may spin on a flag that a later copy in another stream sets.
//! After [`Config::overlap_after`](crate::Config::overlap_after) without a completion of a kind,
//! one more of that kind starts.

use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

use parking_lot::MutexGuard;

use crate::engine::{Config, Inner, Shared, Start};
use crate::handles::ItemId;
use crate::lanes::{Lane, PerLane};
use crate::quiescence::{Running, set_running_item};
use crate::work::{Context, Fault};

/// Stack size in bytes: host functions are user code and may expect a main thread's stack.
const STACK_SIZE: usize = 8 << 20;

thread_local! {
    static IS_ENGINE_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// True on an engine's thread, where host functions run and must not call CUDA.
pub fn is_engine_thread() -> bool {
    IS_ENGINE_THREAD.try_with(Cell::get).unwrap_or(false)
}

/// Next action of an executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Run(ItemId),
    /// Ready work is held back by the limit until this time, if any.
    Hold(Option<Instant>),
    Idle,
}

/// Executor threads by state.
#[derive(Debug, Default)]
pub(crate) struct Executors {
    /// Live threads.
    pub(crate) threads: usize,
    /// Threads started that have not yet looked at the queue.
    arriving: usize,
    /// Threads waiting for work.
    idle: usize,
    /// Threads waiting for the time of held work.
    standby: usize,
    last_start: PerLane<Option<Instant>>,
}

impl<F: Fault> Inner<F> {
    /// The most urgent, then oldest, ready item among the kinds that may start one.
    pub(crate) fn choose(&self, config: &Config, now: Instant) -> Choice {
        let Self { state, .. } = self;
        if let Some(at) = self.starts_at(config.start) {
            let is_ready = Lane::EXECUTORS.into_iter().any(|lane| state.first_ready(lane).is_some());
            return if is_ready { Choice::Hold(Some(at)) } else { Choice::Idle };
        }
        let mut best = None;
        let mut hold = None;
        let occupied = config.start == Start::OneAtATime && state.is_device_busy();
        for lane in Lane::EXECUTORS {
            let Some(first) = state.first_ready_by_priority(lane) else { continue };
            let last_start = *self.executors.last_start.get(lane);
            let overlap_at = config.overlap_after.and_then(|delay| last_start?.checked_add(delay));
            if occupied && lane != Lane::HostFunction {
                hold = Some(hold.flatten());
            } else if state.running(lane) < config.limits.of(lane).max(1)
                || overlap_at.is_some_and(|at| at <= now)
            {
                best = best.into_iter().chain([first]).min();
            } else {
                hold = Some(hold.into_iter().chain([overlap_at]).flatten().min());
            }
        }
        match (best, hold) {
            (Some((_, item)), _) => Choice::Run(item),
            (None, Some(until)) => Choice::Hold(until),
            (None, None) => Choice::Idle,
        }
    }
}

impl<F: Fault> Shared<F> {
    /// Starts the first executor, so that submitted work always runs.
    pub(crate) fn ensure_executor(self: &Arc<Self>, inner: &mut Inner<F>) -> io::Result<()> {
        if inner.executors.threads == 0 { self.start_executor(inner) } else { Ok(()) }
    }

    fn start_executor(self: &Arc<Self>, inner: &mut Inner<F>) -> io::Result<()> {
        let mut started = Ok(());
        (self.config.start_thread)(&mut || {
            let shared = Arc::clone(self);
            let builder = thread::Builder::new().name("voltsim-stream".into()).stack_size(STACK_SIZE);
            started = builder.spawn(move || shared.execute()).map(drop);
        });
        started?;
        inner.executors.threads += 1;
        inner.executors.arriving += 1;
        Ok(())
    }

    /// Ensures that an executor looks at ready work; that executor calls this again.
    pub(crate) fn wake_executor(self: &Arc<Self>, inner: &mut Inner<F>) {
        if inner.executors.arriving > 0 {
            return;
        }
        let needed = match inner.choose(&self.config, Instant::now()) {
            Choice::Run(_) => true,
            Choice::Hold(until) => until.is_some() && inner.executors.standby == 0,
            Choice::Idle => false,
        };
        if !needed {
            return;
        }
        if inner.executors.idle + inner.executors.standby > 0 {
            self.work_ready.notify_one();
        } else if inner.executors.threads < self.config.max_executors.max(1) {
            // On failure the existing executors do the work.
            let _ = self.start_executor(inner);
        }
    }

    fn execute(self: Arc<Self>) {
        IS_ENGINE_THREAD.set(true);
        let mut inner = self.inner.lock();
        inner.executors.arriving -= 1;
        loop {
            match inner.choose(&self.config, Instant::now()) {
                Choice::Run(item) => self.run_item(&mut inner, item),
                _ if inner.stopping => break,
                Choice::Hold(Some(until)) => {
                    inner.executors.standby += 1;
                    self.work_ready.wait_until(&mut inner, until);
                    inner.executors.standby -= 1;
                }
                Choice::Hold(None) | Choice::Idle => {
                    inner.executors.idle += 1;
                    self.work_ready.wait(&mut inner);
                    inner.executors.idle -= 1;
                }
            }
        }
        inner.executors.threads -= 1;
        self.executor_gone.notify_all();
    }

    /// Runs a ready item's work on this thread, with the lock released.
    pub(crate) fn run_item(self: &Arc<Self>, inner: &mut MutexGuard<'_, Inner<F>>, item: ItemId) {
        self.run_item_with(inner, item, |work, context| work(context));
    }

    /// Runs a ready item on this thread with the lock released; `body` receives the submission.
    /// `None` if the item is not ready.
    pub(crate) fn run_item_with<R>(
        self: &Arc<Self>,
        inner: &mut MutexGuard<'_, Inner<F>>,
        item: ItemId,
        body: impl FnOnce(crate::Work<F>, &Context<F>) -> Result<R, F>,
    ) -> Option<Result<R, F>> {
        let started = inner.state.start(item)?;
        *inner.executors.last_start.get_mut(started.lane) = Some(Instant::now());
        self.wake_executor(inner);
        let context = Context {
            stream: started.stream,
            item,
            fault: inner.state.fault().cloned(),
            cancelled: Arc::clone(&self.cancelled),
        };
        let result = MutexGuard::unlocked(inner, || {
            set_running_item(Some(Running { priority: started.priority, item }));
            let result = catch_unwind(AssertUnwindSafe(|| body(started.work, &context)));
            set_running_item(None);
            result.unwrap_or_else(|panic| {
                Err(F::work_panicked(self.config.number, panic_message(panic.as_ref())))
            })
        });
        if result.is_err() {
            self.cancelled.store(true, Ordering::Relaxed);
        }
        let outcome = result.as_ref().map(drop).map_err(F::clone);
        let effects = inner.state.complete(item, outcome, self.clock.now());
        self.publish(inner, effects);
        Some(result)
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(message), _) => (*message).to_owned(),
        (_, Some(message)) => message.clone(),
        (None, None) => "a panic without a message".to_owned(),
    }
}

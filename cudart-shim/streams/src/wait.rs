//! Waits for items, with or without running some of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, MutexGuard};

use crate::engine::{Inner, Shared, Start};
use crate::error::Error;
use crate::executor::is_engine_thread;
use crate::handles::ItemId;
use crate::lanes::Lane;
use crate::state::{Effects, Scope};
use crate::work::Fault;

/// Time that a submission waits for host functions if items run one at a time; a host function may
/// wait for the caller.
const PATIENCE: Duration = Duration::from_millis(100);

/// Event of an item that a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Moment {
    /// The item has retired.
    Retired,
    /// The turn of an item of [`Lane::Caller`] has come. Only its submitter waits for this; to
    /// other threads the item is pending until it has run.
    Callable,
}

/// Activity of a thread while it waits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meanwhile {
    /// Run ready kernels and copies of these streams up to the awaited item. The wait includes
    /// them, so running them here delays nothing and saves a thread switch.
    Help(Scope),
    /// Sleep, until the given time if any.
    Sleep(Option<Instant>),
}

/// Outcome of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    Done,
    TimedOut,
}

impl<F: Fault> Shared<F> {
    /// Waits for an event of the item. A discarded item reaches both events.
    pub(crate) fn wait_for(
        self: &Arc<Self>,
        inner: &mut MutexGuard<'_, Inner<F>>,
        item: ItemId,
        moment: Moment,
        meanwhile: Meanwhile,
    ) -> Result<Waited, Error<F>> {
        loop {
            let callable = moment == Moment::Callable && inner.state.is_ready(item, Lane::Caller);
            if callable || !inner.state.is_pending(item) {
                // Items run here may have made others ready.
                self.wake_executor(inner);
                return Ok(Waited::Done);
            }
            if inner.state.is_closed() {
                return Err(Error::ShutDown);
            }
            if let Meanwhile::Help(scope) = meanwhile
                && let Some(other) = self.helpful(inner, scope, item)
            {
                self.run_item(inner, other);
                continue;
            }
            // Each sleep registers anew, since a wake-up removes the registration.
            let waiter = inner.add_waiter(item, moment);
            self.wake_executor(inner);
            self.settled.notify_all();
            match meanwhile {
                Meanwhile::Sleep(Some(until)) => {
                    if waiter.wait_until(inner, until).timed_out() {
                        return Ok(Waited::TimedOut);
                    }
                }
                Meanwhile::Help(_) | Meanwhile::Sleep(None) => waiter.wait(inner),
            }
        }
    }

    /// A ready item that the wait for `item` includes and that an executor would start next.
    fn helpful(&self, inner: &Inner<F>, scope: Scope, item: ItemId) -> Option<ItemId> {
        if self.config.start == Start::OnDemand {
            return None;
        }
        if self.config.start == Start::OneAtATime {
            let next = self.next_alone(inner)?;
            return (next <= item && inner.state.covers(scope, inner.state.stream_of(next)?)).then_some(next);
        }
        [Lane::Kernel, Lane::Transfer].into_iter().find_map(|lane| {
            let first = inner.state.first_ready(lane)?;
            let included = first <= item && inner.state.covers(scope, inner.state.stream_of(first)?);
            (included && inner.state.running(lane) < self.config.limits.of(lane).max(1)).then_some(first)
        })
    }

    /// With one item at a time: the next kernel or copy, unless one runs.
    fn next_alone(&self, inner: &Inner<F>) -> Option<ItemId> {
        if inner.state.is_device_busy() {
            return None;
        }
        let first = |lane| inner.state.first_ready_by_priority(lane);
        [Lane::Kernel, Lane::Transfer].into_iter().filter_map(first).min().map(|(_, item)| item)
    }

    /// With one item at a time: runs kernels and copies until none can run, and waits briefly for
    /// host functions. Items that wait for other events stay.
    pub(crate) fn settle(self: &Arc<Self>, inner: &mut MutexGuard<'_, Inner<F>>) {
        if self.config.start == Start::OneAtATime && !is_engine_thread() {
            self.run_until_settled(inner);
            self.submissions.notify_one();
        }
    }

    fn run_until_settled(self: &Arc<Self>, inner: &mut MutexGuard<'_, Inner<F>>) {
        let mut until = None;
        while !inner.state.is_closed() {
            if let Some(next) = self.next_alone(inner) {
                self.run_item(inner, next);
            } else if inner.state.is_device_busy() {
                self.submissions.wait(inner);
            } else if inner.state.has_work(Lane::HostFunction) {
                self.wake_executor(inner);
                let until = *until.get_or_insert_with(|| Instant::now() + PATIENCE);
                if self.submissions.wait_until(inner, until).timed_out() {
                    return;
                }
            } else {
                return;
            }
        }
    }

    /// Wakes threads whose events came, and drops discarded work with the lock released.
    pub(crate) fn publish(&self, inner: &mut MutexGuard<'_, Inner<F>>, effects: Effects<crate::Work<F>>) {
        if !effects.retired.is_empty() {
            inner.quiescence.stepped();
        }
        let retired =
            effects.retired.iter().flat_map(|&item| [(item, Moment::Retired), (item, Moment::Callable)]);
        let callable = effects.callable.iter().map(|&item| (item, Moment::Callable));
        for reached in retired.chain(callable) {
            for waiter in inner.waiters.remove(&reached).into_iter().flatten() {
                waiter.notify_one();
            }
        }
        self.settled.notify_all();
        self.submissions.notify_one();
        if !effects.discarded.is_empty() {
            MutexGuard::unlocked(inner, || drop(effects.discarded));
        }
    }
}

impl<F: Fault> Inner<F> {
    fn add_waiter(&mut self, item: ItemId, moment: Moment) -> Arc<Condvar> {
        let waiter = Arc::new(Condvar::new());
        self.waiters.entry((item, moment)).or_default().push(Arc::clone(&waiter));
        waiter
    }
}

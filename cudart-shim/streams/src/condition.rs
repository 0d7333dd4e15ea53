//! Items that block their stream until a condition outside the engine holds: a value in memory, or
//! the progress of another process.
//!
//! One thread polls all conditions in turn, so a wait occupies no executor and blocks no other
//! stream.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::MutexGuard;

use crate::engine::{Engine, Inner, Shared};
use crate::error::Error;
use crate::handles::{ItemId, StreamId};
use crate::lanes::Lane;
use crate::work::{Fault, Work};

/// Pause between polls while conditions become true now and then.
const SHORT_PAUSE: Duration = Duration::from_micros(50);
/// Pause once no condition has become true for a while.
const LONG_PAUSE: Duration = Duration::from_millis(1);
/// Vain polls after which the pause is long.
const PATIENCE: u32 = 200;

/// True once the awaited condition holds.
pub(crate) type Condition = Box<dyn Fn() -> bool + Send>;

/// Pending conditions.
#[derive(Default)]
pub(crate) struct Conditions {
    waiting: Vec<(ItemId, Condition)>,
    /// True while a thread polls them.
    watched: bool,
}

impl<F: Fault> Engine<F> {
    /// Adds an item to a stream that completes when `is_met` holds after the item's turn has come.
    /// The engine polls `is_met`, which must neither wait nor call the engine.
    pub fn submit_condition(
        &self,
        stream: StreamId,
        is_met: impl Fn() -> bool + Send + 'static,
    ) -> Result<ItemId, Error<F>> {
        self.submit_condition_then(stream, is_met, || Ok(()))
    }

    /// As [`submit_condition`](Self::submit_condition), with `then` run once the condition holds;
    /// `then` may report a failed wait.
    pub fn submit_condition_then(
        &self,
        stream: StreamId,
        is_met: impl Fn() -> bool + Send + 'static,
        then: impl FnOnce() -> Result<(), F> + Send + 'static,
    ) -> Result<ItemId, Error<F>> {
        let shared = &self.shared;
        let mut inner = self.lock_with_room(stream)?;
        if !inner.conditions.watched {
            let mut started = Ok(());
            (shared.config.start_thread)(&mut || {
                let watcher = Arc::clone(shared);
                let builder = thread::Builder::new().name("voltsim-waits".into());
                started = builder.spawn(move || watcher.watch_conditions()).map(drop);
            });
            started.map_err(|error| Error::ThreadStart(error.kind()))?;
            inner.conditions.watched = true;
        }
        let place: Work<F> = Box::new(|_| then());
        let (item, effects) = inner.state.submit(stream, Lane::Caller, false, place, shared.clock.now())?;
        inner.conditions.waiting.push((item, Box::new(is_met)));
        shared.publish(&mut inner, effects);
        Ok(item)
    }
}

impl<F: Fault> Shared<F> {
    /// Polls the conditions until none is left.
    fn watch_conditions(self: Arc<Self>) {
        let mut inner = self.inner.lock();
        let mut looks_in_vain = 0;
        while !inner.conditions.waiting.is_empty() && !inner.stopping {
            looks_in_vain = if self.look_at_conditions(&mut inner) { 0 } else { looks_in_vain + 1 };
            let pause = if looks_in_vain < PATIENCE { SHORT_PAUSE } else { LONG_PAUSE };
            MutexGuard::unlocked(&mut inner, || thread::sleep(pause));
        }
        inner.conditions.watched = false;
    }

    /// Completes items whose condition holds; true if there was one.
    fn look_at_conditions(self: &Arc<Self>, inner: &mut MutexGuard<'_, Inner<F>>) -> bool {
        let mut some_met = false;
        let mut waiting = std::mem::take(&mut inner.conditions.waiting);
        waiting.retain(|(item, is_met)| {
            if !inner.state.is_pending(*item) {
                return false;
            }
            // A condition may query another engine, so the lock is released.
            let met = inner.state.is_ready(*item, Lane::Caller) && MutexGuard::unlocked(inner, is_met);
            if met {
                self.run_item(inner, *item);
            }
            some_met |= met;
            !met
        });
        // Running an item releases the lock, so new conditions may have arrived.
        waiting.append(&mut inner.conditions.waiting);
        inner.conditions.waiting = waiting;
        if some_met {
            self.wake_executor(inner);
        }
        some_met
    }
}

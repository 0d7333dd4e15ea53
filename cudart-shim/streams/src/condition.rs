//! Items that hold their stream up until something outside of the engine has happened: a word in memory has a value,
//! another process has come to a point.
//!
//! One thread looks at all conditions in turn, so that a wait keeps no executor busy and holds up no other stream.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::MutexGuard;

use crate::engine::{Engine, Inner, Shared};
use crate::error::Error;
use crate::handles::{ItemId, StreamId};
use crate::lanes::Lane;
use crate::work::{Fault, Work};

/// Pause between two looks, while conditions are met now and then.
const SHORT_PAUSE: Duration = Duration::from_micros(50);
/// Pause once nothing has happened for a while.
const LONG_PAUSE: Duration = Duration::from_millis(1);
/// Looks in vain after which the pause is long.
const PATIENCE: u32 = 200;

/// Says whether what an item waits for has happened.
pub(crate) type Condition = Box<dyn Fn() -> bool + Send>;

/// Who waits for what.
#[derive(Default)]
pub(crate) struct Conditions {
    waiting: Vec<(ItemId, Condition)>,
    /// There is a thread that looks at them.
    watched: bool,
}

impl<F: Fault> Engine<F> {
    /// Adds an item to a stream that is over when, after its turn has come, `is_met` says so. It is asked again and
    /// again, and must neither wait nor call this engine.
    pub fn submit_condition(
        &self,
        stream: StreamId,
        is_met: impl Fn() -> bool + Send + 'static,
    ) -> Result<ItemId, Error<F>> {
        self.submit_condition_then(stream, is_met, || Ok(()))
    }

    /// As [`submit_condition`](Self::submit_condition); `then` runs once the condition is met, and may find that the wait has
    /// failed.
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
    /// Looks at the conditions until there are none.
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

    /// Completes the items whose condition is met, and says whether there was one.
    fn look_at_conditions(self: &Arc<Self>, inner: &mut MutexGuard<'_, Inner<F>>) -> bool {
        let mut some_met = false;
        let mut waiting = std::mem::take(&mut inner.conditions.waiting);
        waiting.retain(|(item, is_met)| {
            if !inner.state.is_pending(*item) {
                return false;
            }
            // The lock is not held meanwhile, as a condition may ask another engine.
            let met = inner.state.is_ready(*item, Lane::Caller) && MutexGuard::unlocked(inner, is_met);
            if met {
                self.run_item(inner, *item);
            }
            some_met |= met;
            !met
        });
        // Running an item releases the lock, and others may have been submitted meanwhile.
        waiting.append(&mut inner.conditions.waiting);
        inner.conditions.waiting = waiting;
        if some_met {
            self.wake_executor(inner);
        }
        some_met
    }
}

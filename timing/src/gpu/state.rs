//! The state of a whole GPU, as it is written and read.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use voltsim_checkpoint::codec::{self, CodecError};

use super::{Gpu, GpuCounters, Totals};
use crate::memory_side::{MemorySide, MemorySideState};
use crate::message::{MemoryReply, Timed};
use crate::restore::{Fits, LATEST, RestoreError, countable, fits, near, of_unit};
use crate::sm::{Expected, Sm, SmState};
use crate::specification::GpuSpec;

/// Bytes of a state in memory, at most.
const LIMIT: usize = 1 << 32;

/// All that changes in a GPU, between launches.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GpuState {
    /// Values of the GPU's file, by key.
    spec: Vec<(String, String)>,
    run_to: u64,
    now: u64,
    counters: GpuCounters,
    earlier: Totals,
    sms: Vec<SmState>,
    /// Replies that SMs have not taken.
    inboxes: Vec<VecDeque<Timed<MemoryReply>>>,
    memory: MemorySideState,
}

impl GpuState {
    /// As bytes.
    ///
    /// # Errors
    /// There are none that say it.
    pub fn encode(&self) -> Result<Vec<u8>, CodecError> {
        codec::encode(self)
    }

    /// The state that bytes say; [`Gpu::restore`] finds out whether it can be.
    ///
    /// # Errors
    /// They say none.
    pub fn decode(bytes: &[u8]) -> Result<GpuState, CodecError> {
        codec::decode::<LIMIT, GpuState>(bytes)
    }

    /// The first value in which the GPU is another one.
    fn check_spec(&self, spec: &GpuSpec) -> Result<(), RestoreError> {
        let values = spec.values();
        let other = |key: &str, saved: &str, here: &str| RestoreError::OtherGpu {
            key: key.to_owned(),
            saved: saved.to_owned(),
            here: here.to_owned(),
        };
        for (place, (key, here)) in values.iter().enumerate() {
            match self.spec.get(place) {
                Some((saved_key, saved)) if saved_key == key && saved == here => {}
                Some((saved_key, saved)) if saved_key == key => return Err(other(key, saved, here)),
                _ => return Err(other(key, "nothing", here)),
            }
        }
        let more = self.spec.get(values.len());
        more.map_or(Ok(()), |(key, saved)| Err(other(key, saved, "nothing")))
    }

    fn check(&self, spec: &GpuSpec) -> Fits {
        let sms = spec.chip.sms as usize;
        fits(self.sms.len() == sms && self.inboxes.len() == sms, "there is another number of SMs")?;
        fits(self.run_to < LATEST && self.now < LATEST, "its time is beyond all launches")?;
        countable(&self.counters)?;
        countable(&self.earlier)?;
        let own = |(number, inbox): (usize, &VecDeque<Timed<MemoryReply>>)| {
            let own = |reply: &Timed<MemoryReply>| usize::from(reply.message.sm) == number;
            inbox.iter().all(|reply| own(reply) && near(reply.cycle, self.run_to))
        };
        fits(self.inboxes.iter().enumerate().all(own), "a reply is at another SM, or comes too late")
    }
}

impl Gpu {
    /// All that has changed since it was new. Not while a session holds it, which is why sessions borrow it.
    pub fn state(&self) -> GpuState {
        GpuState {
            spec: self.spec.values(),
            run_to: self.run_to,
            now: self.now,
            counters: self.counters,
            earlier: self.earlier.clone(),
            sms: self.sms.iter().map(Sm::state).collect(),
            inboxes: self.inboxes.clone(),
            memory: self.memory.state(),
        }
    }

    /// A GPU that goes on from a state, with one thread.
    ///
    /// # Errors
    /// The state is of another GPU, or cannot be that of any.
    pub fn restore(spec: &Arc<GpuSpec>, state: GpuState) -> Result<Gpu, RestoreError> {
        state.check_spec(spec)?;
        state.check(spec).map_err(of_unit("the GPU"))?;
        let GpuState { spec: _, run_to, now, counters, earlier, sms, inboxes, memory } = state;
        let memory = MemorySide::restore(spec, memory, run_to)?;
        let restored = sms.into_iter().zip(0..);
        let restored = restored.map(|(sm, number)| Sm::restore(spec, number, sm, run_to, &|_| None));
        let (sms, mut expected): (_, Vec<_>) = restored.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        check_under_way(&memory, &inboxes, &mut expected).map_err(of_unit("the GPU"))?;
        Ok(Gpu { spec: Arc::clone(spec), threads: 1, sms, inboxes, memory, run_to, now, counters, earlier })
    }

    /// The same with empty caches, closed rows and nothing under way: clock and counts go on.
    ///
    /// # Errors
    /// As [`Gpu::restore`].
    pub fn restore_cold(spec: &Arc<GpuSpec>, state: GpuState) -> Result<Gpu, RestoreError> {
        let mut gpu = Gpu::restore(spec, state)?;
        let mut earlier = gpu.totals(0, gpu.sms.iter());
        earlier.gpu = GpuCounters::default();
        gpu.renew();
        gpu.earlier = earlier;
        Ok(gpu)
    }
}

/// Each reply that an SM waits for comes, and no other.
fn check_under_way(
    memory: &MemorySide,
    inboxes: &[VecDeque<Timed<MemoryReply>>],
    expected: &mut [Expected],
) -> Fits {
    let arrived = inboxes.iter().flatten().map(|reply| (reply.message, None));
    for (reply, deferred) in memory.under_way().into_iter().chain(arrived) {
        let sm = expected.get_mut(usize::from(reply.sm)).ok_or("a reply is for no SM")?;
        sm.find(&reply, deferred)?;
    }
    expected.iter().try_for_each(Expected::all_found)
}

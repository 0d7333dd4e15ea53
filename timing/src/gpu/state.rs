//! The state of a whole GPU, as it is written and read.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use voltsim_checkpoint::codec::{self, CodecError};
use warp_stream::{Kernel, KernelSource};

use super::launch::{Launch, LaunchState};
use super::running::{Running, check_ctas};
use super::session::{self, Session};
use super::{Gpu, GpuCounters, LaunchError, Observer, Totals};
use crate::dram::counts;
use crate::memory_side::{MemorySide, MemorySideState};
use crate::message::{MemoryReply, Origin, Timed};
use crate::report::LaunchRecord;
use crate::restore::{Fits, LATEST, RestoreError, countable, fits, near, of_unit};
use crate::sm::{Expected, Sm, SmState};
use crate::specification::GpuSpec;

/// Bytes of a state in memory, at most.
const LIMIT: usize = 1 << 32;

/// All that changes in a GPU, between launches or within them.
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
    running: Option<Running>,
}

impl GpuState {
    /// Of a GPU whose SMs are these.
    pub(super) fn new(
        gpu: &Gpu,
        sms: Vec<SmState>,
        inboxes: Vec<VecDeque<Timed<MemoryReply>>>,
        running: Option<Running>,
    ) -> GpuState {
        let Gpu { ref spec, threads: _, sms: _, inboxes: _, ref memory, run_to, now, counters, ref earlier } =
            *gpu;
        let (spec, memory, earlier) = (spec.values(), memory.state(), earlier.clone());
        GpuState { spec, run_to, now, counters, earlier, sms, inboxes, memory, running }
    }

    /// Kernels of the launches that are under way, oldest first. What is read has not been checked.
    pub fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        self.running.iter().flat_map(|running| &running.launches).map(LaunchState::kernel)
    }

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

    /// Checks that it is of this GPU.
    ///
    /// # Errors
    /// The first value in which that is another one.
    pub fn check_spec(&self, spec: &GpuSpec) -> Result<(), RestoreError> {
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
        counts::check(&self.earlier.channels, &spec.dram, spec.partition.channels)?;
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
        GpuState::new(self, self.sms.iter().map(|sm| sm.state()).collect(), self.inboxes.clone(), None)
    }

    /// A GPU that goes on from a state, with one thread.
    ///
    /// # Errors
    /// The state is of another GPU, cannot be that of any, or something is under way in it.
    pub fn restore(spec: &Arc<GpuSpec>, state: GpuState) -> Result<Gpu, RestoreError> {
        if state.running.is_some() {
            let name = |kernel: &Kernel| format!("launch {} of kernel {}", kernel.launch, kernel.name);
            let what = state.kernels().next().map_or_else(|| "a copy or a fill".to_owned(), name);
            return Err(RestoreError::UnderWay { what });
        }
        Gpu::restore_running(spec, state, &[]).map(Interrupted::into_gpu)
    }

    /// What was under way in a state, to be gone on with by one thread. `sources` are what executes the launches from where they
    /// stand, in the order of [`GpuState::kernels`]: their warps' next instructions are those that the model was told of.
    ///
    /// # Errors
    /// The state is of another GPU or of other launches, or cannot be that of any.
    pub fn restore_running<'a>(
        spec: &Arc<GpuSpec>,
        state: GpuState,
        sources: &[&'a dyn KernelSource],
    ) -> Result<Interrupted<'a>, RestoreError> {
        state.check_spec(spec)?;
        state.check(spec).map_err(of_unit("the GPU"))?;
        let GpuState { spec: _, run_to, now, counters, earlier, sms, inboxes, memory, running } = state;
        let launches = running.as_ref().map(|running| running.launches(spec, run_to, sources));
        let launches = launches.transpose()?.unwrap_or_default();
        let program = |id| {
            let launch = launches.iter().find(|launch| launch.id == id);
            launch.map(|launch| Arc::clone(&launch.program))
        };
        let memory = MemorySide::restore(spec, memory, run_to)?;
        let restored = sms.into_iter().zip(0..);
        let restored = restored.map(|(sm, number)| {
            let (sm, expected) = Sm::restore(spec, number, sm, run_to, &program)?;
            Ok((Box::new(sm), expected))
        });
        let (sms, mut expected): (Vec<_>, Vec<_>) =
            restored.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        check_ctas(&launches, &sms).map_err(of_unit("the GPU"))?;
        check_under_way(&memory, &inboxes, &mut expected, running.as_ref()).map_err(of_unit("the GPU"))?;
        let spec = Arc::clone(spec);
        let gpu = Gpu { spec, threads: 1, sms, inboxes, memory, run_to, now, counters, earlier };
        Ok(Interrupted { gpu, launches, running })
    }

    /// The same with empty caches, closed rows and nothing under way: clock and counts go on.
    ///
    /// # Errors
    /// As [`Gpu::restore`].
    pub fn restore_cold(spec: &Arc<GpuSpec>, state: GpuState) -> Result<Gpu, RestoreError> {
        let mut gpu = Gpu::restore(spec, state)?;
        let mut earlier = gpu.totals(0, gpu.sms.iter().map(Box::as_ref));
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
    running: Option<&Running>,
) -> Fits {
    let mut of_copies = running.map_or_else(Vec::new, Running::no_replies);
    let arrived = inboxes.iter().flatten().map(|reply| (reply.message, None));
    for (reply, deferred) in memory.under_way().into_iter().chain(arrived) {
        if let (Origin::Copy, None, Some(running)) = (reply.origin, deferred, running) {
            running.copy_reply(&mut of_copies, &reply)?;
            continue;
        }
        let sm = expected.get_mut(usize::from(reply.sm)).ok_or("a reply is for no SM")?;
        sm.find(&reply, deferred)?;
    }
    running.map_or(Ok(()), |running| running.check_replies(&of_copies))?;
    expected.iter().try_for_each(Expected::all_found)
}

/// A GPU with what was under way in it when its state was written.
pub struct Interrupted<'a> {
    gpu: Gpu,
    launches: Vec<Launch<'a>>,
    running: Option<Running>,
}

impl<'a> Interrupted<'a> {
    /// The same, with SMs run by so many threads. Results do not depend on it.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Interrupted<'a> {
        Interrupted { gpu: self.gpu.with_threads(threads), ..self }
    }

    /// What was under way goes on. Launches and copies have the numbers that they had.
    pub fn session(&mut self) -> Session<'_, 'a> {
        let launches = std::mem::take(&mut self.launches);
        match self.running.take() {
            None => Session::new(&mut self.gpu),
            Some(running) => Session::resume(&mut self.gpu, launches, running),
        }
    }

    /// Runs the only launch to its end.
    ///
    /// # Errors
    /// As [`Gpu::launch`].
    pub fn finish(&mut self, observer: &mut dyn Observer) -> Result<LaunchRecord, LaunchError> {
        session::finish(self.session(), observer)
    }

    /// The GPU, for what comes next. What was not gone on with is thrown away, with what is in the caches.
    pub fn into_gpu(mut self) -> Gpu {
        if self.running.is_some() {
            self.gpu.reset();
        }
        self.gpu
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specification::gpu;

    fn tiny(changes: &[&str]) -> Arc<GpuSpec> {
        let mut document = gpu::built_in("tiny").unwrap();
        changes.iter().for_each(|change| gpu::change(&mut document, change).unwrap());
        Arc::new(GpuSpec::read(&document).unwrap())
    }

    /// The unit whose part of a state does not fit a GPU that is changed, though the state says that it is of that one.
    fn refused(change: &str) -> String {
        let other = tiny(&[change]);
        let state = GpuState { spec: other.values(), ..Gpu::new(&tiny(&[])).state() };
        match Gpu::restore(&other, state).unwrap_err() {
            RestoreError::Unit { unit, .. } => unit,
            error => panic!("{error}"),
        }
    }

    #[test]
    fn a_state_of_another_size_is_refused_by_the_unit_that_has_it() {
        for (change, unit) in [
            ("chip.sms=3", "the GPU"),
            ("crossbar.sms_per_port=2", "the crossbar"),
            ("partition.channels=3", "the crossbar"),
            ("crossbar.output_buffer=8", "the crossbar"),
            ("crossbar.input_buffer=8", "L2 slice 0"),
            ("l2.size=3072", "L2 slice 0"),
            ("dram.banks=8", "DRAM channel 0, part 0"),
            ("dram.bank_groups=1", "DRAM channel 0, part 0"),
            ("cta.warps=32", "SM 0"),
            ("cta.ctas=8", "SM 0"),
            ("operands.collectors=1", "SM 0"),
            ("operands.ports=9", "SM 0"),
            ("front_end.l0_size=1024", "SM 0"),
            ("front_end.l1_ways=2", "SM 0"),
            ("memory_pipeline.organisation=per-sm", "SM 0"),
            ("memory_pipeline.credits=3", "SM 0"),
            ("l1.sets=2", "SM 0"),
        ] {
            assert_eq!(refused(change), unit, "{change}");
        }
    }

    #[test]
    fn a_state_of_this_size_is_none_of_them() {
        let spec = tiny(&[]);
        assert!(Gpu::restore(&spec, Gpu::new(&spec).state()).is_ok());
    }
}

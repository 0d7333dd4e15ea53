//! Saved state of a whole GPU.

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
use crate::fidelity::Rates;
use crate::memory_side::{MemorySide, MemorySideState};
use crate::message::{MemoryReply, Requester, Timed};
use crate::record::LaunchRecord;
use crate::restore::{LATEST, RestoreError, Validity, countable, ensure, near, of_unit};
use crate::sm::{Expected, Sm, SmState};
use crate::specification::GpuSpec;

/// Most bytes of a state in memory.
const LIMIT: usize = 1 << 32;

/// Mutable state of a GPU, between launches or within them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GpuState {
    /// Values of the GPU's file, by key.
    spec: Vec<(String, String)>,
    run_to: u64,
    now: u64,
    counters: GpuCounters,
    earlier: Totals,
    sms: Vec<SmState>,
    /// Replies not yet taken by the SMs.
    inboxes: Vec<VecDeque<Timed<MemoryReply>>>,
    memory: MemorySideState,
    running: Option<Running>,
}

impl GpuState {
    /// State of a GPU with these SMs.
    pub(super) fn new(
        gpu: &Gpu,
        sms: Vec<SmState>,
        inboxes: Vec<VecDeque<Timed<MemoryReply>>>,
        running: Option<Running>,
    ) -> GpuState {
        let Gpu {
            ref spec,
            threads: _,
            rates: _,
            sms: _,
            inboxes: _,
            ref memory,
            run_to,
            now,
            counters,
            ref earlier,
            series: _,
            pc_counts: _,
        } = *gpu;
        let (spec, memory, earlier) = (spec.values(), memory.state(), earlier.clone());
        GpuState { spec, run_to, now, counters, earlier, sms, inboxes, memory, running }
    }

    /// Kernels in flight, oldest first; not validated in a decoded state.
    pub fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        self.running.iter().flat_map(|running| &running.launches).map(LaunchState::kernel)
    }

    /// Encodes the state.
    ///
    /// # Errors
    /// The state has no encoding.
    pub fn encode(&self) -> Result<Vec<u8>, CodecError> {
        codec::encode(self)
    }

    /// Decodes a state; [`Gpu::restore`] validates it.
    ///
    /// # Errors
    /// The bytes are no state.
    pub fn decode(bytes: &[u8]) -> Result<GpuState, CodecError> {
        codec::decode::<LIMIT, GpuState>(bytes)
    }

    /// Checks that the state is of this GPU.
    ///
    /// # Errors
    /// The first value that differs.
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

    fn check(&self, spec: &GpuSpec) -> Validity {
        let sms = spec.chip.sms as usize;
        ensure(self.sms.len() == sms && self.inboxes.len() == sms, "the number of SMs differs")?;
        ensure(self.run_to < LATEST && self.now < LATEST, "the clock is beyond its limit")?;
        countable(&self.counters)?;
        countable(&self.earlier)?;
        counts::check(&self.earlier.channels, &spec.dram, spec.partition.channels)?;
        let own = |(number, inbox): (usize, &VecDeque<Timed<MemoryReply>>)| {
            let own = |reply: &Timed<MemoryReply>| usize::from(reply.message.sm) == number;
            inbox.iter().all(|reply| own(reply) && near(reply.cycle, self.run_to))
        };
        ensure(self.inboxes.iter().enumerate().all(own), "a reply is in another SM's inbox, or too late")
    }
}

impl Gpu {
    /// State of the GPU. A session borrows the GPU, so none is open.
    pub fn state(&self) -> GpuState {
        GpuState::new(self, self.sms.iter().map(|sm| sm.state()).collect(), self.inboxes.clone(), None)
    }

    /// Restores an idle GPU with one thread.
    ///
    /// # Errors
    /// The state is of another GPU, invalid, or has work in flight.
    pub fn restore(spec: &Arc<GpuSpec>, state: GpuState) -> Result<Gpu, RestoreError> {
        if state.running.is_some() {
            let name = |kernel: &Kernel| format!("launch {} of kernel {}", kernel.launch, kernel.name);
            let what = state.kernels().next().map_or_else(|| "a copy or a fill".to_owned(), name);
            return Err(RestoreError::UnderWay { what });
        }
        Gpu::restore_running(spec, state, &[]).map(Interrupted::into_gpu)
    }

    /// Restores a GPU with its work in flight, with one thread. `sources` continue the launches in
    /// the order of [`GpuState::kernels`], at the instructions last given to the model.
    ///
    /// # Errors
    /// The state is of another GPU or other launches, or invalid.
    pub fn restore_running<'a>(
        spec: &Arc<GpuSpec>,
        state: GpuState,
        sources: &[&'a dyn KernelSource],
    ) -> Result<Interrupted<'a>, RestoreError> {
        state.check_spec(spec)?;
        state.check(spec).map_err(of_unit("the GPU"))?;
        if spec.fidelity.rates == Rates::ReuseDistance && state.kernels().next().is_some() {
            return Err(RestoreError::Rates);
        }
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
        let gpu = Gpu {
            spec,
            threads: 1,
            rates: None,
            sms,
            inboxes,
            memory,
            run_to,
            now,
            counters,
            earlier,
            series: None,
            pc_counts: false,
        };
        Ok(Interrupted { gpu, launches, running })
    }

    /// Restores a GPU with empty caches, closed rows and no work in flight; clock and counts
    /// continue.
    ///
    /// # Errors
    /// As for [`Gpu::restore`].
    pub fn restore_cold(spec: &Arc<GpuSpec>, state: GpuState) -> Result<Gpu, RestoreError> {
        let mut gpu = Gpu::restore(spec, state)?;
        let mut earlier = gpu.totals(0, gpu.sms.iter().map(Box::as_ref));
        earlier.gpu = GpuCounters::default();
        gpu.renew();
        gpu.earlier = earlier;
        Ok(gpu)
    }
}

/// Checks that exactly the awaited replies of each SM are in flight.
fn check_under_way(
    memory: &MemorySide,
    inboxes: &[VecDeque<Timed<MemoryReply>>],
    expected: &mut [Expected],
    running: Option<&Running>,
) -> Validity {
    let mut of_copies = running.map_or_else(Vec::new, Running::no_replies);
    let arrived = inboxes.iter().flatten().map(|reply| (reply.message, None));
    for (reply, deferred) in memory.under_way().into_iter().chain(arrived) {
        if let (Requester::Copy, None, Some(running)) = (reply.requester, deferred, running) {
            running.copy_reply(&mut of_copies, &reply)?;
            continue;
        }
        let sm = expected.get_mut(usize::from(reply.sm)).ok_or("a reply belongs to no SM")?;
        sm.find(&reply, deferred)?;
    }
    running.map_or(Ok(()), |running| running.check_replies(&of_copies))?;
    expected.iter().try_for_each(Expected::all_found)
}

/// A restored GPU with work in flight.
pub struct Interrupted<'a> {
    gpu: Gpu,
    launches: Vec<Launch<'a>>,
    running: Option<Running>,
}

impl<'a> Interrupted<'a> {
    /// Runs SMs on `threads` threads. Results do not depend on the number.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Interrupted<'a> {
        Interrupted { gpu: self.gpu.with_threads(threads), ..self }
    }

    /// Continues the work in flight under its previous numbers.
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
    /// As for [`Gpu::launch`].
    pub fn finish(&mut self, observer: &mut dyn Observer) -> Result<LaunchRecord, LaunchError> {
        session::finish(self.session(), observer)
    }

    /// The idle GPU. Remaining work in flight and the caches' contents are discarded.
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

    /// The unit that rejects a state whose GPU was changed while the state claims equality.
    fn refused(change: &str) -> String {
        let other = tiny(&[change]);
        let state = GpuState { spec: other.values(), ..Gpu::new(&tiny(&[])).state() };
        match Gpu::restore(&other, state).unwrap_err() {
            RestoreError::Unit { unit, .. } => unit,
            error => panic!("{error}"),
        }
    }

    #[test]
    fn unit_of_another_size_rejects_the_state() {
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
    fn state_of_the_same_size_restores() {
        let spec = tiny(&[]);
        assert!(Gpu::restore(&spec, Gpu::new(&spec).state()).is_ok());
    }
}

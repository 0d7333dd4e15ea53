//! An SM with its input and output of an epoch.

use std::collections::VecDeque;

use warp_stream::KernelSource;

use super::launch::{Launch, LaunchId};
use crate::message::{MemoryReply, MemoryRequest, Performed, Timed};
use crate::sm::{FinishedCta, Sm, SmFault, Source};

/// A store held by an SM. The order is that in which stores of all SMs reach memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Held {
    /// Core cycle of the store.
    pub(super) cycle: u64,
    /// SM of the store.
    pub(super) sm: u32,
    pub(super) launch: LaunchId,
}

/// Source of a launch's warps on an SM. The source holds their stores, unless SMs run one after the
/// other.
pub(super) fn warps(source: &dyn KernelSource, sm: u32) -> Source<'_> {
    let mut warps = source.warps(sm);
    if !source.needs_sm_order() {
        warps.hold_stores();
    }
    warps
}

/// An SM with its input and output of an epoch.
pub(super) struct Slot<'a> {
    number: u32,
    pub(super) sm: Box<Sm>,
    /// By launch.
    pub(super) sources: Vec<Option<Source<'a>>>,
    pub(super) inbox: VecDeque<Timed<MemoryReply>>,
    pub(super) outbox: Vec<Timed<MemoryRequest>>,
    pub(super) finished: Vec<FinishedCta>,
    pub(super) fault: Option<Box<SmFault>>,
}

impl<'a> Slot<'a> {
    pub(super) fn new(number: u32, sm: Box<Sm>, inbox: VecDeque<Timed<MemoryReply>>) -> Slot<'a> {
        Slot { number, sm, sources: Vec::new(), inbox, outbox: Vec::new(), finished: Vec::new(), fault: None }
    }

    /// Starts a CTA of a launch; the SM has room.
    pub(super) fn start_cta(&mut self, cycle: u64, launch: &mut Launch<'a>) -> Result<(), Box<SmFault>> {
        let Slot { sm, sources, finished, .. } = self;
        sources[launch.id as usize].get_or_insert_with(|| warps(launch.source, self.number));
        let cta = launch.start_cta();
        sm.start_cta(cycle, launch.id, &launch.program, cta, sources, finished)
    }

    /// Runs the SM's cycles before `end`.
    pub(super) fn run(&mut self, end: u64) {
        let Slot { sm, sources, inbox, outbox, finished, fault, .. } = self;
        if sm.is_busy() {
            sm.prefetch_host();
            sources.iter().flatten().for_each(|source| source.prefetch_host());
        }
        if let Err(error) = sm.run(end, sources, inbox, outbox, finished) {
            *fault = Some(error);
        }
    }

    /// Performs a deferred instruction and then the stores that waited for it.
    pub(super) fn perform(&mut self, cycle: u64, performed: &Performed) -> Result<(), Box<SmFault>> {
        self.sm.perform(cycle, performed, &mut self.sources)?;
        let held: Vec<Held> = self.oldest_held().collect();
        held.into_iter().try_for_each(|held| self.publish(held, u64::MAX).map(drop))
    }

    /// Oldest held store of each launch.
    pub(super) fn oldest_held(&self) -> impl Iterator<Item = Held> {
        let of_source = |(launch, source): (LaunchId, &Option<Source<'_>>)| {
            let cycle = source.as_ref()?.oldest_held()?;
            Some(Held { cycle, sm: self.number, launch })
        };
        (0..).zip(&self.sources).filter_map(of_source)
    }

    /// Writes a launch's held stores to memory up to a core cycle, and returns the oldest remaining
    /// one.
    pub(super) fn publish(&mut self, held: Held, through: u64) -> Result<Option<Held>, Box<SmFault>> {
        let Some(Some(source)) = self.sources.get_mut(held.launch as usize) else { return Ok(None) };
        source.publish(through).map_err(|error| {
            let (cta, warp) = (0, 0);
            Box::new(SmFault::Source { launch: held.launch, cta, warp, cycle: held.cycle, error })
        })?;
        Ok(source.oldest_held().map(|cycle| Held { cycle, ..held }))
    }

    /// Core cycle of the next event; `u64::MAX` for none.
    pub(super) fn wake(&self) -> u64 {
        let reply = self.inbox.front().map(|reply| reply.cycle);
        let next = self.sm.next_event().into_iter().chain(reply).min().unwrap_or(u64::MAX);
        next.min(self.sm.next_departure())
    }
}

//! An SM with what it is given and what it leaves in an epoch.

use std::collections::VecDeque;

use super::launch::Launch;
use crate::message::{MemoryReply, MemoryRequest, Performed, Timed};
use crate::sm::{FinishedCta, Sm, SmFault, Source};

/// An SM with what it is given and what it leaves in an epoch.
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

    /// A CTA of a launch starts; the SM has room for it.
    pub(super) fn start_cta(&mut self, cycle: u64, launch: &mut Launch<'a>) -> Result<(), Box<SmFault>> {
        let Slot { sm, sources, finished, .. } = self;
        sources[launch.id as usize].get_or_insert_with(|| launch.source.warps(self.number));
        let cta = launch.start_cta();
        sm.start_cta(cycle, launch.id, &launch.program, cta, sources, finished)
    }

    /// Runs the SM's cycles before `end`.
    pub(super) fn run(&mut self, end: u64) {
        let Slot { sm, sources, inbox, outbox, finished, fault, .. } = self;
        if sm.is_busy() {
            sm.foresee();
            sources.iter().flatten().for_each(|source| source.foresee());
        }
        if let Err(error) = sm.run(end, sources, inbox, outbox, finished) {
            *fault = Some(error);
        }
    }

    /// A deferred instruction takes effect.
    pub(super) fn perform(&mut self, cycle: u64, performed: &Performed) -> Result<(), Box<SmFault>> {
        self.sm.perform(cycle, performed, &mut self.sources)
    }

    /// The core cycle of the next thing to do; `u64::MAX` for nothing.
    pub(super) fn wake(&self) -> u64 {
        let reply = self.inbox.front().map(|reply| reply.cycle);
        self.sm.next_event().into_iter().chain(reply).min().unwrap_or(u64::MAX)
    }
}

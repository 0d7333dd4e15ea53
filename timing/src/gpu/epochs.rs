//! Epochs: CTA dispatch, SMs, memory side, and the progress watchdog.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Mutex;

use super::copy::RunningCopy;
use super::epoch_workers::lock;
use super::launch::{Launch, LaunchId};
use super::observer::{Observer, Progress};
use super::requests::Requests;
use super::running::{Turns, Watch};
use super::slot::{Held, Slot};
use super::transfer::RunningTransfer;
use super::{Gpu, LaunchError};
use crate::message::{MemoryReply, Performed, RequestKind, Requester, Timed};
use crate::series::{Sample, Sampler};
use crate::sm::SmFault;

/// Epochs between reports to the observer.
const TELL: u64 = 128;

/// Epochs without an issue, a reply or a CTA's end after which the model reports a deadlock.
const PATIENCE: u64 = 64 * TELL;

/// Parallel parts of an epoch: run the units with these numbers to a core cycle.
#[derive(Clone, Copy)]
pub(super) struct Steps<'s> {
    /// SMs.
    pub(super) sms: &'s dyn Fn(&[u32], u64),
    /// Partitions.
    pub(super) partitions: &'s dyn Fn(&[u32], u64),
}

/// Work in flight, apart from the state of SM threads.
pub(super) struct Epochs<'g, 'a> {
    pub(super) gpu: &'g mut Gpu,
    /// Launches in flight, oldest first.
    pub(super) launches: Vec<Launch<'a>>,
    /// Copies in flight, oldest first.
    pub(super) copies: Vec<RunningCopy>,
    /// Transfers in flight, oldest first.
    pub(super) transfers: Vec<RunningTransfer>,
    /// Core cycle of each SM's next event; `u64::MAX` for none.
    wake: Vec<u64>,
    pub(super) turns: Turns,
    /// Series under way, if launches have them.
    pub(super) sampler: Option<Box<Sampler>>,
    // Buffers reused by every epoch.
    active: Vec<u32>,
    requests: Requests,
    held: BinaryHeap<Reverse<Held>>,
    replies: Vec<VecDeque<Timed<MemoryReply>>>,
    performed: Vec<Performed>,
    credits: Vec<u32>,
}

impl<'g, 'a> Epochs<'g, 'a> {
    pub(super) fn new(gpu: &'g mut Gpu, slots: &[Mutex<Slot<'a>>]) -> Epochs<'g, 'a> {
        let count = slots.len();
        let sampler = gpu.series.map(|interval| Box::new(Sampler::new(interval, gpu.spec.chip.sms)));
        Epochs {
            gpu,
            sampler,
            launches: Vec::new(),
            copies: Vec::new(),
            transfers: Vec::new(),
            wake: slots.iter().map(|slot| lock(slot).wake()).collect(),
            turns: Turns::new(count),
            active: Vec::new(),
            requests: Requests::default(),
            held: BinaryHeap::new(),
            replies: vec![VecDeque::new(); count],
            performed: Vec::new(),
            credits: vec![0; count],
        }
    }

    /// True if nothing is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.launches.is_empty() && self.copies.is_empty() && self.transfers.is_empty()
    }

    /// Adds a launch, ahead of another's CTAs or behind all.
    pub(super) fn add(&mut self, launch: Launch<'a>, before: Option<LaunchId>) {
        let place = self.launches.iter().position(|other| Some(other.id) == before);
        self.launches.insert(place.unwrap_or(self.launches.len()), launch);
        if let [_] = self.launches[..] {
            self.turns.turn = 0;
        }
        self.note_sharing();
        self.turns.open_all();
    }

    /// Adds a device copy or fill.
    pub(super) fn add_transfer(&mut self, transfer: RunningTransfer) {
        self.transfers.push(transfer);
        self.note_sharing();
    }

    /// Marks launches and transfers that run concurrently.
    fn note_sharing(&mut self) {
        if self.launches.len() + self.transfers.len() > 1 {
            self.launches.iter_mut().for_each(|launch| launch.shared = true);
            self.transfers.iter_mut().for_each(|transfer| transfer.shared = true);
        }
    }

    /// Runs epochs until one item ends, and returns its number, or until the observer stops the
    /// run.
    pub(super) fn run(
        &mut self,
        slots: &[Mutex<Slot<'a>>],
        steps: Steps<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Option<u32>, LaunchError> {
        loop {
            if let Some(id) = self.ended() {
                return Ok(Some(id));
            }
            if self.is_to_stop(observer) {
                return Ok(None);
            }
            if self.turns.epochs.is_multiple_of(TELL) {
                self.tell(slots, observer)?;
            }
            let next = self.next_event().ok_or_else(|| LaunchError::Stuck(self.stuck(slots)))?;
            self.epoch(slots, steps, next)?;
        }
    }

    /// Runs the activity after the last CTA: writes on their way to DRAM.
    pub(super) fn settle(&mut self, slots: &[Mutex<Slot<'a>>], steps: Steps<'_>) -> Result<(), LaunchError> {
        while let Some(next) = self.next_event() {
            self.epoch(slots, steps, next)?;
        }
        if !self.gpu.memory.is_idle() || slots.iter().any(|slot| !lock(slot).sm.is_idle()) {
            return Err(LaunchError::Stuck(self.stuck(slots)));
        }
        self.gpu.memory.violation().map_or(Ok(()), |violation| Err(LaunchError::Dram(violation)))
    }

    /// True if the observer wants to stop now.
    pub(super) fn is_to_stop(&self, observer: &dyn Observer) -> bool {
        let ended = || self.launches.first().map_or(0, |launch| launch.ended);
        observer.stop_at().is_some_and(|cycle| self.gpu.run_to >= cycle)
            || observer.stop_after_ctas().is_some_and(|ctas| ended() >= ctas)
    }

    fn ended(&self) -> Option<u32> {
        let Gpu { spec, run_to, .. } = &*self.gpu;
        let launch = self.launches.iter().find(|launch| launch.end(&spec.launch).is_some());
        let copy = || self.copies.iter().find(|copy| copy.ended(spec, *run_to).is_some());
        let transfer = || self.transfers.iter().find(|transfer| transfer.end(spec).is_some());
        let launch = launch.map(|launch| launch.id);
        launch.or_else(|| copy().map(|copy| copy.id)).or_else(|| transfer().map(|transfer| transfer.id))
    }

    /// First core cycle with an event.
    fn next_event(&self) -> Option<u64> {
        let copies = self.copies.iter().filter_map(|copy| copy.next_event(&self.gpu.spec));
        let transfers = self.transfers.iter().filter_map(|transfer| transfer.next_event(&self.gpu.spec));
        let sms = self.wake.iter().copied().min().filter(|wake| *wake != u64::MAX);
        sms.into_iter()
            .chain(self.next_dispatch())
            .chain(copies)
            .chain(transfers)
            .chain(self.gpu.memory.next_event())
            .min()
    }

    /// Runs the epoch that contains core cycle `next`, the next event.
    fn epoch(&mut self, slots: &[Mutex<Slot<'a>>], steps: Steps<'_>, next: u64) -> Result<(), LaunchError> {
        let length = self.gpu.spec.epoch();
        let start = self.gpu.run_to.max(next);
        let end = (start / length + 1) * length;
        self.dispatch(slots, end)?;
        self.active.clear();
        self.active.extend((0..).zip(&self.wake).filter(|(_, wake)| **wake < end).map(|(number, _)| number));
        (steps.sms)(&self.active, end);
        self.collect(slots)?;
        self.publish(slots)?;
        self.send_copies(start, end);
        self.run_memory(slots, steps, end)?;
        self.gpu.run_to = end;
        self.turns.epochs += 1;
        if let Some(sampler) = &mut self.sampler
            && sampler.is_due(end, self.active.len())
        {
            self.take_point(slots);
        }
        Ok(())
    }

    /// Adds a point to the series under way.
    #[cold]
    #[inline(never)]
    fn take_point(&mut self, slots: &[Mutex<Slot<'a>>]) {
        let slots: Vec<_> = slots.iter().map(lock).collect();
        let cycle = self.gpu.run_to;
        let mut totals = self.gpu.totals_beside_sms(cycle);
        slots.iter().for_each(|slot| slot.sm.add_counters_until(&mut totals.sm, cycle));
        let sms = slots.iter().map(|slot| slot.sm.warp_instructions()).collect();
        if let Some(sampler) = &mut self.sampler {
            sampler.take(&Sample { cycle, totals: &totals, sms });
        }
    }

    /// Starts CTAs up to `end`: each cycle one on each SM with room, in turn. Room returned in the
    /// previous epoch counts from the cycle of its return, so the epoch length does not matter.
    fn dispatch(&mut self, slots: &[Mutex<Slot<'a>>], end: u64) -> Result<(), LaunchError> {
        while let Some(cycle) = self.next_dispatch().filter(|cycle| *cycle < end) {
            for _ in 0..slots.len() {
                // The oldest launch with CTAs to start goes first; younger ones get the rest.
                let next = self.launches.iter_mut().find(|launch| launch.ctas_to_start() > 0);
                let Some(launch) = next.filter(|launch| launch.ready <= cycle) else { break };
                let number = self.turns.turn;
                self.turns.turn = (self.turns.turn + 1) % slots.len();
                let openings = &mut self.turns.openings[number];
                if openings.front().is_none_or(|opening| *opening > cycle) {
                    continue;
                }
                let slot = &mut *lock(&slots[number]);
                if !slot.sm.has_room(&launch.program) {
                    openings.clear();
                    continue;
                }
                if openings.len() > 1 {
                    openings.pop_front();
                }
                if let Err(fault) = slot.start_cta(cycle, launch) {
                    return Err(self.fault(number as u32, fault));
                }
                self.gpu.counters.ctas_started += 1;
                self.wake[number] = self.wake[number].min(cycle);
            }
            self.turns.dispatched = cycle + 1;
        }
        Ok(())
    }

    /// Core cycle at which the next CTA may start.
    fn next_dispatch(&self) -> Option<u64> {
        let launch = self.launches.iter().find(|launch| launch.ctas_to_start() > 0)?;
        Some(self.turns.first_opening()?.max(launch.ready).max(self.turns.dispatched))
    }

    /// Collects the output of the active SMs.
    fn collect(&mut self, slots: &[Mutex<Slot<'a>>]) -> Result<(), LaunchError> {
        self.requests.sent.clear();
        self.held.clear();
        for place in 0..self.active.len() {
            let number = self.active[place];
            let slot = &mut *lock(&slots[number as usize]);
            if let Some(fault) = slot.fault.take() {
                return Err(self.fault(number, fault));
            }
            self.wake[number as usize] = slot.wake();
            self.requests.sent.append(&mut slot.outbox);
            self.held.extend(slot.oldest_held().map(Reverse));
            self.turns.open(number as usize, slot.sm.take_freed());
            for cta in slot.finished.drain(..) {
                self.gpu.counters.ctas_ended += 1;
                if let Some(launch) = self.launches.iter_mut().find(|launch| launch.id == cta.launch) {
                    launch.cta_ended(&cta);
                }
            }
        }
        Ok(())
    }

    /// Writes the stores of all SMs to memory, ordered by cycle, SM and number.
    fn publish(&mut self, slots: &[Mutex<Slot<'a>>]) -> Result<(), LaunchError> {
        while let Some(Reverse(held)) = self.held.pop() {
            // Stores before another SM's next store need no comparison.
            let before_other =
                self.held.peek().map_or(u64::MAX, |Reverse(other)| other.cycle.saturating_sub(1));
            let slot = &mut *lock(&slots[held.sm as usize]);
            let next = slot.publish(held, before_other.max(held.cycle));
            self.held.extend(next.map_err(|fault| self.fault(held.sm, fault))?.map(Reverse));
        }
        Ok(())
    }

    fn send_copies(&mut self, start: u64, end: u64) {
        let before = self.requests.sent.len();
        for copy in &mut self.copies {
            copy.send(&self.gpu.spec, start, end, &mut self.requests.sent);
        }
        for transfer in &mut self.transfers {
            transfer.send(&self.gpu.spec, start, end, &mut self.requests.sent);
        }
        let counters = &mut self.gpu.counters;
        for Timed { message, .. } in &self.requests.sent[before..] {
            counters.copy_requests += 1;
            let sectors = u64::from(message.sectors.count_ones());
            match message.kind {
                RequestKind::Write => counters.copy_sectors_written += sectors,
                _ => counters.copy_sectors_read += sectors,
            }
        }
    }

    /// Runs the memory side to `end` and delivers its replies.
    fn run_memory(
        &mut self,
        slots: &[Mutex<Slot<'a>>],
        steps: Steps<'_>,
        end: u64,
    ) -> Result<(), LaunchError> {
        let Epochs { gpu, requests, replies, performed, credits, .. } = self;
        if requests.sent.is_empty() && gpu.memory.next_event().is_none_or(|next| next >= end) {
            return Ok(());
        }
        performed.clear();
        gpu.memory.run(end, requests.by_cycle(), replies, performed, credits, steps.partitions);
        self.take_copy_replies();
        for (number, slot) in slots.iter().enumerate() {
            if self.credits[number] == 0 && self.replies[number].is_empty() {
                continue;
            }
            let slot = &mut *lock(slot);
            slot.sm.give_credits(end, std::mem::take(&mut self.credits[number]));
            slot.inbox.append(&mut self.replies[number]);
            self.wake[number] = slot.wake();
        }
        for place in 0..self.performed.len() {
            let performed = self.performed[place];
            let number = usize::from(performed.sm);
            let slot = &mut *lock(&slots[number]);
            if let Err(fault) = slot.perform(end, &performed) {
                return Err(self.fault(u32::from(performed.sm), fault));
            }
            self.wake[number] = slot.wake();
        }
        Ok(())
    }

    /// Removes copies' replies from the SMs' replies.
    fn take_copy_replies(&mut self) {
        if self.copies.is_empty() && self.transfers.is_empty() {
            return;
        }
        let Epochs { gpu, copies, transfers, replies, .. } = self;
        for queue in replies {
            queue.retain(|Timed { cycle, message }| {
                if message.requester != Requester::Copy {
                    return true;
                }
                gpu.counters.copy_replies += 1;
                if let Some(copy) = copies.iter_mut().find(|copy| copy.id == message.tag) {
                    copy.answered(*cycle);
                } else if let Some(transfer) = transfers.iter_mut().find(|it| it.id == message.tag) {
                    transfer.answered(*cycle, message.kind);
                }
                false
            });
        }
    }

    /// Reports launches to the observer and checks progress.
    fn tell(&mut self, slots: &[Mutex<Slot<'a>>], observer: &mut dyn Observer) -> Result<(), LaunchError> {
        if observer.is_cancelled() {
            return Err(LaunchError::Cancelled);
        }
        let instructions = slots.iter().map(|slot| lock(slot).sm.warp_instructions()).sum();
        for launch in &self.launches {
            let progress = Progress {
                kernel: &launch.program.kernel,
                ctas_done: launch.ended,
                cycles: self.gpu.run_to.saturating_sub(launch.start),
                instructions,
            };
            if observer.progress(&progress).is_break() {
                return Err(LaunchError::Cancelled);
            }
        }
        let moved = [instructions, self.gpu.memory.counters().replies.count(), self.gpu.counters.ctas_ended];
        if moved != self.turns.watch.moved {
            self.turns.watch = Watch { moved, since: self.turns.epochs };
        }
        match self.turns.epochs - self.turns.watch.since {
            0..PATIENCE => Ok(()),
            // The clock wakes a warp that sleeps.
            _ if slots.iter().any(|slot| lock(slot).sm.has_sleeping_warp()) => {
                self.turns.watch.since = self.turns.epochs;
                Ok(())
            }
            _ => Err(LaunchError::Stuck(self.stuck(slots))),
        }
    }

    fn fault(&self, sm: u32, fault: Box<SmFault>) -> LaunchError {
        let id = launch_of(&fault);
        let launch = self.launches.iter().find(|launch| launch.id == id);
        let kernel = launch.map_or_else(String::new, |launch| launch.program.kernel.name.clone());
        LaunchError::Fault { kernel, sm, fault }
    }
}

/// Launch of a fault.
fn launch_of(fault: &SmFault) -> LaunchId {
    match fault {
        SmFault::Source { launch, .. }
        | SmFault::NoSource { launch }
        | SmFault::NoInstruction { launch, .. }
        | SmFault::NoRoom { launch } => *launch,
    }
}

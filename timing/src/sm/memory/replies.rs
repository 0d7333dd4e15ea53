//! Replies of the memory side, which fill L1 and answer accesses.

use std::collections::VecDeque;
use std::hint::cold_path;

use super::{FILL, MemoryUnit};
use crate::message::{MemoryReply, RequestKind, SECTOR_BYTES, Timed};

impl MemoryUnit {
    /// Accepts the replies that have arrived. Returns the cycle for the next one.
    #[inline(always)]
    pub(super) fn take_replies(&mut self, cycle: u64, inbox: &mut VecDeque<Timed<MemoryReply>>) -> u64 {
        let mut i = 0;
        while let Some(&Timed { cycle: arrival, message: reply }) = inbox.get(i) {
            if reply.requester.is_instruction_cache() {
                i += 1;
                continue;
            }
            if arrival.max(self.state.fill_free) > cycle {
                return arrival.max(self.state.fill_free);
            }
            let _ = if i == 0 {
                inbox.pop_front()
            } else {
                cold_path();
                inbox.remove(i)
            };
            self.prefetch_host_replies(inbox, i);
            self.reply(cycle, reply);
        }
        u64::MAX
    }

    /// Prefetches the host's cache lines for replies after the next one in the inbox.
    fn prefetch_host_replies(&self, inbox: &VecDeque<Timed<MemoryReply>>, next: usize) {
        let filled = |ahead: usize| {
            let reply = inbox.get(next + ahead)?.message;
            (reply.tag & FILL != 0 && !reply.requester.is_instruction_cache()).then_some(reply.tag & !FILL)
        };
        if let Some(entry) = filled(6) {
            self.state.l1.prefetch_host_fill(entry);
        }
        if let Some(entry) = filled(4) {
            self.state.l1.prefetch_host_answer(entry);
        }
        if let Some(entry) = filled(2) {
            self.state.l1.prefetch_host_eviction(entry);
        }
    }

    fn reply(&mut self, cycle: u64, reply: MemoryReply) {
        self.state.counters.pipeline.replies += 1;
        self.state.changed = true;
        self.state.analytical.outstanding = self.state.analytical.outstanding.saturating_sub(1);
        let spec = &self.gpu.l1;
        if reply.kind == RequestKind::Read {
            let bytes = reply.sectors.count_ones() * SECTOR_BYTES as u32;
            self.state.fill_free = cycle + u64::from(bytes.div_ceil(spec.fill_bytes));
        }
        if reply.tag & FILL == 0 {
            let there = match reply.kind {
                RequestKind::Read | RequestKind::Atomic => cycle + u64::from(spec.fill_latency),
                RequestKind::Write | RequestKind::Reduction => cycle,
            };
            return self.answer(reply.tag, there);
        }
        let mut answered = std::mem::take(&mut self.answered);
        self.state.l1.fill(spec, cycle, reply.tag & !FILL, reply.sectors, &mut answered);
        let there = cycle + u64::from(spec.fill_latency);
        // Waiting accesses read the line one by one.
        for (turn, number) in (0..).zip(answered.drain(..)) {
            self.answer(number, there + turn);
        }
        self.answered = answered;
    }
}

//! Device copies and fills: driver kernels, modelled by their memory traffic alone.
//!
//! Lines leave in address order up to a limit of outstanding lines. A line is written once its
//! bytes have arrived.

use std::collections::VecDeque;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::copy;
use super::rows::{Place, Rows};
use crate::message::{MemoryRequest, RequestKind, Timed};
use crate::restore::{MOST_COUNTED, Validity, ensure, near};
use crate::specification::GpuSpec;

/// A device copy, or a fill with a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// Destination rows.
    pub to: Rows,
    /// Source rows, equal in number and width; `None` for a fill.
    pub from: Option<Rows>,
}

impl Transfer {
    /// Bytes written.
    pub fn bytes(&self) -> u64 {
        self.to.bytes()
    }

    /// Kind of transfer, for messages.
    pub fn name(&self) -> &'static str {
        if self.from.is_some() { "copy within the device" } else { "fill" }
    }

    /// Merges contiguous rows of both sides.
    fn joined(self) -> Transfer {
        let joined = match self.from {
            None => self.to.joined().map(|to| Transfer { to, from: None }),
            Some(from) => {
                let both = self.to.joined().zip(from.joined());
                both.map(|(to, from)| Transfer { to, from: Some(from) })
            }
        };
        joined.unwrap_or(self)
    }

    /// Checks that the memory can exist.
    pub(super) fn fits(&self) -> Validity {
        let same = self.from.is_none_or(|from| from.has_shape_of(&self.to));
        let in_memory = self.to.is_in_memory() && self.from.is_none_or(|from| from.is_in_memory());
        ensure(same && in_memory, "a copy or fill exceeds device memory")
    }
}

/// A reply.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Answer {
    /// Core cycle.
    cycle: u64,
    is_read: bool,
}

/// A transfer in flight.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RunningTransfer {
    pub(super) id: u32,
    /// Number of its stream.
    pub(super) stream: u64,
    pub(super) transfer: Transfer,
    /// Core cycle of the start.
    pub(super) start: u64,
    /// True if other work ran concurrently.
    pub(super) shared: bool,
    /// Next line to read.
    read: Place,
    /// Next line to write.
    write: Place,
    /// Lines read before the current one.
    read_before: u64,
    /// Lines arrived.
    come: u64,
    /// Outstanding requests.
    unanswered: u64,
    /// Future replies, earliest first.
    answers: VecDeque<Answer>,
    /// Core cycle at which the next request may leave.
    next: u64,
    /// Bytes of requests sent in that cycle.
    used: u64,
    /// Core cycle of the last reply.
    last: u64,
}

impl RunningTransfer {
    /// A transfer that starts at a core cycle.
    pub(super) fn new(
        gpu: &GpuSpec,
        id: u32,
        stream: u64,
        transfer: Transfer,
        start: u64,
    ) -> RunningTransfer {
        let transfer = transfer.joined();
        let first = start.saturating_add(u64::from(gpu.launch.launch));
        RunningTransfer {
            id,
            stream,
            transfer,
            start,
            shared: false,
            read: transfer.from.unwrap_or(transfer.to).first_line(),
            write: transfer.to.first_line(),
            read_before: 0,
            come: 0,
            unanswered: 0,
            answers: VecDeque::new(),
            next: first,
            used: 0,
            last: first,
        }
    }

    /// Checks a restored transfer against the clock.
    pub(super) fn check(&self, gpu: &GpuSpec, now: u64) -> Validity {
        self.transfer.fits()?;
        let places = self.transfer.to.may_be_at(&self.write)
            && self.transfer.from.unwrap_or(self.transfer.to).may_be_at(&self.read);
        ensure(places, "a copy or fill is past its end")?;
        let counts = [self.read_before, self.come, self.unanswered];
        ensure(
            counts.iter().all(|count| *count < MOST_COUNTED),
            "a copy or fill waits for too many replies",
        )?;
        ensure(self.used < gpu.transfer_rate(), "a copy or fill sent too much in a cycle")?;
        let in_order = self.answers.iter().is_sorted_by_key(|answer| answer.cycle);
        let times = [self.start, self.next, self.last].into_iter();
        let mut times = times.chain(self.answers.iter().map(|answer| answer.cycle));
        ensure(in_order && times.all(|cycle| near(cycle, now)), "a copy or fill takes too long")
    }

    /// True if the transfer has this many outstanding requests.
    pub(super) fn waits_for(&self, replies: u64) -> bool {
        self.unanswered == replies
    }

    fn is_written(&self) -> bool {
        self.transfer.to.is_end(&self.write)
    }

    /// True if the bytes of the next line to write have arrived.
    fn has_bytes(&self) -> bool {
        let Some(from) = &self.transfer.from else { return true };
        self.come >= self.read_before + from.lines_up_to(&self.write, &self.transfer.to)
    }

    /// Kind of the next request, within the limit of outstanding requests.
    fn next_kind(&self, gpu: &GpuSpec) -> Option<RequestKind> {
        if self.unanswered + self.answers.len() as u64 >= gpu.transfer_lines() {
            return None;
        }
        if !self.is_written() && self.has_bytes() {
            return Some(RequestKind::Write);
        }
        let from = self.transfer.from.as_ref()?;
        (!from.is_end(&self.read)).then_some(RequestKind::Read)
    }

    /// Core cycle of the next event other than a future reply.
    pub(super) fn next_event(&self, gpu: &GpuSpec) -> Option<u64> {
        let leaves = self.next_kind(gpu).map(|_| self.next);
        let answered = self.answers.front().map(|answer| answer.cycle);
        leaves.into_iter().chain(answered).min()
    }

    /// Sends the requests that leave before a core cycle.
    pub(super) fn send(&mut self, gpu: &GpuSpec, from: u64, end: u64, out: &mut Vec<Timed<MemoryRequest>>) {
        loop {
            let (next, now) = (self.next, self.next.max(from));
            while self.answers.front().is_some_and(|answer| answer.cycle <= next) {
                self.take_answer();
            }
            match self.next_kind(gpu) {
                Some(kind) if now < end => {
                    out.push(Timed { cycle: now, message: self.request(gpu, kind) });
                    self.advance(gpu, kind);
                }
                Some(_) => return,
                // The transfer waits for a reply.
                None => match self.answers.front() {
                    Some(answer) if answer.cycle < end => (self.next, self.used) = (answer.cycle, 0),
                    _ => return,
                },
            }
        }
    }

    fn take_answer(&mut self) {
        if let Some(Answer { cycle, is_read }) = self.answers.pop_front() {
            self.come += u64::from(is_read);
            self.last = self.last.max(cycle);
        }
    }

    fn request(&self, gpu: &GpuSpec, kind: RequestKind) -> MemoryRequest {
        let (rows, place) = match (kind, &self.transfer.from) {
            (RequestKind::Read, Some(from)) => (from, &self.read),
            _ => (&self.transfer.to, &self.write),
        };
        let (line, bytes) = rows.bytes_at(place);
        copy::request(gpu, self.id, kind, line, bytes)
    }

    /// Moves the side of a sent request to its next line.
    fn advance(&mut self, gpu: &GpuSpec, kind: RequestKind) {
        self.unanswered += 1;
        self.used += crate::message::LINE_BYTES;
        self.next += self.used / gpu.transfer_rate();
        self.used %= gpu.transfer_rate();
        let Transfer { to, from } = &self.transfer;
        match (kind, from) {
            (RequestKind::Read, Some(from)) => {
                from.go_on(&mut self.read);
            }
            (_, from) => {
                let row = self.write.row;
                if to.go_on(&mut self.write)
                    && let Some(from) = from
                {
                    self.read_before += from.lines_of(row);
                }
            }
        }
    }

    /// Accepts a reply of a core cycle. Replies arrive in order, except within an epoch.
    pub(super) fn answered(&mut self, cycle: u64, kind: RequestKind) {
        self.unanswered -= 1;
        let later = self.answers.iter().rev().take_while(|answer| answer.cycle > cycle).count();
        let place = self.answers.len() - later;
        self.answers.insert(place, Answer { cycle, is_read: kind == RequestKind::Read });
    }

    /// Core cycle of the transfer's end, if it has ended.
    pub(super) fn end(&self, gpu: &GpuSpec) -> Option<u64> {
        let over = self.is_written() && self.unanswered == 0 && self.answers.is_empty();
        over.then(|| self.last.saturating_add(u64::from(gpu.launch.drain)))
    }
}

impl fmt::Display for RunningTransfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RunningTransfer { id, transfer, write, unanswered, .. } = self;
        let (name, bytes, done) = (transfer.name(), transfer.bytes(), transfer.to.bytes_before(write));
        write!(
            f,
            "launch {id}, {name}: {done} of {bytes} bytes requested, {unanswered} requests are outstanding"
        )
    }
}

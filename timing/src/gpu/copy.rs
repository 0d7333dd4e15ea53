//! Copy engines: copies between host and device take their time on the bus, and go through L2.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::message::{LINE_BYTES, MemoryRequest, Origin, RequestKind, Timed};
use crate::restore::{Fits, LATEST, fits, near};
use crate::specification::GpuSpec;

/// Where a copy goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// From host to device.
    ToDevice,
    /// From device to host.
    FromDevice,
}

/// Bytes of device memory that are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copy {
    /// To where.
    pub direction: Direction,
    /// Device address of the first.
    pub address: u64,
    /// How many.
    pub bytes: u64,
}

/// A copy that is under way. Its lines leave as their bytes come over the bus. Of one that is larger than L2 only as many lines
/// go through it as can stay.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RunningCopy {
    pub(super) id: u32,
    copy: Copy,
    /// When its first byte comes. Core cycles.
    first: u64,
    /// When its last byte comes, or its last reply. Core cycles.
    end: u64,
    /// Address of the next line.
    next: u64,
    /// Requests without a reply.
    unanswered: u64,
}

impl RunningCopy {
    /// One that begins at a core cycle, behind others.
    pub(super) fn new(gpu: &GpuSpec, id: u32, copy: Copy, start: u64, others: &[RunningCopy]) -> RunningCopy {
        let same_way = others.iter().filter(|other| other.copy.direction == copy.direction);
        let bus_is_free = same_way.map(|other| other.bus_is_free(gpu)).max().unwrap_or(0);
        let first = start.saturating_add(u64::from(gpu.copy.latency)).max(bus_is_free);
        let next = copy.first_line(gpu);
        let running = RunningCopy { id, copy, first, end: first, next, unanswered: 0 };
        RunningCopy { end: running.bus_is_free(gpu), ..running }
    }

    /// Whether one that was read can be at a core cycle.
    pub(super) fn check(&self, gpu: &GpuSpec, now: u64) -> Fits {
        let RunningCopy { id: _, copy, first, end, next, unanswered: _ } = self;
        fits(copy.end() < 1 << 63, "a copy is beyond memory")?;
        let lines = copy.first_line(gpu)..=copy.end().next_multiple_of(LINE_BYTES);
        fits(lines.contains(next) && next.is_multiple_of(LINE_BYTES), "a copy is beyond its end")?;
        fits(near(*first, now) && *end < LATEST, "a copy takes too long")
    }

    /// When its last byte has come over the bus. Core cycles.
    fn bus_is_free(&self, gpu: &GpuSpec) -> u64 {
        self.first.saturating_add(gpu.copy.cycles(self.copy.bytes, gpu.clocks.core))
    }

    /// Whether it waits for so many replies.
    pub(super) fn waits_for(&self, replies: u64) -> bool {
        self.unanswered == replies
    }

    /// The core cycle at which the next line leaves.
    fn line_leaves(&self, gpu: &GpuSpec) -> Option<u64> {
        let before = self.next.saturating_sub(self.copy.address);
        let left = gpu.copy.through_l2 && self.next < self.copy.end();
        left.then(|| self.first.saturating_add(gpu.copy.cycles(before, gpu.clocks.core)))
    }

    /// The core cycle of the next thing to do, apart from replies.
    pub(super) fn next_event(&self, gpu: &GpuSpec) -> Option<u64> {
        self.line_leaves(gpu).or((self.unanswered == 0).then_some(self.end))
    }

    /// Sends the lines that leave before a core cycle.
    pub(super) fn send(&mut self, gpu: &GpuSpec, from: u64, end: u64, out: &mut Vec<Timed<MemoryRequest>>) {
        while let Some(cycle) = self.line_leaves(gpu).filter(|cycle| *cycle < end) {
            out.push(Timed { cycle: cycle.max(from), message: self.request(gpu) });
            self.next += LINE_BYTES;
            self.unanswered += 1;
        }
    }

    fn request(&self, gpu: &GpuSpec) -> MemoryRequest {
        let line = self.next;
        let first = self.copy.address.saturating_sub(line);
        let last = (self.copy.end() - line).min(LINE_BYTES);
        let kind = match self.copy.direction {
            Direction::ToDevice => RequestKind::Write,
            Direction::FromDevice => RequestKind::Read,
        };
        request(gpu, self.id, kind, line, first..last)
    }

    /// A reply has come.
    pub(super) fn answered(&mut self, cycle: u64) {
        self.unanswered -= 1;
        self.end = self.end.max(cycle);
    }

    /// When it ended, if it has before a core cycle.
    pub(super) fn ended(&self, gpu: &GpuSpec, before: u64) -> Option<u64> {
        (self.line_leaves(gpu).is_none() && self.unanswered == 0 && self.end < before).then_some(self.end)
    }
}

/// The request of a copy, or of a fill, for some bytes of a line.
pub(super) fn request(
    gpu: &GpuSpec,
    id: u32,
    kind: RequestKind,
    line: u64,
    bytes: Range<u64>,
) -> MemoryRequest {
    let bytes = u128::MAX >> (LINE_BYTES - bytes.end) & u128::MAX << bytes.start;
    let sectors = (0..4).filter(|sector| (bytes >> (sector * 32)) as u32 != 0);
    MemoryRequest {
        line,
        sectors: sectors.fold(0, |mask, sector| mask | 1 << sector),
        bytes: if kind == RequestKind::Write { bytes } else { 0 },
        kind,
        lanes: 0,
        origin: Origin::Copy,
        // Copies have no port of their own; they take those of all SMs in turn.
        sm: (line / LINE_BYTES % u64::from(gpu.chip.sms)) as u16,
        tag: id,
        deferred: None,
    }
}

impl Copy {
    /// Address of the first line that goes through L2.
    fn first_line(&self, gpu: &GpuSpec) -> u64 {
        let l2 = u64::from(gpu.l2.size) * u64::from(gpu.partition.all_slices());
        let through = if gpu.copy.through_l2 { self.bytes.min(l2) } else { 0 };
        (self.end() - through) / LINE_BYTES * LINE_BYTES
    }

    fn end(&self) -> u64 {
        self.address.saturating_add(self.bytes)
    }
}

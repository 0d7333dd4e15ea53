//! Copy engines: copies between host and device take bus time and pass through L2.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::message::{LINE_BYTES, MemoryRequest, RequestKind, Requester, Timed};
use crate::restore::{LATEST, Validity, ensure, near};
use crate::specification::GpuSpec;

/// Direction of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// From host to device.
    ToDevice,
    /// From device to host.
    FromDevice,
}

/// A copy between host and device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copy {
    /// To where.
    pub direction: Direction,
    /// Device address of the first byte.
    pub address: u64,
    /// Bytes copied.
    pub bytes: u64,
}

/// A copy in flight. Lines leave as their bytes cross the bus. A copy larger than L2 sends only
/// as many lines through L2 as L2 can hold.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RunningCopy {
    pub(super) id: u32,
    copy: Copy,
    /// Arrival of the first byte, in core cycles.
    first: u64,
    /// Arrival of the last byte or last reply, in core cycles.
    end: u64,
    /// Address of the next line.
    next: u64,
    /// Outstanding requests.
    unanswered: u64,
}

impl RunningCopy {
    /// A copy that starts at a core cycle, after the others on its bus.
    pub(super) fn new(gpu: &GpuSpec, id: u32, copy: Copy, start: u64, others: &[RunningCopy]) -> RunningCopy {
        let same_way = others.iter().filter(|other| other.copy.direction == copy.direction);
        let bus_is_free = same_way.map(|other| other.bus_is_free(gpu)).max().unwrap_or(0);
        let first = start.saturating_add(u64::from(gpu.copy.latency)).max(bus_is_free);
        let next = copy.first_line(gpu);
        let running = RunningCopy { id, copy, first, end: first, next, unanswered: 0 };
        RunningCopy { end: running.bus_is_free(gpu), ..running }
    }

    /// Checks a restored copy against the clock.
    pub(super) fn check(&self, gpu: &GpuSpec, now: u64) -> Validity {
        let RunningCopy { id: _, copy, first, end, next, unanswered: _ } = self;
        ensure(copy.end() < 1 << 63, "a copy exceeds device memory")?;
        let lines = copy.first_line(gpu)..=copy.end().next_multiple_of(LINE_BYTES);
        ensure(lines.contains(next) && next.is_multiple_of(LINE_BYTES), "a copy is past its end")?;
        ensure(near(*first, now) && *end < LATEST, "a copy takes too long")
    }

    /// Core cycle at which the bus becomes free.
    fn bus_is_free(&self, gpu: &GpuSpec) -> u64 {
        self.first.saturating_add(gpu.copy.cycles(self.copy.bytes, gpu.clocks.core))
    }

    /// True if the copy has this many outstanding requests.
    pub(super) fn waits_for(&self, replies: u64) -> bool {
        self.unanswered == replies
    }

    /// Core cycle at which the next line leaves.
    fn line_leaves(&self, gpu: &GpuSpec) -> Option<u64> {
        let before = self.next.saturating_sub(self.copy.address);
        let left = gpu.copy.through_l2 && self.next < self.copy.end();
        left.then(|| self.first.saturating_add(gpu.copy.cycles(before, gpu.clocks.core)))
    }

    /// Core cycle of the next event other than a reply.
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

    /// Accepts a reply.
    pub(super) fn answered(&mut self, cycle: u64) {
        self.unanswered -= 1;
        self.end = self.end.max(cycle);
    }

    /// End of the copy, if before a core cycle.
    pub(super) fn ended(&self, gpu: &GpuSpec, before: u64) -> Option<u64> {
        (self.line_leaves(gpu).is_none() && self.unanswered == 0 && self.end < before).then_some(self.end)
    }
}

/// Request of a copy or fill for bytes of a line.
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
        requester: Requester::Copy,
        // Copies have no port of their own and use those of the SMs in turn.
        sm: (line / LINE_BYTES % u64::from(gpu.chip.sms)) as u16,
        tag: id,
        deferred: None,
    }
}

impl Copy {
    /// Address of the first line that passes through L2.
    fn first_line(&self, gpu: &GpuSpec) -> u64 {
        let l2 = u64::from(gpu.l2.size) * u64::from(gpu.partition.all_slices());
        let through = if gpu.copy.through_l2 { self.bytes.min(l2) } else { 0 };
        (self.end() - through) / LINE_BYTES * LINE_BYTES
    }

    fn end(&self) -> u64 {
        self.address.saturating_add(self.bytes)
    }
}

//! Memory pipelines: dispatch latch, address stage, request buffer (Huerta et al., section 2.3).
//!
//! An access moves from the dispatch latch to the address stage after a cycle, unless the stage is
//! busy or the buffer is full. The stage forms a request a cycle. Requests wait in the buffer for
//! their structure; order is kept only among requests for the same structure.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::access::STRUCTURES;
use crate::gpu_file::{Document, SpecificationError};

crate::choice! {
    /// Memory pipelines of an SM.
    pub enum Organisation {
        /// One per sub-core.
        PerSubCore = "per-sub-core",
        /// One per SM, as in Accel-Sim. The address stage takes a warp at once. The access stays in
        /// the dispatch latch until all its requests are accepted; one result leaves a cycle.
        PerSm = "per-sm",
    }
}

crate::specification! {
    /// Memory pipelines of an SM.
    pub struct MemoryPipelineSpec in "memory_pipeline" {
        /// Memory pipelines of an SM.
        organisation: Organisation [""],
        /// Requests of a pipeline that may wait for their structures. The address stage accepts an
        /// access while fewer wait.
        buffer: u32 ["requests"],
        /// Requests that may leave the SM a cycle.
        injection: u32 ["requests per core cycle"],
        /// Requests that may leave the SM before the far end accepts one.
        credits: u32 ["requests"],
    }
}

impl MemoryPipelineSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let positive = [("buffer", self.buffer), ("injection", self.injection), ("credits", self.credits)];
        match positive.iter().find(|(_, value)| *value == 0) {
            Some((name, _)) => Err(document.wrong("memory_pipeline", name, "must be at least 1")),
            None => Ok(()),
        }
    }

    /// Number of pipelines of an SM with `sub_cores` sub-cores.
    pub fn pipelines(&self, sub_cores: usize) -> usize {
        match self.organisation {
            Organisation::PerSubCore => sub_cores,
            Organisation::PerSm => 1,
        }
    }

    /// Addresses per cycle.
    pub fn rate(&self) -> u16 {
        match self.organisation {
            Organisation::PerSubCore => 1,
            Organisation::PerSm => u16::MAX,
        }
    }
}

crate::counters! {
    /// Memory pipelines.
    pub struct MemoryPipelineCounters in "memory_pipeline" {
        /// Memory instructions.
        instructions: "instructions" = "smsp__inst_executed_pipe_lsu.sum",
        /// Busy cycles of the address stages.
        address_cycles: "cycles" = "",
        /// Requests sent out of the SM.
        requests_sent: "requests" = "l1tex__m_l1tex2xbar_req_cycles_active.sum",
        /// Replies received.
        replies: "replies" = "",
    }
}

/// An access in a pipeline.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Queued {
    /// Number of the access.
    pub access: u32,
    /// First line, for host prefetches. Unset after a restore.
    #[serde(skip)]
    pub line: u64,
}

/// A memory pipeline.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Pipeline {
    /// Access held in the dispatch latch because the buffer is full.
    pub latched: Option<Queued>,
    /// Core cycle at which the dispatch latch is free, if it holds no access.
    pub latch_free: u64,
    /// Core cycle at which the address stage is free.
    pub address_free: u64,
    /// Accesses with requests to be accepted, by structure.
    pub waiting: [VecDeque<Queued>; STRUCTURES],
    /// Requests in the buffer.
    pub buffered: u32,
}

impl Pipeline {
    /// Tells whether the dispatch latch is free.
    pub fn can_accept(&self, organisation: Organisation, cycle: u64) -> bool {
        self.accepts_at(organisation) <= cycle
    }

    /// Core cycle at which the dispatch latch is free; `u64::MAX` if it holds an access.
    pub fn accepts_at(&self, organisation: Organisation) -> u64 {
        let held = organisation == Organisation::PerSm && self.buffered > 0;
        if self.latched.is_some() || held { u64::MAX } else { self.latch_free }
    }
}

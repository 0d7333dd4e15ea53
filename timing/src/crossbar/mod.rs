//! The crossbar between SMs and L2 slices: two networks, one for requests and one for replies.
//!
//! Packets are a header and data, cut into flits. Each input has a queue for each output, so that a packet never waits for
//! one that goes elsewhere; an arbiter matches inputs with outputs each cycle. A receiver with no room gets nothing: it
//! gives credits back as it empties its buffer, at the ends of epochs.

mod islip;
mod network;
mod round_robin;

pub use network::{Network, NetworkCounts, Wires};

use crate::message::{MemoryRequest, RequestKind, SECTOR_BYTES};
use crate::specification::{Document, SpecificationError};

/// Most ports on either side.
pub const MAXIMUM_PORTS: u32 = 128;

crate::choice! {
    /// Which inputs send to which outputs in a cycle.
    pub enum Arbiter {
        /// Inputs choose one after the other; who chooses first goes round.
        RoundRobin = "round-robin",
        /// Outputs grant, inputs accept, both in turns that move on only by what was accepted (McKeown 1999).
        Islip = "islip",
    }
}

crate::specification! {
    /// The crossbar.
    pub struct CrossbarSpec in "crossbar" {
        /// SMs that share a port: 1, or those of a TPC or GPC.
        sms_per_port: u32 ["SMs"],
        /// Bytes a port moves each cycle.
        flit: u32 ["B"],
        /// Bytes before a packet's data: address, kind, byte mask.
        header: u32 ["B"],
        /// From the start of a packet of one flit at an input until it is at its output.
        latency: u32 ["crossbar cycles"],
        /// Packets that an input holds.
        input_buffer: u32 ["packets"],
        /// Packets that an output holds, for its slice or SM and on the way there.
        output_buffer: u32 ["packets"],
        /// Who sends in a cycle.
        arbiter: Arbiter ["choice"],
        /// Rounds of granting and accepting in a cycle (iSLIP).
        iterations: u32 ["rounds"],
    }
}

impl CrossbarSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let wrong = |name, reason| Err(document.wrong("crossbar", name, reason));
        let sms: u32 = document.get("chip", "sms", "SMs")?;
        if self.sms_per_port == 0 {
            return wrong("sms_per_port", "there would be no ports");
        }
        if sms.div_ceil(self.sms_per_port) > MAXIMUM_PORTS {
            let keys = [("crossbar", "sms_per_port"), ("chip", "sms")];
            return Err(document.disagree(&keys, "there would be more than 128 ports"));
        }
        if self.latency == 0 {
            return wrong("latency", "a message would arrive in the cycle in which it is sent");
        }
        if self.flit == 0 {
            return wrong("flit", "nothing would move");
        }
        if self.input_buffer < self.sms_per_port {
            let keys = [("crossbar", "input_buffer"), ("crossbar", "sms_per_port")];
            return Err(document.disagree(&keys, "an SM could never send"));
        }
        if self.output_buffer == 0 {
            return wrong("output_buffer", "nothing could arrive");
        }
        if self.iterations == 0 {
            return wrong("iterations", "nothing would be sent");
        }
        Ok(())
    }

    /// Packets that an SM may have in its port's buffer.
    pub fn credits(&self) -> u32 {
        self.input_buffer / self.sms_per_port
    }

    fn flits(&self, sectors: u32) -> u32 {
        let bytes = u64::from(self.header) + u64::from(sectors) * SECTOR_BYTES;
        u32::try_from(bytes.div_ceil(u64::from(self.flit))).unwrap_or(u32::MAX).max(1)
    }

    /// Flits of a request.
    pub fn request_flits(&self, request: &MemoryRequest) -> u32 {
        match request.kind {
            RequestKind::Read => self.flits(0),
            _ => self.flits(request.sectors.count_ones()),
        }
    }

    /// Flits of the answer to a request.
    pub fn reply_flits(&self, kind: RequestKind, sectors: u8) -> u32 {
        match kind {
            RequestKind::Read | RequestKind::Atomic => self.flits(sectors.count_ones()),
            RequestKind::Write | RequestKind::Reduction => self.flits(0),
        }
    }
}

crate::counters! {
    /// The crossbar's two networks.
    pub struct CrossbarCounters in "crossbar" {
        /// Requests moved.
        request_packets: "packets" = "",
        /// Flits of requests moved.
        request_flits: "flits" = "",
        /// Packets of requests that lost arbitration, each cycle anew.
        request_conflicts: "packet cycles" = "",
        /// Slices' ports that waited for room in the slice's buffer.
        request_buffer_stalls: "port cycles" = "",
        /// Replies moved.
        reply_packets: "packets" = "",
        /// Flits of replies moved.
        reply_flits: "flits" = "",
        /// Packets of replies that lost arbitration, each cycle anew.
        reply_conflicts: "packet cycles" = "",
        /// SMs' ports that waited for room in the SM's buffer.
        reply_buffer_stalls: "port cycles" = "",
    }
}

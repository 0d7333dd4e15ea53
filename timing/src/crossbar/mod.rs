//! The crossbar between SMs and L2 slices: two networks, one for requests and one for replies.
//!
//! A packet is a header and data, cut into flits. Each input has a queue per output, so a packet
//! never waits behind one for another output. An arbiter matches inputs with outputs each cycle.
//! Outputs need credits, which a receiver returns at ends of epochs as it empties its buffer.

mod islip;
mod network;
mod round_robin;

pub use network::{Network, NetworkCounts, Wires};

use crate::gpu_file::{Document, SpecificationError};
use crate::message::{MemoryRequest, RequestKind, SECTOR_BYTES};

/// Most ports on either side.
pub const MAXIMUM_PORTS: u32 = 128;

crate::choice! {
    /// Arbitration between inputs that want the same output.
    pub enum Arbiter {
        /// Inputs choose an output in turn; a rotating pointer selects the first to choose.
        RoundRobin = "round-robin",
        /// iSLIP: outputs grant, inputs accept, and their round-robin pointers advance only past
        /// accepted grants (McKeown 1999).
        Islip = "islip",
    }
}

crate::specification! {
    /// The crossbar.
    pub struct CrossbarSpec in "crossbar" {
        /// SMs that share a port: 1, the SMs of a TPC, or those of a GPC.
        sms_per_port: u32 ["SMs"],
        /// Bytes that a port moves each cycle.
        flit: u32 ["B"],
        /// Header bytes of a packet: address, kind, byte mask.
        header: u32 ["B"],
        /// Traversal time of a one-flit packet, from its start at an input to its arrival at the
        /// output.
        latency: u32 ["crossbar cycles"],
        /// Capacity of an input buffer.
        input_buffer: u32 ["packets"],
        /// Capacity of an output buffer, packets in flight to its slice or SM included.
        output_buffer: u32 ["packets"],
        /// Arbitration between inputs that want the same output.
        arbiter: Arbiter ["choice"],
        /// Grant-and-accept rounds a cycle (iSLIP).
        iterations: u32 ["rounds"],
    }
}

impl CrossbarSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let wrong = |name, reason| Err(document.wrong("crossbar", name, reason));
        let sms: u32 = document.get("chip", "sms", "SMs")?;
        if self.sms_per_port == 0 {
            return wrong("sms_per_port", "must be at least 1");
        }
        if sms.div_ceil(self.sms_per_port) > MAXIMUM_PORTS {
            let keys = [("crossbar", "sms_per_port"), ("chip", "sms")];
            return Err(document.disagree(&keys, "the crossbar must have at most 128 ports"));
        }
        if self.latency == 0 {
            return wrong("latency", "must be at least 1");
        }
        if self.flit == 0 {
            return wrong("flit", "must be at least 1");
        }
        if self.input_buffer < self.sms_per_port {
            let keys = [("crossbar", "input_buffer"), ("crossbar", "sms_per_port")];
            return Err(document.disagree(&keys, "the buffer must hold a packet for each SM of the port"));
        }
        if self.output_buffer == 0 {
            return wrong("output_buffer", "must be at least 1");
        }
        if self.iterations == 0 {
            return wrong("iterations", "must be at least 1");
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

    /// Flits of the reply to a request.
    pub fn reply_flits(&self, kind: RequestKind, sectors: u8) -> u32 {
        match kind {
            RequestKind::Read | RequestKind::Atomic => self.flits(sectors.count_ones()),
            RequestKind::Write | RequestKind::Reduction => self.flits(0),
        }
    }
}

crate::counters! {
    /// The crossbar's request and reply networks.
    pub struct CrossbarCounters in "crossbar" {
        /// Request packets moved.
        request_packets: "packets" = "",
        /// Request flits moved.
        request_flits: "flits" = "",
        /// Cycles in which a request packet lost arbitration.
        request_conflicts: "packet cycles" = "",
        /// Cycles in which a slice's port waited for room in the slice's buffer.
        request_buffer_stalls: "port cycles" = "",
        /// Reply packets moved.
        reply_packets: "packets" = "",
        /// Reply flits moved.
        reply_flits: "flits" = "",
        /// Cycles in which a reply packet lost arbitration.
        reply_conflicts: "packet cycles" = "",
        /// Cycles in which an SM's port waited for room in the SM's buffer.
        reply_buffer_stalls: "port cycles" = "",
    }
}

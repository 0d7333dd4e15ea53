//! Parameters of the model.

use serde::Serialize;
use timing::policy::set_index::SetIndex;
use timing::sm::memory::l1::{Fetch, StoreHit};
use timing::sm::occupancy::{Demand, Space};
use timing::specification::GpuSpec;
use warp_stream::WARP_SIZE;

use super::l2::L2Spec;
use crate::accesses::{LINE_BYTES, Launch};

/// Latency of hits and misses, in units of time. A core takes one unit per line request.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LatencySpec {
    /// Effect of a hit after its request.
    pub hit: u32,
    /// Minimum from a miss to its effect, for a miss that L2 serves where the model has an L2.
    pub minimum: u32,
    /// Minimum for a miss that memory serves, where the model has an L2.
    pub memory: u32,
    /// Standard deviation of the normal distribution whose absolute value is added for memory.
    pub deviation: f64,
    /// Latencies depend on hit and miss. Otherwise each access has the latency of a miss.
    pub is_conditional: bool,
    /// A request for a line in flight takes effect with that line.
    pub is_clipped: bool,
    /// Seed of the generator.
    pub seed: u64,
}

/// Moment at which a warp continues after an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Divergence {
    /// At once: warps take turns whatever their latencies.
    None,
    /// When the access has its effect (the paper's model).
    AtEffect,
    /// At the next instruction that uses the result of a load.
    AtUse,
}

/// Order of the warps of a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct OrderSpec {
    /// Cores with an L1 each.
    pub cores: u32,
    /// CTAs that a core holds.
    pub ctas: u32,
    /// Moment at which a warp continues.
    pub divergence: Divergence,
    /// Instructions that a core issues per unit of time; 0 for any number.
    pub issue: u32,
    /// Time per instruction of a warp between two accesses.
    pub interval: u32,
    /// Barriers of a CTA hold its warps.
    pub has_barriers: bool,
    /// Stores, atomic operations and bypassing loads take part.
    pub has_stores: bool,
}

/// Size and sets of an L1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Geometry {
    /// Bytes of the cache.
    pub size: u32,
    /// Sets; 1 for a fully associative cache.
    pub sets: u32,
    /// Mapping of lines to sets.
    #[serde(skip)]
    pub index: SetIndex,
}

/// Parameters of the model for one launch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelSpec {
    /// Size and sets.
    pub geometry: Geometry,
    /// Bytes of a line: a power of two from 32 to 1,024.
    pub line: u32,
    /// Sectors or lines that a miss fetches.
    #[serde(skip)]
    pub fetch: Fetch,
    /// Effect of a store that hits.
    #[serde(skip)]
    pub store_hit: StoreHit,
    /// MSHRs: lines in flight; `u32::MAX` for no limit.
    pub misses: u32,
    /// Latencies.
    pub latency: LatencySpec,
    /// Order of warps.
    pub order: OrderSpec,
    /// The L2, if the model has one.
    #[serde(skip)]
    pub l2: Option<L2Spec>,
}

impl Geometry {
    /// Lines of the cache.
    pub fn lines(&self, line: u32) -> u32 {
        (self.size / line).max(1)
    }

    /// Lines of a set.
    pub fn ways(&self, line: u32) -> u32 {
        (self.lines(line) / self.sets.max(1)).max(1)
    }
}

/// Bytes of a sector at most; larger lines have four larger sectors.
const SECTOR_BYTES: u32 = 32;

impl ModelSpec {
    /// Bytes of a sector: at most four per line.
    pub fn sector(&self) -> u32 {
        (self.line / 4).max(SECTOR_BYTES)
    }

    /// The model of a GPU for a launch. Cards whose misses fetch whole lines are modelled as in the
    /// paper. Other cards have an L2, and their loads block at the use of the result.
    pub fn of_gpu(gpu: &GpuSpec, launch: &Launch) -> ModelSpec {
        let demand = demand(gpu, launch);
        let carve_out = demand.carve_out(gpu);
        let ctas = Space::default().fill(gpu, &demand, carve_out).max(1);
        let size = match gpu.l1.unified {
            true => gpu.l1.size.saturating_sub(carve_out).max(gpu.l1.sets * LINE_BYTES as u32),
            false => gpu.l1.size,
        };
        let is_sectored = gpu.l1.fetch == Fetch::Sectors;
        let l2_hit = 2 * gpu.crossbar.latency + gpu.l2.latency;
        ModelSpec {
            geometry: Geometry { size, sets: gpu.l1.sets, index: gpu.l1.set_hash },
            line: LINE_BYTES as u32,
            fetch: gpu.l1.fetch,
            store_hit: gpu.l1.store_hit,
            misses: gpu.l1.misses,
            latency: LatencySpec {
                hit: 0,
                minimum: if is_sectored { l2_hit } else { LINE_MISS },
                memory: l2_hit + gpu.dram.latency,
                deviation: if is_sectored { DEVIATION * f64::from(gpu.dram.latency) } else { 0.0 },
                is_conditional: true,
                is_clipped: true,
                seed: 1,
            },
            order: OrderSpec {
                cores: gpu.chip.sms,
                ctas,
                divergence: if is_sectored { Divergence::AtUse } else { Divergence::AtEffect },
                issue: if is_sectored { ISSUE } else { 0 },
                interval: if is_sectored { gpu.latency.integer } else { 0 },
                has_barriers: true,
                has_stores: true,
            },
            l2: is_sectored.then(|| L2Spec::of_gpu(gpu)),
        }
    }
}

/// Sub-cores that issue an instruction each.
const ISSUE: u32 = 4;

/// Latency of a miss in the paper's model, fitted to the six points of its column copy
/// ([`crate::column_copy`]). A deviation spreads the warps more than the card does.
const LINE_MISS: u32 = 600;

/// Deviation of the memory latency, as a part of the latency of DRAM.
const DEVIATION: f64 = 0.5;

/// Resources of a CTA.
fn demand(gpu: &GpuSpec, launch: &Launch) -> Demand {
    let registers = launch.registers.max(1).saturating_mul(WARP_SIZE as u32);
    Demand {
        warps: launch.shape.warps_per_cta(),
        registers: registers.checked_next_multiple_of(gpu.cta.register_unit).unwrap_or(u32::MAX),
        shared: launch.shared_bytes.checked_next_multiple_of(gpu.cta.shared_unit).unwrap_or(u32::MAX),
    }
}

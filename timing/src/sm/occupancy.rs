//! Resource demand of CTAs and occupancy of an SM.

use serde::{Deserialize, Serialize};
use warp_stream::WARP_SIZE;

use super::Program;
use super::memory::SUB_CORES;
use crate::gpu_file::{Document, SpecificationError};
use crate::specification::GpuSpec;

/// Most warp slots of an SM: warps are bits of a mask.
const MAXIMUM_WARPS: u32 = 32 * SUB_CORES as u32;

/// Most CTA slots of an SM.
const MAXIMUM_CTAS: u32 = 128;

/// Longest start or release latency of a CTA in cycles.
const MAXIMUM_START: u32 = 1 << 16;

crate::specification! {
    /// Resources of an SM for CTAs.
    pub struct CtaSpec in "cta" {
        /// Warp slots of an SM.
        warps: u32 ["warps"],
        /// CTA slots of an SM.
        ctas: u32 ["CTAs"],
        /// Registers of an SM, shared evenly by its sub-cores.
        registers: u32 ["registers"],
        /// Register allocation granularity of a warp.
        register_unit: u32 ["registers"],
        /// Shared-memory allocation granularity of a CTA.
        shared_unit: u32 ["B"],
        /// End of the previous CTA in the slot, or dispatch of the first, to a CTA's first fetch.
        start: u32 ["core cycles"],
        /// Departure of a store to the memory pipeline until its CTA's slot can be released.
        store: u32 ["core cycles"],
    }
}

impl CtaSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let wrong = |name, reason| Err(document.wrong("cta", name, reason));
        if self.warps == 0 || self.warps > MAXIMUM_WARPS || !self.warps.is_multiple_of(SUB_CORES as u32) {
            return wrong("warps", "must be a multiple of 4, at most 128");
        }
        if self.ctas > MAXIMUM_CTAS {
            return wrong("ctas", "must be 1 to 128");
        }
        let positive = [
            ("ctas", self.ctas),
            ("registers", self.registers),
            ("register_unit", self.register_unit),
            ("shared_unit", self.shared_unit),
        ];
        for (name, cycles) in [("start", self.start), ("store", self.store)] {
            if cycles > MAXIMUM_START {
                return wrong(name, "must be at most 65,536 cycles");
            }
        }
        match positive.iter().find(|(_, value)| *value == 0) {
            Some((name, _)) => wrong(name, "must be at least 1"),
            None => Ok(()),
        }
    }
}

/// Resource that limits the number of resident CTAs. Threads are limited through warps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Limit {
    /// Warp slots.
    Warps,
    /// CTA slots.
    #[default]
    Ctas,
    /// Registers.
    Registers,
    /// Shared memory.
    Shared,
}

impl Limit {
    /// Name in statistics.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Warps => "warps",
            Limit::Ctas => "CTAs",
            Limit::Registers => "registers",
            Limit::Shared => "shared memory",
        }
    }
}

/// Resource demand of a CTA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Demand {
    /// Warp slots, contiguous.
    pub warps: u32,
    /// Registers per warp.
    pub registers: u32,
    /// Shared memory in bytes.
    pub shared: u32,
}

impl Demand {
    /// Demand of a kernel's CTA.
    pub fn new(gpu: &GpuSpec, program: &Program) -> Demand {
        let kernel = &program.kernel;
        let registers = kernel.registers.max(1).saturating_mul(WARP_SIZE as u32);
        Demand {
            warps: kernel.shape.warps_per_cta(),
            registers: registers.checked_next_multiple_of(gpu.cta.register_unit).unwrap_or(u32::MAX),
            shared: kernel.shared_bytes.checked_next_multiple_of(gpu.cta.shared_unit).unwrap_or(u32::MAX),
        }
    }

    /// Shared memory carve-out in bytes for an otherwise idle SM: enough for as many CTAs as the
    /// other resources permit.
    pub fn carve_out(&self, gpu: &GpuSpec) -> u32 {
        let mut space = Space::default();
        let unlimited = Demand { shared: 0, ..*self };
        let ctas = space.fill(gpu, &unlimited, u32::MAX);
        let largest = gpu.shared.sizes.last().copied().unwrap_or(0);
        // A larger carve-out would remain unused.
        let held = ctas.min(largest.checked_div(self.shared).unwrap_or(0));
        gpu.shared.size_for(held.max(1).saturating_mul(self.shared))
    }
}

/// Reserved resources of an SM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Space {
    /// Mask of warp slots.
    warps: u128,
    ctas: u32,
    /// Registers by sub-core.
    registers: [u32; SUB_CORES],
    shared: u32,
}

impl Space {
    /// Number of resident CTAs.
    pub fn ctas(&self) -> u32 {
        self.ctas
    }

    /// Number of resident warps.
    pub fn warps(&self) -> u32 {
        self.warps.count_ones()
    }

    /// First warp slot for another CTA.
    ///
    /// # Errors
    /// The limiting resource, if the CTA does not fit.
    pub fn find(&self, gpu: &GpuSpec, demand: &Demand, shared_bytes: u32) -> Result<u32, Limit> {
        let spec = &gpu.cta;
        if self.ctas >= spec.ctas {
            return Err(Limit::Ctas);
        }
        if demand.warps == 0 || demand.warps > spec.warps {
            return Err(Limit::Warps);
        }
        let slots = mask(demand.warps);
        let mut places =
            (0..=spec.warps - demand.warps).filter(|first| self.warps & slots << first == 0).peekable();
        if places.peek().is_none() {
            return Err(Limit::Warps);
        }
        let place = places.find(|first| self.has_registers(gpu, demand, *first)).ok_or(Limit::Registers)?;
        if demand.shared > shared_bytes.saturating_sub(self.shared) {
            return Err(Limit::Shared);
        }
        Ok(place)
    }

    /// Tells whether a CTA fits at a warp slot.
    pub fn has_place(&self, gpu: &GpuSpec, demand: &Demand, first: u32, shared_bytes: u32) -> bool {
        let slots =
            demand.warps > 0 && demand.warps <= gpu.cta.warps && first <= gpu.cta.warps - demand.warps;
        slots
            && self.ctas < gpu.cta.ctas
            && self.warps & mask(demand.warps) << first == 0
            && self.has_registers(gpu, demand, first)
            && demand.shared <= shared_bytes.saturating_sub(self.shared)
    }

    fn has_registers(&self, gpu: &GpuSpec, demand: &Demand, first: u32) -> bool {
        let there = gpu.cta.registers / SUB_CORES as u32;
        let needed = by_sub_core(demand, first);
        self.registers.iter().zip(needed).all(|(taken, needed)| needed <= there.saturating_sub(*taken))
    }

    /// Reserves a CTA's resources, from warp slot `first` on.
    pub fn take(&mut self, demand: &Demand, first: u32) {
        self.warps |= mask(demand.warps) << first;
        self.ctas += 1;
        self.shared += demand.shared;
        self.registers.iter_mut().zip(by_sub_core(demand, first)).for_each(|(taken, more)| *taken += more);
    }

    /// Releases a CTA's resources.
    pub fn give_back(&mut self, demand: &Demand, first: u32) {
        self.warps &= !(mask(demand.warps) << first);
        self.ctas -= 1;
        self.shared -= demand.shared;
        self.registers.iter_mut().zip(by_sub_core(demand, first)).for_each(|(taken, less)| *taken -= less);
    }

    /// Adds CTAs until the next does not fit, and returns their number.
    pub fn fill(&mut self, gpu: &GpuSpec, demand: &Demand, shared_bytes: u32) -> u32 {
        let before = self.ctas;
        while let Ok(first) = self.find(gpu, demand, shared_bytes) {
            self.take(demand, first);
        }
        self.ctas - before
    }
}

/// Mask of the lowest `warps` slots.
fn mask(warps: u32) -> u128 {
    u128::MAX >> (128 - warps.clamp(1, 128))
}

/// Registers of a CTA by sub-core, for warp slots from `first` on.
fn by_sub_core(demand: &Demand, first: u32) -> [u32; SUB_CORES] {
    let mut registers = [0_u32; SUB_CORES];
    for warp in first..first + demand.warps {
        let taken = &mut registers[warp as usize % SUB_CORES];
        *taken = taken.saturating_add(demand.registers);
    }
    registers
}

/// Occupancy of an SM by a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Occupancy {
    /// Resident CTAs; 0 if the kernel cannot run.
    pub ctas: u32,
    /// Limiting resource.
    pub limit: Limit,
    /// Resident warps.
    pub warps: u32,
    /// Warp slots of an SM.
    pub warp_slots: u32,
    /// Number of CTAs permitted by each resource alone: warp slots.
    pub by_warps: u32,
    /// CTA slots.
    pub by_ctas: u32,
    /// Registers.
    pub by_registers: u32,
    /// Shared memory; `None` if the kernel uses none.
    pub by_shared: Option<u32>,
}

impl Occupancy {
    /// Occupancy of an otherwise idle SM.
    pub fn new(gpu: &GpuSpec, program: &Program) -> Occupancy {
        let demand = Demand::new(gpu, program);
        let shared = demand.carve_out(gpu);
        let mut space = Space::default();
        let ctas = space.fill(gpu, &demand, shared);
        let limit = space.find(gpu, &demand, shared).err().unwrap_or(Limit::Ctas);
        // Registers belong to sub-cores, and warps are distributed round robin.
        let warps_of_registers =
            gpu.cta.registers / SUB_CORES as u32 / demand.registers.max(1) * SUB_CORES as u32;
        let largest = gpu.shared.sizes.last().copied().unwrap_or(0);
        Occupancy {
            ctas,
            limit,
            warps: ctas * demand.warps,
            warp_slots: gpu.cta.warps,
            by_warps: gpu.cta.warps.checked_div(demand.warps).unwrap_or(0),
            by_ctas: gpu.cta.ctas,
            by_registers: warps_of_registers.checked_div(demand.warps).unwrap_or(0),
            by_shared: largest.checked_div(demand.shared),
        }
    }

    /// Theoretical occupancy in per cent.
    pub fn theoretical(&self) -> f64 {
        100.0 * f64::from(self.warps) / f64::from(self.warp_slots.max(1))
    }
}

#[cfg(test)]
mod tests {
    use warp_stream::LaunchShape;

    use super::*;

    fn occupancy(warps: u32, registers: u32, shared: u32) -> (u32, Limit) {
        let Occupancy { ctas, limit, .. } = whole(warps, registers, shared);
        (ctas, limit)
    }

    fn whole(warps: u32, registers: u32, shared: u32) -> Occupancy {
        let gpu = GpuSpec::built_in("titan-v").unwrap();
        let kernel = warp_stream::Kernel {
            name: String::new(),
            launch: 1,
            stream: 0,
            shape: LaunchShape::new([1000, 1, 1], [32 * warps, 1, 1]),
            code: Default::default(),
            code_address: 0,
            registers,
            register_source: Default::default(),
            shared_bytes: shared,
            local_bytes: 0,
            cooperative: false,
        };
        Occupancy::new(&gpu, &Program::new(&gpu, &kernel))
    }

    #[test]
    fn each_resource_has_its_own_limit() {
        // 40 registers take 1,280 per warp: 12 warps on each of four sub-cores.
        let Occupancy { by_warps, by_ctas, by_registers, by_shared, .. } = whole(8, 40, 20 << 10);
        assert_eq!((by_warps, by_ctas, by_registers, by_shared), (8, 32, 6, Some(4)));
        let without = whole(1, 16, 0);
        assert_eq!((without.by_registers, without.by_shared), (128, None));
    }

    #[test]
    fn occupancy_is_within_each_resource_limit() {
        for (warps, registers, shared) in
            [(1, 16, 0), (5, 40, 1000), (7, 63, 0), (12, 33, 9 << 10), (3, 128, 4 << 10)]
        {
            let found = whole(warps, registers, shared);
            let least = found.by_warps.min(found.by_ctas).min(found.by_registers);
            assert!(found.ctas <= least.min(found.by_shared.unwrap_or(u32::MAX)), "{found:?}");
        }
    }

    #[test]
    fn theoretical_occupancy_follows_from_resident_warps() {
        assert_eq!(whole(8, 40, 0).theoretical(), 75.0);
        assert_eq!(whole(8, 32, 0).theoretical(), 100.0);
    }

    #[test]
    fn small_ctas_are_limited_by_their_number() {
        assert_eq!(occupancy(1, 16, 0), (32, Limit::Ctas));
    }

    #[test]
    fn warp_slots_limit_full_size_ctas() {
        assert_eq!(occupancy(8, 32, 0), (8, Limit::Warps));
        assert_eq!(occupancy(24, 16, 0), (2, Limit::Warps));
    }

    #[test]
    fn registers_are_allocated_in_units_of_256_per_warp() {
        // 40 registers take 1,280 per warp, 12 of which fit a sub-core's 16,384.
        assert_eq!(occupancy(8, 40, 0), (6, Limit::Registers));
        assert_eq!(occupancy(8, 33, 0), (6, Limit::Registers));
        assert_eq!(occupancy(4, 255, 0), (2, Limit::Registers));
        assert_eq!(occupancy(32, 65, 0), (0, Limit::Registers));
    }

    #[test]
    fn shared_memory_of_an_sm_is_at_most_96_kib() {
        assert_eq!(occupancy(4, 16, 48 << 10), (2, Limit::Shared));
        assert_eq!(occupancy(4, 16, 6 << 10), (16, Limit::Warps));
        assert_eq!(occupancy(4, 16, 97 << 10), (0, Limit::Shared));
    }

    #[test]
    fn carve_out_is_the_smallest_without_limit() {
        let gpu = GpuSpec::built_in("titan-v").unwrap();
        let demand = |shared| Demand { warps: 8, registers: 1024, shared };
        assert_eq!(demand(0).carve_out(&gpu), 0);
        assert_eq!(demand(2 << 10).carve_out(&gpu), 16 << 10);
        assert_eq!(demand(40 << 10).carve_out(&gpu), 96 << 10);
    }
}

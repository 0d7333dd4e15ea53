//! How many CTAs an SM can hold.

use super::Program;
use crate::specification::GpuSpec;

/// What keeps an SM from holding more CTAs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Warp slots.
    Warps,
    /// CTA slots.
    Ctas,
    /// Registers.
    Registers,
    /// Shared memory.
    Shared,
}

/// How many CTAs of a kernel an SM can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occupancy {
    /// CTAs; 0 for a kernel that cannot run.
    pub ctas: u32,
    /// What keeps it from holding more.
    pub limit: Limit,
}

impl Occupancy {
    /// Of an SM that runs nothing else.
    pub fn new(_gpu: &GpuSpec, _program: &Program) -> Occupancy {
        Occupancy { ctas: 0, limit: Limit::Ctas }
    }
}

//! Special registers (PTX manual section 10). Registers that are constant for a warp's lifetime are rows of
//! its frame.

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ptx_frontend::isa::SpecialRegister as S;
use warp_stream::LaunchShape;

use super::cta::CtaState;
use super::grid::Grid;

/// Bytes of shared memory reserved per CTA of a kernel that asks for their address.
pub const RESERVED_SHARED: u32 = 1024;

/// True for registers that describe the reserved shared memory.
pub fn is_of_reserved_shared(register: S) -> bool {
    matches!(
        register,
        S::ReservedSmemOffsetBegin
            | S::ReservedSmemOffsetEnd
            | S::ReservedSmemOffsetCap
            | S::ReservedSmemOffset0
            | S::ReservedSmemOffset1
    )
}

/// True if the register is constant for a warp's lifetime.
pub fn is_constant(register: S) -> bool {
    !matches!(
        register,
        S::Clock | S::ClockHi | S::Clock64 | S::Globaltimer | S::GlobaltimerLo | S::GlobaltimerHi
    )
}

/// Fills the rows of a function's special registers.
pub(crate) fn fill(specials: &[(S, u32)], frame: *mut u8, grid: &Grid, cta: &CtaState, warp: u32) {
    for &(register, offset) in specials {
        let at = frame.wrapping_add(offset as usize);
        if register.ty().bits() == 64 {
            let value = wide(register, grid);
            // SAFETY: the binder reserved a 64-bit row at this offset of the frame.
            unsafe { at.cast::<[u64; 32]>().write([value; 32]) };
        } else {
            let value = per_lane(register, grid, cta, warp);
            // SAFETY: the binder reserved a 32-bit row at this offset of the frame.
            unsafe { at.cast::<[u32; 32]>().write(value) };
        }
    }
}

fn wide(register: S, grid: &Grid) -> u64 {
    match register {
        S::Gridid => grid.number,
        _ => 0,
    }
}

fn per_lane(register: S, grid: &Grid, cta: &CtaState, warp: u32) -> [u32; 32] {
    let lanes = |f: fn(u32) -> u32| std::array::from_fn(|lane| f(lane as u32));
    let thread = |axis: usize| thread_ids(grid, warp, axis);
    let LaunchShape { grid: [ctas_x, ctas_y, ctas_z], block: [threads_x, threads_y, threads_z] } = grid.shape;
    let value = match register {
        S::TidX => return thread(0),
        S::TidY => return thread(1),
        S::TidZ => return thread(2),
        S::Laneid => return lanes(|lane| lane),
        S::LanemaskEq => return lanes(|lane| 1 << lane),
        S::LanemaskLt => return lanes(|lane| (1 << lane) - 1),
        S::LanemaskLe => return lanes(|lane| u32::MAX >> (31 - lane)),
        S::LanemaskGe => return lanes(|lane| u32::MAX << lane),
        S::LanemaskGt => return lanes(|lane| (u32::MAX << lane) << 1),
        S::NtidX => threads_x,
        S::NtidY => threads_y,
        S::NtidZ => threads_z,
        S::CtaidX => cta.id[0],
        S::CtaidY => cta.id[1],
        S::CtaidZ => cta.id[2],
        S::NctaidX => ctas_x,
        S::NctaidY => ctas_y,
        S::NctaidZ => ctas_z,
        S::ClusteridX => cta.id[0] / grid.cluster[0],
        S::ClusteridY => cta.id[1] / grid.cluster[1],
        S::ClusteridZ => cta.id[2] / grid.cluster[2],
        S::NclusteridX => grid.clusters()[0],
        S::NclusteridY => grid.clusters()[1],
        S::NclusteridZ => grid.clusters()[2],
        S::ClusterCtaidX => cta.id[0] % grid.cluster[0],
        S::ClusterCtaidY => cta.id[1] % grid.cluster[1],
        S::ClusterCtaidZ => cta.id[2] % grid.cluster[2],
        S::ClusterNctaidX => grid.cluster[0],
        S::ClusterNctaidY => grid.cluster[1],
        S::ClusterNctaidZ => grid.cluster[2],
        S::ClusterCtarank => cta.rank,
        S::ClusterNctarank => grid.ctas_per_cluster(),
        S::Warpid => cta.simulated.as_ref().map_or(0, |simulated| simulated.residence.first_warp) + warp,
        S::Nwarpid => grid.device.warps_per_sm,
        S::Smid => cta.sm().unwrap_or_else(|| (cta.index % u64::from(grid.device.sms)) as u32),
        S::Nsmid => grid.device.sms,
        S::TotalSmemSize => {
            grid.in_allocation_units(grid.program.static_shared.saturating_add(grid.dynamic_shared))
        }
        S::AggrSmemSize => grid.allocated_shared(),
        S::DynamicSmemSize => grid.dynamic_shared,
        S::ReservedSmemOffsetBegin | S::ReservedSmemOffset0 => grid.reserved_shared_start(),
        S::ReservedSmemOffset1 => grid.reserved_shared_start() + RESERVED_SHARED / 2,
        S::ReservedSmemOffsetEnd => grid.shared_bytes(),
        S::ReservedSmemOffsetCap => RESERVED_SHARED,
        // Cooperative groups compute the workspace's address as `%envreg1 << 32 | %envreg2`.
        S::Envreg1 => (grid.workspace >> 32) as u32,
        S::Envreg2 => grid.workspace as u32,
        _ => 0,
    };
    [value; 32]
}

fn thread_ids(grid: &Grid, warp: u32, axis: usize) -> [u32; 32] {
    let [x, y, _] = grid.shape.block;
    let first = warp * 32;
    if axis == 0 && x.is_multiple_of(32) {
        let start = first % x;
        return std::array::from_fn(|lane| start + lane as u32);
    }
    std::array::from_fn(|lane| {
        let thread = first + lane as u32;
        match axis {
            0 => thread % x,
            1 => thread / x % y,
            _ => thread / x / y,
        }
    })
}

/// Host time since 1970, monotonic within a launch, even across a checkpoint and its resumption.
fn host_nanoseconds() -> u128 {
    static START: LazyLock<(Instant, Duration)> = LazyLock::new(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        (Instant::now(), now.unwrap_or_default())
    });
    let (start, since) = *START;
    (since + start.elapsed()).as_nanos()
}

/// Value of a clock: simulated time under a timing model, else host time.
pub(crate) fn clock(register: S, grid: &Grid, cta: &CtaState) -> u64 {
    let now = cta.simulated.as_ref().map(|simulated| simulated.now);
    let cycles = || match now {
        Some(now) => now.cycle,
        None => (host_nanoseconds() * u128::from(grid.device.clock_megahertz) / 1000) as u64,
    };
    let nanoseconds = || match now {
        Some(now) => now.nanoseconds,
        None => host_nanoseconds() as u64,
    };
    match register {
        S::Clock => cycles() & 0xffff_ffff,
        S::ClockHi => cycles() >> 32,
        S::Clock64 => cycles(),
        S::GlobaltimerLo => nanoseconds() & 0xffff_ffff,
        S::GlobaltimerHi => nanoseconds() >> 32,
        _ => nanoseconds(),
    }
}

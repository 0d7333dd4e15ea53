//! Sets of sub-cores as bit masks. The operations are branchless, because activity varies from
//! cycle to cycle.

use super::memory::SUB_CORES;

/// Mask of the sub-cores that satisfy a predicate.
#[inline(always)]
pub fn of<T>(parts: &[T; SUB_CORES], said: impl Fn(&T) -> bool) -> u32 {
    (0..SUB_CORES).fold(0, |mask, number| mask | u32::from(said(&parts[number])) << number)
}

/// Removes and returns the first sub-core.
#[inline(always)]
pub fn take_first(mask: &mut u32) -> Option<usize> {
    let first = *mask;
    *mask &= first.wrapping_sub(1);
    (first != 0).then_some(first.trailing_zeros() as usize % SUB_CORES)
}

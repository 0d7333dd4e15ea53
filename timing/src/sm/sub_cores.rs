//! Sets of sub-cores: masks with a bit for each. They are found without branches, as which
//! sub-cores have something to do changes from cycle to cycle.

use super::memory::SUB_CORES;

/// Sub-cores whose parts satisfy a condition.
#[inline(always)]
pub fn of<T>(parts: &[T; SUB_CORES], said: impl Fn(&T) -> bool) -> u32 {
    (0..SUB_CORES).fold(0, |mask, number| mask | u32::from(said(&parts[number])) << number)
}

/// Takes the first one.
#[inline(always)]
pub fn take_first(mask: &mut u32) -> Option<usize> {
    let first = *mask;
    *mask &= first.wrapping_sub(1);
    (first != 0).then_some(first.trailing_zeros() as usize % SUB_CORES)
}

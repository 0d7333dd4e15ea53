//! Addresses of threads' local memory, which belongs to the warp slots of SMs.

use crate::WARP_SIZE;

/// First address of local memory, outside of the device addresses that a host allocates.
pub const START: u64 = 1 << 46;

/// Bytes of one word of all lanes of a warp.
pub const ROW: u64 = 4 * WARP_SIZE as u64;

/// Bytes of local memory of a warp whose threads have `thread` bytes each.
pub const fn size_of_warp(thread: u32) -> u64 {
    (WARP_SIZE as u64 * thread as u64).next_multiple_of(ROW)
}

/// First address of the warp in slot `place` of an SM with `places` warp slots.
pub const fn of_warp(sm: u32, place: u32, places: u32, thread: u32) -> u64 {
    START + (sm as u64 * places as u64 + place as u64) * size_of_warp(thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_of_an_sm_have_disjoint_rows() {
        assert_eq!([of_warp(0, 0, 64, 6), of_warp(0, 1, 64, 6)], [START, START + 256]);
        assert_eq!(of_warp(2, 0, 64, 6) - of_warp(1, 63, 64, 6), size_of_warp(6));
    }
}

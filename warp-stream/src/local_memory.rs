//! Where threads' local memory lies: it belongs to the places that warps have on SMs.

use crate::WARP_SIZE;

/// The first byte: apart from what a host gives as device memory.
pub const START: u64 = 1 << 46;

/// Bytes of a word of each lane of a warp.
pub const ROW: u64 = 4 * WARP_SIZE as u64;

/// The bytes of a warp whose threads have so many each.
pub const fn size_of_warp(thread: u32) -> u64 {
    (WARP_SIZE as u64 * thread as u64).next_multiple_of(ROW)
}

/// The first byte of the warp in a place of an SM, which has so many places.
pub const fn of_warp(sm: u32, place: u32, places: u32, thread: u32) -> u64 {
    START + (sm as u64 * places as u64 + place as u64) * size_of_warp(thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_warp_of_an_sm_has_rows_of_its_own() {
        assert_eq!([of_warp(0, 0, 64, 6), of_warp(0, 1, 64, 6)], [START, START + 256]);
        assert_eq!(of_warp(2, 0, 64, 6) - of_warp(1, 63, 64, 6), size_of_warp(6));
    }
}

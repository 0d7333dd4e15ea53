//! Addresses of an ideal coalescer: distinct values of a warp beside each other.

use warp_stream::{LaneMask, WARP_SIZE};

/// Most bytes to which the first address is aligned.
const ALIGNMENT: u64 = 128;

/// The addresses of a warp as neighbours from the lowest one on. Lanes with equal addresses keep
/// equal ones; inactive lanes have 0.
#[cold]
pub fn beside(active: LaneMask, addresses: &[u64; WARP_SIZE], width: u8) -> [u64; WARP_SIZE] {
    let lanes = || (0..WARP_SIZE).filter(|lane| active >> lane & 1 != 0);
    let mut distinct: Vec<u64> = lanes().map(|lane| addresses[lane]).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let width = u64::from(width);
    let bytes = (width * distinct.len() as u64).next_power_of_two();
    let first = distinct.first().copied().unwrap_or_default() & !(bytes.min(ALIGNMENT) - 1);
    let mut beside = [0; WARP_SIZE];
    for lane in lanes() {
        let rank = distinct.partition_point(|address| *address < addresses[lane]);
        beside[lane] = first + width * rank as u64;
    }
    beside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scattered_words_become_a_line() {
        let addresses = std::array::from_fn(|lane| 0x1_0004 + 0x1000 * (31 - lane as u64));
        let beside = beside(!0, &addresses, 4);
        assert_eq!((beside[31], beside[0]), (0x1_0000, 0x1_007c));
    }

    #[test]
    fn broadcast_keeps_its_sector() {
        assert_eq!(beside(0b110, &[0x1234; WARP_SIZE], 4)[..4], [0, 0x1234, 0x1234, 0]);
    }
}

//! Rules for every set index, and the behaviour of each.

use super::SetIndex;
use crate::message::LINE_BYTES;

#[test]
fn consecutive_lines_are_spread_evenly() {
    // Fermi's index is made for 32 and 64 sets.
    for &index in SetIndex::ALL {
        for sets in [32, 64] {
            for start in [0, 5, 77] {
                let first = start * u64::from(sets);
                let mut seen: Vec<u32> =
                    (first..first + u64::from(sets)).map(|line| index.set(line * LINE_BYTES, sets)).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..sets).collect::<Vec<_>>(), "{index:?}");
            }
        }
    }
}

#[test]
fn every_address_maps_to_an_existing_set() {
    for &index in SetIndex::ALL {
        for sets in [1, 3, 4, 7, 32, 48, 64, 256] {
            let addresses = (0..1000_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (n % 60));
            for address in addresses {
                assert!(index.set(address, sets) < sets, "{index:?}: {address} of {sets} sets");
            }
        }
    }
}

#[test]
fn bytes_of_a_line_share_a_set() {
    for &index in SetIndex::ALL {
        for line in 0..1000 {
            let [first, last] = [0, LINE_BYTES - 1].map(|byte| index.set(line * LINE_BYTES + byte, 64));
            assert_eq!(first, last, "{index:?}");
        }
    }
}

#[test]
fn only_hashed_indices_spread_power_of_two_strides() {
    let sets = |index: SetIndex| {
        let mut sets: Vec<u32> = (0..64).map(|line| index.set(line * 64 * LINE_BYTES, 64)).collect();
        sets.sort_unstable();
        sets.dedup();
        sets.len()
    };
    assert_eq!((sets(SetIndex::Linear), sets(SetIndex::Xor)), (1, 64));
}

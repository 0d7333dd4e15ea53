//! Rules for every address map.

use super::AddressMap;

/// Place counts up to the maximum, powers of two and others.
const PLACES: [u32; 14] = [1, 2, 3, 4, 7, 8, 11, 12, 22, 24, 48, 64, 96, 128];

/// Quotients of all magnitudes.
fn quotients() -> impl Iterator<Item = u64> {
    (0..400_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (n % 60)).chain(0..64)
}

#[test]
fn chunks_of_one_quotient_fill_every_place_once() {
    for &map in AddressMap::ALL {
        for places in PLACES {
            for upper in quotients() {
                let mut images: Vec<u32> =
                    (0..places).map(|residue| map.permuted(residue, upper, places)).collect();
                images.sort_unstable();
                assert_eq!(images, (0..places).collect::<Vec<_>>(), "{map:?}, {places} places, {upper}");
            }
        }
    }
}

#[test]
fn inverse_permutation_gives_the_residue() {
    for &map in AddressMap::ALL {
        for places in PLACES {
            for (upper, residue) in quotients().zip((0..places).cycle()) {
                let image = map.permuted(residue, upper, places);
                assert_eq!(
                    map.unpermuted(image, upper, places),
                    residue,
                    "{map:?}, {places} places, {upper}"
                );
            }
        }
    }
}

#[test]
fn consecutive_chunks_are_spread_evenly() {
    for &map in AddressMap::ALL {
        for places in PLACES {
            let mut counts = vec![0; places as usize];
            for piece in 0..40 * u64::from(places) {
                let (upper, residue) = (piece / u64::from(places), (piece % u64::from(places)) as u32);
                counts[map.permuted(residue, upper, places) as usize] += 1;
            }
            assert!(counts.iter().all(|count| *count == 40), "{map:?}, {places} places: {counts:?}");
        }
    }
}

#[test]
fn hashed_maps_spread_strides_of_all_places() {
    for &map in AddressMap::ALL.iter().filter(|map| **map != AddressMap::Consecutive) {
        for places in [8, 16, 32, 64] {
            let met =
                (0..u64::from(places)).fold(0_u64, |met, upper| met | 1 << map.permuted(0, upper, places));
            assert_eq!(met.count_ones(), places, "{map:?}");
        }
    }
}

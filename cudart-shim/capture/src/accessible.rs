//! Memory that kernels could access at a launch, byte by byte, reachable or not.

use serde::{Deserialize, Serialize};

/// Live memory of a device: address and size of each range, by address. Registered host memory is
/// left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Encoded", into = "Encoded")]
pub struct Accessible {
    /// Allocations, mappings (contiguous ones merged) and module variables.
    pub ranges: Vec<(u64, u64)>,
    /// Blocks that `malloc` in kernels returned.
    pub heap: Vec<(u64, u64)>,
}

/// Serialised form: each range as its gap to the previous one, which takes fewer digits.
#[derive(Serialize, Deserialize)]
struct Encoded {
    ranges: Vec<(u64, u64)>,
    heap: Vec<(u64, u64)>,
}

/// A range extends beyond the last address.
#[derive(Debug, thiserror::Error)]
#[error("memory extends beyond the last address")]
struct Beyond;

impl From<Accessible> for Encoded {
    fn from(Accessible { ranges, heap }: Accessible) -> Encoded {
        let gaps = |ranges: Vec<(u64, u64)>| {
            let mut end: u64 = 0;
            let gap = |(address, size): (u64, u64)| {
                let gap = address.wrapping_sub(end);
                end = address.wrapping_add(size);
                (gap, size)
            };
            ranges.into_iter().map(gap).collect()
        };
        Encoded { ranges: gaps(ranges), heap: gaps(heap) }
    }
}

impl TryFrom<Encoded> for Accessible {
    type Error = Beyond;

    fn try_from(Encoded { ranges, heap }: Encoded) -> Result<Accessible, Beyond> {
        let placed = |gaps: Vec<(u64, u64)>| {
            let mut end: u64 = 0;
            let place = |(gap, size): (u64, u64)| {
                let address = end.checked_add(gap)?;
                end = address.checked_add(size)?;
                Some((address, size))
            };
            gaps.into_iter().map(place).collect::<Option<Vec<_>>>().ok_or(Beyond)
        };
        Ok(Accessible { ranges: placed(ranges)?, heap: placed(heap)? })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use voltsim_checkpoint::codec;

    use super::*;

    #[test]
    fn ranges_round_trip_and_adjacent_ones_encode_short() {
        let ranges: Vec<_> = (0..100).map(|number| (0x2000_0000_0000 + 0x1000 * number, 1000)).collect();
        let accessible = Accessible { ranges, heap: vec![(0x2fff_ffff_0000, 16), (0x2fff_ffff_0100, 300)] };
        let bytes = codec::encode(&accessible).unwrap();
        assert!(bytes.len() < 650, "{}", bytes.len());
        assert_eq!(codec::decode::<{ 1 << 20 }, Accessible>(&bytes).unwrap(), accessible);
    }

    #[test]
    fn ranges_beyond_the_last_address_are_rejected() {
        for gaps in [vec![(u64::MAX, 1)], vec![(5, u64::MAX - 6), (1, 1)]] {
            let bytes = codec::encode(&Encoded { ranges: Vec::new(), heap: gaps }).unwrap();
            assert!(codec::decode::<{ 1 << 20 }, Accessible>(&bytes).is_err());
        }
    }
}

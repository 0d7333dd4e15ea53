//! Which memory kernels could access at a launch, to the byte, whether the launch can reach it or not.

use serde::{Deserialize, Serialize};

/// Live memory of a device: address and bytes of each range, by address. What the program had registered is not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Encoded", into = "Encoded")]
pub struct Accessible {
    /// What calls of the program have allocated and mapped, mappings without a gap as one, and variables of modules.
    pub ranges: Vec<(u64, u64)>,
    /// What `malloc` in kernels has handed out.
    pub heap: Vec<(u64, u64)>,
}

/// The same with the bytes between a range and the one before, which are fewer digits than addresses.
#[derive(Serialize, Deserialize)]
struct Encoded {
    ranges: Vec<(u64, u64)>,
    heap: Vec<(u64, u64)>,
}

/// Ranges that end behind the last address.
#[derive(Debug, thiserror::Error)]
#[error("memory lies behind the last address")]
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
    fn ranges_come_back_and_neighbours_take_few_bytes() {
        let ranges: Vec<_> = (0..100).map(|number| (0x2000_0000_0000 + 0x1000 * number, 1000)).collect();
        let accessible = Accessible { ranges, heap: vec![(0x2fff_ffff_0000, 16), (0x2fff_ffff_0100, 300)] };
        let bytes = codec::encode(&accessible).unwrap();
        assert!(bytes.len() < 650, "{}", bytes.len());
        assert_eq!(codec::decode::<{ 1 << 20 }, Accessible>(&bytes).unwrap(), accessible);
    }

    #[test]
    fn ranges_behind_the_last_address_are_refused() {
        for gaps in [vec![(u64::MAX, 1)], vec![(5, u64::MAX - 6), (1, 1)]] {
            let bytes = codec::encode(&Encoded { ranges: Vec::new(), heap: gaps }).unwrap();
            assert!(codec::decode::<{ 1 << 20 }, Accessible>(&bytes).is_err());
        }
    }
}

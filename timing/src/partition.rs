//! Address mapping to channels and slices.
//!
//! Memory is divided into chunks, each assigned to a channel, and a channel's memory into pieces,
//! each assigned to a slice. The chunk number divided by the number of channels gives quotient and
//! residue. The residue, permuted by a hash of the quotient, is the channel. Quotient and offset
//! form the address within the channel, and the same step yields the slice. Because each quotient
//! permutes the residues, the map is one-to-one for any hash and any number of channels and slices.

use crate::gpu_file::{Document, SpecificationError};
use crate::policy::address_map::AddressMap;

crate::specification! {
    /// Memory partitions: a DRAM channel with its L2 slices.
    pub struct PartitionSpec in "partition" {
        /// DRAM channels.
        channels: u32 ["channels"],
        /// L2 slices per channel.
        slices: u32 ["slices"],
        /// Consecutive bytes of one channel.
        interleave: u32 ["B"],
        /// Consecutive bytes of one slice within its channel.
        slice_interleave: u32 ["B"],
        /// Mapping of these chunks to channels and to their slices.
        hash: AddressMap ["choice"],
    }
}

impl PartitionSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let wrong = |name, reason| Err(document.wrong("partition", name, reason));
        if self.channels == 0 || self.channels > 128 {
            return wrong("channels", "must be 1 to 128");
        }
        if self.slices == 0 {
            return wrong("slices", "must be at least 1");
        }
        if self.slices.saturating_mul(self.channels) > crate::crossbar::MAXIMUM_PORTS {
            let keys = [("partition", "slices"), ("partition", "channels")];
            return Err(document.disagree(&keys, "all channels together must have at most 128 slices"));
        }
        for (name, bytes) in [("interleave", self.interleave), ("slice_interleave", self.slice_interleave)] {
            if !bytes.is_power_of_two() || bytes < 128 {
                return wrong(name, "must be a power of two of at least 128 B");
            }
        }
        Ok(())
    }

    /// Total number of slices.
    pub fn all_slices(&self) -> u32 {
        self.channels * self.slices
    }
}

/// Location of an address on the memory side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// Slice number over all channels: the channel is the remainder by their number.
    pub slice: u32,
    /// Byte offset within the slice's memory.
    pub offset: u64,
}

/// One division step: a chunk number modulo the number of places.
#[derive(Clone, Copy)]
struct Cut {
    places: u32,
    /// Chunk size as a power of two.
    bits: u32,
    hash: AddressMap,
}

/// Quotient and remainder.
fn divided<const PLACES: u64>(chunk: u64) -> (u64, u32) {
    (chunk / PLACES, (chunk % PLACES) as u32)
}

impl Cut {
    /// The place of an address, and its offset within the place.
    fn place(self, address: u64) -> (u32, u64) {
        let (quotient, residue) = self.cut(address);
        (self.hash.permuted(residue, quotient, self.places), self.within(quotient, address))
    }

    /// The offset of an address within its place.
    fn offset(self, address: u64) -> u64 {
        self.within(self.cut(address).0, address)
    }

    /// Quotient and remainder of an address's chunk number.
    fn cut(self, address: u64) -> (u64, u32) {
        let chunk = address >> self.bits;
        if self.places.is_power_of_two() {
            return (chunk >> self.places.trailing_zeros(), chunk as u32 & (self.places - 1));
        }
        // Constant divisors let the host multiply instead of dividing; these are the counts of
        // existing GPUs.
        match self.places {
            10 => divided::<10>(chunk),
            11 => divided::<11>(chunk),
            12 => divided::<12>(chunk),
            22 => divided::<22>(chunk),
            24 => divided::<24>(chunk),
            places => (chunk / u64::from(places), (chunk % u64::from(places)) as u32),
        }
    }

    fn within(self, quotient: u64, address: u64) -> u64 {
        quotient << self.bits | address & ((1 << self.bits) - 1)
    }

    /// The address at an offset of a place.
    fn address(self, place: u32, offset: u64) -> u64 {
        let quotient = offset >> self.bits;
        let residue = self.hash.unpermuted(place, quotient, self.places);
        self.within(quotient * u64::from(self.places) + u64::from(residue), offset)
    }
}

impl PartitionSpec {
    fn over_channels(&self) -> Cut {
        Cut { places: self.channels, bits: self.interleave.trailing_zeros(), hash: self.hash }
    }

    fn over_slices(&self) -> Cut {
        Cut { places: self.slices, bits: self.slice_interleave.trailing_zeros(), hash: self.hash }
    }

    /// Location of an address.
    pub fn place(&self, address: u64) -> Place {
        let (channel, within) = self.over_channels().place(address);
        let (slice, offset) = self.over_slices().place(within);
        Place { slice: slice * self.channels + channel, offset }
    }

    /// Byte offset of an address within its slice.
    pub fn offset(&self, address: u64) -> u64 {
        self.over_slices().offset(self.over_channels().offset(address))
    }

    /// The address of a location.
    pub fn address(&self, place: Place) -> u64 {
        let (channel, slice) = self.channel(place.slice);
        self.over_channels().address(channel, self.over_slices().address(slice, place.offset))
    }

    /// Channel of a slice, and its number within the channel.
    pub fn channel(&self, slice: u32) -> (u32, u32) {
        (slice % self.channels, slice / self.channels)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn hashes() -> impl Strategy<Value = AddressMap> {
        prop::sample::select(AddressMap::ALL)
    }

    proptest! {
        #[test]
        fn address_map_is_one_to_one(
            channels in 1_u32..40, slices in 1_u32..4, shift in 7_u32..12, slice_shift in 7_u32..12, hash in hashes(),
            address in 0_u64..1 << 48
        ) {
            prop_assume!(channels * slices <= 128);
            let map = PartitionSpec { channels, slices, interleave: 1 << shift, slice_interleave: 1 << slice_shift, hash };
            let place = map.place(address);
            prop_assert!(place.slice < map.all_slices());
            prop_assert_eq!(map.address(place), address);
        }

        #[test]
        fn hashed_strides_reach_most_slices(
            shift in 8_u32..24, hash in prop::sample::select(vec![AddressMap::Xor, AddressMap::Ipoly])
        ) {
            let map = PartitionSpec { channels: 24, slices: 2, interleave: 256, slice_interleave: 256, hash };
            let slices: HashSet<u32> = (0..4096_u64).map(|i| map.place(i << shift).slice).collect();
            prop_assert!(slices.len() >= 24, "{}", slices.len());
        }
    }

    #[test]
    fn chunk_is_in_one_channel_and_all_its_slices() {
        let map = PartitionSpec {
            channels: 32,
            slices: 2,
            interleave: 1024,
            slice_interleave: 128,
            hash: AddressMap::Ipoly,
        };
        for chunk in 0..100 {
            let places: HashSet<(u32, u32)> =
                (0..8).map(|line| map.channel(map.place(chunk * 1024 + line * 128).slice)).collect();
            assert_eq!(places.len(), 2);
            assert_eq!(places.iter().map(|(channel, _)| channel).collect::<HashSet<_>>().len(), 1);
        }
    }

    #[test]
    fn consecutive_chunks_go_to_consecutive_channels() {
        let map = PartitionSpec {
            channels: 24,
            slices: 2,
            interleave: 256,
            slice_interleave: 256,
            hash: AddressMap::Consecutive,
        };
        let channels: Vec<u32> = (0..26).map(|chunk| map.channel(map.place(chunk * 256).slice).0).collect();
        assert_eq!(channels, (0..24).chain(0..2).collect::<Vec<u32>>());
    }
}

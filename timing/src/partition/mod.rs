//! Which channel, slice, bank, row and column an address belongs to.
//!
//! The address is cut into chunks that go to one slice. The chunk's number modulo the number of slices, turned by a hash
//! of the quotient, is the slice; quotient and offset are the address within the slice. For each quotient the turn is a
//! permutation of the slices, so no two addresses meet, whatever the hash and the number of slices.

mod consecutive;
mod ipoly;
mod set;
mod unit;
mod xor;

pub use set::{Bay, Partitions};
pub use unit::{Clocks, Partition};

use crate::specification::{Document, SpecificationError};

crate::choice! {
    /// How chunks are spread over slices, and banks and sets over lines.
    pub enum Hash {
        /// One after the other.
        Consecutive = "consecutive",
        /// Exclusive or with bits above.
        Xor = "xor",
        /// Remainder of the bits above by an irreducible polynomial (Rau 1991).
        Ipoly = "ipoly",
    }
}

impl Hash {
    /// A number below `modulus` that depends on all bits of `upper`; the modulus is not 0.
    pub fn of(self, upper: u64, modulus: u32) -> u32 {
        match self {
            Hash::Consecutive => consecutive::hash(),
            Hash::Xor => xor::hash(upper, modulus),
            Hash::Ipoly => ipoly::hash(upper, modulus),
        }
    }

    /// `residue`, below `modulus`, permuted by the hash of `upper`.
    pub fn permuted(self, residue: u32, upper: u64, modulus: u32) -> u32 {
        let hash = self.of(upper, modulus);
        if modulus.is_power_of_two() {
            return residue ^ hash;
        }
        let sum = residue + hash;
        if sum < modulus { sum } else { sum - modulus }
    }

    /// What has been permuted to `image`.
    fn unpermuted(self, image: u32, upper: u64, modulus: u32) -> u32 {
        let hash = self.of(upper, modulus);
        match modulus.is_power_of_two() {
            true => image ^ hash,
            false => (image + modulus - hash) % modulus,
        }
    }
}

crate::specification! {
    /// Memory partitions: a DRAM channel with its L2 slices.
    pub struct PartitionSpec in "partition" {
        /// Channels.
        channels: u32 ["channels"],
        /// L2 slices of a channel.
        slices: u32 ["slices"],
        /// Consecutive bytes that belong to one slice.
        interleave: u32 ["B"],
        /// How chunks of so many bytes are spread over slices.
        hash: Hash ["choice"],
    }
}

impl PartitionSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let wrong = |name, reason| Err(document.wrong("partition", name, reason));
        if self.channels == 0 || self.channels > 128 {
            return wrong("channels", "there are 1 to 128");
        }
        if self.slices == 0 {
            return wrong("slices", "a channel has at least one");
        }
        if self.slices.saturating_mul(self.channels) > crate::crossbar::MAXIMUM_PORTS {
            let keys = [("partition", "slices"), ("partition", "channels")];
            return Err(document.disagree(&keys, "all channels together have 128 slices at most"));
        }
        if !self.interleave.is_power_of_two() || self.interleave < 128 {
            return wrong("interleave", "a power of two is needed, a line at least");
        }
        Ok(())
    }

    /// Slices of all channels.
    pub fn all_slices(&self) -> u32 {
        self.channels * self.slices
    }
}

/// Where in the memory side an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// Slice, counted over all channels: the channel is the remainder by their number.
    pub slice: u32,
    /// Bytes within what the slice has.
    pub offset: u64,
}

impl PartitionSpec {
    /// Where an address is.
    pub fn place(&self, address: u64) -> Place {
        let slices = self.all_slices();
        let chunk = address / u64::from(self.interleave);
        let quotient = chunk / u64::from(slices);
        let residue = (chunk % u64::from(slices)) as u32;
        let slice = self.hash.permuted(residue, quotient, slices);
        Place { slice, offset: self.offset(address) }
    }

    /// Bytes within what the slice of an address has.
    pub fn offset(&self, address: u64) -> u64 {
        let interleave = u64::from(self.interleave);
        address / (interleave * u64::from(self.all_slices())) * interleave + address % interleave
    }

    /// The address at a place.
    pub fn address(&self, place: Place) -> u64 {
        let slices = self.all_slices();
        let quotient = place.offset / u64::from(self.interleave);
        let residue = self.hash.unpermuted(place.slice, quotient, slices);
        let chunk = quotient * u64::from(slices) + u64::from(residue);
        chunk * u64::from(self.interleave) + place.offset % u64::from(self.interleave)
    }

    /// The channel of a slice, and which of the channel's slices it is.
    pub fn channel(&self, slice: u32) -> (u32, u32) {
        (slice % self.channels, slice / self.channels)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn hashes() -> impl Strategy<Value = Hash> {
        prop::sample::select(vec![Hash::Consecutive, Hash::Xor, Hash::Ipoly])
    }

    proptest! {
        #[test]
        fn the_map_is_one_to_one(
            channels in 1_u32..40, slices in 1_u32..4, shift in 7_u32..12, hash in hashes(), address in 0_u64..1 << 48
        ) {
            prop_assume!(channels * slices <= 128);
            let map = PartitionSpec { channels, slices, interleave: 1 << shift, hash };
            let place = map.place(address);
            prop_assert!(place.slice < map.all_slices());
            prop_assert_eq!(map.address(place), address);
        }

        #[test]
        fn power_of_two_strides_reach_most_slices_when_hashed(
            shift in 8_u32..24, hash in prop::sample::select(vec![Hash::Xor, Hash::Ipoly])
        ) {
            let map = PartitionSpec { channels: 24, slices: 2, interleave: 256, hash };
            let slices: HashSet<u32> = (0..4096_u64).map(|i| map.place(i << shift).slice).collect();
            prop_assert!(slices.len() >= 24, "{}", slices.len());
        }
    }

    #[test]
    fn consecutive_chunks_go_to_consecutive_channels() {
        let map = PartitionSpec { channels: 24, slices: 2, interleave: 256, hash: Hash::Consecutive };
        let channels: Vec<u32> = (0..26).map(|chunk| map.channel(map.place(chunk * 256).slice).0).collect();
        assert_eq!(channels, (0..24).chain(0..2).collect::<Vec<u32>>());
    }
}

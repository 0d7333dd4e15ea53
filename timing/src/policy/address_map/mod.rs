//! Address maps: assignment of consecutive chunks to channels, slices, banks and sets.
//!
//! Dividing a chunk's number by the number of places gives quotient and residue. A hash of the
//! quotient permutes the residue, so chunks with equal quotient fill each place once. The map is
//! one-to-one for any hash.
//!
//! A new map is one file beside this one and one line in `maps!` below.

#[cfg(test)]
mod conformance;
mod consecutive;
mod ipoly;
mod xor;

/// Behaviour of an address map.
trait Policy {
    /// A number below `modulus` (nonzero) that depends on all bits of `upper`.
    fn hash(upper: u64, modulus: u32) -> u32;
}

/// Declares the maps: doc, variant, name in GPU files, type.
macro_rules! maps {
    ($($(#[doc = $meaning:literal])* $variant:ident = $word:literal in $policy:ty,)*) => {
        $crate::choice! {
            /// Mapping of chunks to slices, of rows to banks, and of lines to sets.
            pub enum AddressMap {
                $($(#[doc = $meaning])* $variant = $word,)*
            }
        }

        impl AddressMap {
            /// Every map.
            pub const ALL: &'static [AddressMap] = &[$(AddressMap::$variant),*];

            /// A number below `modulus` (nonzero) that depends on all bits of `upper`.
            fn hash(self, upper: u64, modulus: u32) -> u32 {
                match self {
                    $(AddressMap::$variant => <$policy>::hash(upper, modulus),)*
                }
            }
        }
    };
}

maps! {
    /// Round robin: consecutive chunks go to consecutive targets.
    Consecutive = "consecutive" in consecutive::Consecutive,
    /// Exclusive or with higher address bits.
    Xor = "xor" in xor::Xor,
    /// Remainder of the higher bits by an irreducible polynomial (Rau 1991).
    Ipoly = "ipoly" in ipoly::Ipoly,
}

impl AddressMap {
    /// The permutation of `residue` (below `modulus`) by the hash of `upper`.
    pub fn permuted(self, residue: u32, upper: u64, modulus: u32) -> u32 {
        let hash = self.hash(upper, modulus);
        if modulus.is_power_of_two() {
            return residue ^ hash;
        }
        let sum = residue + hash;
        if sum < modulus { sum } else { sum - modulus }
    }

    /// The inverse of [`AddressMap::permuted`].
    pub fn unpermuted(self, image: u32, upper: u64, modulus: u32) -> u32 {
        let hash = self.hash(upper, modulus);
        match modulus.is_power_of_two() {
            true => image ^ hash,
            false => (image + modulus - hash) % modulus,
        }
    }
}

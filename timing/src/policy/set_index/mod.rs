//! Set indices of L1: which set of the cache a line belongs to.
//!
//! A new index is one file beside this one and one line in `indices!` below.

#[cfg(test)]
mod conformance;
mod fermi;
mod linear;
mod xor;

use crate::message::LINE_BYTES;

/// Behaviour of a set index.
trait Policy {
    /// A number whose remainder by the number of sets is the set of a line; `line` counts lines.
    fn index(line: u64, sets: u64) -> u64;
}

/// Declares the indices: doc, variant, name in GPU files, type.
macro_rules! indices {
    ($($(#[doc = $meaning:literal])* $variant:ident = $word:literal in $policy:ty,)*) => {
        $crate::choice! {
            /// Mapping of lines to sets.
            pub enum SetIndex {
                $($(#[doc = $meaning])* $variant = $word,)*
            }
        }

        impl SetIndex {
            /// Every index.
            pub const ALL: &'static [SetIndex] = &[$(SetIndex::$variant),*];

            /// The set of the line at an address, of so many sets.
            #[inline(never)]
            pub fn set(self, address: u64, sets: u32) -> u32 {
                let line = address / LINE_BYTES;
                let sets = u64::from(sets.max(1));
                let index = match self {
                    $(SetIndex::$variant => <$policy>::index(line, sets),)*
                };
                (index % sets) as u32
            }
        }
    };
}

indices! {
    /// Consecutive lines map to consecutive sets.
    Linear = "linear" in linear::Linear,
    /// Address bits above the index are folded onto it by exclusive or.
    Xor = "xor" in xor::Xor,
    /// Fermi: bits 7 to 11 xor bits 13, 14, 15, 17, 19 of the address, below bit 12. Source:
    /// Nugteren et al., "A Detailed GPU Cache Model Based on Reuse Distance Theory".
    Fermi = "fermi" in fermi::Fermi,
}

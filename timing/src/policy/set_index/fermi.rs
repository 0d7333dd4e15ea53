//! Fermi's index: bits 7 to 11 of the address xor bits 13, 14, 15, 17, 19, with bit 12 above them.
//! Source: Nugteren et al., "A Detailed GPU Cache Model Based on Reuse Distance Theory", HPCA 2014.

use super::Policy;
use crate::message::LINE_BYTES;

pub(super) struct Fermi;

impl Policy for Fermi {
    fn index(line: u64, _: u64) -> u64 {
        let bit = |n: u32| (line * LINE_BYTES) >> n & 1;
        let upper = bit(13) | bit(14) << 1 | bit(15) << 2 | bit(17) << 3 | bit(19) << 4;
        (line & 31 ^ upper) | bit(12) << 5
    }
}

//! Operands for tests of one-lane functions: every combination of edge values, followed by reproducible
//! random values.

/// Values at which integer instructions change behaviour, for all widths.
const EDGES: [u64; 28] = [
    0,
    1,
    2,
    3,
    7,
    8,
    15,
    16,
    17,
    31,
    32,
    33,
    63,
    64,
    127,
    128,
    255,
    256,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_0000_0000,
    0xffff_ffff_ffff_ffff,
];

/// Number of random combinations.
const RANDOM: usize = 20_000;

/// Reproducible random generator (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Random {
        Random(0x9e37_79b9_7f4a_7c15)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Random number with a random number of significant bits, so that small and large numbers are equally
    /// likely.
    pub(crate) fn any_size(&mut self) -> u64 {
        let shift = self.next() % 64;
        let value = self.next() >> shift;
        if self.next() & 1 == 0 { value } else { !value }
    }
}

/// Calls `check` with combinations of `N` operands, which the caller truncates to its width.
pub(crate) fn operands<const N: usize>(mut check: impl FnMut([u64; N])) {
    if N <= 3 {
        for number in 0..EDGES.len().pow(N as u32) {
            check(std::array::from_fn(|n| EDGES[number / EDGES.len().pow(n as u32) % EDGES.len()]));
        }
    }
    let mut random = Random::new();
    for _ in 0..RANDOM {
        check(std::array::from_fn(|_| random.any_size()));
    }
}

//! Operands: edge values crossed with each other, and random bits.

/// A binary format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    pub exponent: u32,
    pub fraction: u32,
}

pub const F16: Format = Format { exponent: 5, fraction: 10 };
pub const BF16: Format = Format { exponent: 8, fraction: 7 };
pub const F32: Format = Format { exponent: 8, fraction: 23 };
pub const F64: Format = Format { exponent: 11, fraction: 52 };

impl Format {
    pub fn bits(self) -> u32 {
        1 + self.exponent + self.fraction
    }

    pub fn sign(self) -> u64 {
        1 << (self.bits() - 1)
    }

    pub fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    pub fn one(self) -> u64 {
        ((1 << (self.exponent - 1)) - 1) << self.fraction
    }

    pub fn is_nan(self, bits: u64) -> bool {
        bits & !self.sign() > self.infinity()
    }

    pub fn is_subnormal(self, bits: u64) -> bool {
        bits & self.infinity() == 0 && bits & !self.sign() != 0
    }

    /// Zeros, subnormals, normals at both ends and around 1, infinities, NaN with payloads; of both signs.
    pub fn edges(self) -> Vec<u64> {
        let unit = 1u64 << self.fraction;
        let one = self.one();
        let magnitudes = [
            0,
            1,
            2,
            unit / 2,
            unit - 1,
            unit,
            unit + 1,
            2 * unit - 1,
            one - 25 * unit.min(one / 50),
            one - unit,
            one - 1,
            one,
            one + 1,
            one + unit / 2,
            one + unit / 2 + 1,
            one + unit,
            one + 2 * unit - 1,
            one + u64::from(self.fraction) * unit.min((self.infinity() - one) / u64::from(self.fraction + 2)),
            self.infinity() - unit,
            self.infinity() - 2,
            self.infinity() - 1,
            self.infinity(),
            self.infinity() + 1,
            self.infinity() + unit / 2,
            self.infinity() + unit / 2 + 3,
            self.infinity() + unit - 1,
        ];
        magnitudes.into_iter().flat_map(|bits| [bits, bits | self.sign()]).collect()
    }
}

/// The generator splitmix64: the same numbers in every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Random operands that meet: exponents close to one another, few bits set, or any bits at all.
fn random_row(random: &mut Random, format: Format, operands: usize) -> Vec<u64> {
    let mask = format.sign() | (format.sign() - 1);
    let kind = random.below(4);
    let middle = random.next() & format.infinity();
    (0..operands)
        .map(|_| {
            let any = random.next() & mask;
            let few = random.next() & random.next() & random.next() & mask;
            let near_exponent = (middle.wrapping_add(random.below(8) << format.fraction)) & format.infinity();
            match kind {
                0 => any,
                1 => (any & !format.infinity()) | near_exponent,
                2 => (few & !format.infinity()) | near_exponent,
                _ => {
                    // Around 1: products and quotients stay in range.
                    let around = format.one() & format.infinity();
                    let spread = (random.below(1 << (format.exponent - 2)) << format.fraction)
                        .wrapping_sub(1 << (format.exponent + format.fraction - 3));
                    (any & !format.infinity()) | (around.wrapping_add(spread) & format.infinity())
                }
            }
        })
        .collect()
}

/// Columns of operands: the edges crossed (for three operands a third of the rows, taken in turn), then `count`
/// random rows.
pub fn columns(format: Format, operands: usize, count: usize, seed: u64) -> Vec<Vec<u64>> {
    let edges = format.edges();
    let mut rows: Vec<Vec<u64>> = vec![vec![]];
    for _ in 0..operands {
        rows = rows
            .into_iter()
            .flat_map(|row| edges.iter().map(move |&edge| [row.clone(), vec![edge]].concat()))
            .collect();
    }
    if operands == 3 {
        rows = rows.into_iter().skip(seed as usize % 3).step_by(3).collect();
    }
    let mut random = Random::new(seed);
    rows.extend((0..count).map(|_| random_row(&mut random, format, operands)));
    (0..operands).map(|operand| rows.iter().map(|row| row[operand]).collect()).collect()
}

//! Latencies of misses: a fixed minimum and the absolute value of a normal distribution.

/// Entries of the table of quantiles.
const QUANTILES: usize = 4096;

/// Half-normal latencies from a seeded generator: `minimum + |N(0, deviation^2)|`.
#[derive(Debug, Clone)]
pub struct HalfNormal {
    /// Quantiles of |N(0, 1)|, at the middles of equal parts of the distribution, scaled.
    quantiles: Vec<u32>,
    state: u64,
}

impl HalfNormal {
    /// A generator; `deviation` is in units of time.
    pub fn new(deviation: f64, seed: u64) -> HalfNormal {
        let quantile = |index: usize| {
            let part = (index as f64 + 0.5) / QUANTILES as f64;
            (deviation * normal_quantile(0.5 + part / 2.0)).round() as u32
        };
        let quantiles = if deviation > 0.0 { (0..QUANTILES).map(quantile).collect() } else { Vec::new() };
        HalfNormal { quantiles, state: seed }
    }

    /// This distribution with another seed.
    pub fn reseeded(&self, seed: u64) -> HalfNormal {
        HalfNormal { state: seed, ..self.clone() }
    }

    /// The next latency beyond the minimum.
    #[inline]
    pub fn sample(&mut self) -> u32 {
        if self.quantiles.is_empty() {
            return 0;
        }
        // SplitMix64 (Steele et al., "Fast splittable pseudorandom number generators", 2014).
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.quantiles[((mixed ^ mixed >> 31) >> 52) as usize % QUANTILES]
    }
}

/// Quantile of the standard normal distribution (Acklam's rational approximation, relative error
/// below 1.2e-9).
fn normal_quantile(part: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] =
        [7.784_695_709_041_462e-3, 3.224_671_290_700_398e-1, 2.445_134_137_142_996, 3.754_408_661_907_416];
    let horner = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    if part > 0.975_75 {
        let q = (-2.0 * (1.0 - part).ln()).sqrt();
        return -horner(&C, q) / (horner(&D, q) * q + 1.0);
    }
    let q = part - 0.5;
    let r = q * q;
    horner(&A, r) * q / (horner(&B, r) * r + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_have_half_normal_mean_and_deviation() {
        let mut latency = HalfNormal::new(1000.0, 7);
        let samples: Vec<f64> = (0..100_000).map(|_| f64::from(latency.sample())).collect();
        let mean = samples.iter().sum::<f64>() / samples.len() as f64;
        let square = samples.iter().map(|sample| sample * sample).sum::<f64>() / samples.len() as f64;
        assert!((mean / 1000.0 - (2.0 / std::f64::consts::PI).sqrt()).abs() < 0.01, "{mean}");
        assert!((square.sqrt() / 1000.0 - 1.0).abs() < 0.01, "{square}");
    }

    #[test]
    fn equal_seeds_give_equal_latencies() {
        let samples = |seed| {
            let mut latency = HalfNormal::new(50.0, seed);
            (0..100).map(|_| latency.sample()).collect::<Vec<_>>()
        };
        assert_eq!(samples(1), samples(1));
        assert_ne!(samples(1), samples(2));
    }

    #[test]
    fn no_deviation_gives_the_minimum_alone() {
        assert_eq!(HalfNormal::new(0.0, 1).sample(), 0);
    }
}

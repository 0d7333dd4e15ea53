//! Vector instructions of the host. The engine contains a copy of each warp-wide operation per level and
//! selects one at binding. Builds with debug assertions contain only the baseline, because each copy costs
//! a third of the engine's compile time.

use std::sync::OnceLock;

/// Host instruction set for which a copy of the engine is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Baseline x86-64, or another architecture.
    Baseline,
    /// AVX2, FMA, BMI: x86-64-v3.
    Avx2,
    /// AVX-512 F, BW, DQ, VL, CD: x86-64-v4.
    Avx512,
}

static LEVEL: OnceLock<Level> = OnceLock::new();
static LIMIT: OnceLock<Level> = OnceLock::new();

/// The level used by this process: the host's best, unless [`limit`] has set a lower one.
pub fn level() -> Level {
    *LEVEL.get_or_init(|| at_most(Level::Avx512))
}

/// Limits the level of this process. The limit has no effect once a kernel is bound.
pub fn limit(level: Level) {
    LIMIT.get_or_init(|| level);
    LEVEL.get_or_init(|| at_most(level));
}

/// True if the host has AVX-512 and [`limit`] allows it. Compiled code needs both, in every build.
pub fn has_avx512() -> bool {
    best() == Level::Avx512 && LIMIT.get().is_none_or(|limit| *limit == Level::Avx512)
}

fn at_most(level: Level) -> Level {
    if cfg!(debug_assertions) { Level::Baseline } else { level.min(best()) }
}

#[cfg(target_arch = "x86_64")]
fn best() -> Level {
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512cd");
    match (avx2, avx512) {
        (true, true) => Level::Avx512,
        (true, false) => Level::Avx2,
        _ => Level::Baseline,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn best() -> Level {
    Level::Baseline
}

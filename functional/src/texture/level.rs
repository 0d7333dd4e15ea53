//! Mipmap levels: selection and weights (CUDA runtime API, `cudaTextureDesc`). Where that is silent, the
//! OpenGL specification applies: scale factor and level of detail, EXT_texture_filter_anisotropic.

use super::filter::{Filter, PARTS};
use super::{Level, Sampler};

/// Levels to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Levels {
    /// Finer level.
    pub first: usize,
    /// Weight of the next coarser level, out of [`PARTS`].
    pub fraction: u32,
}

impl Levels {
    /// Only the finest level.
    pub const FINEST: Levels = Levels { first: 0, fraction: 0 };

    /// Levels for a level of detail, out of `count`.
    pub fn of(sampler: &Sampler, detail: f64, count: usize) -> Levels {
        let (least, most) = sampler.level_range;
        // Limits may be NaN, or in the wrong order.
        let detail = (detail + f64::from(sampler.bias)).max(least.into()).min(most.into());
        let detail = detail.min(count.saturating_sub(1) as f64).max(0.0);
        let parts = match sampler.level_filter {
            Filter::Point => (detail + 0.5).floor() * f64::from(PARTS),
            Filter::Linear => (detail * f64::from(PARTS) + 0.5).floor(),
        } as u64;
        let whole = u64::from(PARTS);
        Levels { first: (parts / whole) as usize, fraction: (parts % whole) as u32 }
    }
}

/// Footprint of a pixel on the texels of the finest level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Footprint {
    /// Level of detail.
    pub detail: f64,
    /// Number of averaged samples.
    pub samples: u32,
    /// Vector from the first to the last sample, in units of the image.
    pub axis: [f64; 3],
}

/// Footprint for derivatives in units of the image.
pub fn footprint(level: &Level, [dx, dy]: [[f64; 3]; 2], anisotropy: u32) -> Footprint {
    let size = [level.width, level.height, level.depth].map(f64::from);
    let length =
        |by: [f64; 3]| by.iter().zip(size).map(|(by, size)| (by * size) * (by * size)).sum::<f64>().sqrt();
    let (along, across) = (length(dx), length(dy));
    let (longer, shorter, axis) = if along >= across { (along, across, dx) } else { (across, along, dy) };
    let most = f64::from(anisotropy.clamp(1, 16));
    let samples = if shorter > 0.0 { (longer / shorter).ceil().clamp(1.0, most) } else { most };
    let detail = (longer / samples).max(f64::MIN_POSITIVE).log2();
    Footprint { detail, samples: samples as u32, axis }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(level_filter: Filter) -> Sampler {
        Sampler { level_filter, level_range: (0.0, 100.0), ..Sampler::default() }
    }

    #[test]
    fn level_filter_selects_nearest_or_two_levels() {
        let levels = |filter, detail| Levels::of(&sampler(filter), detail, 4);
        assert_eq!(levels(Filter::Point, 1.25), Levels { first: 1, fraction: 0 });
        assert_eq!(levels(Filter::Point, 1.75), Levels { first: 2, fraction: 0 });
        assert_eq!(levels(Filter::Linear, 1.25), Levels { first: 1, fraction: 64 });
        assert_eq!(levels(Filter::Linear, 9.0), Levels { first: 3, fraction: 0 });
        assert_eq!(levels(Filter::Linear, -3.0), Levels::FINEST);
    }

    #[test]
    fn bias_and_limits_apply_before_the_level_count() {
        let sampler = Sampler { bias: 0.5, level_range: (1.0, 2.25), ..sampler(Filter::Linear) };
        assert_eq!(Levels::of(&sampler, 0.0, 4), Levels { first: 1, fraction: 0 });
        assert_eq!(Levels::of(&sampler, 1.0, 4), Levels { first: 1, fraction: 128 });
        assert_eq!(Levels::of(&sampler, 3.0, 4), Levels { first: 2, fraction: 64 });
        assert_eq!(Levels::of(&sampler, f64::NAN, 4).first, 1);
    }

    #[test]
    fn detail_is_the_log_of_the_longer_derivative() {
        let level = Level { address: 0, width: 64, height: 32, depth: 1, pitch: 0, slice: 0 };
        let derivatives = [[4.0 / 64.0, 0.0, 0.0], [0.0, 1.0 / 32.0, 0.0]];
        let plain = footprint(&level, derivatives, 1);
        assert_eq!((plain.detail, plain.samples), (2.0, 1));
        let stretched = footprint(&level, derivatives, 16);
        assert_eq!((stretched.detail, stretched.samples), (0.0, 4));
        assert_eq!(stretched.axis, derivatives[0]);
    }
}

//! Address shapes described by the first lane's address. Most accesses have one and need no
//! per-lane work.

use warp_stream::{LaneMask, WARP_SIZE};

use super::runs::{EIGHT, words_of};
use super::{Footprint, Pattern, ones};
use crate::message::{LINE_BYTES, SECTOR_BYTES};
use crate::sm::memory::access::Line;

/// Groups of eight lanes in a warp.
pub const EIGHTS: usize = WARP_SIZE / EIGHT;

/// Arrangement of the addresses of some lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// Consecutive bytes.
    Consecutive,
    /// One address for all lanes.
    Uniform,
    /// Any other arrangement.
    #[default]
    Any,
}

impl Shape {
    /// The shape of lanes with a stride.
    fn of_stride(stride: u64, width: u64) -> Shape {
        match stride {
            0 => Shape::Uniform,
            _ if stride == width => Shape::Consecutive,
            _ => Shape::Any,
        }
    }

    /// The shape of eight lanes.
    fn of_eight(addresses: &[u64; EIGHT], width: u64) -> Shape {
        let stride = addresses[1].wrapping_sub(addresses[0]);
        let shape = Shape::of_stride(stride, width);
        if shape == Shape::Any {
            return shape;
        }
        let pairs = addresses.iter().zip(&addresses[1..]);
        let apart = pairs.fold(0, |apart, (before, address)| apart | (before.wrapping_add(stride) ^ address));
        if apart == 0 { shape } else { Shape::Any }
    }

    /// The shape of a pattern, given the shapes of its groups.
    pub fn of(pattern: &Pattern<'_>, eights: &[Shape; EIGHTS]) -> Shape {
        let shape = eights[0];
        let width = u64::from(pattern.width.max(1));
        let stride = match shape {
            Shape::Consecutive => EIGHT as u64 * width,
            Shape::Uniform => 0,
            Shape::Any => return Shape::Any,
        };
        let first = pattern.addresses[0];
        let goes_on = |eight: usize| {
            eights[eight] == shape
                && pattern.addresses[eight * EIGHT] == first.wrapping_add(eight as u64 * stride)
        };
        let ends = first.checked_add(width * WARP_SIZE as u64).is_some();
        if ends && (1..EIGHTS).all(goes_on) { shape } else { Shape::Any }
    }
}

/// The shape of each group of eight lanes; [`Shape::Any`] for a group with an inactive lane.
#[inline(always)]
pub fn eights(pattern: &Pattern<'_>) -> [Shape; EIGHTS] {
    match pattern.stride {
        Some(stride) => {
            let shape = Shape::of_stride(stride, u64::from(pattern.width.max(1)));
            eights_where(pattern.active, |_| shape)
        }
        None => unknown_eights(pattern),
    }
}

/// [`eights`] for an unknown stride.
#[inline(never)]
fn unknown_eights(pattern: &Pattern<'_>) -> [Shape; EIGHTS] {
    let (eights, _) = pattern.addresses.as_chunks::<EIGHT>();
    eights_where(pattern.active, |eight| Shape::of_eight(&eights[eight], u64::from(pattern.width.max(1))))
}

/// Shapes from `shape` for the groups that are fully active.
#[inline(always)]
fn eights_where(active: LaneMask, shape: impl Fn(usize) -> Shape) -> [Shape; EIGHTS] {
    std::array::from_fn(|eight| match (active >> (eight * EIGHT)) as u8 {
        u8::MAX => shape(eight),
        _ => Shape::Any,
    })
}

/// Adds the lines of consecutive lanes.
pub fn consecutive(pattern: &Pattern<'_>, lines: &mut Vec<Line>) -> Footprint {
    let (first, width) = (pattern.addresses[0], u64::from(pattern.width.max(1)));
    add(pattern.marks, first, width * WARP_SIZE as u64, lines, |from, to| {
        let lanes = (from - first) / width..=(to - 1 - first) / width;
        LaneMask::MAX >> (WARP_SIZE as u64 - 1 - lanes.end()) & LaneMask::MAX << lanes.start()
    });
    let eight = EIGHT as u64 * width;
    let by_eight = (0..EIGHTS as u64).map(|turn| sectors(first + turn * eight, eight)).sum();
    Footprint { distinct: sectors(first, width * WARP_SIZE as u64), by_eight }
}

/// Adds the lines of an access by all lanes to one address.
pub fn uniform(pattern: &Pattern<'_>, lines: &mut Vec<Line>) -> Footprint {
    let (first, width) = (pattern.addresses[0], u64::from(pattern.width.max(1)));
    add(pattern.marks, first, width, lines, |_, _| LaneMask::MAX);
    let distinct = sectors(first, width);
    Footprint { distinct, by_eight: distinct * EIGHTS as u32 }
}

/// Adds the lines of a byte range; `lanes` gives the lanes that touch a subrange.
fn add(marks: bool, first: u64, bytes: u64, lines: &mut Vec<Line>, lanes: impl Fn(u64, u64) -> LaneMask) {
    let (mut from, end) = (first, first + bytes);
    while from < end {
        let offset = from % LINE_BYTES;
        let to = end.min(from - offset + LINE_BYTES);
        let mut line = Line { address: from - offset, ..Line::default() };
        line.sectors = (ones(offset as u32 / SECTOR_BYTES as u32, sectors(from, to - from))) as u8;
        line.words = words_of(offset as u32, (to - from) as u32);
        if marks {
            line.bytes = ones(offset as u32, (to - from) as u32);
            line.lanes = lanes(from, to);
        }
        lines.push(line);
        from = to;
    }
}

/// Number of sectors that contain a byte range.
fn sectors(first: u64, bytes: u64) -> u32 {
    ((first + bytes - 1) / SECTOR_BYTES - first / SECTOR_BYTES + 1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm::memory::coalescer::{runs, volta};

    fn whole(pattern: &Pattern<'_>) -> Shape {
        Shape::of(pattern, &eights(pattern))
    }

    fn shape(active: LaneMask, width: u8, stride: u64) -> Shape {
        let addresses = std::array::from_fn(|lane| 0x1004 + stride * lane as u64);
        whole(&Pattern::new(active, &addresses, width, false))
    }

    #[test]
    fn consecutive_shape_needs_all_lanes() {
        assert_eq!(shape(!0, 4, 4), Shape::Consecutive);
        assert_eq!(shape(!0 >> 1, 4, 4), Shape::Any);
        assert_eq!(shape(!0, 4, 8), Shape::Any);
    }

    #[test]
    fn uniform_shape_needs_all_lanes() {
        assert_eq!(shape(!0, 4, 0), Shape::Uniform);
        assert_eq!(shape(1, 4, 0), Shape::Any);
        let addresses = std::array::from_fn(|lane| 0x1000 + 4 * (lane as u64 / 31));
        let pattern = Pattern::new(!0, &addresses, 4, false);
        assert_eq!(whole(&pattern), Shape::Any);
    }

    #[test]
    fn known_stride_gives_the_same_shape() {
        for (active, width, stride) in [0, 1, 2, 4, 8, 16, u64::MAX - 3]
            .into_iter()
            .flat_map(|stride| [1, 2, 4, 8, 16].map(|width| (stride, width)))
            .flat_map(|(stride, width)| [0, 1, 0xff00, !0 >> 1, !0].map(|active| (active, width, stride)))
        {
            let eight = |lane: usize| 0x1_0000 + 4096 * (lane / EIGHT) as u64;
            let addresses = std::array::from_fn(|lane| {
                eight(lane).wrapping_add(stride.wrapping_mul((lane % EIGHT) as u64))
            });
            let of = |stride| eights(&Pattern { active, addresses: &addresses, stride, width, marks: false });
            assert_eq!(of(Some(stride)), of(None), "{active:x} {width} {stride}");
        }
    }

    #[test]
    fn access_past_the_last_address_has_any_shape() {
        let addresses = std::array::from_fn(|lane| (u64::MAX - 64).wrapping_add(4 * lane as u64));
        let pattern = Pattern::new(!0, &addresses, 4, false);
        assert_eq!(whole(&pattern), Shape::Any);
    }

    #[test]
    fn shape_result_matches_lane_by_lane_result() {
        for (width, start, marks, consecutive) in (0..5 * 256 * 4).map(|case| {
            (1 << (case % 5), 0x1000 + case / 5 % 256, case / 1280 % 2 == 0, case / 2560 % 2 == 0)
        }) {
            let stride = if consecutive { width } else { 0 };
            let addresses = std::array::from_fn(|lane| start + stride * lane as u64);
            let pattern = Pattern::new(!0, &addresses, width as u8, marks);
            let [mut by_shape, mut by_lane] = [Vec::new(), Vec::new()];
            let footprint = if consecutive {
                super::consecutive(&pattern, &mut by_shape)
            } else {
                uniform(&pattern, &mut by_shape)
            };
            let mut runs = Vec::new();
            runs::find(&pattern, &eights(&pattern), &mut runs);
            assert_eq!(
                footprint,
                volta::coalesce(&pattern, &runs, &mut by_lane, &mut super::super::LineIndex::default())
            );
            assert_eq!(by_shape, by_lane, "{width} B from {start:#x}, stride {stride}");
        }
    }
}

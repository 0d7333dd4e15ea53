//! Volta: a request per line, with those of its 32 B sectors that lanes touch.

use super::{Footprint, Line, Pattern, add, add_lanes, ones, sectors_by_eight};
use crate::message::{LINE_BYTES, SECTOR_BYTES};

/// Over the whole warp.
pub fn coalesce(pattern: &Pattern<'_>, lines: &mut Vec<Line>) -> Footprint {
    let [first, second, ..] = *pattern.addresses;
    let common = match second.wrapping_sub(first) {
        0 => uniform(pattern, lines),
        stride if stride == u64::from(pattern.width) => consecutive(pattern, lines),
        _ => None,
    };
    if let Some(footprint) = common {
        return footprint;
    }
    add_lanes(pattern, !0, lines);
    Footprint { distinct: count(lines), by_eight: sectors_by_eight(pattern), ..Footprint::default() }
}

/// Over eight lanes at a time.
pub fn coalesce_by_eight(pattern: &Pattern<'_>, lines: &mut Vec<Line>) -> Footprint {
    add_lanes(pattern, !0, lines);
    let distinct = count(lines);
    lines.clear();
    for group in 0..4 {
        add_lanes(pattern, 0xff << (8 * group), lines);
    }
    Footprint { distinct, by_eight: count(lines), ..Footprint::default() }
}

fn count(lines: &[Line]) -> u32 {
    lines.iter().map(|line| line.sectors.count_ones()).sum()
}

/// Another common case: the same place for all lanes.
fn uniform(pattern: &Pattern<'_>, lines: &mut Vec<Line>) -> Option<Footprint> {
    let first = pattern.addresses[0];
    let apart = pattern.addresses.iter().fold(0, |apart, address| apart | (address ^ first));
    if apart != 0 || pattern.active != !0 {
        return None;
    }
    add(lines, 0, first, pattern.width, if pattern.marks { pattern.active } else { 0 });
    let distinct = count(lines);
    Some(Footprint { distinct, by_eight: 4 * distinct, uniform: true, ..Footprint::default() })
}

/// The common case: all lanes, one after the other, each with a width that is a power of two.
fn consecutive(pattern: &Pattern<'_>, lines: &mut Vec<Line>) -> Option<Footprint> {
    let first = pattern.addresses[0];
    let width = u64::from(pattern.width);
    let mut expected = first;
    let mut apart = 0;
    for address in pattern.addresses {
        apart |= address ^ expected;
        expected = expected.wrapping_add(width);
    }
    if pattern.active != !0 || !pattern.width.is_power_of_two() || apart != 0 || !first.is_multiple_of(width)
    {
        return None;
    }
    let bytes = 32 * width;
    let end = first.checked_add(bytes)?;
    let mut address = first;
    while address < end {
        let line = address - address % LINE_BYTES;
        let offset = (address - line) as u32;
        let here = (end - address).min(LINE_BYTES - u64::from(offset)) as u32;
        let sector = SECTOR_BYTES as u32;
        let sectors = ones(offset / sector, (offset + here - 1) / sector - offset / sector + 1) as u8;
        let (bytes, lanes) = if pattern.marks {
            let lanes = ones(((address - first) / width) as u32, here.div_ceil(width as u32)) as u32;
            (ones(offset, here), lanes)
        } else {
            (0, 0)
        };
        lines.push(Line { address: line, sectors, bytes, lanes, ..Line::default() });
        address += u64::from(here);
    }
    let span = |from: u64, bytes: u64| ((from + bytes - 1) / SECTOR_BYTES - from / SECTOR_BYTES + 1) as u32;
    let by_eight = (0..4).map(|group| span(first + 8 * width * group, 8 * width)).sum();
    Some(Footprint { distinct: span(first, bytes), by_eight, consecutive: true, uniform: false })
}

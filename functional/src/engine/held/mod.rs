//! Store buffer of an SM: stores that other SMs do not see yet, in program order.
//!
//! The SM's own loads see buffered stores through copies of the touched lines. A load that meets such a
//! line updates the copies, so a kernel that never reads back its stores needs none.

use rustc_hash::FxHashMap;
use warp_stream::WarpSlot;

use super::address_translation::lanes_of;
use super::lane::WARP;

/// Bytes per line. No access of a lane crosses a line boundary.
const LINE: u64 = 128;

/// Words of the line filter.
const FILTER: usize = 32;

/// One byte for each lane: a store of `n` bytes takes `n` chunks.
type Chunk = [u64; WARP / 8];

/// Copy of a line.
#[derive(Debug, Clone, Copy)]
#[repr(align(128))]
struct Line([u8; LINE as usize]);

/// Action of a warp.
#[derive(Debug, Clone, Copy)]
enum Act {
    /// Store of all lanes to consecutive elements from this address.
    Consecutive(u64),
    /// Store of these lanes, to addresses from this position on.
    Scattered { lanes: u32, addresses: usize },
    /// Deferred op that must take effect before later records.
    Perform { warp: WarpSlot, number: u32 },
}

/// A store or a deferred op.
#[derive(Debug, Clone, Copy)]
struct Record {
    cycle: u64,
    act: Act,
    /// Bytes per lane.
    width: usize,
    /// First chunk of the data.
    chunk: usize,
}

/// A deferred op that must take effect now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) warp: WarpSlot,
    pub(crate) number: u32,
}

/// Buffered stores of an SM.
#[derive(Debug, Default)]
pub(crate) struct HeldStores {
    is_on: bool,
    records: Vec<Record>,
    addresses: Vec<u64>,
    chunks: Vec<Chunk>,
    /// Number of records already in memory.
    published: usize,
    /// Bloom filter of lines that records may touch.
    filter: [u64; FILTER],
    /// Address range that records touch (end exclusive).
    extent: (u64, u64),
    /// Index in `lines` of each copied line, by address.
    places: FxHashMap<u64, usize>,
    lines: Vec<Line>,
    /// Number of records applied to the copies.
    applied: usize,
}

impl HeldStores {
    /// Starts buffering.
    pub(crate) fn start(&mut self) {
        self.is_on = true;
    }

    /// True if stores are buffered.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// True if the buffer is empty.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Core cycle of the oldest record.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.records.get(self.published).map(|record| record.cycle)
    }

    /// Adds a store of all lanes to consecutive elements from an aligned address. Returns the buffer for
    /// the data of lane 0, followed by that of the other lanes; the caller must fill it at once.
    pub(crate) fn add_consecutive(&mut self, cycle: u64, width: u8, first: u64) -> *mut u8 {
        let end = first + u64::from(width) * WARP as u64;
        (first / LINE..end.div_ceil(LINE)).for_each(|line| self.note_line(line));
        self.note_extent(first, end);
        self.push(cycle, Act::Consecutive(first), width)
    }

    /// Adds a store of some lanes, each to its own aligned address.
    pub(crate) fn add(&mut self, cycle: u64, lanes: u32, width: u8, addresses: &[u64; WARP]) -> *mut u8 {
        let start = self.addresses.len();
        self.addresses.extend_from_slice(addresses);
        for lane in lanes_of(lanes) {
            self.note_line(addresses[lane] / LINE);
            self.note_extent(addresses[lane], addresses[lane] + u64::from(width));
        }
        self.push(cycle, Act::Scattered { lanes, addresses: start }, width)
    }

    /// Adds a deferred op that must take effect before later records.
    pub(crate) fn add_due(&mut self, cycle: u64, Due { warp, number }: Due) {
        self.push(cycle, Act::Perform { warp, number }, 0);
    }

    /// Adds a record and returns the buffer for its data. Records are in cycle order.
    fn push(&mut self, cycle: u64, act: Act, width: u8) -> *mut u8 {
        let cycle = self.records.last().map_or(cycle, |last| last.cycle.max(cycle));
        let (width, chunk) = (usize::from(width), self.chunks.len());
        self.records.push(Record { cycle, act, width, chunk });
        self.chunks.resize(chunk + width, Chunk::default());
        self.chunks[chunk..].as_mut_ptr().cast()
    }

    fn note_extent(&mut self, start: u64, end: u64) {
        let (first, last) = self.extent;
        // An end of 0 means an empty extent.
        let first = if last == 0 { start } else { first.min(start) };
        self.extent = (first, last.max(end));
    }

    #[inline(always)]
    fn bit_of(line: u64) -> (usize, u64) {
        let hash = line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 53;
        (hash as usize / 64, 1 << (hash % 64))
    }

    fn note_line(&mut self, line: u64) {
        let (word, bit) = HeldStores::bit_of(line);
        self.filter[word] |= bit;
    }

    /// True if an access of `lanes` may touch a record.
    #[inline(always)]
    pub(crate) fn may_meet(&self, lanes: u32, width: u8, addresses: &[u64; WARP]) -> bool {
        let (start, end) = self.extent;
        let (start, last) = (start.saturating_sub(u64::from(width) - 1), end.wrapping_sub(1));
        // The top bit marks an address before or after the records: all addresses are below 2^63.
        let outside = |address: &u64| address.wrapping_sub(start) | last.wrapping_sub(*address);
        let all_outside = addresses.iter().fold(u64::MAX, |all, address| all & outside(address));
        all_outside >> 63 == 0 && self.may_meet_line(lanes, addresses)
    }

    fn may_meet_line(&self, lanes: u32, addresses: &[u64; WARP]) -> bool {
        let mut last = u64::MAX;
        lanes_of(lanes).any(|lane| {
            let line = addresses[lane] / LINE;
            if std::mem::replace(&mut last, line) == line {
                return false;
            }
            let (word, bit) = HeldStores::bit_of(line);
            self.filter[word] & bit != 0
        })
    }

    /// Applies all records to the copies.
    pub(crate) fn apply(&mut self) {
        while let Some(Record { act, width, chunk, .. }) = self.records.get(self.applied).copied() {
            self.applied += 1;
            let bytes = self.chunks.as_ptr().wrapping_add(chunk).cast::<u8>();
            let (lanes, start) = match act {
                Act::Perform { .. } => continue,
                Act::Consecutive(first) => (u32::MAX, Err(first)),
                Act::Scattered { lanes, addresses } => (lanes, Ok(addresses)),
            };
            for lane in lanes_of(lanes) {
                let address = match start {
                    Ok(start) => self.addresses[start + lane],
                    Err(first) => first + (lane * width) as u64,
                };
                let place = self.own_copy(address);
                // SAFETY: the record has the lane's bytes, which lie in one line, and `place` is the copy
                // of the first. Chunks and copies are separate allocations, and adding a copy moves no
                // chunk.
                unsafe { std::ptr::copy_nonoverlapping(bytes.add(lane * width), place, width) };
            }
        }
    }

    /// Copy of the byte at a device address, created on demand.
    pub(crate) fn own_copy(&mut self, address: u64) -> *mut u8 {
        let line = address / LINE;
        let next = self.lines.len();
        let place = *self.places.entry(line).or_insert(next);
        if place == next {
            let start = line * LINE;
            // SAFETY: the line contains an accessible byte, and host pages are multiples of lines. Other
            // threads may write the memory concurrently, as during any load of a warp.
            self.lines.push(unsafe { (start as *const Line).read_volatile() });
            self.note_line(line);
            self.note_extent(start, start + LINE);
        }
        self.lines[place].0.as_mut_ptr().wrapping_add((address % LINE) as usize)
    }

    /// Copy of the byte at an address, if its line has one.
    pub(crate) fn copy_of(&mut self, address: u64) -> Option<*mut u8> {
        let place = *self.places.get(&(address / LINE))?;
        Some(self.lines[place].0.as_mut_ptr().wrapping_add((address % LINE) as usize))
    }

    /// Writes records of cycles up to `through` to memory, and stops at a deferred op that must take effect
    /// first.
    pub(crate) fn publish(&mut self, through: u64) -> Option<Due> {
        while let Some(record) = self.records.get(self.published).filter(|record| record.cycle <= through) {
            let Record { act, width, chunk, .. } = *record;
            self.published += 1;
            let bytes = self.chunks.as_ptr().wrapping_add(chunk).cast::<u8>();
            match act {
                Act::Perform { warp, number } => return Some(Due { warp, number }),
                // SAFETY: the addresses were checked when the record was made, and the record has as many
                // bytes.
                Act::Consecutive(first) => unsafe {
                    std::ptr::copy_nonoverlapping(bytes, first as *mut u8, WARP * width);
                },
                Act::Scattered { lanes, addresses } => {
                    for lane in lanes_of(lanes) {
                        let place = self.addresses[addresses + lane] as *mut u8;
                        // SAFETY: as above.
                        unsafe { copy_value(bytes.add(lane * width), place, width) };
                    }
                }
            }
        }
        if self.published == self.records.len() && !self.records.is_empty() {
            self.clear();
        }
        None
    }

    fn clear(&mut self) {
        self.records.clear();
        self.addresses.clear();
        self.chunks.clear();
        self.published = 0;
        self.filter = [0; FILTER];
        self.extent = (0, 0);
        self.places.clear();
        self.lines.clear();
        self.applied = 0;
    }
}

/// Copies an aligned value.
///
/// # Safety
/// Both pointers are valid for `width` bytes and aligned to `width`.
unsafe fn copy_value(from: *const u8, to: *mut u8, width: usize) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match width {
            4 => to.cast::<u32>().write(from.cast::<u32>().read()),
            8 => to.cast::<u64>().write(from.cast::<u64>().read()),
            _ => std::ptr::copy_nonoverlapping(from, to, width),
        }
    }
}

#[cfg(test)]
mod tests;

//! Access history of memory: the last write and two reads of each word.

use rustc_hash::FxHashMap;

use super::order::AccessTime;

/// Record of a lane's access to bytes of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Record {
    cta: u32,
    clock: u32,
    /// Position of the probe in the program.
    pub(super) site: u32,
    /// Bit 31: valid. Fields from bit 0: lane (5 bits), warp (5), bytes (4), [`ATOMIC`], [`STRONG`],
    /// [`MANY`], first lane (5). The first lane is valid if several lanes of the warp accessed these bytes.
    bits: u32,
}

const WARP_AT: u32 = 5;
const BYTES_AT: u32 = 10;
const ATOMIC: u32 = 1 << 14;
const STRONG: u32 = 1 << 15;
const MANY: u32 = 1 << 16;
const FIRST_AT: u32 = 17;
const VALID: u32 = 1 << 31;

/// Ordering strength of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    /// Ordinary.
    Weak,
    /// Volatile, relaxed, acquire, or release.
    Strong,
    /// Atomic.
    Atomic,
    /// Compare-and-swap, often preceded by a plain read of the same thread.
    Swap,
}

impl Record {
    pub(super) fn new(moment: AccessTime, bytes: u32, strength: Strength, site: u32) -> Record {
        let strength = match strength {
            Strength::Weak => 0,
            Strength::Strong => STRONG,
            Strength::Atomic => ATOMIC,
            Strength::Swap => ATOMIC | STRONG,
        };
        let bits = moment.lane | moment.warp << WARP_AT | bytes << BYTES_AT | strength | VALID;
        Record { cta: moment.cta, clock: moment.clock, site, bits }
    }

    /// True if the access touched any of these bytes.
    pub(super) fn overlaps(&self, bytes: u32) -> bool {
        self.bits & VALID != 0 && self.bits >> BYTES_AT & bytes & 0xf != 0
    }

    /// Time and thread of the access.
    pub(super) fn moment(&self) -> AccessTime {
        AccessTime { cta: self.cta, warp: self.warp(), lane: self.bits & 31, clock: self.clock }
    }

    pub(super) fn cta(&self) -> u32 {
        self.cta
    }

    fn warp(&self) -> u32 {
        self.bits >> WARP_AT & 31
    }

    pub(super) fn strength(&self) -> Strength {
        match self.bits & (ATOMIC | STRONG) {
            0 => Strength::Weak,
            STRONG => Strength::Strong,
            ATOMIC => Strength::Atomic,
            _ => Strength::Swap,
        }
    }

    /// Access of another thread than `now`'s, if there was one among the recorded lanes.
    pub(super) fn by_another(&self, now: AccessTime) -> Option<AccessTime> {
        let moment = self.moment();
        if (moment.cta, moment.warp, moment.lane) != (now.cta, now.warp, now.lane) {
            return Some(moment);
        }
        (self.bits & MANY != 0).then_some(AccessTime { lane: self.bits >> FIRST_AT & 31, ..moment })
    }

    /// The record after a later access of the same warp.
    fn followed_by(&self, next: Record) -> Record {
        let same = self.overlaps(next.bits >> BYTES_AT)
            && (self.cta, self.clock, self.warp()) == (next.cta, next.clock, next.warp());
        if !same {
            return next;
        }
        let first = if self.bits & MANY != 0 { self.bits >> FIRST_AT & 31 } else { self.bits & 31 };
        if first == next.bits & 31 {
            return next;
        }
        Record { bits: next.bits | MANY | first << FIRST_AT, ..next }
    }
}

/// Recorded accesses of a word.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    pub(super) write: Record,
    pub(super) reads: [Record; 2],
}

impl Cell {
    /// Records a write, which replaces all earlier accesses.
    pub(super) fn written(&mut self, record: Record) {
        *self = Cell { write: record, ..Cell::default() };
    }

    /// Records a read, which replaces the last read of its warp, else the most recent read.
    pub(super) fn read(&mut self, record: Record) {
        let [first, last] = &mut self.reads;
        let of_first = first.bits & VALID == 0 || (first.cta, first.warp()) == (record.cta, record.warp());
        let place = if of_first { first } else { last };
        *place = place.followed_by(record);
    }
}

/// Words per page.
const PAGE_WORDS: usize = 1024;

/// Cells of global memory, created at first access.
#[derive(Debug, Default)]
pub(super) struct Pages(FxHashMap<u64, Box<[Cell; PAGE_WORDS]>>);

impl Pages {
    /// Cell of word number `word`.
    pub(super) fn cell(&mut self, word: u64) -> &mut Cell {
        let page = self.0.entry(word / PAGE_WORDS as u64).or_insert_with(fresh);
        &mut page[word as usize % PAGE_WORDS]
    }
}

fn fresh() -> Box<[Cell; PAGE_WORDS]> {
    Box::new([Cell::default(); PAGE_WORDS])
}

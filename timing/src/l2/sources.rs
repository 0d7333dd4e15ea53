//! L2 lookups by requester and kind of request.

use super::L2Counters;
use crate::message::{RequestKind, Requester};
use crate::statistics::saved::Name;
use crate::statistics::{Counter, Counters};

/// Requesters, numbered as [`Requester`].
const SOURCES: usize = 6;
/// Kinds of requests, numbered as [`RequestKind`].
const KINDS: usize = 4;
/// Kinds reported: atomic operations and reductions count as one.
const TOLD: usize = 3;

/// Sectors looked up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lookups {
    /// All sectors.
    pub sectors: u64,
    /// Valid sectors; for writes, outstanding ones too.
    pub hits: u64,
}

impl Lookups {
    fn and(self, other: Lookups) -> Lookups {
        Lookups { sectors: self.sectors + other.sectors, hits: self.hits + other.hits }
    }
}

/// Lookups by requester and kind of request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceCounters([[Lookups; KINDS]; SOURCES]);

/// Declares the counters of all requesters by name and noun.
macro_rules! sources {
    ($($source:literal, $what:literal;)*) => {
        &[$(
            sources!(@ $source "_reads" "Sectors read for " $what),
            sources!(@ $source "_read_hits" "Read hits for " $what),
            sources!(@ $source "_writes" "Sectors written for " $what),
            sources!(@ $source "_write_hits" "Sectors written, valid or outstanding, for " $what),
            sources!(@ $source "_atomics" "Sectors of atomic operations and reductions for " $what),
            sources!(@ $source "_atomic_hits" "Hits of atomic operations and reductions for " $what),
        )*]
    };
    (@ $source:literal $name:literal $meaning:literal $what:literal) => {
        Counter::part("l2", concat!($source, $name), "sectors", concat!($meaning, $what, "."))
    };
}

/// Counters in the order of [`Requester`].
static COUNTERS: &[Counter] = sources! {
    "global", "global memory";
    "local", "local memory";
    "texture", "textures and surfaces";
    "constant", "constants and parameters";
    "instruction", "instructions";
    "copy", "copy engines";
};

impl SourceCounters {
    /// Counts lookups.
    #[inline]
    pub(super) fn count(&mut self, requester: Requester, kind: RequestKind, sectors: u64, hits: u64) {
        let lookups = &mut self.0[requester as usize][kind as usize];
        lookups.sectors += sectors;
        lookups.hits += hits;
    }

    /// Lookups of a requester's kind of request.
    pub fn of(&self, requester: Requester, kind: RequestKind) -> Lookups {
        self.0[requester as usize][kind as usize]
    }

    fn of_kind(&self, kind: RequestKind) -> Lookups {
        self.0.iter().fold(Lookups::default(), |sum, kinds| sum.and(kinds[kind as usize]))
    }

    fn sectors_of(&self, requester: Requester) -> u64 {
        self.0[requester as usize].iter().map(|lookups| lookups.sectors).sum()
    }

    fn told(&self) -> impl Iterator<Item = Lookups> {
        self.0.iter().flat_map(|[read, write, atomic, reduction]| -> [Lookups; TOLD] {
            [*read, *write, atomic.and(*reduction)]
        })
    }
}

impl Counters for SourceCounters {
    fn each(&self, tell: &mut dyn FnMut(&'static Counter, u64)) {
        let values = self.told().flat_map(|Lookups { sectors, hits }| [sectors, hits]);
        COUNTERS.iter().zip(values).for_each(|(counter, value)| tell(counter, value));
    }

    fn add(&mut self, other: &SourceCounters) {
        for (own, other) in self.0.iter_mut().flatten().zip(other.0.iter().flatten()) {
            *own = own.and(*other);
        }
    }

    fn restart(&mut self) {}

    fn save(&self, write: &mut dyn FnMut(Name, u64)) {
        let lookups = self.0.iter().flatten().flat_map(|Lookups { sectors, hits }| [*sectors, *hits]);
        saved_names().zip(lookups).for_each(|(name, value)| write(name, value));
    }

    fn load(&mut self, read: &mut dyn FnMut(Name) -> u64) {
        let lookups = self.0.iter_mut().flatten().flat_map(|Lookups { sectors, hits }| [sectors, hits]);
        saved_names().zip(lookups).for_each(|(name, value)| *value = read(name));
    }
}

/// Names in saved states, which keep reductions apart from atomic operations, by requester and
/// kind.
fn saved_names() -> impl Iterator<Item = Name> {
    COUNTERS.chunks(2 * TOLD).flat_map(|counters| {
        let names = counters.iter().map(Name::of);
        let reductions = counters[2 * TOLD - 2..].iter().map(|atomics| Name::of(atomics).and(".reductions"));
        names.chain(reductions)
    })
}

impl L2Counters {
    /// The counters with the sums over requesters.
    pub(super) fn with_sums(self) -> L2Counters {
        let sources = &self.sources;
        let [read, write, atomic, reduction] =
            [RequestKind::Read, RequestKind::Write, RequestKind::Atomic, RequestKind::Reduction]
                .map(|kind| sources.of_kind(kind));
        L2Counters {
            sectors_read: read.sectors,
            sectors_written: write.sectors,
            sectors_atomic: atomic.sectors,
            sectors_reduction: reduction.sectors,
            read_hits: read.hits,
            write_hits: write.hits,
            atomic_hits: atomic.hits,
            reduction_hits: reduction.hits,
            sectors_global: sources.sectors_of(Requester::Global),
            sectors_local: sources.sectors_of(Requester::Local),
            sectors_texture: sources.sectors_of(Requester::Texture),
            sectors_constant: sources.sectors_of(Requester::Constant),
            sectors_instruction: sources.sectors_of(Requester::Instruction),
            sectors_copy: sources.sectors_of(Requester::Copy),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(counters: &SourceCounters) -> Vec<(&'static str, u64)> {
        let mut told = Vec::new();
        counters.each(&mut |counter, value| told.push((counter.name, value)));
        told.retain(|(_, value)| *value > 0);
        told
    }

    #[test]
    fn each_source_counts_under_its_own_name() {
        let mut counters = SourceCounters::default();
        counters.count(Requester::Global, RequestKind::Read, 4, 1);
        counters.count(Requester::Local, RequestKind::Write, 3, 2);
        counters.count(Requester::Texture, RequestKind::Read, 2, 0);
        counters.count(Requester::Constant, RequestKind::Read, 5, 5);
        counters.count(Requester::Instruction, RequestKind::Read, 6, 0);
        counters.count(Requester::Copy, RequestKind::Write, 7, 0);
        counters.count(Requester::Global, RequestKind::Atomic, 8, 3);
        counters.count(Requester::Global, RequestKind::Reduction, 9, 4);
        let expected = [
            ("global_reads", 4),
            ("global_read_hits", 1),
            ("global_atomics", 17),
            ("global_atomic_hits", 7),
            ("local_writes", 3),
            ("local_write_hits", 2),
            ("texture_reads", 2),
            ("constant_reads", 5),
            ("constant_read_hits", 5),
            ("instruction_reads", 6),
            ("copy_writes", 7),
        ];
        assert_eq!(told(&counters), expected);
    }

    #[test]
    fn sums_cover_all_sources_and_kinds() {
        let mut counters = L2Counters::default();
        counters.sources.count(Requester::Global, RequestKind::Read, 4, 1);
        counters.sources.count(Requester::Copy, RequestKind::Read, 3, 2);
        counters.sources.count(Requester::Global, RequestKind::Write, 2, 2);
        let sums = counters.with_sums();
        assert_eq!((sums.sectors_read, sums.read_hits, sums.sectors_written), (7, 3, 2));
        assert_eq!((sums.sectors_global, sums.sectors_copy, sums.sectors_local), (6, 3, 0));
    }
}

//! L1 lookups by memory space.

use super::L1Counters;
use crate::message::Requester;
use crate::statistics::saved::Name;
use crate::statistics::{Counter, Counters};

/// Global and local memory, textures.
const SOURCES: usize = 3;

/// Sectors of one memory space: load hits, outstanding and missed ones; stores and store hits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sectors {
    load_hits: u64,
    load_merged: u64,
    load_misses: u64,
    stores: u64,
    store_hits: u64,
}

impl Sectors {
    fn and(self, other: Sectors) -> Sectors {
        Sectors {
            load_hits: self.load_hits + other.load_hits,
            load_merged: self.load_merged + other.load_merged,
            load_misses: self.load_misses + other.load_misses,
            stores: self.stores + other.stores,
            store_hits: self.store_hits + other.store_hits,
        }
    }

    fn loads(&self) -> u64 {
        self.load_hits + self.load_merged + self.load_misses
    }

    /// Values in the order of the counters.
    fn values(&self) -> [u64; 6] {
        let Sectors { load_hits, load_merged, load_misses, stores, store_hits } = *self;
        [self.loads(), load_hits, load_merged, load_misses, stores, store_hits]
    }
}

/// Sectors by memory space.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceCounters([Sectors; SOURCES]);

/// Declares the counters of all memory spaces by name and noun.
macro_rules! sources {
    ($($source:literal, $what:literal;)*) => {
        &[$(
            sources!(@ $source "_load_sectors" "Load sectors looked up, of " $what),
            sources!(@ $source "_load_sector_hits" "Load sectors that hit, of " $what),
            sources!(@ $source "_load_sectors_merged" "Load sectors already outstanding, of " $what),
            sources!(@ $source "_load_sector_misses" "Load sectors that missed, of " $what),
            sources!(@ $source "_store_sectors" "Sectors that stores wrote, of " $what),
            sources!(@ $source "_store_sector_hits" "Sectors that stores wrote to lines that hit, of " $what),
        )*]
    };
    (@ $source:literal $name:literal $meaning:literal $what:literal) => {
        Counter::part("l1", concat!($source, $name), "sectors", concat!($meaning, $what, "."))
    };
}

static COUNTERS: &[Counter] = sources! {
    "global", "global memory";
    "local", "local memory";
    "texture", "textures and surfaces";
};

impl SourceCounters {
    fn of(&mut self, requester: Requester) -> &mut Sectors {
        &mut self.0[match requester {
            Requester::Local => 1,
            Requester::Texture => 2,
            Requester::Global | Requester::Constant | Requester::Instruction | Requester::Copy => 0,
        }]
    }

    /// Counts a load's sectors by lookup result.
    #[inline]
    pub(in crate::sm::memory) fn count_load(&mut self, requester: Requester, [hit, merged, missed]: [u8; 3]) {
        let sectors = self.of(requester);
        sectors.load_hits += u64::from(hit.count_ones());
        sectors.load_merged += u64::from(merged.count_ones());
        sectors.load_misses += u64::from(missed.count_ones());
    }

    /// Counts a store's sectors of a line that hit or missed.
    #[inline]
    pub(super) fn count_store(&mut self, requester: Requester, sectors: u64, hit: bool) {
        let counted = self.of(requester);
        counted.stores += sectors;
        counted.store_hits += if hit { sectors } else { 0 };
    }
}

impl Counters for SourceCounters {
    fn each(&self, tell: &mut dyn FnMut(&'static Counter, u64)) {
        let values = self.0.iter().flat_map(Sectors::values);
        COUNTERS.iter().zip(values).for_each(|(counter, value)| tell(counter, value));
    }

    fn add(&mut self, other: &SourceCounters) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own = own.and(other));
    }

    fn restart(&mut self) {}

    fn load(&mut self, read: &mut dyn FnMut(Name) -> u64) {
        let mut values = COUNTERS.iter().map(|counter| read(Name::of(counter)));
        let mut next = || values.next().unwrap_or(0);
        for sectors in &mut self.0 {
            // The sum of a source's loads follows from the rest.
            next();
            *sectors = Sectors {
                load_hits: next(),
                load_merged: next(),
                load_misses: next(),
                stores: next(),
                store_hits: next(),
            };
        }
    }
}

impl L1Counters {
    /// The counters with the sums over memory spaces.
    pub(super) fn with_sums(self) -> L1Counters {
        let sum = self.sources.0.into_iter().fold(Sectors::default(), Sectors::and);
        L1Counters {
            load_sector_hits: sum.load_hits,
            load_sectors_merged: sum.load_merged,
            load_sector_misses: sum.load_misses,
            store_sectors: sum.stores,
            store_sector_hits: sum.store_hits,
            ..self
        }
    }
}

//! Workload profile: warp instructions per unit, and memory accesses.

mod launches;
mod longest;
mod reuse_tracker;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use ptx_frontend::ir::{Function, Instruction, Operand};
use ptx_frontend::isa::{Effect, Modifier, ScalarType};
use warp_stream::Unit;

pub use launches::Launches;
use longest::Longest;
pub use reuse_tracker::{AccessKind, ReuseTracker};
use reuse_tracker::{By, Reuse};

use crate::engine::grid::Grid;
use crate::engine::op::Flow;
use crate::engine::probe::{Probe, Region, Site, Watch, Watcher};
use crate::engine::warp_context::WarpContext;

/// Bytes of a sector, as a power of two.
const SECTOR: u32 = 5;

/// Index of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
enum Count {
    SharedAccesses = UNITS,
    SectorsRead,
    SectorsWritten,
    AtomicLanes,
    NewSectors,
    LongestInstructions,
    LongestGlobal,
    HottestWrites,
    FarSectors,
    NewInstructions,
    NewPages,
}

/// Number of counters of warp instructions, one per unit.
pub const UNITS: usize = Unit::COUNT;

/// Number of counters that [`WorkloadProfile::take`] returns.
pub const COUNTS: usize = Count::NewPages as usize + 1;

/// Counters of memory accesses.
pub const ACCESSES: Range<usize> = UNITS..Count::LongestInstructions as usize;

/// Counters that are maxima over warps or lines.
pub const LONGEST: Range<usize> = ACCESSES.end..Count::FarSectors as usize;

/// Counters of misses in an SM's caches and in TLBs.
pub const UNCACHED: Range<usize> = LONGEST.end..COUNTS;

/// Names of the counters, in order.
pub const NAMES: [&str; COUNTS] = [
    "integer",
    "fp32",
    "fp64",
    "special_function",
    "tensor",
    "memory",
    "texture",
    "branch",
    "barrier",
    "shared_accesses",
    "sectors_read",
    "sectors_written",
    "atomic_lanes",
    "sectors_new",
    "longest_instructions",
    "longest_global",
    "hottest_writes",
    "sectors_far",
    "instructions_new",
    "pages_new",
];

/// Counts the work of kernels.
///
/// The first counters are warp instructions of each [`Unit`], as in PTX. Access counters follow: warp
/// accesses to shared memory, sectors of global memory read and written, and lanes of atomic operations
/// there. Texels of textures and surfaces count as sectors. New sectors follow: never accessed before, or
/// so long ago that no L2 holds them. A sector counts again when it differs from the previous lane's.
///
/// Then come maxima that bound the launch's end. For one warp, they are its instructions and its loads and
/// atomic operations on global memory. For one line, they are changes by stores and atomic operations, a
/// run of lanes at a time. The last counters are misses. In an SM's caches, they count sectors with a long
/// reuse distance, and instructions executed for the first time. In TLBs, they count pages that no kernel
/// has accessed before.
#[derive(Debug, Default)]
pub struct WorkloadProfile {
    counters: Arc<Counters>,
    reuse_tracker: Arc<Mutex<ReuseTracker>>,
    longest: Arc<Mutex<Longest>>,
    launches: Mutex<Launches>,
}

#[derive(Debug, Default)]
struct Counters([AtomicU64; COUNTS]);

impl Counters {
    fn add(&self, count: usize, number: u64) {
        if let Some(counter) = self.0.get(count) {
            counter.fetch_add(number, Ordering::Relaxed);
        }
    }
}

impl WorkloadProfile {
    /// Counts since the last call.
    pub fn take(&self) -> [u64; COUNTS] {
        self.reuse_tracker.lock().end_launch();
        let longest = self.longest.lock().take();
        self.counters.add(Count::LongestInstructions as usize, longest.instructions);
        self.counters.add(Count::LongestGlobal as usize, longest.global);
        std::array::from_fn(|count| {
            self.counters.0.get(count).map_or(0, |counter| counter.swap(0, Ordering::Relaxed))
        })
    }

    /// Recently accessed lines of global memory.
    pub fn reuse_tracker(&self) -> &Mutex<ReuseTracker> {
        &self.reuse_tracker
    }

    /// History of launches, for their code in instruction caches.
    pub fn launches(&self) -> &Mutex<Launches> {
        &self.launches
    }

    fn accesses(&self, effect: Effect, bytes: u64) -> Accesses {
        let (counters, reuse_tracker) = (Arc::clone(&self.counters), Arc::clone(&self.reuse_tracker));
        Accesses { effect, bytes, counters, reuse_tracker }
    }
}

/// Probe of an instruction.
#[derive(Debug)]
struct Counted {
    unit: Unit,
    /// True once the instruction was executed, and the function's counter of such instructions.
    is_reached: AtomicBool,
    reached: Arc<AtomicU64>,
    accesses: Accesses,
    longest: Arc<Mutex<Longest>>,
}

/// Probe of the texels that an instruction has touched.
#[derive(Debug)]
struct Sampled(Accesses);

/// Memory accesses of an instruction.
#[derive(Debug)]
struct Accesses {
    effect: Effect,
    /// Bytes per lane.
    bytes: u64,
    counters: Arc<Counters>,
    reuse_tracker: Arc<Mutex<ReuseTracker>>,
}

impl Watcher for WorkloadProfile {
    fn watch(&self, function: &Function, instruction: &Instruction) -> Vec<Watch> {
        let line = instruction.op.line();
        let double = matches!(line.unit, Unit::Fp32) && instruction.last_type() == Some(ScalarType::F64);
        let element = instruction.last_type().map_or(0, |ty| ty.bytes());
        let elsewhere = [Modifier::Param, Modifier::ParamEntry, Modifier::ParamFunc, Modifier::Const];
        let is_access = matches!(line.effect, Effect::Load | Effect::Store | Effect::Atomic)
            && !instruction.modifiers().any(|modifier| elsewhere.contains(&modifier));
        let operand = instruction.operands.iter().position(|it| matches!(it, Operand::Address { .. }));
        let probe = Arc::new(Counted {
            unit: if double { Unit::Fp64 } else { line.unit },
            is_reached: AtomicBool::new(false),
            reached: self.launches.lock().reached(&function.name),
            accesses: self.accesses(line.effect, u64::from(element) * instruction.vector_length() as u64),
            longest: Arc::clone(&self.longest),
        });
        vec![Watch { address: operand.filter(|_| is_access), ..Watch::of(probe) }]
    }

    fn watch_texels(&self, _: &Function, instruction: &Instruction) -> Option<Arc<dyn Probe>> {
        let line = instruction.op.line();
        // A texel lies in one sector.
        let sampled = || Arc::new(Sampled(self.accesses(line.effect, 1))) as Arc<dyn Probe>;
        matches!(line.unit, Unit::Texture).then(sampled)
    }
}

impl Probe for Counted {
    fn reached(&self, warp: &mut WarpContext<'_>, site: &Site) -> Flow {
        let counters = &self.accesses.counters;
        counters.add(self.unit as usize, 1);
        if !self.is_reached.load(Ordering::Relaxed) && !self.is_reached.swap(true, Ordering::Relaxed) {
            self.reached.fetch_add(1, Ordering::Relaxed);
            counters.add(Count::NewInstructions as usize, 1);
        }
        let is_access = site.has_address() && warp.mask != 0;
        let region = is_access.then(|| self.accesses.at_site(warp, site));
        let may_wait = matches!(self.accesses.effect, Effect::Load | Effect::Atomic);
        let is_global = may_wait && (region == Some(Region::Global) || matches!(self.unit, Unit::Texture));
        self.longest.lock().count(warp.cta.index, warp.warp, is_global);
        Flow::Next
    }
}

/// Co-resident CTAs of a launch per SM, for a GPU of 80 SMs with 64 warps each.
fn ctas_of_sm(grid: &Grid) -> u32 {
    let ctas = grid.shape.cta_count().div_ceil(80).min(64) as u32;
    ctas.min(64 / grid.shape.warps_per_cta().clamp(1, 64))
}

impl Probe for Sampled {
    fn reached(&self, warp: &mut WarpContext<'_>, _: &Site) -> Flow {
        let mut texels = std::mem::take(&mut warp.cta.texels);
        // Adjacent lanes touch the same sectors in the rows of a footprint.
        texels.sort_unstable();
        self.0.of_global(warp, texels.iter().copied());
        texels.clear();
        warp.cta.texels = texels;
        Flow::Next
    }
}

impl Accesses {
    /// Counts an access to the instruction's address operand, and returns its memory.
    fn at_site(&self, warp: &WarpContext<'_>, site: &Site) -> Region {
        let addresses = site.addresses(warp);
        let first = addresses.get(warp.mask.trailing_zeros() as usize).copied().unwrap_or(0);
        let region = site.locate(warp, first).0;
        match region {
            Region::Global => {}
            Region::Local => return region,
            Region::Shared | Region::Unfollowed => {
                self.counters.add(Count::SharedAccesses as usize, 1);
                return region;
            }
        }
        let lanes = addresses.iter().enumerate().filter(|(lane, _)| warp.mask >> lane & 1 != 0);
        self.of_global(warp, lanes.map(|(_, address)| *address));
        region
    }

    /// Counts a warp's access to global memory.
    fn of_global(&self, warp: &WarpContext<'_>, addresses: impl Iterator<Item = u64> + Clone) {
        let (mut sectors, mut last) = (0, u64::MAX);
        for address in addresses.clone() {
            let end = address.wrapping_add(self.bytes.max(1) - 1) >> SECTOR;
            let start = address >> SECTOR;
            if start != last || end != last {
                sectors += end.wrapping_sub(start) + u64::from(start != last);
            }
            last = end;
        }
        let by = By { cta: warp.cta.index, sharing: ctas_of_sm(warp.grid) };
        let found = self.touch(addresses, by);
        let (count, number) = match self.effect {
            Effect::Load => (Count::SectorsRead, sectors),
            Effect::Atomic => (Count::AtomicLanes, warp.mask.count_ones().into()),
            _ => (Count::SectorsWritten, sectors),
        };
        self.counters.add(count as usize, number);
        if let Some(hottest) = self.counters.0.get(Count::HottestWrites as usize) {
            hottest.fetch_max(found.hottest, Ordering::Relaxed);
        }
        if found.pages > 0 {
            self.counters.add(Count::NewPages as usize, found.pages);
        }
        if found.far > 0 {
            self.counters.add(Count::NewSectors as usize, found.new);
            self.counters.add(Count::FarSectors as usize, found.far);
        }
    }

    /// Records an access of a CTA's lanes to their bytes.
    fn touch(&self, addresses: impl Iterator<Item = u64>, by: By) -> Reuse {
        let access = match self.effect {
            Effect::Load => AccessKind::Read,
            Effect::Atomic => AccessKind::Modify,
            _ => AccessKind::Write,
        };
        let bytes = self.bytes.max(1);
        let mut reuse_tracker = self.reuse_tracker.lock();
        let mut found = Reuse::default();
        // Consecutive lanes mostly access consecutive bytes, or the same bytes.
        let mut together: Option<Range<u64>> = None;
        for address in addresses {
            let end = address.saturating_add(bytes);
            match &mut together {
                Some(known) if known.end == address => known.end = end,
                Some(known) if known.start <= address && end <= known.end => {}
                others => {
                    if let Some(Range { start, end }) = others.replace(address..end) {
                        found += reuse_tracker.access(start, end - start, access, by);
                    }
                }
            }
        }
        if let Some(Range { start, end }) = together {
            found += reuse_tracker.access(start, end - start, access, by);
        }
        found
    }
}

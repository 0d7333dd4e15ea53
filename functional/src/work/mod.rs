//! What launches do: warp instructions by unit, and accesses to memory.

mod launches;
mod longest;
mod recency;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use ptx_frontend::ir::{Function, Instruction, Operand};
use ptx_frontend::isa::{Effect, Modifier, ScalarType};
use warp_stream::Unit;

pub use launches::Launches;
use longest::Longest;
pub use recency::{Access, Recency};
use recency::{By, Found};

use crate::engine::grid::Grid;
use crate::engine::op::Flow;
use crate::engine::probe::{Probe, Region, Site, Watch, Watcher};
use crate::engine::running::Running;

/// Bytes of a sector, as a power of two.
const SECTOR: u32 = 5;

/// What is counted.
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

/// How many of the numbers are warp instructions, by unit.
pub const UNITS: usize = Unit::COUNT;

/// How many numbers [`Work::take`] gives.
pub const COUNTS: usize = Count::NewPages as usize + 1;

/// Which of them are accesses to memory.
pub const ACCESSES: Range<usize> = UNITS..Count::LongestInstructions as usize;

/// Which are the most of a warp, or a line.
pub const LONGEST: Range<usize> = ACCESSES.end..Count::FarSectors as usize;

/// Which tell what the launch does not find in caches of an SM and in TLBs.
pub const UNCACHED: Range<usize> = LONGEST.end..COUNTS;

/// Their names, in order.
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

/// Counts what kernels do.
///
/// The first numbers are warp instructions of each [`Unit`], as PTX has them; then accesses of warps to shared memory,
/// sectors of global memory that are read and written, as texels of textures and surfaces too, lanes of atomic operations there, and sectors that nothing has accessed
/// before, or that so much came after that no L2 has them. A sector counts anew where a lane's is another than that of the lane before it.
/// Then comes what the launch may wait for in the end: the most that one warp executes, in warp instructions and in loads and atomic
/// operations on global memory, and the most that stores and atomic operations change one line, a run of lanes at a time. The last tell
/// what caches of an SM have not: sectors since whose last access so much else was accessed, and instructions of code that are
/// executed for the first time; and what no TLB has: pages that no kernel has accessed before.
#[derive(Debug, Default)]
pub struct Work {
    counters: Arc<Counters>,
    recency: Arc<Mutex<Recency>>,
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

impl Work {
    /// What was done since this was asked before.
    pub fn take(&self) -> [u64; COUNTS] {
        self.recency.lock().end_launch();
        let longest = self.longest.lock().take();
        self.counters.add(Count::LongestInstructions as usize, longest.instructions);
        self.counters.add(Count::LongestGlobal as usize, longest.global);
        std::array::from_fn(|count| {
            self.counters.0.get(count).map_or(0, |counter| counter.swap(0, Ordering::Relaxed))
        })
    }

    /// The lines of global memory that were accessed last.
    pub fn recency(&self) -> &Mutex<Recency> {
        &self.recency
    }

    /// The launches so far, for what they leave of their code.
    pub fn launches(&self) -> &Mutex<Launches> {
        &self.launches
    }

    fn accesses(&self, effect: Effect, bytes: u64) -> Accesses {
        let (counters, recency) = (Arc::clone(&self.counters), Arc::clone(&self.recency));
        Accesses { effect, bytes, counters, recency }
    }
}

/// An instruction.
#[derive(Debug)]
struct Counted {
    unit: Unit,
    /// Whether it was executed, and how many of its function were.
    is_reached: AtomicBool,
    reached: Arc<AtomicU64>,
    accesses: Accesses,
    longest: Arc<Mutex<Longest>>,
}

/// The texels of an instruction, once it has touched them.
#[derive(Debug)]
struct Sampled(Accesses);

/// What an instruction does to memory.
#[derive(Debug)]
struct Accesses {
    effect: Effect,
    /// Bytes of a lane.
    bytes: u64,
    counters: Arc<Counters>,
    recency: Arc<Mutex<Recency>>,
}

impl Watcher for Work {
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
    fn reached(&self, warp: &mut Running<'_>, site: &Site) -> Flow {
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

/// CTAs of a launch that are on an SM at a time, of a GPU of 80 with 64 warps.
fn ctas_of_sm(grid: &Grid) -> u32 {
    let ctas = grid.cta_count().div_ceil(80).min(64) as u32;
    ctas.min(64 / grid.warps_per_cta().clamp(1, 64))
}

impl Probe for Sampled {
    fn reached(&self, warp: &mut Running<'_>, _: &Site) -> Flow {
        let mut texels = std::mem::take(&mut warp.cta.texels);
        // Of a footprint's rows, lanes side by side touch the same sectors.
        texels.sort_unstable();
        self.0.of_global(warp, texels.iter().copied());
        texels.clear();
        warp.cta.texels = texels;
        Flow::Next
    }
}

impl Accesses {
    /// Counts an access to what the instruction names; gives what that is.
    fn at_site(&self, warp: &Running<'_>, site: &Site) -> Region {
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

    /// Counts an access of a warp to global memory.
    fn of_global(&self, warp: &Running<'_>, addresses: impl Iterator<Item = u64> + Clone) {
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

    /// Lanes of a CTA access their bytes.
    fn touch(&self, addresses: impl Iterator<Item = u64>, by: By) -> Found {
        let access = match self.effect {
            Effect::Load => Access::Read,
            Effect::Atomic => Access::Modify,
            _ => Access::Write,
        };
        let bytes = self.bytes.max(1);
        let mut recency = self.recency.lock();
        let mut found = Found::default();
        // Lanes one after the other mostly have bytes one after the other, or the same.
        let mut together: Option<Range<u64>> = None;
        for address in addresses {
            let end = address.saturating_add(bytes);
            match &mut together {
                Some(known) if known.end == address => known.end = end,
                Some(known) if known.start <= address && end <= known.end => {}
                others => {
                    if let Some(Range { start, end }) = others.replace(address..end) {
                        found += recency.access(start, end - start, access, by);
                    }
                }
            }
        }
        if let Some(Range { start, end }) = together {
            found += recency.access(start, end - start, access, by);
        }
        found
    }
}

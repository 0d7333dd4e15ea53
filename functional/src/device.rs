//! A simulated device: what it has, its memory, and the worker threads that execute its launches.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::check::Checker;
use crate::engine::probe::Watcher;
use crate::memory::{Allocation, AllocationKind, Memory, MemoryError};
use crate::places::Places;
use crate::printed::Printed;
use crate::texture::Textures;

/// What the engine needs to know of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceSpec {
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Resident threads an SM can have.
    pub threads_per_sm: u32,
    /// Resident warps an SM can have.
    pub warps_per_sm: u32,
    /// Threads a CTA can have.
    pub threads_per_cta: u32,
    /// Largest CTA along each axis.
    pub cta_limits: [u32; 3],
    /// Largest grid along each axis.
    pub grid_limits: [u32; 3],
    /// Bytes of shared memory a CTA can have (opted in).
    pub shared_per_cta: u32,
    /// Core clock, MHz.
    pub clock_megahertz: u32,
    /// Bytes of device memory.
    pub memory_bytes: u64,
}

impl Default for DeviceSpec {
    /// TITAN V.
    fn default() -> DeviceSpec {
        DeviceSpec {
            sms: 80,
            threads_per_sm: 2048,
            warps_per_sm: 64,
            threads_per_cta: 1024,
            cta_limits: [1024, 1024, 64],
            grid_limits: [0x7fff_ffff, 65535, 65535],
            shared_per_cta: 96 << 10,
            clock_megahertz: 1200,
            memory_bytes: 12 << 30,
        }
    }
}

/// How the engine runs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Worker threads; 0 takes all cores.
    pub threads: usize,
    /// Fixed CTA and atomic order: one worker.
    pub deterministic: bool,
    /// A launch that takes longer is stopped with a fault.
    pub watchdog: Option<Duration>,
    /// `mul` and `add` without rounding modifiers become `fma`, as the vendor's assembler has it.
    pub fmad: bool,
    /// Kernels are bound for a timing model, in the order of their machine code, so that they can be launched by
    /// [`crate::timed::launch`]. They can be launched without one too.
    pub timed: bool,
    /// Takes text of kernels that has no room in the print buffer; without, the buffer keeps all text.
    pub print: Option<fn(&[u8])>,
    /// Calls what starts the worker threads, which inherit the caller's signal mask.
    pub start_threads: fn(&mut dyn FnMut()),
}

impl Default for Settings {
    /// All cores, no time limit, as on hardware.
    fn default() -> Settings {
        Settings {
            threads: 0,
            deterministic: false,
            watchdog: None,
            fmad: true,
            timed: false,
            print: None,
            start_threads: |start| start(),
        }
    }
}

/// What launches leave in a device apart from its memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounters {
    /// Launches so far.
    launches: u64,
    /// Bytes that device-side `malloc` has handed out.
    heap_used: u64,
}

/// A simulated device.
#[derive(Debug)]
pub struct Device {
    /// What it has.
    pub spec: DeviceSpec,
    /// Its memory.
    pub memory: Memory,
    /// Its textures, samplers and surfaces.
    pub textures: Textures,
    /// Where variables and arrays lie that are made later.
    pub places: Places,
    /// How the engine runs.
    pub settings: Settings,
    /// Who watches kernels run.
    pub(crate) watchers: Vec<Arc<dyn Watcher>>,
    /// Who looks for mistakes of kernels.
    checker: Option<Arc<Checker>>,
    /// Text that kernels have printed and nobody has taken yet.
    pub(crate) printed: Printed,
    /// Stack that the program has set.
    stack_limit: AtomicU32,
    /// Bytes that device-side `malloc` may hand out.
    pub(crate) heap_limit: AtomicU64,
    /// Bytes that device-side `malloc` has handed out.
    pub(crate) heap_used: AtomicU64,
    launches: AtomicU64,
    workers: OnceLock<Workers>,
    /// Cores of the host that the process may use.
    cores: OnceLock<usize>,
}

impl Device {
    /// A device with empty memory.
    pub fn new(spec: DeviceSpec, settings: Settings) -> Result<Device, MemoryError> {
        let memory = Memory::new(spec.memory_bytes)?;
        Ok(Device {
            spec,
            memory,
            textures: Textures::default(),
            places: Places::default(),
            printed: Printed::new(settings.print),
            settings,
            watchers: Vec::new(),
            checker: None,
            stack_limit: AtomicU32::new(USUAL_STACK),
            heap_limit: AtomicU64::new(USUAL_HEAP),
            heap_used: AtomicU64::new(0),
            launches: AtomicU64::new(0),
            workers: OnceLock::new(),
            cores: OnceLock::new(),
        })
    }

    /// The device, whose kernels are watched by one more. Costs time at each instruction that it wants to know of.
    pub fn watched_by(mut self, watcher: Arc<dyn Watcher>) -> Device {
        self.watchers.push(watcher);
        self
    }

    /// The device, whose kernels are checked.
    pub fn checked_by(self, checker: Arc<Checker>) -> Device {
        let mut device = self.watched_by(Arc::<Checker>::clone(&checker));
        device.settings.deterministic |= checker.needs_one_worker();
        if checker.keeps_freed() {
            device.memory.keep_freed();
        }
        device.checker = Some(checker);
        device
    }

    /// Who looks for mistakes of kernels, if anybody does.
    pub fn checker(&self) -> Option<&Arc<Checker>> {
        self.checker.as_ref()
    }

    /// Takes what kernels have printed since the last call.
    pub fn take_printed(&self) -> Vec<u8> {
        self.printed.take()
    }

    /// Adds to what kernels have printed.
    pub fn add_printed(&self, text: &[u8]) {
        self.printed.add(text);
    }

    /// Sets the size of the print buffer (`cudaLimitPrintfFifoSize`), bytes.
    pub fn set_print_limit(&self, bytes: u64) {
        self.printed.set_most(bytes);
    }

    /// What launches have left in the device apart from its memory.
    pub fn counters(&self) -> DeviceCounters {
        DeviceCounters {
            launches: self.launches.load(Ordering::Relaxed),
            heap_used: self.heap_used.load(Ordering::Relaxed),
        }
    }

    /// Goes on from what launches have left in a device.
    pub fn set_counters(&self, counters: DeviceCounters) {
        self.launches.store(counters.launches, Ordering::Relaxed);
        self.heap_used.store(counters.heap_used, Ordering::Relaxed);
    }

    /// Sets the stack of a thread (`cudaLimitStackSize`), bytes.
    pub fn set_stack_bytes(&self, bytes: u32) {
        self.stack_limit.store(bytes, Ordering::Relaxed);
    }

    /// Stack that the program has set for a thread, bytes. Only checks hold it.
    pub fn stack_limit(&self) -> u32 {
        self.stack_limit.load(Ordering::Relaxed)
    }

    /// Stack of a thread, bytes. Frames here are larger than the hardware's, so there is always some to spare.
    pub fn stack_bytes(&self) -> u32 {
        self.stack_limit().clamp(MINIMUM_STACK, MAXIMUM_STACK)
    }

    /// Sets what device-side `malloc` may hand out (`cudaLimitMallocHeapSize`), bytes.
    pub fn set_heap_limit(&self, bytes: u64) {
        self.heap_limit.store(bytes, Ordering::Relaxed);
    }

    /// What device-side `malloc` may hand out, bytes.
    pub fn heap_limit(&self) -> u64 {
        self.heap_limit.load(Ordering::Relaxed)
    }

    /// Makes these blocks, address and bytes each, all that device-side `malloc` has handed out. Those that it had handed out before keep
    /// what they hold, the others hold zeros. `false` if something else lies there.
    pub fn set_heap(&self, blocks: &[(u64, u64)]) -> bool {
        let is_heap = |one: &Allocation| one.kind == AllocationKind::Heap;
        let there: Vec<_> = self.memory.allocations().into_iter().filter(is_heap).collect();
        let there: BTreeSet<(u64, u64)> = there.iter().map(|block| (block.address, block.size)).collect();
        let wanted: BTreeSet<(u64, u64)> = blocks.iter().copied().collect();
        let freed = there.difference(&wanted).all(|(address, _)| self.memory.free(*address).is_ok());
        let again =
            |(address, size): &(u64, u64)| self.memory.allocate_again(*address, *size, AllocationKind::Heap);
        let used = wanted.iter().map(|(_, size)| *size).sum();
        self.heap_used.store(used, Ordering::Relaxed);
        freed && wanted.difference(&there).all(again)
    }

    pub(crate) fn watchdog(&self) -> Option<Duration> {
        self.settings.watchdog
    }

    pub(crate) fn next_launch(&self) -> u64 {
        self.launches.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The next launch has a number (`%gridid`) behind this one, which a launch has that was executed elsewhere.
    pub fn count_launch(&self, number: u64) {
        self.launches.fetch_max(number, Ordering::Relaxed);
    }

    /// Worker threads a launch may use.
    pub(crate) fn worker_count(&self) -> usize {
        if self.settings.deterministic {
            return 1;
        }
        match self.settings.threads {
            // The system's answer takes longer than a small launch: it reads files.
            0 => *self.cores.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from)),
            count => count,
        }
    }

    /// Are all CTAs executed by one thread, by the settings?
    pub(crate) fn has_one_worker(&self) -> bool {
        self.settings.deterministic || self.settings.threads == 1
    }

    pub(crate) fn workers(&self) -> &Workers {
        self.workers.get_or_init(|| Workers::new(self.worker_count(), self.settings.start_threads))
    }
}

/// What device-side `malloc` may hand out unless the program says something else (`cudaLimitMallocHeapSize`), bytes.
pub const USUAL_HEAP: u64 = 8 << 20;

/// Stack of a thread where the program sets none (CUDA programming guide), bytes.
const USUAL_STACK: u32 = 1024;
const MINIMUM_STACK: u32 = 64 << 10;
const MAXIMUM_STACK: u32 = 512 << 10;

/// Worker threads, started at the first launch that needs more than one.
#[derive(Debug)]
pub(crate) struct Workers {
    pool: Option<rayon_core::ThreadPool>,
}

impl Workers {
    fn new(count: usize, start_threads: fn(&mut dyn FnMut())) -> Workers {
        let mut pool = None;
        start_threads(&mut || {
            let builder = rayon_core::ThreadPoolBuilder::new()
                .num_threads(count)
                .thread_name(|number| format!("voltsim-{number}"));
            pool = builder.build().ok();
        });
        Workers { pool }
    }

    /// Runs `work` on `count` threads at once and waits for all; without threads, here.
    pub(crate) fn broadcast(&self, count: usize, work: &(dyn Fn() + Sync)) {
        match &self.pool {
            Some(pool) => {
                pool.broadcast(|context| {
                    if context.index() < count {
                        work();
                    }
                });
            }
            None => work(),
        }
    }
}

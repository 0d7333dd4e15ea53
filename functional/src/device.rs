//! A simulated device: its specification, memory, and worker threads.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ptx_frontend::lower::Target;
use serde::{Deserialize, Serialize};
use warp_stream::ShapeLimits;

use crate::engine::native::CodeBudget;
use crate::engine::probe::Watcher;
use crate::memory::{Allocation, AllocationKind, Memory, MemoryError};
use crate::printed::Printed;
use crate::reserved_addresses::ReservedAddresses;
use crate::sanitizer::Checker;
use crate::texture::Textures;

/// Device properties that the engine uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceSpec {
    /// Number of SMs.
    pub sms: u32,
    /// Maximum resident threads per SM.
    pub threads_per_sm: u32,
    /// Maximum resident warps per SM.
    pub warps_per_sm: u32,
    /// Largest grids and CTAs.
    pub limits: ShapeLimits,
    /// Maximum bytes of shared memory per CTA (opt-in limit).
    pub shared_per_cta: u32,
    /// Allocation unit of a CTA's shared memory, bytes.
    pub shared_unit: u32,
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
            limits: ShapeLimits {
                grid: [0x7fff_ffff, 65535, 65535],
                block: [1024, 1024, 64],
                threads_per_cta: 1024,
            },
            shared_per_cta: 96 << 10,
            shared_unit: 256,
            clock_megahertz: 1200,
            memory_bytes: 12 << 30,
        }
    }
}

/// Way to execute kernels in functional mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tier {
    /// The interpreter's ops.
    #[default]
    Interpreter,
    /// Machine code for this host.
    Native,
    /// Machine code for kernels that have executed much.
    Auto,
}

/// Settings of the engine.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Worker threads; 0 means all cores.
    pub threads: usize,
    /// Fixed order of CTAs and atomics: one worker.
    pub deterministic: bool,
    /// Time limit of a launch, after which the launch fails with a fault.
    pub watchdog: Option<Duration>,
    /// Contracts `mul` and `add` without rounding modifiers to `fma`, like the vendor's assembler.
    pub fmad: bool,
    /// Binds kernels for a timing model, in machine-code order, as [`crate::timed::launch`] needs. Such
    /// kernels can also be launched without a model.
    pub timed: bool,
    /// Target of the machine code, which a timing model executes and which has the register counts.
    pub target: Target,
    /// Way to execute kernels without a timing model or watchers.
    pub tier: Tier,
    /// Maximum bytes of machine code.
    pub native_bytes: u64,
    /// Receives kernel output that overflows the print buffer. Without this function, the buffer grows.
    pub print: Option<fn(&[u8])>,
    /// Runs the closure that starts worker threads. Threads inherit the signal mask that this function
    /// sets.
    pub start_threads: fn(&mut dyn FnMut()),
}

impl Default for Settings {
    /// All cores and no time limit, as on hardware.
    fn default() -> Settings {
        Settings {
            threads: 0,
            deterministic: false,
            watchdog: None,
            fmad: true,
            timed: false,
            target: Target::default(),
            tier: Tier::Interpreter,
            native_bytes: 256 << 20,
            print: None,
            start_threads: |start| start(),
        }
    }
}

/// Counters that outlive a launch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounters {
    /// Number of launches.
    launches: u64,
    /// Bytes allocated by device-side `malloc`.
    heap_used: u64,
}

/// A simulated device.
#[derive(Debug)]
pub struct Device {
    /// Specification.
    pub spec: DeviceSpec,
    /// Device memory.
    pub memory: Memory,
    /// Textures, samplers and surfaces.
    pub textures: Textures,
    /// Reserved addresses of future variables and arrays.
    pub places: ReservedAddresses,
    /// Settings of the engine.
    pub settings: Settings,
    /// Observers of kernels' execution.
    pub(crate) watchers: Vec<Arc<dyn Watcher>>,
    /// Sanitizer, if kernels are checked.
    checker: Option<Arc<Checker>>,
    /// Kernel output not yet taken.
    pub(crate) printed: Printed,
    /// Stack size set by the program, bytes.
    stack_limit: AtomicU32,
    /// Heap limit of device-side `malloc`, bytes.
    pub(crate) heap_limit: AtomicU64,
    /// Bytes allocated by device-side `malloc`.
    pub(crate) heap_used: AtomicU64,
    /// Bytes left for machine code.
    pub(crate) code_budget: Arc<CodeBudget>,
    launches: AtomicU64,
    workers: OnceLock<Workers>,
    /// Host cores available to the process.
    cores: OnceLock<usize>,
}

impl Device {
    /// Creates a device with empty memory.
    pub fn new(spec: DeviceSpec, settings: Settings) -> Result<Device, MemoryError> {
        let memory = Memory::new(spec.memory_bytes)?;
        Ok(Device {
            spec,
            memory,
            textures: Textures::default(),
            places: ReservedAddresses::default(),
            printed: Printed::new(settings.print),
            code_budget: Arc::new(CodeBudget::new(settings.native_bytes)),
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

    /// Adds a watcher of kernels. Each instruction that the watcher observes runs slower.
    pub fn watched_by(mut self, watcher: Arc<dyn Watcher>) -> Device {
        self.watchers.push(watcher);
        self
    }

    /// Adds a sanitizer of kernels.
    pub fn checked_by(self, checker: Arc<Checker>) -> Device {
        let mut device = self.watched_by(Arc::<Checker>::clone(&checker));
        device.settings.deterministic |= checker.needs_one_worker();
        if checker.keeps_freed() {
            device.memory.keep_freed();
        }
        device.checker = Some(checker);
        device
    }

    /// Sanitizer, if kernels are checked.
    pub fn checker(&self) -> Option<&Arc<Checker>> {
        self.checker.as_ref()
    }

    /// Takes the output of kernels since the last call.
    pub fn take_printed(&self) -> Vec<u8> {
        self.printed.take()
    }

    /// Appends to the output of kernels.
    pub fn add_printed(&self, text: &[u8]) {
        self.printed.add(text);
    }

    /// Sets the size of the print buffer in bytes (`cudaLimitPrintfFifoSize`).
    pub fn set_print_limit(&self, bytes: u64) {
        self.printed.set_most(bytes);
    }

    /// Counters that outlive a launch.
    pub fn counters(&self) -> DeviceCounters {
        DeviceCounters {
            launches: self.launches.load(Ordering::Relaxed),
            heap_used: self.heap_used.load(Ordering::Relaxed),
        }
    }

    /// Restores counters of an earlier device.
    pub fn set_counters(&self, counters: DeviceCounters) {
        self.launches.store(counters.launches, Ordering::Relaxed);
        self.heap_used.store(counters.heap_used, Ordering::Relaxed);
    }

    /// Sets a thread's stack in bytes (`cudaLimitStackSize`).
    pub fn set_stack_bytes(&self, bytes: u32) {
        self.stack_limit.store(bytes, Ordering::Relaxed);
    }

    /// Stack size that the program has set per thread, bytes. Only the sanitizer enforces it.
    pub fn stack_limit(&self) -> u32 {
        self.stack_limit.load(Ordering::Relaxed)
    }

    /// Actual stack per thread, bytes: larger than requested, because frames are larger than on hardware.
    pub fn stack_bytes(&self) -> u32 {
        self.stack_limit().clamp(MINIMUM_STACK, MAXIMUM_STACK)
    }

    /// Sets the heap of device-side `malloc` in bytes (`cudaLimitMallocHeapSize`).
    pub fn set_heap_limit(&self, bytes: u64) {
        self.heap_limit.store(bytes, Ordering::Relaxed);
    }

    /// Heap of device-side `malloc`, bytes.
    pub fn heap_limit(&self) -> u64 {
        self.heap_limit.load(Ordering::Relaxed)
    }

    /// Makes `blocks` (address, bytes) the complete set of device-side `malloc` blocks. Existing blocks
    /// keep their contents and new blocks are zero. Returns `false` if a block overlaps other memory.
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

    /// Makes the next launch number (`%gridid`) follow `number`, which was executed elsewhere.
    pub fn count_launch(&self, number: u64) {
        self.launches.fetch_max(number, Ordering::Relaxed);
    }

    /// Worker threads available to a launch.
    pub(crate) fn worker_count(&self) -> usize {
        if self.settings.deterministic {
            return 1;
        }
        match self.settings.threads {
            // The query reads files and takes longer than a small launch.
            0 => *self.cores.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from)),
            count => count,
        }
    }

    /// True if the settings demand that one thread executes all CTAs.
    pub(crate) fn has_one_worker(&self) -> bool {
        self.settings.deterministic || self.settings.threads == 1
    }

    pub(crate) fn workers(&self) -> &Workers {
        self.workers.get_or_init(|| Workers::new(self.worker_count(), self.settings.start_threads))
    }
}

/// Default heap of device-side `malloc` (`cudaLimitMallocHeapSize`), bytes.
pub const USUAL_HEAP: u64 = 8 << 20;

/// Default stack per thread (CUDA programming guide), bytes.
const USUAL_STACK: u32 = 1024;
const MINIMUM_STACK: u32 = 64 << 10;
const MAXIMUM_STACK: u32 = 512 << 10;

/// Worker threads, started by the first launch that needs more than one.
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

    /// Runs `work` on `count` threads and waits for all; with one thread, runs `work` on the caller.
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

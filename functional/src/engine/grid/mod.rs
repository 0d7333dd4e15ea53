//! Execution of a launch: distributes clusters of CTAs to worker threads and resumes suspended clusters.
//!
//! Workers take clusters in ascending order. A cluster that uses up its turn may wait for a flag of
//! another. The cluster moves to the end of a queue, and another starts while the device has room. With one
//! worker the order depends on the program alone, as `deterministic` requires.
//!
//! A cluster whose warps all spin or wait gives up its turn at once (`engine/spin.rs`). A software barrier
//! over all resident CTAs therefore costs about one short turn each. Clusters with much host memory are
//! limited to fewer than the device holds. If all of them spin, more start, up to the device's limit.

mod before;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use warp_stream::{LaunchShape, coordinates};

use super::cluster::Cluster;
use super::cta::{Executed, Turn};
use super::native::{self, NativeProgram};
use super::op::Op;
use super::program::Program;
use super::special::RESERVED_SHARED;
use super::view::View;
use crate::device::{Device, DeviceSpec};
use crate::dynamic_parallelism::Children;
use crate::fault::{Fault, FaultKind};
use crate::launch::LaunchConfig;
use crate::memory::{Loss, Losses};
use crate::parameter_reads::ParameterReads;
use crate::sanitizer::{LaunchOrigin, LaunchState};
use crate::texture::Table;
pub(crate) use before::Before;

/// Rounds of a cluster's warps per turn.
const ROUNDS: u32 = 256;
/// Rounds per turn in a cooperative launch, where a cluster may wait for all others.
const COOPERATIVE_ROUNDS: u32 = 8;
/// Limit of host bytes for shared and local memory of resident CTAs.
const RESIDENT_BYTES: u64 = 1 << 30;

/// Idle turns of each resident cluster before a worker yields its core to other host threads.
const IDLE_TURNS: u64 = 4;
/// Approximate instructions between two readings of the watchdog's clock.
const INSTRUCTIONS_PER_LOOK: usize = 1 << 16;
/// Maximum jumps between two readings of the watchdog's clock.
const MOST_JUMPS_PER_LOOK: usize = 64;

/// Maximum clusters that a worker takes at once.
const MOST_TAKEN: u64 = 16;

/// A launch in execution.
pub struct Grid<'a> {
    /// The kernel's program.
    pub program: Arc<Program>,
    /// CTAs of the grid and threads of a CTA.
    pub shape: LaunchShape,
    /// CTAs per cluster along x, y, z.
    pub cluster: [u32; 3],
    /// True if the launch or the kernel sets the cluster dimensions.
    pub has_explicit_clusters: bool,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Parameter block.
    pub parameters: Vec<u8>,
    /// Generic address of a copy of the parameter block, if the kernel needs one.
    pub parameter_address: u64,
    /// Records loads of the parameter block, if requested.
    pub parameter_reads: Option<Arc<ParameterReads>>,
    /// Address of a cooperative launch's workspace, for `%envreg1` and `%envreg2`; 0 otherwise.
    pub workspace: u64,
    /// Textures, samplers and surfaces.
    pub textures: Arc<Table>,
    /// Specification of the device.
    pub device: &'a DeviceSpec,
    /// The device with its memory.
    pub owner: &'a Device,
    /// Number of the launch.
    pub number: u64,
    /// The launch as the host knows it, for the checks.
    pub origin: LaunchOrigin,
    /// Cooperative launch: all CTAs must be resident at once.
    pub cooperative: bool,
    /// SIMT-stack execution of diverged lanes.
    pub simt_stack: bool,
    /// True if no other thread of the device runs kernels.
    pub has_one_worker: bool,
    /// Start time of the launch.
    pub started: Instant,
    /// Watchdog deadline of the launch.
    pub(crate) deadline: Option<Instant>,
    /// Registered memory that was lost before the launch.
    losses: Losses,
    /// Jumps of a warp between two looks at the deadline.
    pub(crate) ration: u32,
    /// Sanitizer state of the launch, if kernels are checked.
    pub(crate) checks: Option<Mutex<LaunchState>>,
    /// Deferred requests of the launch's threads.
    pub(crate) children: Children,
    /// Use of the program's machine code.
    native: native::Use,
    cancelled: AtomicBool,
}

/// Remaining work of a launch; by default all.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    /// Clusters that have started and not ended.
    pub(crate) started: VecDeque<Cluster>,
    /// First cluster that has not started.
    pub(crate) next: u64,
}

#[derive(Default)]
struct Progress {
    next: u64,
    resident: u64,
    /// Turns since a cluster last started, ended, or did more than spin.
    idle: u64,
    /// Clusters that had started before.
    started: VecDeque<Cluster>,
    suspended: VecDeque<Cluster>,
    spare: Vec<Cluster>,
    fault: Option<Box<Fault>>,
    executed: Executed,
}

impl<'a> Grid<'a> {
    /// Creates launch `number` of `program`, whose sizes were checked.
    pub(crate) fn new(
        program: Arc<Program>,
        owner: &'a Device,
        config: LaunchConfig,
        number: u64,
    ) -> Grid<'a> {
        let (cluster, shape) = (config.cluster_of(&program), config.shape_of(&program));
        let started = Instant::now();
        let deadline =
            config.deadline.or_else(|| owner.watchdog().and_then(|limit| started.checked_add(limit)));
        let children = Children::of(&program, &config, deadline);
        // Between two jumps a warp executes each op of the program at most once.
        let jumps = (INSTRUCTIONS_PER_LOOK / program.code.len().max(1)).clamp(1, MOST_JUMPS_PER_LOOK) as u32;
        Grid {
            program,
            shape,
            cluster: cluster.unwrap_or([1; 3]),
            has_explicit_clusters: cluster.is_some(),
            dynamic_shared: config.dynamic_shared,
            parameters: config.parameters,
            parameter_address: 0,
            parameter_reads: config.parameter_reads,
            workspace: 0,
            textures: config.textures,
            device: &owner.spec,
            owner,
            number,
            origin: config.origin,
            cooperative: config.cooperative,
            simt_stack: config.simt_stack,
            has_one_worker: owner.has_one_worker(),
            started,
            deadline,
            losses: Losses::now(),
            ration: if deadline.is_some() { jumps } else { u32::MAX },
            checks: owner.checker().and_then(|checker| checker.launch_state()),
            children,
            native: native::Use::Never,
            cancelled: AtomicBool::new(false),
        }
    }

    /// Sets the use of the program's machine code.
    pub(crate) fn use_native(&mut self, native: native::Use) {
        self.native = native;
    }

    /// Machine code that the launch runs.
    #[inline(always)]
    pub(crate) fn native(&self) -> Option<&NativeProgram> {
        if self.native == native::Use::Never { None } else { self.program.native.get() }
    }

    /// Counts instructions of a launch that waits for machine code.
    fn warm_up(&self, instructions: u64) {
        if self.native == native::Use::WhenHot && self.program.native.get().is_none() {
            native::warm_up(self.owner, &self.program, instructions);
        }
    }

    /// Ops that the interpreter's loop executes.
    pub(crate) fn code(&self) -> &[Op] {
        self.native().map_or(&self.program.code, NativeProgram::code)
    }

    /// CTAs per cluster.
    pub fn ctas_per_cluster(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// Clusters along x, y, z.
    pub fn clusters(&self) -> [u32; 3] {
        std::array::from_fn(|axis| self.shape.grid[axis] / self.cluster[axis])
    }

    /// Number of clusters.
    pub(crate) fn cluster_count(&self) -> u64 {
        self.shape.cta_count() / u64::from(self.ctas_per_cluster())
    }

    /// Bytes of shared memory per CTA, including the reserved part.
    pub fn shared_bytes(&self) -> u32 {
        match self.program.reserved_shared {
            0 => self.program.static_shared + self.dynamic_shared,
            reserved => self.reserved_shared_start() + reserved,
        }
    }

    /// Bytes of shared memory that the device allocates for a CTA: whole allocation units.
    pub(crate) fn allocated_shared(&self) -> u32 {
        self.in_allocation_units(self.shared_bytes())
    }

    /// Whole allocation units of shared memory that hold `bytes`, in bytes.
    pub(crate) fn in_allocation_units(&self, bytes: u32) -> u32 {
        bytes.next_multiple_of(self.device.shared_unit.max(1))
    }

    /// Bytes of shared memory that a CTA may access. A card lets a kernel access all of the allocation; a
    /// sanitizer finds accesses beyond the program's part.
    pub(crate) fn accessible_shared(&self) -> u32 {
        match self.owner.checker() {
            Some(_) => self.shared_bytes(),
            None => self.allocated_shared(),
        }
    }

    /// Start of the reserved shared memory, after all other.
    pub fn reserved_shared_start(&self) -> u32 {
        (self.program.static_shared + self.dynamic_shared).next_multiple_of(RESERVED_SHARED)
    }

    /// True if the offset lies in the reserved shared memory.
    pub fn is_reserved_shared(&self, offset: u64) -> bool {
        self.program.reserved_shared > 0 && offset >= self.reserved_shared_start().into()
    }

    /// Bytes of local memory per thread: the kernel's variables, and a stack if the kernel needs one.
    pub fn local_bytes(&self) -> u32 {
        let own = self.program.kernel().local_bytes;
        if self.program.needs_stack { (own + self.owner.stack_bytes()).next_multiple_of(8) } else { own }
    }

    /// Coordinates of the CTA of rank `rank` in cluster number `cluster`.
    pub fn cta_id(&self, cluster: u64, rank: u32) -> [u32; 3] {
        let (first, within) = (coordinates(cluster, self.clusters()), coordinates(rank.into(), self.cluster));
        std::array::from_fn(|axis| first[axis] * self.cluster[axis] + within[axis])
    }

    /// Fault of a launch beyond its deadline.
    pub(crate) fn overdue(&self) -> Option<FaultKind> {
        self.lost_memory().or_else(|| overdue(self.owner, self.deadline))
    }

    /// The fault of a launch that met registered memory which the program has unmapped or protected.
    pub(crate) fn lost_memory(&self) -> Option<FaultKind> {
        self.losses.since().map(|loss| match loss {
            Loss::Unmapped(address) => FaultKind::Unmapped { address },
            Loss::Protected(address) => FaultKind::Protected { address },
        })
    }

    /// A fault of no CTA in particular.
    pub(crate) fn fault(&self, kind: FaultKind) -> Box<Fault> {
        Box::new(Fault {
            kernel: self.program.kernel().name.clone(),
            cta: [0; 3],
            thread: None,
            spot: self.program.spot_at(self.program.kernel().entry),
            waiting: Vec::new(),
            kind,
        })
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Runs the remaining CTAs on `workers` threads.
    pub(crate) fn run(&self, workers: usize, rest: Rest) -> (Executed, Option<Box<Fault>>) {
        let workers = workers.min(self.cluster_count().try_into().unwrap_or(usize::MAX)).max(1);
        let Rest { started, next } = rest;
        let resident = started.len() as u64;
        let progress = Mutex::new(Progress { next, resident, started, ..Progress::default() });
        let changed = Condvar::new();
        if workers == 1 {
            self.work(workers, &progress, &changed);
        } else {
            self.owner.workers().broadcast(workers, &|| self.work(workers, &progress, &changed));
        }
        let mut progress = progress.into_inner();
        (progress.executed, progress.fault.take())
    }

    /// Maximum resident clusters: as many as the device holds, or fewer if they need much host memory.
    pub(crate) fn resident_limit(&self) -> u64 {
        if self.cooperative {
            return u64::MAX;
        }
        let local = u64::from(self.shape.warps_per_cta()) * 32 * u64::from(self.local_bytes());
        let by_memory = RESIDENT_BYTES / (u64::from(self.shared_bytes()) + local).max(1);
        self.device_limit().min(by_memory / u64::from(self.ctas_per_cluster())).max(1)
    }

    /// Clusters that the device could hold.
    fn device_limit(&self) -> u64 {
        if self.cooperative {
            return u64::MAX;
        }
        let per_sm = u64::from(self.device.threads_per_sm / self.shape.threads_per_cta().max(1)).max(1);
        (per_sm * u64::from(self.device.sms) / u64::from(self.ctas_per_cluster())).max(1)
    }

    /// True if another cluster may start. Beyond the memory limit, all resident clusters must spin.
    fn has_room(&self, state: &Progress) -> bool {
        let all_spin = || state.idle >= state.resident && state.resident < self.device_limit();
        state.resident < self.resident_limit() || all_spin()
    }

    /// Takes new clusters for one of `workers`: several while many remain, so that workers with short
    /// clusters rarely contend for the lock.
    fn take(&self, state: &mut Progress, workers: usize) -> Range<u64> {
        let first = state.next;
        let left = self.cluster_count() - first;
        state.next += (left / (workers as u64 * 4)).clamp(1, MOST_TAKEN).min(left);
        first..state.next
    }

    /// Body of a worker: takes clusters until none are left.
    fn work(&self, workers: usize, progress: &Mutex<Progress>, changed: &Condvar) {
        let mut view = View::default();
        let mut executed = Executed::default();
        let mut hand: Option<Cluster> = None;
        let mut taken = 0..0;
        loop {
            let cluster = match hand.take() {
                Some(cluster) => Some(cluster),
                None => self.next_cluster(workers, &mut taken, progress, changed),
            };
            let Some(mut cluster) = cluster else { break };
            let rounds = if self.cooperative { COOPERATIVE_ROUNDS } else { ROUNDS };
            let before = executed.warp_instructions;
            let turn = cluster.run(self, &mut view, rounds, &mut executed);
            self.warm_up(executed.warp_instructions - before);
            if !matches!(turn, Turn::Fault(_))
                && let Some(overdue) = self.overdue()
            {
                self.stop(progress, changed, cluster.stuck(self, overdue));
                break;
            }
            match turn {
                Turn::Finished => {
                    if let Some(index) = taken.next().filter(|_| !self.is_cancelled()) {
                        cluster.start(self, index);
                        hand = Some(cluster);
                        continue;
                    }
                    let mut state = progress.lock();
                    state.idle = 0;
                    let others = !state.suspended.is_empty() || !state.started.is_empty();
                    if !others && state.fault.is_none() {
                        taken = self.take(&mut state, workers);
                    }
                    if let Some(index) = taken.next() {
                        drop(state);
                        cluster.start(self, index);
                        hand = Some(cluster);
                    } else {
                        state.resident -= 1;
                        state.spare.push(cluster);
                        changed.notify_all();
                    }
                }
                Turn::Suspended | Turn::Blocked => {
                    self.put_back(cluster, &mut view, progress, changed, |_| 0);
                }
                Turn::Spins => {
                    let idle = self.put_back(cluster, &mut view, progress, changed, |idle| idle + 1);
                    if idle {
                        std::thread::yield_now();
                    }
                }
                Turn::Fault(fault) => {
                    self.stop(progress, changed, fault);
                    break;
                }
            }
        }
        let mut state = progress.lock();
        state.executed += executed;
    }

    /// Queues a suspended cluster. Returns true if all clusters have only spun for some turns.
    fn put_back(
        &self,
        cluster: Cluster,
        view: &mut View,
        progress: &Mutex<Progress>,
        changed: &Condvar,
        idle: impl FnOnce(u64) -> u64,
    ) -> bool {
        view.clear();
        let mut state = progress.lock();
        state.idle = idle(state.idle);
        state.suspended.push_back(cluster);
        changed.notify_one();
        state.idle > IDLE_TURNS * state.resident
    }

    /// Next cluster to run: a new one while the device has room, else the one suspended longest.
    fn next_cluster(
        &self,
        workers: usize,
        taken: &mut Range<u64>,
        progress: &Mutex<Progress>,
        changed: &Condvar,
    ) -> Option<Cluster> {
        let mut state = progress.lock();
        loop {
            if state.fault.is_some() {
                changed.notify_all();
                return None;
            }
            if let Some(cluster) = state.started.pop_front() {
                return Some(cluster);
            }
            if self.has_room(&state) {
                if taken.is_empty() {
                    *taken = self.take(&mut state, workers);
                }
                if let Some(index) = taken.next() {
                    state.resident += 1;
                    state.idle = 0;
                    let spare = state.spare.pop();
                    drop(state);
                    let mut cluster = spare.unwrap_or_else(|| Cluster::new(self));
                    cluster.start(self, index);
                    return Some(cluster);
                }
            }
            if let Some(cluster) = state.suspended.pop_front() {
                return Some(cluster);
            }
            if state.resident == 0 {
                changed.notify_all();
                return None;
            }
            changed.wait(&mut state);
        }
    }

    fn stop(&self, progress: &Mutex<Progress>, changed: &Condvar, fault: Box<Fault>) {
        self.cancelled.store(true, Ordering::Relaxed);
        let mut state = progress.lock();
        state.fault.get_or_insert(fault);
        changed.notify_all();
    }
}

/// Fault of a launch on `device` beyond its deadline.
pub(crate) fn overdue(device: &Device, deadline: Option<Instant>) -> Option<FaultKind> {
    let seconds = device.watchdog().map_or(0, |limit| limit.as_secs());
    deadline.filter(|deadline| Instant::now() > *deadline).map(|_| FaultKind::Timeout { seconds })
}

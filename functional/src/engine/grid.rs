//! A launch being executed: clusters of CTAs handed to worker threads, suspended ones taken up again.
//!
//! Workers take clusters in order of their number. A cluster that uses up its turn (it may wait for a flag that another
//! sets) goes to the back of a queue, and another one starts, as long as no more of them are resident than the device
//! could hold. With one worker the order is a function of the program alone, which is what `deterministic` asks for.
//!
//! A cluster of which all warps spin or wait gives its turn up at once (`engine/spin.rs`), so a software barrier over all
//! resident CTAs takes about one short turn of each. Resident clusters are fewer than the device holds where they need
//! much host memory; if all of them spin, more start, up to what the device holds.

mod before;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use super::cluster::Cluster;
use super::cta::{Executed, Turn};
use super::program::Program;
use super::special::RESERVED_SHARED;
use super::view::View;
use crate::check::LaunchState;
use crate::children::Children;
use crate::device::{Device, DeviceSpec};
use crate::fault::{Fault, FaultKind};
use crate::launch::LaunchConfig;
use crate::parameters::ParameterReads;
use crate::texture::Table;
pub(crate) use before::Before;

/// Rounds of a cluster's warps in one turn.
const ROUNDS: u32 = 256;
/// The same in a cooperative launch, where a cluster may spend its turn waiting for all others.
const COOPERATIVE_ROUNDS: u32 = 8;
/// Shared and local memory of the CTAs that have started and not finished, at most. Bytes of the host.
const RESIDENT_BYTES: u64 = 1 << 30;

/// Turns of each resident cluster in which all only spin, before a worker offers its core to other threads of the host.
const IDLE_TURNS: u64 = 4;
/// Instructions between two readings of the watchdog's clock, about.
const INSTRUCTIONS_PER_LOOK: usize = 1 << 16;
/// Jumps between two readings of the watchdog's clock, at most.
const MOST_JUMPS_PER_LOOK: usize = 64;

/// Clusters that a worker takes at once.
const MOST_TAKEN: u64 = 16;

/// A launch.
pub struct Grid<'a> {
    /// The kernel.
    pub program: Arc<Program>,
    /// CTAs along x, y, z.
    pub ctas: [u32; 3],
    /// CTAs of a cluster along x, y, z.
    pub cluster: [u32; 3],
    /// The launch or the kernel names the cluster's dimensions.
    pub has_explicit_clusters: bool,
    /// Threads of a CTA along x, y, z.
    pub threads: [u32; 3],
    /// Bytes of shared memory asked for at the launch.
    pub dynamic_shared: u32,
    /// The parameter block.
    pub parameters: Vec<u8>,
    /// Generic address of a copy of the parameter block, if the kernel wants one.
    pub parameter_address: u64,
    /// Where it is noted which of its bytes are loaded, if somebody wants to know.
    pub parameter_reads: Option<Arc<ParameterReads>>,
    /// Address of the workspace of a cooperative launch, which `%envreg1` and `%envreg2` hold; 0 otherwise.
    pub workspace: u64,
    /// Textures, samplers and surfaces.
    pub textures: Arc<Table>,
    /// The device.
    pub device: &'a DeviceSpec,
    /// The device with its memory.
    pub owner: &'a Device,
    /// Counts launches.
    pub number: u64,
    /// All CTAs must be resident at once.
    pub cooperative: bool,
    /// Lanes that have parted go on only together.
    pub simt_stack: bool,
    /// No other thread of the device runs kernels.
    pub has_one_worker: bool,
    /// When the launch started.
    pub started: Instant,
    /// When the watchdog ends the launch.
    pub(crate) deadline: Option<Instant>,
    /// Jumps of a warp between two looks at the deadline.
    pub(crate) ration: u32,
    /// What checks know of the launch, if there are any.
    pub(crate) checks: Option<Mutex<LaunchState>>,
    /// What its threads have asked for that is done later.
    pub(crate) children: Children,
    cancelled: AtomicBool,
}

/// What is left to execute of a launch: by default all.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    /// Clusters that have started and not ended.
    pub(crate) started: VecDeque<Cluster>,
    /// The first cluster that has not started.
    pub(crate) next: u64,
}

#[derive(Default)]
struct Progress {
    next: u64,
    resident: u64,
    /// Turns since a cluster last started, ended or did something else than spin.
    idle: u64,
    /// Clusters that had started before.
    started: VecDeque<Cluster>,
    suspended: VecDeque<Cluster>,
    spare: Vec<Cluster>,
    fault: Option<Box<Fault>>,
    executed: Executed,
}

impl<'a> Grid<'a> {
    /// The launch of this number, of `program`; its sizes were checked.
    pub(crate) fn new(
        program: Arc<Program>,
        owner: &'a Device,
        config: LaunchConfig,
        number: u64,
    ) -> Grid<'a> {
        let (cluster, ctas) = (config.cluster_of(&program), config.ctas_of(&program));
        let started = Instant::now();
        let deadline =
            config.deadline.or_else(|| owner.watchdog().and_then(|limit| started.checked_add(limit)));
        let children = Children::of(&program, &config, deadline);
        // Between two jumps a warp executes each op of the program at most once.
        let jumps = (INSTRUCTIONS_PER_LOOK / program.code.len().max(1)).clamp(1, MOST_JUMPS_PER_LOOK) as u32;
        Grid {
            program,
            ctas,
            cluster: cluster.unwrap_or([1; 3]),
            has_explicit_clusters: cluster.is_some(),
            threads: config.block,
            dynamic_shared: config.dynamic_shared,
            parameters: config.parameters,
            parameter_address: 0,
            parameter_reads: config.parameter_reads,
            workspace: 0,
            textures: config.textures,
            device: &owner.spec,
            owner,
            number,
            cooperative: config.cooperative,
            simt_stack: config.simt_stack,
            has_one_worker: owner.has_one_worker(),
            started,
            deadline,
            ration: if deadline.is_some() { jumps } else { u32::MAX },
            checks: owner.checker().and_then(|checker| checker.launch_state()),
            children,
            cancelled: AtomicBool::new(false),
        }
    }

    /// CTAs in all.
    pub fn cta_count(&self) -> u64 {
        self.ctas.iter().map(|&n| u64::from(n)).product()
    }

    /// CTAs of a cluster.
    pub fn ctas_per_cluster(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// Clusters along x, y, z.
    pub fn clusters(&self) -> [u32; 3] {
        std::array::from_fn(|axis| self.ctas[axis] / self.cluster[axis])
    }

    /// Clusters in all.
    pub(crate) fn cluster_count(&self) -> u64 {
        self.cta_count() / u64::from(self.ctas_per_cluster())
    }

    /// Threads of a CTA.
    pub fn threads_per_cta(&self) -> u32 {
        self.threads.iter().product()
    }

    /// Warps of a CTA.
    pub fn warps_per_cta(&self) -> u32 {
        self.threads_per_cta().div_ceil(32)
    }

    /// The lanes of a warp of a CTA, one bit each; the last warp may have fewer than others.
    pub(crate) fn lanes_of_warp(&self, number: u32) -> u32 {
        match self.threads_per_cta().saturating_sub(number * 32) {
            lanes @ 0..32 => (1 << lanes) - 1,
            _ => u32::MAX,
        }
    }

    /// Bytes of shared memory of a CTA, with those reserved.
    pub fn shared_bytes(&self) -> u32 {
        match self.program.reserved_shared {
            0 => self.program.static_shared + self.dynamic_shared,
            reserved => self.reserved_shared_start() + reserved,
        }
    }

    /// Where reserved shared memory starts: behind all other.
    pub fn reserved_shared_start(&self) -> u32 {
        (self.program.static_shared + self.dynamic_shared).next_multiple_of(RESERVED_SHARED)
    }

    /// Does this offset of shared memory lie in the reserved part?
    pub fn is_reserved_shared(&self, offset: u64) -> bool {
        self.program.reserved_shared > 0 && offset >= self.reserved_shared_start().into()
    }

    /// Bytes of local memory of a thread: the kernel's variables, and a stack if one is needed.
    pub fn local_bytes(&self) -> u32 {
        let own = self.program.kernel().local_bytes;
        if self.program.needs_stack { (own + self.owner.stack_bytes()).next_multiple_of(8) } else { own }
    }

    /// Coordinates of the CTA of rank `rank` of cluster number `cluster`.
    pub fn cta_id(&self, cluster: u64, rank: u32) -> [u32; 3] {
        let (first, within) = (coordinates(cluster, self.clusters()), coordinates(rank.into(), self.cluster));
        std::array::from_fn(|axis| first[axis] * self.cluster[axis] + within[axis])
    }

    /// Coordinates of CTA number `index`, x fastest.
    pub fn cta_at(&self, index: u64) -> [u32; 3] {
        coordinates(index, self.ctas)
    }

    /// Number of the CTA with these coordinates, x fastest.
    pub fn cta_index(&self, [x, y, z]: [u32; 3]) -> u64 {
        let [columns, rows, _] = self.ctas.map(u64::from);
        u64::from(x) + columns * (u64::from(y) + rows * u64::from(z))
    }

    /// Coordinates of thread number `thread` of a CTA.
    pub fn thread_id(&self, thread: u32) -> [u32; 3] {
        let [x, y, _] = self.threads;
        [thread % x, thread / x % y, thread / x / y]
    }

    /// The fault of a launch that runs beyond its deadline.
    pub(crate) fn overdue(&self) -> Option<FaultKind> {
        overdue(self.owner, self.deadline)
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Runs the CTAs that are left on `workers` threads.
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

    /// Clusters that may have started and not finished: as many as the device could hold, and fewer when they need much of
    /// the host's memory.
    pub(crate) fn resident_limit(&self) -> u64 {
        if self.cooperative {
            return u64::MAX;
        }
        let local = u64::from(self.warps_per_cta()) * 32 * u64::from(self.local_bytes());
        let by_memory = RESIDENT_BYTES / (u64::from(self.shared_bytes()) + local).max(1);
        self.device_limit().min(by_memory / u64::from(self.ctas_per_cluster())).max(1)
    }

    /// Clusters that the device could hold.
    fn device_limit(&self) -> u64 {
        if self.cooperative {
            return u64::MAX;
        }
        let per_sm = u64::from(self.device.threads_per_sm / self.threads_per_cta().max(1)).max(1);
        (per_sm * u64::from(self.device.sms) / u64::from(self.ctas_per_cluster())).max(1)
    }

    /// May another cluster start? Beyond the limit by memory only where all resident ones spin.
    fn has_room(&self, state: &Progress) -> bool {
        let all_spin = || state.idle >= state.resident && state.resident < self.device_limit();
        state.resident < self.resident_limit() || all_spin()
    }

    /// Takes clusters that nobody has taken yet for one of `workers`: several at once while there are many, so that
    /// workers with short ones seldom meet at the lock.
    fn take(&self, state: &mut Progress, workers: usize) -> Range<u64> {
        let first = state.next;
        let left = self.cluster_count() - first;
        state.next += (left / (workers as u64 * 4)).clamp(1, MOST_TAKEN).min(left);
        first..state.next
    }

    /// One of `workers`: takes clusters until none are left.
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
            let turn = cluster.run(self, &mut view, rounds, &mut executed);
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

    /// Puts a cluster behind the other suspended ones. `true` if all have only spun for some turns.
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

    /// A cluster to work on: a new one while the device has room, else the one suspended longest.
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

/// The fault of a launch on `device` that runs beyond its deadline.
pub(crate) fn overdue(device: &Device, deadline: Option<Instant>) -> Option<FaultKind> {
    let seconds = device.watchdog().map_or(0, |limit| limit.as_secs());
    deadline.filter(|deadline| Instant::now() > *deadline).map(|_| FaultKind::Timeout { seconds })
}

/// Coordinates of number `index` in a box of this size, x fastest.
fn coordinates(index: u64, size: [u32; 3]) -> [u32; 3] {
    let (x, y) = (u64::from(size[0]), u64::from(size[1]));
    [(index % x) as u32, (index / x % y) as u32, (index / x / y) as u32]
}

//! Independent thread scheduling: lanes of a warp may diverge, all of them make progress, and they
//! reconverge at the immediate post-dominator of the branch.
//!
//! Lanes at one position form a *fragment*; one fragment runs, the others are queued. A divergent branch
//! opens a *join* at its reconvergence point, where arriving lanes are parked until all have come. A call
//! opens a join at its return address, with a new frame.
//!
//! A join has patience. If the missing lanes seem to spin (on an atomic or volatile access) or take very
//! long, the parked lanes continue alone. A lane that waits for a lock of a parked lane of its own warp
//! therefore gets the lock.
//!
//! With a SIMT stack (`Grid::simt_stack`), joins have no patience, and the most recently queued ready
//! fragment runs until it waits. Lanes that spin for others of their warp then spin forever, which is
//! reported as a fault.

mod check;
mod saved;
mod waits;

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};

use super::frame::{Frame, Frames};
use super::lane::WARP;
use super::members::Apart;
use super::op::Flow;
use super::program::Program;
use super::spin::SpinDetector;
use super::warp_context::{Stop, WarpContext};
use crate::fault::{Awaits, FaultKind};
pub(crate) use saved::{Between, SavedLanes};

/// Jumps per time slice.
pub const SLICE: u32 = 4096;
/// Jumps per time slice of a fragment that may be spinning.
pub const SPIN_SLICE: u32 = 64;
/// Slices that a join waits for lanes that do not seem to spin.
const PATIENCE: u32 = 256;
/// Weight of a slice of possible spinning, in slices.
const SPIN_WEIGHT: u32 = 32;
/// Slices of possible spinning after which lanes on a SIMT stack count as spinning forever.
const MOST_SPUN: u32 = 1 << 15;
/// Number of no join.
pub const NONE: u32 = u32::MAX;

/// Explanation of SIMT-stack behaviour for faults.
const ON_A_STACK: &str = ": on a SIMT stack (`sm.divergence=stack`), lanes do not continue alone; \
                          use `sm.divergence=independent`";

/// Reason for which a fragment is queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Wait {
    /// None: the fragment is ready.
    Ready,
    /// A barrier must complete this generation.
    Barrier { id: u32, generation: u32 },
    /// The lanes of `members` must reach the same op; `here` are the fragment's executing lanes.
    Lanes { members: u32, here: u32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Fragment {
    pc: u32,
    mask: u32,
    frame: u32,
    join: u32,
    wait: Wait,
}

impl Fragment {
    /// Program counter and frame.
    fn place(&self) -> (u32, u32) {
        (self.pc, self.frame)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Join {
    pc: u32,
    frame: u32,
    expected: u32,
    arrived: u32,
    parent: u32,
    /// Frame of the callee, if a call opened the join.
    callee: Option<u32>,
    waited: u32,
}

/// Lanes of a warp that are not running, and the joins at which they meet the running ones.
#[derive(Debug, Default)]
pub struct Divergence {
    queue: VecDeque<Fragment>,
    joins: Vec<Option<Join>>,
    /// Frames of active functions.
    pub(crate) frames: Frames,
    /// Innermost join of the running fragment.
    join: u32,
    /// Frame of the running fragment.
    pub(crate) frame: u32,
    /// Lanes that have not exited.
    pub(crate) live: u32,
    /// Members of the current warp-wide op that execute it in other fragments.
    pub(crate) apart: Vec<Apart>,
    /// Bit per lane: parity of the cluster barrier's generation at the lane's last arrival.
    pub(crate) cluster_parity: u32,
    /// For each lane, the start of the local memory allocated by `alloca`.
    pub(crate) stack: [u32; WARP],
    /// Bytes of local memory used by functions and `alloca`, from the start and from the end.
    pub(crate) local_used: (u32, u32),
    /// Lanes that missed a join because it lost patience; cleared when the warp reconverges.
    pub(crate) torn: u32,
    /// True if the running fragment has acted like spinning code.
    pub(crate) impatient: bool,
    /// True for the fragment order of a SIMT stack.
    pub(crate) is_stack: bool,
    /// Slices of possible spinning since lanes last reached a join.
    spun: u32,
    /// Spin detector of the warp.
    pub(super) spin: SpinDetector,
    /// Barrier generation that released the running fragment, when it re-executes a barrier op.
    pub(crate) released: bool,
}

impl Divergence {
    /// Bytes from the start of the state to the innermost join.
    pub(super) const JOIN_OFFSET: usize = std::mem::offset_of!(Divergence, join);

    /// Initial state of a warp: `live` lanes at `entry` in frame 0, with `local_bytes` bytes of local
    /// memory.
    pub(crate) fn start(&mut self, live: u32, entry: u32, local_bytes: u32) {
        self.stack = [local_bytes; WARP];
        self.local_used = (0, 0);
        self.cluster_parity = 0;
        self.queue.clear();
        self.joins.clear();
        self.join = NONE;
        self.frame = 0;
        self.live = live;
        self.impatient = false;
        self.spun = 0;
        self.released = false;
        self.spin = SpinDetector::default();
        self.torn = 0;
        self.queue.push_back(Fragment { pc: entry, mask: live, frame: 0, join: NONE, wait: Wait::Ready });
    }

    /// Position at which a warp between its turns continues: a ready fragment, else the first waiting one.
    pub(crate) fn next_pc(&self) -> Option<u32> {
        let ready = self.queue.iter().find(|fragment| fragment.wait == Wait::Ready);
        ready.or(self.queue.front()).map(|fragment| fragment.pc)
    }

    /// Positions, lanes and wait reasons of a warp between its turns.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (u32, u32, Awaits)> {
        let queued = self.queue.iter().map(|fragment| {
            let awaits = match fragment.wait {
                Wait::Ready => Awaits::Nothing,
                Wait::Barrier { id, .. } => Awaits::Barrier(id),
                Wait::Lanes { members, here } => Awaits::Lanes(members & !here),
            };
            (fragment.pc, fragment.mask, awaits)
        });
        let parked = self.joins.iter().flatten().filter(|join| join.arrived != 0);
        queued.chain(parked.map(|join| (join.pc, join.arrived, Awaits::Lanes(join.expected & !join.arrived))))
    }

    /// Handles the end of the warp's time slice; returns true if the warp spins.
    pub(super) fn slice_ended(&mut self, program: &Program) -> bool {
        let mut spin = std::mem::take(&mut self.spin);
        spin.slice_ended(self);
        if !spin.spins() && self.is_in_wait_loops(program) {
            spin.waits_for_memory();
        }
        self.spin = spin;
        self.spin.spins()
    }

    /// Handles a wait at a barrier; returns true if the warp spins from barrier to barrier.
    pub(super) fn waits_at_barrier(&mut self) -> bool {
        let mut spin = std::mem::take(&mut self.spin);
        spin.waits(self);
        self.spin = spin;
        self.spin.spins()
    }

    /// True if all ready lanes are in spin loops.
    fn is_in_wait_loops(&self, program: &Program) -> bool {
        let mut ready = self.queue.iter().filter(|fragment| fragment.wait == Wait::Ready);
        !program.wait_loops.is_empty() && ready.all(|fragment| program.waits_at(fragment.pc))
    }

    /// Hash of the warp's registers and positions between its turns.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.live.hash(&mut hasher);
        for Fragment { pc, mask, frame, join, wait } in &self.queue {
            // A barrier's generation is left out: it changes with each iteration of a loop that polls
            // between barriers.
            (pc, mask, frame, join, std::mem::discriminant(wait)).hash(&mut hasher);
        }
        self.frames.all().for_each(|frame| hash_sums(frame, &mut hasher));
        hasher.finish()
    }

    /// Queues a fragment: last, or on top of a SIMT stack.
    fn put(&mut self, fragment: Fragment) {
        match self.is_stack {
            true => self.queue.push_front(fragment),
            false => self.queue.push_back(fragment),
        }
    }

    /// True if the running fragment seems to spin for an action of lanes that wait for it.
    fn spins_for_ever(&mut self) -> bool {
        self.spun += 1;
        let is_ready = |fragment: &Fragment| fragment.wait == Wait::Ready;
        let others = || self.joins.iter().flatten().any(|join| join.arrived != 0);
        self.spun >= MOST_SPUN && (others() || self.queue.iter().any(is_ready))
    }

    fn open(&mut self, join: Join) -> u32 {
        match self.joins.iter().position(Option::is_none) {
            Some(free) => {
                self.joins[free] = Some(join);
                free as u32
            }
            None => {
                self.joins.push(Some(join));
                (self.joins.len() - 1) as u32
            }
        }
    }

    fn get(&mut self, join: u32) -> Option<&mut Join> {
        self.joins.get_mut(join as usize)?.as_mut()
    }

    /// Removes `lanes` from the joins `from` to `until` (exclusive), which they will not reach.
    fn withdraw(&mut self, from: u32, until: u32, lanes: u32) {
        let mut at = from;
        while at != until {
            let Some(join) = self.get(at) else { return };
            join.expected &= !lanes;
            join.arrived &= !lanes;
            let parent = join.parent;
            self.settle(at);
            at = parent;
        }
    }

    /// Closes a join whose last missing lanes went elsewhere.
    fn settle(&mut self, at: u32) {
        let Some(&mut join) = self.get(at) else { return };
        if join.arrived != join.expected {
            return;
        }
        if join.expected != 0 {
            self.put(Fragment {
                pc: join.pc,
                mask: join.expected,
                frame: join.frame,
                join: join.parent,
                wait: Wait::Ready,
            });
        }
        self.close(at);
    }

    fn close(&mut self, at: u32) {
        if let Some(slot) = self.joins.get_mut(at as usize)
            && let Some(join) = slot.take()
            && let Some(callee) = join.callee
        {
            self.frames.pop(callee);
        }
    }

    /// Releases the parked lanes of joins that have waited long enough, after `slices` more slices.
    fn lose_patience(&mut self, slices: u32) -> bool {
        let mut released = false;
        for at in 0..self.joins.len() {
            let Some(join) = self.joins[at].as_mut() else { continue };
            if join.arrived == 0 {
                continue;
            }
            join.waited += slices;
            if join.waited < PATIENCE {
                continue;
            }
            let fragment = Fragment {
                pc: join.pc,
                mask: join.arrived,
                frame: join.frame,
                join: join.parent,
                wait: Wait::Ready,
            };
            self.torn |= join.expected;
            join.expected &= !join.arrived;
            join.arrived = 0;
            join.waited = 0;
            self.queue.push_back(fragment);
            released = true;
        }
        released
    }
}

fn hash_sums(frame: &Frame, hasher: &mut FxHasher) {
    let sums = frame.lane_sums();
    sums.chunks_exact(2).for_each(|pair| hasher.write_u64(u64::from(pair[0]) << 32 | u64::from(pair[1])));
}

impl WarpContext<'_> {
    /// Splits the fragment: `taken` lanes go to `target`, the others to `next`; all reconverge at `meet`.
    #[cold]
    pub(crate) fn diverge(&mut self, taken: u32, target: u32, next: u32, meet: u32) -> Flow {
        let rest = self.active & !taken;
        if meet != NONE {
            let (frame, parent, expected) = (self.divergence.frame, self.divergence.join, self.active);
            let same = self
                .divergence
                .get(parent)
                .is_some_and(|join| join.pc == meet && join.frame == frame && join.callee.is_none());
            if !same {
                let join = Join { pc: meet, frame, expected, arrived: 0, parent, callee: None, waited: 0 };
                self.divergence.join = self.divergence.open(join);
            }
            for (lanes, to, other, other_to) in [(taken, target, rest, next), (rest, next, taken, target)] {
                if to == meet {
                    if let Some(join) = self.divergence.get(self.divergence.join) {
                        join.arrived |= lanes;
                    }
                    self.divergence.spun = 0;
                    self.active = other;
                    self.pc = other_to;
                    return self.spend_fuel();
                }
            }
        }
        let (frame, join) = (self.divergence.frame, self.divergence.join);
        self.divergence.put(Fragment { pc: target, mask: taken, frame, join, wait: Wait::Ready });
        self.active = rest;
        self.pc = next;
        self.spend_fuel()
    }

    /// Counts a jump; a warp without fuel yields.
    #[inline(always)]
    pub(crate) fn spend_fuel(&mut self) -> Flow {
        self.fuel = self.fuel.wrapping_sub(1);
        if self.fuel == 0 { self.out_of_fuel() } else { Flow::Jump }
    }

    /// Takes the time slice's next ration, or ends the slice; an overdue launch ends.
    #[cold]
    pub(super) fn out_of_fuel(&mut self) -> Flow {
        if let Some(overdue) = self.grid.overdue() {
            return self.fault(overdue);
        }
        if self.reserve == 0 {
            // Under a model a turn ends on time. A suspended launch forgets how far its turn was
            // prolonged; the fragment that holds a lock would then never run.
            let spin = &mut self.divergence.spin;
            let is_spinning = self.divergence.impatient || spin.spins();
            if self.probe.is_on() && is_spinning && spin.goes_on(self.pc) {
                self.refuel(1);
                return Flow::Jump;
            }
            return self.yield_slice();
        }
        self.probe.passed(self.granted);
        if self.probe.is_due() && self.repeats() {
            self.divergence.impatient = true;
            return self.yield_slice();
        }
        self.refuel(self.reserve);
        Flow::Jump
    }

    /// Compares the registers within a slice with earlier ones. Returns whether they repeat.
    fn repeats(&mut self) -> bool {
        if self.probe.begins() && self.divergence.spin.goes_on(self.pc) {
            self.probe.wait();
            return false;
        }
        let divergence = &*self.divergence;
        let (pc, active) = (self.pc, self.active);
        self.probe.repeats(pc, || {
            let mut hasher = FxHasher::default();
            (pc, active, divergence.frame).hash(&mut hasher);
            divergence.frames.all().for_each(|frame| hash_sums(frame, &mut hasher));
            hasher.finish()
        })
    }

    /// Gives the time slice `jumps` jumps: some at once, until the next look at the clock or registers, the
    /// rest in reserve.
    pub(crate) fn refuel(&mut self, jumps: u32) {
        self.granted = jumps.min(self.ration).min(self.probe.until());
        self.fuel = self.granted;
        self.reserve = jumps - self.granted;
    }

    /// Ends the time slice at `self.pc`.
    #[cold]
    pub(crate) fn yield_slice(&mut self) -> Flow {
        let impatient = std::mem::take(&mut self.divergence.impatient);
        if !self.divergence.is_stack {
            self.divergence.lose_patience(if impatient { SPIN_WEIGHT } else { 1 });
        } else if impatient && self.divergence.spins_for_ever() {
            self.stop = Stop::Fault(FaultKind::Deadlock(format!(
                "lanes spin while others of their warp wait for them at the reconvergence point{ON_A_STACK}"
            )));
            return Flow::Stop;
        }
        self.park(Wait::Ready);
        self.refuel(if impatient { SPIN_SLICE } else { SLICE });
        self.stop = Stop::Yield;
        Flow::Stop
    }

    /// Records an action typical of spinning, after which joins lose patience soon.
    #[inline(always)]
    pub(crate) fn may_spin(&mut self) {
        self.divergence.impatient = true;
        if self.fuel.saturating_add(self.reserve) > SPIN_SLICE {
            self.refuel(SPIN_SLICE);
        }
    }

    /// Handles the arrival of the running fragment at a reconvergence point.
    #[inline(always)]
    pub(crate) fn reconverge(&mut self) -> Flow {
        if self.divergence.join == NONE {
            return Flow::Next;
        }
        self.reconverge_slowly()
    }

    #[cold]
    fn reconverge_slowly(&mut self) -> Flow {
        let (pc, frame, active, at) = (self.pc, self.divergence.frame, self.active, self.divergence.join);
        match self.divergence.get(at) {
            Some(join) if join.pc == pc && join.frame == frame && join.callee.is_none() => {
                join.arrived |= active;
                self.arrived(at)
            }
            _ => Flow::Next,
        }
    }

    /// Continues from a join if all lanes have arrived, else with another fragment.
    fn arrived(&mut self, at: u32) -> Flow {
        self.divergence.spun = 0;
        let Some(&mut join) = self.divergence.get(at) else { return self.switch() };
        if join.arrived != join.expected {
            return self.switch();
        }
        self.divergence.close(at);
        self.resume(Fragment {
            pc: join.pc,
            mask: join.expected,
            frame: join.frame,
            join: join.parent,
            wait: Wait::Ready,
        });
        Flow::Jump
    }

    fn resume(&mut self, fragment: Fragment) {
        self.pc = fragment.pc;
        self.active = fragment.mask;
        self.divergence.join = fragment.join;
        self.divergence.frame = fragment.frame;
        self.divergence.released = matches!(fragment.wait, Wait::Barrier { .. });
        let frame = self.divergence.frames.get(fragment.frame);
        self.frame = frame.base;
        self.local_base = frame.local_base;
    }

    fn park(&mut self, wait: Wait) {
        let (frame, join) = (self.divergence.frame, self.divergence.join);
        self.divergence.put(Fragment { pc: self.pc, mask: self.active, frame, join, wait });
        self.active = 0;
    }

    /// Selects the next ready fragment; without one the warp stops.
    #[cold]
    pub(crate) fn switch(&mut self) -> Flow {
        if self.divergence.live == 0 {
            self.stop = Stop::Finished;
            return Flow::Stop;
        }
        loop {
            let ready = self.divergence.queue.iter().position(|fragment| match fragment.wait {
                Wait::Ready => true,
                Wait::Barrier { id, generation } => self.generation(id) != generation,
                Wait::Lanes { members, .. } => {
                    members & self.divergence.live & !self.waiting_with(fragment.place(), members) == 0
                }
            });
            if let Some(fragment) = ready.and_then(|at| self.divergence.queue.remove(at)) {
                self.discount_repeated(&fragment);
                self.resume(fragment);
                return Flow::Jump;
            }
            if self.divergence.is_stack || !self.divergence.lose_patience(PATIENCE) {
                break;
            }
        }
        let at_barrier =
            self.divergence.queue.iter().any(|fragment| matches!(fragment.wait, Wait::Barrier { .. }));
        self.stop = if at_barrier {
            Stop::Blocked
        } else {
            let on_a_stack = if self.divergence.is_stack { ON_A_STACK } else { "" };
            Stop::Fault(FaultKind::Deadlock(format!(
                "lanes wait at a warp-wide instruction for lanes of their warp that never reach it{on_a_stack}"
            )))
        };
        Flow::Stop
    }

    /// Uncounts an op that waiting lanes execute again: they were counted at arrival.
    fn discount_repeated(&mut self, fragment: &Fragment) {
        let lanes = match fragment.wait {
            Wait::Ready => return,
            Wait::Barrier { .. } => fragment.mask,
            Wait::Lanes { here, .. } => here,
        };
        self.discount_lanes(lanes);
    }

    /// Ends the executing lanes.
    #[cold]
    pub(crate) fn exit_lanes(&mut self) -> Flow {
        let lanes = self.mask;
        self.divergence.spun = 0;
        self.divergence.live &= !lanes;
        self.cta.exit_threads(lanes.count_ones());
        self.cluster.exit_threads(lanes.count_ones());
        let from = self.divergence.join;
        self.divergence.withdraw(from, NONE, lanes);
        self.active &= !lanes;
        if self.active != 0 { Flow::Next } else { self.switch() }
    }

    /// Enters a function: the executing lanes go to `entry` in `frame` and return to the next op.
    #[cold]
    pub(crate) fn enter(&mut self, entry: u32, frame: Frame) -> Flow {
        let return_to = self.pc + 1;
        let callee = self.divergence.frames.push(frame);
        let join = Join {
            pc: return_to,
            frame: self.divergence.frame,
            expected: self.active,
            arrived: self.active & !self.mask,
            parent: self.divergence.join,
            callee: Some(callee),
            waited: 0,
        };
        let at = self.divergence.open(join);
        self.divergence.frames.get_mut(callee).call = at;
        self.resume(Fragment { pc: entry, mask: self.mask, frame: callee, join: at, wait: Wait::Ready });
        self.spend_fuel()
    }

    /// Leaves a function with the executing lanes; in a kernel, the lanes exit.
    #[cold]
    pub(crate) fn leave(&mut self) -> Flow {
        if self.divergence.frame == 0 {
            return self.exit_lanes();
        }
        let lanes = self.mask;
        let call = self.divergence.frames.get(self.divergence.frame).call;
        let from = self.divergence.join;
        self.divergence.withdraw(from, call, lanes);
        if let Some(join) = self.divergence.get(call) {
            join.arrived |= lanes;
        }
        self.active &= !lanes;
        if self.active != 0 { Flow::Next } else { self.arrived(call) }
    }
}

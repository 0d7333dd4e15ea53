//! Execution of a CTA: warps take turns, and each runs until it blocks, yields or finishes.

mod saved;

use std::ops::{AddAssign, SubAssign};

use serde::{Deserialize, Serialize};
use warp_stream::{Moment, Residence};

use super::barrier::{BARRIERS, Barrier};
use super::cluster::ClusterState;
use super::divergence::{Divergence, SLICE};
use super::frame::Frame;
use super::grid::Grid;
use super::op::Flow;
use super::special;
use super::spin::{SPINNING_SLICE, SpinProbe};
use super::view::View;
use super::warp_context::{Stop, WarpContext};
use crate::fault::{Fault, FaultKind, WaitingThreads};
use crate::sanitizer::CtaChecks;
pub(crate) use saved::SavedCta;

/// Padding words after local memory, into which a vector load may reach.
const OVERHANG: usize = 8;

/// State shared by the warps of a CTA.
#[derive(Debug)]
pub struct CtaState {
    /// Number of the CTA in the grid, x fastest.
    pub index: u64,
    /// Coordinates of the CTA in the grid.
    pub id: [u32; 3],
    /// Rank of the CTA in its cluster, x fastest.
    pub rank: u32,
    /// Named barriers.
    pub barriers: [Barrier; BARRIERS],
    /// Threads that have not exited.
    pub live_threads: u32,
    /// Sanitizer state, if kernels are checked.
    pub(crate) checks: Option<Box<CtaChecks>>,
    /// Simulated SM and time, under a timing model.
    pub(crate) simulated: Option<Box<Simulated>>,
    /// Addresses of texels touched by the current op, if a probe needs them.
    pub(crate) texels: Vec<u64>,
}

/// Simulated location and time of a CTA.
#[derive(Debug)]
pub(crate) struct Simulated {
    pub(crate) residence: Residence,
    /// Time at which the current op takes effect.
    pub(crate) now: Moment,
}

impl CtaState {
    /// SM of the CTA under a timing model.
    pub(crate) fn sm(&self) -> Option<u32> {
        self.simulated.as_ref().map(|simulated| simulated.residence.sm)
    }

    /// Records that the current op touches the texel at `address`.
    pub(crate) fn touch_texel(&mut self, address: u64) {
        self.texels.push(address);
    }

    /// Records the exit of `count` threads, which may complete CTA barriers.
    pub fn exit_threads(&mut self, count: u32) {
        self.live_threads -= count.min(self.live_threads);
        for barrier in &mut self.barriers {
            barrier.check(self.live_threads);
        }
    }
}

/// A warp between its turns.
#[derive(Debug, Default)]
pub(super) struct WarpState {
    pub(super) divergence: Divergence,
    local: Vec<u64>,
    pub(super) finished: bool,
    pub(super) fuel: u32,
}

impl WarpState {
    /// Handles the end of the warp's time slice; returns true if the warp spins.
    fn slice_ended(&mut self, grid: &Grid) -> bool {
        let spins = self.divergence.slice_ended(&grid.program);
        if self.divergence.spin.has_short_slice() {
            self.fuel = self.fuel.min(SPINNING_SLICE);
        }
        spins
    }
}

/// A CTA with its storage, which the next CTA reuses.
#[derive(Debug)]
pub struct Cta {
    pub(super) state: CtaState,
    pub(super) warps: Vec<WarpState>,
    shared_bytes: u32,
    local_bytes: u32,
    pub(super) unfinished: usize,
}

/// Result of a CTA's turn.
#[derive(Debug)]
pub enum Turn {
    /// All threads have exited.
    Finished,
    /// The turn is over.
    Suspended,
    /// All warps wait for each other, or spin on memory that another CTA or the host must change.
    Spins,
    /// All warps wait for an event outside of the CTA.
    Blocked,
    /// A lane faulted.
    Fault(Box<Fault>),
}

/// Counters of executed work. Arithmetic wraps, because a part may be a negative correction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    /// Warp instructions.
    pub warp_instructions: u64,
    /// Lane instructions: active lanes summed over warp instructions.
    pub lane_instructions: u64,
    /// Warp instructions that compiled code executed.
    #[serde(skip)]
    pub native_instructions: u64,
}

impl AddAssign for Executed {
    fn add_assign(&mut self, other: Executed) {
        self.warp_instructions = self.warp_instructions.wrapping_add(other.warp_instructions);
        self.lane_instructions = self.lane_instructions.wrapping_add(other.lane_instructions);
        self.native_instructions = self.native_instructions.wrapping_add(other.native_instructions);
    }
}

impl SubAssign for Executed {
    fn sub_assign(&mut self, other: Executed) {
        self.warp_instructions = self.warp_instructions.wrapping_sub(other.warp_instructions);
        self.lane_instructions = self.lane_instructions.wrapping_sub(other.lane_instructions);
        self.native_instructions = self.native_instructions.wrapping_sub(other.native_instructions);
    }
}

impl Cta {
    /// Allocates storage for a CTA of this launch.
    pub fn new(grid: &Grid) -> Cta {
        let warps = grid.shape.warps_per_cta();
        let shared_bytes = grid.accessible_shared();
        let local_bytes = grid.local_bytes();
        Cta {
            state: CtaState {
                index: 0,
                id: [0; 3],
                rank: 0,
                barriers: Default::default(),
                live_threads: 0,
                checks: CtaChecks::new(grid),
                simulated: None,
                texels: Vec::new(),
            },
            warps: (0..warps).map(|_| WarpState::default()).collect(),
            shared_bytes,
            local_bytes,
            unfinished: 0,
        }
    }

    /// Resets the storage to the CTA of rank `rank` in cluster number `cluster` of the launch.
    pub fn start(&mut self, grid: &Grid, cluster: u64, rank: u32) {
        let program = &*grid.program;
        let kernel = program.kernel();
        let id = grid.cta_id(cluster, rank);
        self.state = CtaState {
            index: grid.shape.cta_index(id),
            id,
            rank,
            barriers: Default::default(),
            live_threads: grid.shape.threads_per_cta(),
            checks: self.state.checks.take(),
            simulated: self.state.simulated.take(),
            texels: Vec::new(),
        };
        if let Some(checks) = &mut self.state.checks {
            checks.restart(grid);
        }
        self.unfinished = self.warps.len();
        for (number, warp) in self.warps.iter_mut().enumerate() {
            let frame = match warp.divergence.frames.take_kernel() {
                Some(mut frame) => {
                    frame.reset(&kernel.layout);
                    frame
                }
                None => Frame::new(&kernel.layout, 0, 0),
            };
            special::fill(&kernel.specials, frame.base, grid, &self.state, number as u32);
            warp.divergence.frames.start(frame);
            let live = grid.shape.lanes_of_warp(number as u32);
            let (from_start, from_end) = warp.divergence.local_used;
            warp.divergence.start(live, kernel.entry, self.local_bytes);
            warp.divergence.is_stack = grid.simt_stack;
            let lane_words = self.local_bytes as usize / 8;
            let words = |bytes: u32| (bytes as usize).div_ceil(8).min(lane_words);
            let words_of_warp = lane_words * 32 + OVERHANG;
            if warp.local.len() != words_of_warp {
                // The host backs only the touched pages of a deep stack.
                warp.local = vec![0; words_of_warp];
            }
            for lane in 0..if lane_words == 0 { 0 } else { 32 } {
                let own = &mut warp.local[lane * lane_words..][..lane_words];
                own[..words(kernel.local_bytes.max(from_start))].fill(0);
                own[lane_words - words(from_end)..].fill(0);
            }
            warp.finished = false;
            warp.fuel = SLICE;
        }
    }

    /// True if all threads have exited.
    pub fn is_finished(&self) -> bool {
        self.unfinished == 0
    }

    /// Threads that wait at the CTA's barriers.
    pub fn waiting_at_barriers(&self) -> u32 {
        self.state.barriers.iter().map(Barrier::waiting).sum()
    }

    /// Runs the warps in turn until the CTA finishes or `rounds` rounds have passed. The CTA's shared
    /// memory starts at `shared` in the cluster's block.
    pub fn run(
        &mut self,
        grid: &Grid,
        view: &mut View,
        cluster: &mut ClusterState,
        shared: *mut u8,
        rounds: u32,
        executed: &mut Executed,
    ) -> Turn {
        for _ in 0..rounds {
            let (mut progress, mut works, mut spins) = (false, false, false);
            for number in 0..self.warps.len() {
                if self.warps[number].finished {
                    continue;
                }
                let turn = self.run_warp(number, grid, view, cluster, shared, executed);
                match turn.stop {
                    Stop::Finished => {
                        self.warps[number].finished = true;
                        self.unfinished -= 1;
                        (progress, works) = (true, true);
                    }
                    Stop::Blocked if turn.moved => {
                        progress = true;
                        works |= !self.warps[number].divergence.waits_at_barrier();
                    }
                    Stop::Blocked => {}
                    Stop::Yield => {
                        progress = true;
                        let it_spins = self.warps[number].slice_ended(grid);
                        works |= !it_spins;
                        spins |= it_spins;
                    }
                    Stop::Fault(kind) => return Turn::Fault(self.fault(grid, number, kind, turn.pc)),
                }
                if grid.is_cancelled() {
                    return Turn::Suspended;
                }
            }
            if self.unfinished == 0 {
                return Turn::Finished;
            }
            if !progress {
                return Turn::Blocked;
            }
            if spins {
                self.warps.iter_mut().for_each(|warp| warp.divergence.spin.suspect());
            }
            if !works {
                return Turn::Spins;
            }
        }
        Turn::Suspended
    }

    fn run_warp(
        &mut self,
        number: usize,
        grid: &Grid,
        view: &mut View,
        cluster: &mut ClusterState,
        shared: *mut u8,
        executed: &mut Executed,
    ) -> WarpTurn {
        let mut running = self.running(number, grid, view, cluster, shared);
        (running.ration, running.probe) = (grid.ration, SpinProbe::new());
        running.refuel(running.fuel);
        let (stop, moved) = match running.switch() {
            // SAFETY: the program was bound in this process, and `switch` has selected a fragment of this
            // warp.
            Flow::Jump | Flow::Next => (unsafe { running.run() }, true),
            Flow::Stop => (std::mem::replace(&mut running.stop, Stop::Yield), false),
        };
        *executed += running.executed();
        let turn = WarpTurn { stop, moved, pc: running.pc };
        self.warps[number].fuel = running.fuel.saturating_add(running.reserve).max(1);
        turn
    }

    /// Context of a warp before a fragment is selected.
    #[inline(always)]
    pub(super) fn running<'r>(
        &'r mut self,
        number: usize,
        grid: &'r Grid,
        view: &'r mut View,
        cluster: &'r mut ClusterState,
        shared: *mut u8,
    ) -> WarpContext<'r> {
        let warp = &mut self.warps[number];
        WarpContext {
            frame: std::ptr::null_mut(),
            constants: grid.program.constants.base(),
            mask: 0,
            active: 0,
            pc: 0,
            fuel: warp.fuel,
            stop: Stop::Yield,
            instructions: 0,
            lane_instructions: 0,
            native_instructions: 0,
            parameters: grid.parameters.as_ptr(),
            shared,
            shared_bytes: self.shared_bytes,
            local: warp.local.as_mut_ptr().cast(),
            local_bytes: self.local_bytes,
            local_base: 0,
            view,
            divergence: &mut warp.divergence,
            cta: &mut self.state,
            cluster,
            grid,
            warp: number as u32,
            reserve: 0,
            ration: u32::MAX,
            granted: warp.fuel,
            probe: SpinProbe::never(),
            panic: None,
        }
    }

    /// Fault of the whole CTA, located at its first unfinished warp.
    pub fn stuck(&self, grid: &Grid, kind: FaultKind) -> Box<Fault> {
        let warp = self.warps.iter().position(|warp| !warp.finished).unwrap_or(0);
        let pc = self.warps.get(warp).and_then(|warp| warp.divergence.next_pc());
        self.fault(grid, warp, kind, pc.unwrap_or(grid.program.kernel().entry))
    }

    pub(super) fn fault(&self, grid: &Grid, warp: usize, kind: FaultKind, pc: u32) -> Box<Fault> {
        let waiting = match kind {
            FaultKind::Deadlock(_) => self.waiting(grid),
            _ => Vec::new(),
        };
        Box::new(Fault {
            kernel: grid.program.kernel().name.clone(),
            cta: self.state.id,
            thread: kind.lane().map(|lane| grid.shape.thread_at(warp as u32 * 32 + lane)),
            spot: grid.program.spot_at(pc),
            waiting,
            kind,
        })
    }

    /// Positions of the live threads.
    fn waiting(&self, grid: &Grid) -> Vec<WaitingThreads> {
        let unfinished = self.warps.iter().enumerate().filter(|(_, warp)| !warp.finished);
        let fragments = unfinished.flat_map(|(number, warp)| {
            warp.divergence.waiting().map(move |(pc, lanes, awaits)| (number as u32, pc, lanes, awaits))
        });
        fragments
            .map(|(warp, pc, lanes, awaits)| WaitingThreads {
                warp,
                lanes,
                awaits,
                spot: grid.program.spot_at(pc),
            })
            .collect()
    }
}

/// Result of a warp's turn.
struct WarpTurn {
    stop: Stop,
    moved: bool,
    pc: u32,
}

//! Context of a running warp: the hot state of ops.

use std::any::Any;

use super::cluster::ClusterState;
use super::constants::{names_constant, row_at};
use super::cta::{CtaState, Executed};
use super::divergence::Divergence;
use super::grid::Grid;
use super::lane::Bits;
use super::op::{Flow, Op, PredicateSource};
use super::shapes::{CHUNK, lane_masks};
use super::spin::SpinProbe;
use super::view::View;
use crate::fault::FaultKind;
use crate::host;

/// Reason for which a warp stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// All lanes have exited.
    Finished,
    /// No lane can continue before another warp acts.
    Blocked,
    /// The time slice is over.
    Yield,
    /// A lane has faulted.
    Fault(FaultKind),
}

/// Context of a running warp.
pub struct WarpContext<'a> {
    /// First row of the running fragment's frame.
    pub(crate) frame: *mut u8,
    /// Base of constant offsets.
    pub(crate) constants: *const u8,
    /// Executing lanes of the current op.
    pub mask: u32,
    /// Lanes of the running fragment.
    pub active: u32,
    /// Program counter.
    pub pc: u32,
    /// Jumps left before the watchdog's clock is read or the time slice ends.
    pub(crate) fuel: u32,
    /// Reason of a stop, set by the stopping op.
    pub(crate) stop: Stop,
    /// Executed warp instructions; while the warp runs, a correction for uncounted ops.
    pub(crate) instructions: u64,
    /// Executed lane instructions; while the warp runs, a correction for uncounted ops.
    pub(crate) lane_instructions: u64,
    /// Instructions among them that compiled code has executed.
    pub(crate) native_instructions: u64,
    /// First byte of the launch's parameters.
    pub(crate) parameters: *const u8,
    /// First byte of the CTA's shared memory.
    pub(crate) shared: *mut u8,
    /// Bytes of shared memory per CTA.
    pub(crate) shared_bytes: u32,
    /// First byte of lane 0's local memory.
    pub(crate) local: *mut u8,
    /// Bytes of local memory per lane.
    pub(crate) local_bytes: u32,
    /// Start of the running frame's variables in a lane's local memory.
    pub(crate) local_base: u32,
    /// Worker's cache of allocations.
    pub(crate) view: &'a mut View,
    /// Fragments, joins and calls of the warp.
    pub(crate) divergence: &'a mut Divergence,
    /// CTA of the warp.
    pub(crate) cta: &'a mut CtaState,
    /// Cluster of the warp.
    pub(crate) cluster: &'a mut ClusterState,
    /// Launch.
    pub(crate) grid: &'a Grid<'a>,
    /// Number of the warp in the CTA.
    pub(crate) warp: u32,
    /// Jumps left in the time slice beyond `fuel`.
    pub(crate) reserve: u32,
    /// Maximum jumps between two readings of the watchdog's clock; a whole slice without watchdog.
    pub(crate) ration: u32,
    /// Initial value of `fuel`.
    pub(crate) granted: u32,
    /// Schedule of register inspections within the slice.
    pub(crate) probe: SpinProbe,
    /// Panic of an op that compiled code has called.
    pub(crate) panic: Option<Box<dyn Any + Send>>,
}

impl WarpContext<'_> {
    /// Row at byte offset `offset` of the frame, or a read-only constant row.
    #[inline(always)]
    pub(crate) fn row<B: Bits>(&self, offset: u32) -> *mut B {
        row_at(self.frame, self.constants, offset).cast()
    }

    /// Row for results.
    #[inline(always)]
    pub(crate) fn result<B: Bits>(&self, offset: u32) -> *mut B {
        debug_assert!(!names_constant(offset), "constants are read-only");
        self.frame.wrapping_add(offset as usize).cast()
    }

    /// Lanes of a row, as words.
    ///
    /// # Safety
    /// `offset` names a row of this width.
    #[inline(always)]
    pub(crate) unsafe fn read_row<B: Bits>(&self, offset: u32) -> [B; 32] {
        // SAFETY: guaranteed by the caller.
        unsafe { self.row::<B>(offset).cast::<[B; 32]>().read() }
    }

    /// One lane of a row.
    ///
    /// # Safety
    /// `offset` names a row of this width, and `lane` is below 32.
    #[inline(always)]
    pub(crate) unsafe fn read_lane<B: Bits>(&self, offset: u32, lane: usize) -> B {
        // SAFETY: guaranteed by the caller.
        unsafe { self.row::<B>(offset).add(lane).read() }
    }

    /// Writes one lane of a row.
    ///
    /// # Safety
    /// As for [`WarpContext::read_lane`], and the row belongs to the frame.
    #[inline(always)]
    pub(crate) unsafe fn write_lane<B: Bits>(&mut self, offset: u32, lane: usize, value: B) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.result::<B>(offset).add(lane).write(value) };
    }

    /// Writes the active lanes of a row.
    ///
    /// # Safety
    /// As for [`WarpContext::read_row`], and the row belongs to the frame.
    #[inline(always)]
    pub(crate) unsafe fn write_row<B: Bits>(&mut self, offset: u32, values: &[B; 32]) {
        let row = self.result::<B>(offset).cast::<[B; 32]>();
        // SAFETY: guaranteed by the caller.
        unsafe {
            if self.mask == u32::MAX {
                row.write(*values);
                return;
            }
            let mut merged = row.read();
            for chunk in 0..32 / CHUNK {
                for (i, chosen) in lane_masks(self.mask, chunk).into_iter().enumerate() {
                    let lane = chunk * CHUNK + i;
                    merged[lane] = B::choose(chosen, values[lane], merged[lane]);
                }
            }
            row.write(merged);
        }
    }

    /// Value of a predicate, one bit per lane.
    ///
    /// # Safety
    /// `source` names a word of the frame's predicate area.
    #[inline(always)]
    pub(crate) unsafe fn predicate(&self, source: PredicateSource) -> u32 {
        // SAFETY: guaranteed by the caller.
        unsafe { self.frame.cast::<u32>().add(source.index() as usize).read() ^ source.inversion() }
    }

    /// Sets the active lanes of a predicate.
    ///
    /// # Safety
    /// `index` is a word of the frame's predicate area.
    #[inline(always)]
    pub(crate) unsafe fn write_predicate(&mut self, index: u32, truth: u32) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let word = self.frame.cast::<u32>().add(index as usize);
            word.write((word.read() & !self.mask) | (truth & self.mask));
        }
    }

    /// First byte of the shared memory of the cluster's CTAs.
    pub(crate) fn cluster_shared(&self) -> *mut u8 {
        self.shared.wrapping_sub(self.cta.rank as usize * self.cluster.pitch as usize)
    }

    /// Host address and size in bytes of the shared memory of the cluster's CTAs.
    pub(crate) fn cluster_extent(&self) -> (u64, u64) {
        (self.cluster_shared() as u64, u64::from(self.cluster.ctas) * self.cluster.pitch)
    }

    /// Work executed by the warp.
    pub(crate) fn executed(&self) -> Executed {
        Executed {
            warp_instructions: self.instructions,
            lane_instructions: self.lane_instructions,
            native_instructions: self.native_instructions,
        }
    }

    /// Excludes the current op, which is none of the program's own, from the counts.
    #[inline(always)]
    pub(crate) fn discount(&mut self) {
        self.discount_lanes(self.mask);
    }

    /// Excludes an op of these lanes from the counts.
    #[inline(always)]
    pub(crate) fn discount_lanes(&mut self, lanes: u32) {
        self.instructions = self.instructions.wrapping_sub(1);
        self.lane_instructions = self.lane_instructions.wrapping_sub(u64::from(lanes.count_ones()));
    }

    /// Stops the warp with a fault of the lowest lane in `lanes`.
    #[cold]
    pub(crate) fn fault(&mut self, fault: FaultKind) -> Flow {
        self.stop = Stop::Fault(fault);
        Flow::Stop
    }

    /// Runs until the warp stops.
    ///
    /// # Safety
    /// `self.grid.program` was bound for this host, and frame, program counter and masks belong to one of
    /// its warps.
    pub(crate) unsafe fn run(&mut self) -> Stop {
        // SAFETY: guaranteed by the caller; the host supports its level.
        unsafe {
            match host::level() {
                #[cfg(target_arch = "x86_64")]
                host::Level::Avx2 | host::Level::Avx512 => self.run_counting_fast(),
                _ => self.run_ops(),
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt,bmi1,bmi2")]
    unsafe fn run_counting_fast(&mut self) -> Stop {
        // SAFETY: guaranteed by the caller.
        unsafe { self.run_ops() }
    }

    #[inline(always)]
    unsafe fn run_ops(&mut self) -> Stop {
        let code: *const Op = self.grid.code().as_ptr();
        // With different widths the compiler does not pack both into one vector register, and so
        // does not spill it at every op. A time slice ends long before 32 bits overflow.
        let (mut instructions, mut lane_instructions) = (0u32, 0u64);
        loop {
            let pc = self.pc;
            // SAFETY: the binder ends every function with an op that does not fall through, and checks
            // every target. The program counter thus stays inside the code.
            let op = unsafe { &*code.add(pc as usize) };
            // SAFETY: the guard is a word of the frame's predicate area.
            let mask = self.active & unsafe { self.predicate(op.guard) };
            self.mask = mask;
            instructions = instructions.wrapping_add(1);
            lane_instructions += u64::from(mask.count_ones());
            if mask == 0 {
                self.pc = pc + 1;
                continue;
            }
            // SAFETY: the binder guarantees `Run`'s contract.
            match unsafe { (op.run)(self, op) } {
                Flow::Next => self.pc = pc + 1,
                Flow::Jump => {}
                Flow::Stop => break,
            }
        }
        self.instructions = self.instructions.wrapping_add(u64::from(instructions));
        self.lane_instructions = self.lane_instructions.wrapping_add(lane_instructions);
        std::mem::replace(&mut self.stop, Stop::Yield)
    }
}

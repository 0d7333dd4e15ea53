//! Saved state of a warp's lanes: positions, joins, and frames.

use serde::{Deserialize, Serialize};

use super::{Divergence, Fragment, Join, NONE, Wait};
use crate::engine::cta::Executed;
use crate::engine::frame::{Frames, SavedFrame};
use crate::engine::lane::WARP;
use crate::engine::program::{BoundFunction, Program};

/// Point of execution at which warps are saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Between {
    /// Between turns: lanes that wait at a warp-wide op execute it again after resumption.
    Turns,
    /// Between steps of an external scheduler: the state is restored exactly.
    Steps,
}

/// Saved lanes of a warp between its turns.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct SavedLanes {
    /// Fragments in the order in which they run.
    pub(super) fragments: Vec<Fragment>,
    pub(super) joins: Vec<Option<Join>>,
    pub(super) frames: Vec<Option<SavedFrame>>,
    /// Lanes that have not exited.
    pub(crate) live: u32,
    cluster_parity: u32,
    pub(super) stack: [u32; WARP],
    /// Bytes of local memory used per lane, from the start and from the end.
    pub(super) local_used: (u32, u32),
    torn: u32,
    impatient: bool,
}

impl Divergence {
    /// Queues the running fragment, at `pc`, as the next to run.
    pub(crate) fn park_first(&mut self, pc: u32, mask: u32) {
        let (frame, join) = (self.frame, self.join);
        self.queue.push_front(Fragment { pc, mask, frame, join, wait: Wait::Ready });
    }

    /// Undoes [`Divergence::park_first`]: the next, ready fragment runs. Returns its position and lanes,
    /// and its frame with the frame's local base.
    pub(crate) fn take_first(&mut self) -> Option<(u32, u32, *mut u8, u32)> {
        let Fragment { pc, mask, frame, join, .. } = self.queue.pop_front()?;
        (self.frame, self.join) = (frame, join);
        let frame = self.frames.find(frame)?;
        Some((pc, mask, frame.base, frame.local_base))
    }

    /// Saves the lanes, none of which runs. Also returns the work that lanes at a warp-wide op will count
    /// again.
    pub(crate) fn save(&self, between: Between) -> (SavedLanes, Executed) {
        let mut twice = Executed::default();
        let fragments = self.queue.iter().map(|&fragment| match fragment.wait {
            Wait::Lanes { here, .. } if between == Between::Turns => {
                twice.warp_instructions += 1;
                twice.lane_instructions += u64::from(here.count_ones());
                Fragment { wait: Wait::Ready, ..fragment }
            }
            _ => fragment,
        });
        let saved = SavedLanes {
            fragments: fragments.collect(),
            joins: self.joins.clone(),
            frames: self.frames.save(),
            live: self.live,
            cluster_parity: self.cluster_parity,
            stack: self.stack,
            local_used: self.local_used,
            torn: self.torn,
            impatient: self.impatient,
        };
        (saved, twice)
    }

    /// Restores lanes from data checked against the program. `fill` fills the rows of special registers of
    /// a function's frame.
    pub(crate) fn restore(
        &mut self,
        saved: &SavedLanes,
        program: &Program,
        fill: impl FnMut(&BoundFunction, *mut u8),
    ) {
        self.frames = Frames::restore(&saved.frames, program, |call| saved.site_of(call, program), fill);
        self.queue = saved.fragments.iter().copied().collect();
        self.joins.clone_from(&saved.joins);
        (self.join, self.frame) = (NONE, 0);
        self.live = saved.live;
        self.cluster_parity = saved.cluster_parity;
        self.stack = saved.stack;
        self.local_used = saved.local_used;
        self.torn = saved.torn;
        self.impatient = saved.impatient;
        self.spun = 0;
        self.released = false;
    }
}

impl SavedLanes {
    /// Call site and caller's frame of the call with this join.
    fn site_of(&self, call: u32, program: &Program) -> (u32, u32) {
        match self.joins.get(call as usize) {
            Some(Some(join)) => (program.code[join.pc as usize - 1].immediate as u32, join.frame),
            _ => (0, 0),
        }
    }
}

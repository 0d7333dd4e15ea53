//! Lanes that wait: at a barrier, or for other lanes of their warp.

use super::{Fragment, Wait};
use crate::engine::members::Apart;
use crate::engine::op::Flow;
use crate::engine::warp_context::WarpContext;

impl WarpContext<'_> {
    /// Number of completions of a barrier: a named one of the CTA, or the cluster's.
    pub(super) fn generation(&self, id: u32) -> u32 {
        self.cta.barriers.get(id as usize).unwrap_or(&self.cluster.barrier).generation
    }

    /// Makes the running fragment wait for a barrier.
    #[cold]
    pub(crate) fn wait_at_barrier(&mut self, id: u32) -> Flow {
        let generation = self.generation(id);
        self.park(Wait::Barrier { id, generation });
        self.switch()
    }

    /// Makes the `arrived` lanes wait for a barrier; the running fragment continues without them at `next`.
    #[cold]
    pub(crate) fn wait_apart(&mut self, id: u32, arrived: u32, next: u32) -> Flow {
        let generation = self.generation(id);
        let (frame, join) = (self.divergence.frame, self.divergence.join);
        let wait = Wait::Barrier { id, generation };
        self.divergence.put(Fragment { pc: self.pc, mask: arrived, frame, join, wait });
        self.active &= !arrived;
        self.pc = next;
        Flow::Jump
    }

    /// Lanes of `members` that wait for the op at `place`.
    pub(super) fn waiting_with(&self, place: (u32, u32), members: u32) -> u32 {
        let queue = self.divergence.queue.iter();
        queue.fold(0, |all, fragment| all | self.met(fragment, place, members))
    }

    /// Lanes of a waiting fragment, with some of `members`, whose warp-wide op matches the one at `place`.
    fn met(&self, fragment: &Fragment, place: (u32, u32), members: u32) -> u32 {
        match fragment.wait {
            Wait::Lanes { here, .. } if here & members != 0 && self.meets(fragment.place(), place) => here,
            _ => 0,
        }
    }

    /// Gathers the lanes of `members` for the current op. An error is the flow of a waiting fragment.
    pub(crate) fn gather_members(&mut self, members: u32) -> Result<(), Flow> {
        let guarded_off = self.active & !self.mask;
        let needed = members & self.divergence.live & !guarded_off;
        let place = (self.pc, self.divergence.frame);
        let here = self.waiting_with(place, members) | self.mask;
        if needed & !here != 0 {
            let wait = Wait::Lanes { members: members & !guarded_off, here: self.mask };
            self.park(wait);
            return Err(self.switch());
        }
        for at in 0..self.divergence.queue.len() {
            let fragment = self.divergence.queue[at];
            let lanes = self.met(&fragment, place, members);
            if lanes == 0 {
                continue;
            }
            if fragment.place() != place {
                self.divergence.apart.push(Apart { pc: fragment.pc, frame: fragment.frame, lanes });
            }
            self.divergence.queue[at] = Fragment { wait: Wait::Ready, pc: fragment.pc + 1, ..fragment };
        }
        self.mask = here;
        Ok(())
    }

    /// Makes the executing lanes `here` wait at the current op for `members`; the running fragment
    /// continues without them.
    pub(crate) fn wait_for_lanes(&mut self, here: u32, members: u32) {
        let (pc, frame, join) = (self.pc, self.divergence.frame, self.divergence.join);
        let wait = Wait::Lanes { members, here };
        self.divergence.put(Fragment { pc, mask: here, frame, join, wait });
        self.active &= !here;
        self.mask &= !here;
    }
}

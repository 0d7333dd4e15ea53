//! Participation in warp-wide instructions: each lane names its members (PTX manual 9.7.13, `membermask`).
//! Lanes that execute together may name different members, as two adjacent tiles of 16 lanes do.
//!
//! An instruction waits for each member to execute an instruction with the same qualifiers and members
//! (`shfl.sync`, `vote.sync`, `match.sync`, `redux.sync`, `elect.sync`). A member that waits at an
//! instruction with other qualifiers, such as `shfl.sync.up` beside `shfl.sync.down`, never arrives. The
//! manual lets both wait forever, which is reported as a deadlock.

use ptx_frontend::isa::Op as Form;

use super::address_translation::lanes_of;
use super::constants::row_at;
use super::lane::{Bits, WARP};
use super::op::{Flow, Op, PredicateSource};
use super::warp_context::WarpContext;

/// Selects an operand of an op, such as `|op| op.a`.
pub(crate) trait Operand: Fn(&Op) -> u32 + Copy {}
impl<F: Fn(&Op) -> u32 + Copy> Operand for F {}

/// Executing lanes with equal member masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Lanes that receive the result.
    pub lanes: u32,
    /// Lanes that contribute to the result: executing members.
    pub members: u32,
}

/// Executing lanes, grouped by their member masks.
pub(crate) struct Groups {
    masks: [u32; WARP],
    executing: u32,
    remaining: u32,
}

impl Groups {
    /// Groups of the `executing` lanes with member masks `masks`.
    pub(crate) fn new(masks: [u32; WARP], executing: u32) -> Groups {
        Groups { masks, executing, remaining: executing }
    }

    /// One group of all executing lanes.
    pub(crate) fn whole(executing: u32) -> Groups {
        Groups::new([executing; WARP], executing)
    }
}

impl Iterator for Groups {
    type Item = Group;

    fn next(&mut self) -> Option<Group> {
        if self.remaining == 0 {
            return None;
        }
        let members = self.masks[self.remaining.trailing_zeros() as usize];
        let lanes = naming(&self.masks, members) & self.remaining;
        self.remaining &= !lanes;
        Some(Group { lanes, members: members & self.executing })
    }
}

/// Lanes with this member mask.
fn naming(masks: &[u32; WARP], members: u32) -> u32 {
    masks.iter().enumerate().fold(0, |all, (lane, &mask)| all | if mask == members { 1 << lane } else { 0 })
}

/// Members of a warp-wide op that execute it in another frame, or at another position with the same
/// qualifiers. All members wait for each other (PTX manual 9.7.13: "with the same qualifiers").
#[derive(Clone, Copy, Debug)]
pub(crate) struct Apart {
    /// Op of these members.
    pub pc: u32,
    /// Frame of these members.
    pub frame: u32,
    /// The lanes.
    pub lanes: u32,
}

impl WarpContext<'_> {
    /// Gathers the members that the executing lanes name in row `members` of their op. An error is the flow
    /// of waiting lanes.
    ///
    /// # Safety
    /// `members` is a 32-bit row in every op of the form.
    #[inline(always)]
    pub(crate) unsafe fn gather(&mut self, op: &Op, members: impl Operand) -> Result<Groups, Flow> {
        self.divergence.apart.clear();
        // SAFETY: guaranteed by the caller.
        unsafe {
            let masks = self.read_row::<u32>(members(op));
            let first = masks[self.mask.trailing_zeros() as usize & 31];
            if first & !self.mask != 0 || self.mask & !naming(&masks, first) != 0 {
                self.gather_groups(&masks)?;
                return Ok(Groups::new(self.read_members(op, members), self.mask));
            }
            Ok(Groups::new(masks, self.mask))
        }
    }

    /// One group: the lanes that execute the current op here.
    #[inline(always)]
    pub(crate) fn executing(&mut self) -> Groups {
        self.divergence.apart.clear();
        Groups::whole(self.mask)
    }

    /// True if lanes at two positions may execute a warp-wide op together. The positions must be equal, or
    /// hold instructions with equal qualifiers that exchange single values.
    pub(crate) fn meets(&self, place: (u32, u32), other: (u32, u32)) -> bool {
        let instruction = |pc: u32| {
            let program = &self.grid.program;
            let number = program.code.get(pc as usize)?.instruction as usize;
            program.function_at(pc).source.instructions.get(number)
        };
        place == other
            || match (instruction(place.0), instruction(other.0)) {
                (Some(a), Some(b)) => {
                    matches!(a.op, Form::Parallel(_)) && (a.op, &a.tokens) == (b.op, &b.tokens)
                }
                _ => false,
            }
    }

    /// Values of the row that `operand` selects, for each member from its own op and frame.
    ///
    /// # Safety
    /// The operand is a row of this width in every op of the form.
    #[inline(always)]
    pub(crate) unsafe fn read_members<B: Bits>(&self, op: &Op, operand: impl Operand) -> [B; WARP] {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut values = self.read_row(operand(op));
            for apart in &self.divergence.apart {
                let row = self.row_apart::<B>(apart, operand);
                lanes_of(apart.lanes).for_each(|lane| values[lane] = row.add(lane).read());
            }
            values
        }
    }

    /// Writes the lanes of all members, each in its own frame.
    ///
    /// # Safety
    /// As for [`WarpContext::read_members`].
    #[inline(always)]
    pub(crate) unsafe fn write_members<B: Bits>(
        &mut self,
        op: &Op,
        operand: impl Operand,
        values: &[B; WARP],
    ) {
        let members = self.mask;
        // SAFETY: guaranteed by the caller.
        unsafe {
            for apart in &self.divergence.apart {
                let row = self.row_apart::<B>(apart, operand);
                lanes_of(apart.lanes).for_each(|lane| row.add(lane).write(values[lane]));
                self.mask &= !apart.lanes;
            }
            self.write_row(operand(op), values);
        }
        self.mask = members;
    }

    /// Predicate of all members that `operand` selects, one bit per lane.
    ///
    /// # Safety
    /// The operand is a [`PredicateSource`] in every op of the form.
    #[inline(always)]
    pub(crate) unsafe fn predicate_of_members(&self, op: &Op, operand: impl Operand) -> u32 {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut truth = self.predicate(PredicateSource::decode(operand(op)));
            for &Apart { pc, frame, lanes } in &self.divergence.apart {
                let source = PredicateSource::decode(operand(&self.grid.program.code[pc as usize]));
                let words = self.divergence.frames.get(frame).base.cast::<u32>();
                let other = words.add(source.index() as usize).read() ^ source.inversion();
                truth = (truth & !lanes) | (other & lanes);
            }
            truth
        }
    }

    /// Sets a predicate of all members, each in its own frame.
    ///
    /// # Safety
    /// `operand` selects a word of the predicate area in every op of the form.
    #[inline(always)]
    pub(crate) unsafe fn write_predicate_of_members(&mut self, op: &Op, operand: impl Operand, truth: u32) {
        let members = self.mask;
        // SAFETY: guaranteed by the caller.
        unsafe {
            for &Apart { pc, frame, lanes } in &self.divergence.apart {
                let index = operand(&self.grid.program.code[pc as usize]);
                let word = self.divergence.frames.get(frame).base.cast::<u32>().add(index as usize);
                word.write((word.read() & !lanes) | (truth & lanes));
                self.mask &= !lanes;
            }
            self.write_predicate(operand(op), truth);
        }
        self.mask = members;
    }

    /// Row that `operand` selects for members elsewhere.
    fn row_apart<B: Bits>(&self, apart: &Apart, operand: impl Operand) -> *mut B {
        let offset = operand(&self.grid.program.code[apart.pc as usize]);
        row_at(self.divergence.frames.get(apart.frame).base, self.constants, offset).cast()
    }

    #[cold]
    fn gather_groups(&mut self, masks: &[u32; WARP]) -> Result<(), Flow> {
        let mut groups = Groups::new(*masks, self.mask);
        match (groups.next(), groups.next()) {
            (Some(group), None) => self.gather_members(masks[group.lanes.trailing_zeros() as usize & 31]),
            _ => self.part_incomplete(masks),
        }
    }

    /// Makes groups with missing members wait; the other groups continue.
    fn part_incomplete(&mut self, masks: &[u32; WARP]) -> Result<(), Flow> {
        let (executing, guarded_off) = (self.mask, self.active & !self.mask);
        for group in Groups::new(*masks, executing) {
            let members = masks[group.lanes.trailing_zeros() as usize & 31] & !guarded_off;
            if members & self.divergence.live & !executing != 0 {
                self.wait_for_lanes(group.lanes, members);
            }
        }
        if self.mask != 0 {
            return Ok(());
        }
        if self.active == 0 {
            return Err(self.switch());
        }
        self.pc += 1;
        Err(Flow::Jump)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_with_equal_masks_form_a_group() {
        let masks = std::array::from_fn(|lane| if lane < 16 { 0xffff } else { 0xffff_0000 });
        let groups: Vec<Group> = Groups::new(masks, 0xff00_ffff).collect();
        let low = Group { lanes: 0xffff, members: 0xffff };
        let high = Group { lanes: 0xff00_0000, members: 0xff00_0000 };
        assert_eq!(groups, [low, high]);
    }

    #[test]
    fn lanes_without_masks_form_one_group() {
        assert_eq!(Groups::whole(0b1011).collect::<Vec<_>>(), [Group { lanes: 0b1011, members: 0b1011 }]);
    }
}

//! Who takes part in a warp-wide instruction: each lane names its members (PTX manual 9.7.13, `membermask`), and lanes
//! that execute together may name different ones, as two tiles of 16 lanes side by side do.

use super::lane::WARP;
use super::op::Flow;
use super::running::Running;

/// Executing lanes that name the same members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The lanes that take the result.
    pub lanes: u32,
    /// The lanes that contribute to it: members that execute.
    pub members: u32,
}

/// The executing lanes by the members that they name.
pub(crate) struct Groups {
    masks: [u32; WARP],
    executing: u32,
    remaining: u32,
}

impl Groups {
    /// The groups of the `executing` lanes, of which each names `masks[lane]`.
    pub(crate) fn new(masks: [u32; WARP], executing: u32) -> Groups {
        Groups { masks, executing, remaining: executing }
    }

    /// One group: all executing lanes.
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

/// The lanes that name these members.
fn naming(masks: &[u32; WARP], members: u32) -> u32 {
    masks.iter().enumerate().fold(0, |all, (lane, &mask)| all | if mask == members { 1 << lane } else { 0 })
}

impl Running<'_> {
    /// Brings together the members that the executing lanes name in `row`. An error is the flow of lanes that wait.
    ///
    /// # Safety
    /// `row` is a row of words.
    #[inline(always)]
    pub(crate) unsafe fn gather(&mut self, row: u32) -> Result<Groups, Flow> {
        // SAFETY: the caller's promise.
        let masks = unsafe { self.read_row::<u32>(row) };
        let first = masks[self.mask.trailing_zeros() as usize & 31];
        if first & !self.mask != 0 || self.mask & !naming(&masks, first) != 0 {
            self.gather_groups(&masks)?;
        }
        Ok(Groups::new(masks, self.mask))
    }

    #[cold]
    fn gather_groups(&mut self, masks: &[u32; WARP]) -> Result<(), Flow> {
        let mut groups = Groups::new(*masks, self.mask);
        match (groups.next(), groups.next()) {
            (Some(group), None) => self.gather_members(masks[group.lanes.trailing_zeros() as usize & 31]),
            _ => self.part_incomplete(masks),
        }
    }

    /// Groups of which members are missing wait for them; the others go on.
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
    fn lanes_that_name_the_same_members_form_a_group() {
        let masks = std::array::from_fn(|lane| if lane < 16 { 0xffff } else { 0xffff_0000 });
        let groups: Vec<Group> = Groups::new(masks, 0xff00_ffff).collect();
        let low = Group { lanes: 0xffff, members: 0xffff };
        let high = Group { lanes: 0xff00_0000, members: 0xff00_0000 };
        assert_eq!(groups, [low, high]);
    }

    #[test]
    fn lanes_without_members_named_are_one_group() {
        assert_eq!(Groups::whole(0b1011).collect::<Vec<_>>(), [Group { lanes: 0b1011, members: 0b1011 }]);
    }
}

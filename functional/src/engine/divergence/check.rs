//! Validation of untrusted saved lanes against the program. The engine trusts program counters and row
//! offsets. Each fragment must therefore lie in the function of its frame, and frames, joins and lanes must
//! be consistent.
//!
//! Each live lane is in one fragment or parked in one join. A join expects the lanes of the fragments and
//! joins below it and its parked lanes, and exists as long as some are missing.

use ptx_frontend::isa::Op as Form;

use super::saved::{Between, SavedLanes};
use super::{Join, NONE, PATIENCE, Wait};
use crate::engine::barrier::CLUSTER_BARRIER;
use crate::engine::call;
use crate::engine::frame::SavedFrame;
use crate::engine::op::Run;
use crate::engine::program::{BoundFunction, Program};

/// Result of a check; the error names the inconsistency.
type Check = Result<(), &'static str>;

fn ensure(holds: bool, otherwise: &'static str) -> Check {
    if holds { Ok(()) } else { Err(otherwise) }
}

impl SavedLanes {
    /// Checks the lanes against the program and a warp of `lanes` with `local_bytes` bytes of local memory
    /// each.
    pub(crate) fn check(&self, program: &Program, lanes: u32, local_bytes: u32, between: Between) -> Check {
        ensure(self.live & !lanes == 0, "lanes outside of the warp")?;
        ensure(self.stack.iter().all(|&top| top <= local_bytes), "a stack beyond local memory")?;
        let (from_start, from_end) = self.local_used;
        ensure(from_start <= local_bytes && from_end <= local_bytes, "more local memory than there is")?;
        self.check_joins(program)?;
        self.check_frames(program, local_bytes)?;
        for fragment in &self.fragments {
            ensure(fragment.join == NONE || self.join(fragment.join).is_some(), "an unknown join")?;
            ensure(fragment.frame == self.frame_under(fragment.join), "lanes in a wrong frame")?;
            self.check_place(program, fragment.pc, fragment.frame)?;
            let waits = match fragment.wait {
                Wait::Ready => true,
                Wait::Barrier { id, .. } => id as usize <= CLUSTER_BARRIER,
                Wait::Lanes { here, .. } => {
                    between == Between::Steps
                        && here & !fragment.mask == 0
                        && gathers_members(program, fragment.pc)
                }
            };
            ensure(waits, "lanes that wait for an unknown barrier or lane")?;
        }
        self.check_lanes()
    }

    /// Checks that the next fragment stands before a machine instruction.
    pub(crate) fn check_ready(&self, program: &Program) -> Check {
        let is_first = |pc: u32| {
            let places = program.machine.as_ref().map(|machine| &machine.places);
            places.and_then(|places| places.get(pc as usize)).is_some_and(|place| place.is_first())
        };
        let next = self.fragments.first().filter(|next| next.wait == Wait::Ready && is_first(next.pc));
        ensure(next.is_some(), "a ready warp that stands before no instruction")
    }

    fn join(&self, at: u32) -> Option<&Join> {
        self.joins.get(at as usize)?.as_ref()
    }

    fn frame(&self, at: u32) -> Option<&SavedFrame> {
        self.frames.get(at as usize)?.as_ref()
    }

    /// Frame of lanes whose innermost join is `join`.
    fn frame_under(&self, join: u32) -> u32 {
        self.join(join).map_or(0, |join| join.callee.unwrap_or(join.frame))
    }

    /// Checks that op `pc` belongs to the function of this frame.
    fn check_place(&self, program: &Program, pc: u32, frame: u32) -> Check {
        let function = self.frame(frame).and_then(|frame| program.functions.get(frame.function as usize));
        let is_inside = |function: &BoundFunction| (function.entry..function.end).contains(&pc);
        ensure(function.is_some_and(is_inside), "a program counter outside of its function")
    }

    /// Checks that joins lie in their functions, parents lead to the outermost join, and calls return
    /// behind call ops.
    fn check_joins(&self, program: &Program) -> Check {
        self.check_parents()?;
        for (at, join) in self.joins.iter().enumerate() {
            let Some(join) = join else { continue };
            ensure(join.frame == self.frame_under(join.parent), "a join in a wrong frame")?;
            self.check_place(program, join.pc, join.frame)?;
            ensure(join.waited < PATIENCE, "a join that has waited too long")?;
            if let Some(callee) = join.callee {
                let pc = join.pc.checked_sub(1).ok_or("a call that returns nowhere")?;
                self.check_place(program, pc, join.frame)?;
                let callee = self.frame(callee).filter(|frame| frame.call as usize == at);
                check_call(program, pc, callee.ok_or("a call without a frame")?)?;
            }
        }
        Ok(())
    }

    /// Checks that parents exist and contain no cycle.
    fn check_parents(&self) -> Check {
        let mut is_good = vec![false; self.joins.len()];
        for start in 0..self.joins.len() {
            let (mut at, mut path) = (start as u32, Vec::new());
            while let Some(join) = self.join(at).filter(|_| !is_good[at as usize]) {
                ensure(path.len() < self.joins.len(), "a cycle of joins")?;
                path.push(at);
                at = join.parent;
                ensure(at == NONE || self.join(at).is_some(), "a join with an unknown parent")?;
            }
            path.into_iter().for_each(|at| is_good[at as usize] = true);
        }
        Ok(())
    }

    /// Checks that frame 0 is the kernel's, the others belong to calls, and each has its rows and follows
    /// its caller in local memory.
    fn check_frames(&self, program: &Program, local_bytes: u32) -> Check {
        for (number, frame) in self.frames.iter().enumerate() {
            let Some(frame) = frame else { continue };
            let function = program.functions.get(frame.function as usize).ok_or("an unknown function")?;
            ensure(frame.fits(&function.layout), "a frame with a wrong number of rows")?;
            let end = u64::from(frame.local_base) + u64::from(function.local_bytes);
            ensure(end <= local_bytes.into(), "a frame beyond local memory")?;
            let base = if number == 0 {
                ensure(frame.function == 0 && frame.call == NONE, "a kernel that was called")?;
                0
            } else {
                let join = self.join(frame.call).filter(|join| join.callee == Some(number as u32));
                let caller = join.and_then(|join| self.frame(join.frame)).ok_or("a frame without a call")?;
                let function =
                    program.functions.get(caller.function as usize).ok_or("an unknown function")?;
                caller.local_base.saturating_add(function.frame_bytes())
            };
            ensure(frame.local_base == base, "a frame at a wrong offset")?;
        }
        ensure(self.frame(0).is_some(), "the kernel's frame is missing")
    }

    /// Checks that each live lane is in one place and each join expects exactly the lanes below it.
    fn check_lanes(&self) -> Check {
        let mut under = vec![0u32; self.joins.len()];
        let mut outermost = 0u32;
        let mut add = |join: u32, lanes: u32| {
            let all = under.get_mut(join as usize).unwrap_or(&mut outermost);
            ensure(lanes != 0 && *all & lanes == 0, "a lane in two fragments, or a fragment without lanes")?;
            *all |= lanes;
            Ok(())
        };
        for fragment in &self.fragments {
            add(fragment.join, fragment.mask)?;
        }
        for join in self.joins.iter().flatten() {
            add(join.parent, join.expected)?;
        }
        for (join, &under) in self.joins.iter().zip(&under) {
            let Some(join) = join else { continue };
            let holds = under != 0 && under & join.arrived == 0 && under | join.arrived == join.expected;
            ensure(holds, "a join that expects the wrong lanes")?;
        }
        ensure(outermost == self.live, "missing or exited lanes")
    }
}

/// True if lanes can wait for others at op `pc`. An instruction that exchanges values has only this op.
fn gathers_members(program: &Program, pc: u32) -> bool {
    let function = program.function_at(pc);
    let number = |pc: u32| program.code.get(pc as usize).map(|op| op.instruction);
    let form = number(pc).and_then(|number| function.source.instructions.get(number as usize));
    let is_alone = || number(pc + 1) != number(pc) && pc.checked_sub(1).and_then(number) != number(pc);
    match form.map(|form| form.op) {
        Some(Form::Matrix(_)) => true,
        Some(Form::Parallel(_)) => is_alone(),
        _ => false,
    }
}

/// True if the op at `pc` calls the frame's function.
fn check_call(program: &Program, pc: u32, callee: &SavedFrame) -> Check {
    let op = &program.code[pc as usize];
    ensure(std::ptr::fn_addr_eq(op.run, call::call as Run), "no call at the call's position")?;
    let site = program.call_sites.get(op.immediate as usize).ok_or("an unknown call site")?;
    let by_address = || program.function_addresses.iter().any(|&(_, function)| function == callee.function);
    let is_called = match site.function {
        Some(function) => function == callee.function,
        None => by_address(),
    };
    ensure(is_called, "a call to another function")
}

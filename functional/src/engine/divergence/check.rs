//! Whether lanes that come from outside could be those of a warp of the program. The engine follows program counters and
//! offsets of rows without looking, so each fragment must stand in the function of its frame, and each frame, join and
//! lane be where the others say.
//!
//! Each live lane is in one fragment or has arrived at one join. A join expects the lanes of the fragments and joins
//! under it and those that have arrived, and is there as long as some have not.

use ptx_frontend::isa::Op as Form;

use super::saved::{Between, SavedLanes};
use super::{Join, NONE, PATIENCE, Wait};
use crate::engine::barrier::CLUSTER_BARRIER;
use crate::engine::call;
use crate::engine::frame::SavedFrame;
use crate::engine::op::Run;
use crate::engine::program::{BoundFunction, Program};

/// What is wrong with them.
type Check = Result<(), &'static str>;

fn ensure(holds: bool, otherwise: &'static str) -> Check {
    if holds { Ok(()) } else { Err(otherwise) }
}

impl SavedLanes {
    /// Checks them against the program and a warp of these lanes with so many bytes of local memory.
    pub(crate) fn check(&self, program: &Program, lanes: u32, local_bytes: u32, between: Between) -> Check {
        ensure(self.live & !lanes == 0, "lanes that the warp has not")?;
        ensure(self.stack.iter().all(|&top| top <= local_bytes), "a stack beyond local memory")?;
        let (from_start, from_end) = self.local_used;
        ensure(from_start <= local_bytes && from_end <= local_bytes, "more local memory than there is")?;
        self.check_joins(program)?;
        self.check_frames(program, local_bytes)?;
        for fragment in &self.fragments {
            ensure(fragment.join == NONE || self.join(fragment.join).is_some(), "a join that is not there")?;
            ensure(fragment.frame == self.frame_under(fragment.join), "lanes in a frame they cannot be in")?;
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
            ensure(waits, "lanes that wait for what there is not")?;
        }
        self.check_lanes()
    }

    /// Does the next fragment stand before a machine instruction?
    pub(crate) fn check_ready(&self, program: &Program) -> Check {
        let is_first = |pc: u32| {
            let places = program.machine.as_ref().map(|machine| &machine.places);
            places.and_then(|places| places.get(pc as usize)).is_some_and(|place| place.is_first())
        };
        let next = self.fragments.first().filter(|next| next.wait == Wait::Ready && is_first(next.pc));
        ensure(next.is_some(), "a warp that is ready and stands before no instruction")
    }

    fn join(&self, at: u32) -> Option<&Join> {
        self.joins.get(at as usize)?.as_ref()
    }

    fn frame(&self, at: u32) -> Option<&SavedFrame> {
        self.frames.get(at as usize)?.as_ref()
    }

    /// The frame of lanes whose innermost join this is.
    fn frame_under(&self, join: u32) -> u32 {
        self.join(join).map_or(0, |join| join.callee.unwrap_or(join.frame))
    }

    /// Does op `pc` belong to the function of this frame?
    fn check_place(&self, program: &Program, pc: u32, frame: u32) -> Check {
        let function = self.frame(frame).and_then(|frame| program.functions.get(frame.function as usize));
        let is_inside = |function: &BoundFunction| (function.entry..function.end).contains(&pc);
        ensure(function.is_some_and(is_inside), "a program counter outside of its function")
    }

    /// Joins stand in their functions, their parents lead to the outermost one, and calls are at calls.
    fn check_joins(&self, program: &Program) -> Check {
        self.check_parents()?;
        for (at, join) in self.joins.iter().enumerate() {
            let Some(join) = join else { continue };
            ensure(join.frame == self.frame_under(join.parent), "a join in a frame it cannot be in")?;
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

    /// Parents are there, and none is under itself.
    fn check_parents(&self) -> Check {
        let mut is_good = vec![false; self.joins.len()];
        for start in 0..self.joins.len() {
            let (mut at, mut path) = (start as u32, Vec::new());
            while let Some(join) = self.join(at).filter(|_| !is_good[at as usize]) {
                ensure(path.len() < self.joins.len(), "a join under itself")?;
                path.push(at);
                at = join.parent;
                ensure(at == NONE || self.join(at).is_some(), "a join under one that is not there")?;
            }
            path.into_iter().for_each(|at| is_good[at as usize] = true);
        }
        Ok(())
    }

    /// Frame 0 is the kernel's, the others those of calls; each has its rows, and its place behind its caller's.
    fn check_frames(&self, program: &Program, local_bytes: u32) -> Check {
        for (number, frame) in self.frames.iter().enumerate() {
            let Some(frame) = frame else { continue };
            let function = program.functions.get(frame.function as usize).ok_or("an unknown function")?;
            ensure(frame.fits(&function.layout), "a frame with other rows")?;
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
            ensure(frame.local_base == base, "a frame out of its place")?;
        }
        ensure(self.frame(0).is_some(), "no frame of the kernel")
    }

    /// Each live lane is in one place, and each join expects those that come to it.
    fn check_lanes(&self) -> Check {
        let mut under = vec![0u32; self.joins.len()];
        let mut outermost = 0u32;
        let mut add = |join: u32, lanes: u32| {
            let all = under.get_mut(join as usize).unwrap_or(&mut outermost);
            ensure(lanes != 0 && *all & lanes == 0, "a lane in two places, or none in one")?;
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
            ensure(holds, "a join that expects others than those that come")?;
        }
        ensure(outermost == self.live, "lanes that are nowhere, or have exited")
    }
}

/// Can lanes wait at the op at `pc` for others? Of an instruction that exchanges values there is no other op.
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

/// Does the op at `pc` call the frame's function?
fn check_call(program: &Program, pc: u32, callee: &SavedFrame) -> Check {
    let op = &program.code[pc as usize];
    ensure(std::ptr::fn_addr_eq(op.run, call::call as Run), "a call that is none")?;
    let site = program.call_sites.get(op.immediate as usize).ok_or("a call that is none")?;
    let by_address = || program.function_addresses.iter().any(|&(_, function)| function == callee.function);
    let is_called = match site.function {
        Some(function) => function == callee.function,
        None => by_address(),
    };
    ensure(is_called, "a call of another function")
}

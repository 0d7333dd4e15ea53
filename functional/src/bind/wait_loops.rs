//! Detection of short spin loops that poll one address and change no memory. A counter or clock in such a
//! loop changes registers on every iteration, so register values cannot reveal that the loop waits.

use std::ops::{Range, RangeInclusive};

use ptx_frontend::analyse::{reads, writes};
use ptx_frontend::ir::{AddressBase, Function, Instruction, Operand, RegisterId};
use ptx_frontend::isa::Effect;

/// Maximum instructions of a spin loop.
const LONGEST: usize = 40;

/// Instruction ranges of a function's spin loops.
pub(super) fn wait_loops(source: &Function) -> Vec<Range<usize>> {
    let loops = source.instructions.iter().enumerate().filter_map(|(last, branch)| {
        let body = body_of(branch, last)?;
        waits(&source.instructions[body.clone()]).then(|| *body.start()..last + 1)
    });
    loops.collect()
}

/// Instructions from a short backward branch's target to the branch.
fn body_of(branch: &Instruction, last: usize) -> Option<RangeInclusive<usize>> {
    let [Operand::Label(target)] = branch.operands[..] else { return None };
    let first = target.0 as usize;
    let is_short = first <= last && last - first < LONGEST;
    (branch.op.line().effect == Effect::Branch && is_short).then_some(first..=last)
}

fn waits(body: &[Instruction]) -> bool {
    let changes_nothing = |i: &Instruction| {
        let effect = i.op.line().effect;
        matches!(effect, Effect::Pure | Effect::Load | Effect::Fence | Effect::Branch | Effect::Volatile)
    };
    let changing = changing(body);
    let polls = |i: &Instruction| {
        let base = i.operands.iter().find_map(|operand| match operand {
            Operand::Address { base, .. } => Some(*base),
            _ => None,
        });
        let stays = match base {
            Some(AddressBase::Register(register)) => !changing.contains(&register),
            base => base.is_some(),
        };
        i.op.line().effect == Effect::Load && i.is_ordered() && stays
    };
    body.iter().all(changes_nothing) && body.iter().any(polls)
}

/// Registers that may change between iterations. Unoptimised code recomputes the address of a variable in
/// each iteration.
fn changing(body: &[Instruction]) -> Vec<RegisterId> {
    let mut changing: Vec<RegisterId> = body.iter().flat_map(writes).collect();
    loop {
        let keeps = |i: &Instruction, register: RegisterId| {
            let is_special = |operand: &Operand| matches!(operand, Operand::Special(_));
            !writes(i).contains(&register)
                || (i.op.line().effect == Effect::Pure
                    && !i.operands.iter().any(is_special)
                    && !reads(i).iter().any(|read| changing.contains(read)))
        };
        let left: Vec<RegisterId> =
            changing.iter().copied().filter(|&register| !body.iter().all(|i| keeps(i, register))).collect();
        if left.len() == changing.len() {
            return changing;
        }
        changing = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_frontend::Module;

    /// First and one-past-last instruction of each spin loop.
    fn loops_of(body: &str) -> Vec<(usize, usize)> {
        let text = format!(
            ".version 7.5\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p) {{
             .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %a<9>; .reg .f32 %f<4>;
             ld.param.u64 %a1, [p]; {body} ret; }}"
        );
        let module = Module::parse(text, "test.ptx").unwrap();
        let loops = wait_loops(&module.function("k").unwrap());
        loops.into_iter().map(|Range { start, end }| (start, end)).collect()
    }

    #[test]
    fn polling_one_address_is_a_spin_loop() {
        let polling = "L: ld.volatile.global.u32 %r1, [%a1]; add.u32 %r2, %r2, 1; mov.u64 %a2, %clock64;
            membar.gl; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;";
        assert_eq!(loops_of(polling), [(1, 7)]);
        let computed =
            "L: mov.u64 %a2, 64; cvta.global.u64 %a3, %a2; ld.volatile.u32 %r1, [%a3]; add.u32 %r2, %r2, 1;
            setp.eq.u32 %p1, %r1, 0; @%p1 bra L;";
        assert_eq!(loops_of(computed), [(1, 7)]);
        let with_exit = "L: ld.acquire.gpu.u32 %r1, [%a1]; setp.ne.u32 %p1, %r1, 0; @%p1 bra M;
            add.u32 %r2, %r2, 1; setp.gt.u32 %p2, %r2, 99; @%p2 bra M; bra L; M:";
        assert_eq!(loops_of(with_exit), [(1, 8)]);
    }

    #[test]
    fn loops_that_compute_are_no_spin_loops() {
        let next_address =
            "L: ld.volatile.global.u32 %r1, [%a1]; add.u64 %a1, %a1, 4; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;";
        let stores = "L: ld.volatile.global.u32 %r1, [%a1]; st.global.u32 [%a1+4], %r1; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;";
        let plain =
            "L: ld.global.u32 %r1, [%a1]; add.u32 %r2, %r2, %r1; setp.ne.u32 %p1, %r2, 9; @%p1 bra L;";
        let long = format!(
            "L: ld.volatile.global.u32 %r1, [%a1]; {} setp.eq.u32 %p1, %r1, 0; @%p1 bra L;",
            "fma.rn.f32 %f1, %f1, %f2, %f1;".repeat(40)
        );
        for body in [next_address, stores, plain, &long] {
            assert_eq!(loops_of(body), [], "{body}");
        }
    }
}

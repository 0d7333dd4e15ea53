//! Convergence barriers: `BSSY` before a divergent branch, `BSYNC` at its reconvergence point.
//!
//! ptxas omits both for branches without reconvergence. Outside of loops, ptxas also omits them if no
//! barrier or lane exchange follows, because nothing then depends on all lanes.

use crate::analyse::{BlockId, ControlFlow, reads, writes};
use crate::ir::{Function, Instruction, Operand, RegisterId};
use crate::isa::{Control, Effect, Modifier, Op, SpecialRegister};

/// Convergence points of blocks.
#[derive(Debug)]
pub(super) struct Convergence {
    /// For each block, true if lanes may diverge at its end and reconverge later.
    pub(super) parts: Vec<bool>,
    /// For each block, true if lanes reconverge at its start.
    pub(super) meets: Vec<bool>,
}

impl Convergence {
    pub(super) fn of(function: &Function, flow: &ControlFlow, depths: &[u32]) -> Convergence {
        let count = flow.blocks().len();
        let mut convergence = Convergence { parts: vec![false; count], meets: vec![false; count] };
        let divergent = divergent(function);
        let exchanges = exchanges_ahead(function, flow);
        for (number, block) in flow.blocks().iter().enumerate() {
            let last = block.end.0.checked_sub(1).and_then(|last| function.instructions.get(last as usize));
            let Some(guard) = last.filter(|i| i.op == Op::Control(Control::bra)).and_then(|i| i.guard) else {
                continue;
            };
            let id = BlockId(number as u32);
            let Some(meeting) = flow.immediate_post_dominator(id).map(|meeting| meeting.0 as usize) else {
                continue;
            };
            let goes_back = block.successors.iter().any(|successor| *successor <= id);
            let uniform = !divergent.get(guard.register.0 as usize).copied().unwrap_or(true)
                || last.is_some_and(|i| i.has(Modifier::Uni));
            if !goes_back && !uniform && meeting > number && (depths[number] > 0 || exchanges[meeting]) {
                convergence.parts[number] = true;
                convergence.meets[meeting] = true;
            }
        }
        convergence
    }
}

/// Registers that may differ between the lanes of a warp.
fn divergent(function: &Function) -> Vec<bool> {
    let mut divergent = vec![false; function.registers.len()];
    let is = |divergent: &[bool], register: &RegisterId| divergent.get(register.0 as usize) == Some(&true);
    let mut changed = true;
    while changed {
        changed = false;
        for i in &function.instructions {
            if begins_divergence(i) || reads(i).iter().any(|register| is(&divergent, register)) {
                for register in writes(i) {
                    changed |= !std::mem::replace(&mut divergent[register.0 as usize], true);
                }
            }
        }
    }
    divergent
}

fn begins_divergence(i: &Instruction) -> bool {
    use SpecialRegister as S;
    let constant =
        i.modifiers().any(|m| matches!(m, Modifier::Param | Modifier::ParamEntry | Modifier::Const));
    let of_a_lane = |operand: &Operand| {
        matches!(
            operand,
            Operand::Special(
                S::TidX
                    | S::TidY
                    | S::TidZ
                    | S::Laneid
                    | S::LanemaskEq
                    | S::LanemaskLe
                    | S::LanemaskLt
                    | S::LanemaskGe
                    | S::LanemaskGt
            )
        )
    };
    match i.op.line().effect {
        Effect::Load => !constant,
        Effect::Atomic | Effect::Call => true,
        _ => i.operands.iter().any(of_a_lane),
    }
}

/// For each block, true if lanes may still wait for or exchange values with each other from its start on.
fn exchanges_ahead(function: &Function, flow: &ControlFlow) -> Vec<bool> {
    let mut ahead: Vec<bool> = flow
        .blocks()
        .iter()
        .map(|block| {
            let code = function.instructions.get(block.start.0 as usize..block.end.0 as usize).unwrap_or(&[]);
            code.iter().any(|i| matches!(i.op.line().effect, Effect::Convergent | Effect::Barrier))
        })
        .collect();
    let mut changed = true;
    while changed {
        changed = false;
        for (number, block) in flow.blocks().iter().enumerate().rev() {
            if !ahead[number] && block.successors.iter().any(|successor| ahead[successor.0 as usize]) {
                ahead[number] = true;
                changed = true;
            }
        }
    }
    ahead
}

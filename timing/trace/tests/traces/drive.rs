//! A model without time: it issues every instruction as soon as possible.

use warp_stream::{Execution, KernelSource, Moment, Next, Residence, WarpSlot};

/// An executed instruction of a warp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    pub warp: u32,
    pub position: u32,
    pub active: u32,
    pub addresses: Vec<u64>,
    pub texels: Vec<u64>,
}

/// Runs a launch on one SM, one CTA at a time. Asks warps in `order`, each until it waits. Returns
/// each CTA's instructions in the order of issue.
pub fn drive(source: &dyn KernelSource, order: &[u32]) -> Vec<Vec<Done>> {
    let mut warps = source.warps(0);
    let code = &source.kernel().code.instructions;
    let mut ctas = Vec::new();
    for cta in 0..source.kernel().shape.cta_count() {
        warps.start_cta(3, cta, Residence { sm: 0, first_warp: 0 }).unwrap();
        let mut done = Vec::new();
        let mut deferred = Vec::new();
        let mut execution = Execution::default();
        loop {
            let before = done.len();
            let mut finished = 0;
            for &warp in order {
                let slot = WarpSlot { cta: 3, warp };
                let position = loop {
                    match warps.next(slot).unwrap() {
                        Next::Instruction(position) => {
                            warps.issue(slot, Moment::default(), &mut execution).unwrap();
                            deferred.extend(execution.deferred);
                            let memory = code[position as usize].memory.is_some();
                            let lanes = (0..32).filter(|lane| memory && execution.active >> lane & 1 != 0);
                            let addresses = lanes.map(|lane| execution.addresses[lane]).collect();
                            let (active, texels) = (execution.active, execution.texels.clone());
                            done.push(Done { warp, position, active, addresses, texels });
                        }
                        other => break other,
                    }
                };
                finished += usize::from(position == Next::Finished);
            }
            if finished == order.len() {
                break;
            }
            let performed = !deferred.is_empty();
            deferred.drain(..).for_each(|number| warps.perform(number, Moment::default()).unwrap());
            assert!(done.len() > before || performed, "CTA {cta}: nothing moves");
        }
        warps.end_cta(3);
        ctas.push(done);
    }
    ctas
}

/// Instructions of a warp.
pub fn of_warp(cta: &[Done], warp: u32) -> Vec<Done> {
    cta.iter().filter(|done| done.warp == warp).cloned().collect()
}

/// Position in the order of issue of a warp's instruction.
pub fn place(cta: &[Done], warp: u32, position: u32) -> usize {
    cta.iter().position(|done| done.warp == warp && done.position == position).unwrap()
}

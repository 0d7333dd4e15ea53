//! Choice among orders of the code: the widest order that keeps all warps of an SM resident, else
//! the order that keeps the most.
//!
//! The rules are fitted to the register counts of `ptxas` 12.9 for `sm_70` over several hundred
//! kernels (docs/decisions/0010).

use warp_stream::OperationClass;

use crate::analyse::ControlFlow;

use super::allocate::{ALL_WARPS, Allocation};
use super::code::{Code, Node};
use super::combine::Combinations;
use super::live::{Live, OfWords, live_out};
use super::schedule::{Ahead, Room, schedule};
use super::values::Values;

/// Live registers that an order may take to hide latency, the widest room first. The first room is
/// [`ALL_WARPS`] less the registers that hold no value.
const ROOMS: [usize; 4] = [29, 25, 21, 17];
/// Registers of a thread are allocated in units of so many (CUDA's occupancy calculator).
const ALLOCATION_UNIT: u32 = 8;
/// Registers above [`ALL_WARPS`] from which narrower rooms cannot help.
const FAR: u32 = 16;
/// Rooms of the order of few registers: many loads ahead, few loads ahead, none.
const FEW_REGISTERS: [Room; 3] = [
    Room { registers: ROOMS[0], ahead: Ahead::Within(48) },
    Room { registers: ROOMS[1], ahead: Ahead::Within(24) },
    Room { registers: 0, ahead: Ahead::Within(0) },
];
/// Kept values ([`kept`]) from which `ptxas` gives [`ALL_WARPS`] up, and leaves room for loads ahead.
const MANY_KEPT: usize = 22;
/// Registers of the widest order from which `ptxas` does so.
const MANY_REGISTERS: u32 = 160;
/// Room that `ptxas` then takes: half of the warps stay resident.
const HALF_OF_WARPS: Room = Room { registers: 61, ahead: Ahead::Within(200) };

/// Code in its final order, with its registers.
type Ordered = (Code, Allocation);

/// Orders the code and allocates its registers; `calls` is true if the function calls another.
pub(super) fn order(
    code: &Code,
    flow: &ControlFlow,
    values: &Values<'_>,
    combinations: &Combinations,
    calls: bool,
) -> Ordered {
    let ordered = |room: Room| {
        let mut code = code.clone();
        schedule(&mut code, flow, values, combinations, room);
        let allocation = Allocation::of(&code, flow, calls);
        (code, allocation)
    };
    let fits = |of: &Ordered| of.1.registers <= ALL_WARPS;
    let mut best = ordered(Room { registers: ROOMS[0], ahead: Ahead::Anything });
    if best.1.registers >= MANY_REGISTERS && kept(code, flow) >= MANY_KEPT {
        return denser(best, ordered(HALF_OF_WARPS));
    }
    for registers in ROOMS.into_iter().skip(1) {
        if fits(&best) || best.1.registers >= ALL_WARPS + FAR {
            break;
        }
        best = fewer(best, ordered(Room { registers, ahead: Ahead::Anything }));
    }
    for room in FEW_REGISTERS {
        if fits(&best) {
            break;
        }
        best = denser(best, ordered(room));
    }
    best
}

/// The one of fewer registers; the first if both take as many.
fn fewer(first: Ordered, second: Ordered) -> Ordered {
    if second.1.registers < first.1.registers { second } else { first }
}

/// The one that leaves more warps resident; the first if both leave as many, as it hides more latency.
fn denser(first: Ordered, second: Ordered) -> Ordered {
    let units = |of: &Ordered| of.1.registers.div_ceil(ALLOCATION_UNIT);
    if units(&second) < units(&first) { second } else { first }
}

/// Most values live at once in the order of the PTX code, loaded values and constants aside. A load
/// can move to its users; other values stay in registers.
fn kept(code: &Code, flow: &ControlFlow) -> usize {
    let live_out = live_out::<OfWords>(code, flow);
    let mut is_given = vec![false; code.group_of.len()];
    for node in code.blocks.iter().flatten().filter(|node| gives(node)) {
        node.destination.iter().for_each(|word| is_given[word as usize] = true);
    }
    let is_kept = |word: &u32| !is_given[*word as usize];
    let mut live = Live::new(code.group_of.len());
    let mut most = 0;
    for (block, nodes) in code.blocks.iter().enumerate() {
        live.reset(live_out.of_block(block).filter(is_kept));
        most = most.max(live.count());
        for node in nodes.iter().rev() {
            if !node.guarded {
                node.destination.iter().for_each(|word| live.clear(word));
            }
            node.reads().filter(is_kept).for_each(|word| live.set(word));
            most = most.max(live.count());
        }
    }
    most
}

/// Is the result a loaded value or a constant?
fn gives(node: &Node) -> bool {
    matches!(node.class, OperationClass::Load | OperationClass::LoadConstant | OperationClass::Move)
}

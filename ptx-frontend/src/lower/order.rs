//! Choice among orders of the code: the widest order that keeps all warps of an SM resident, else
//! the order that keeps the most. Blocks that need few registers then get a wider order back.
//!
//! The rules are fitted to the register counts of `ptxas` 12.9 for `sm_70` over several hundred
//! kernels (docs/decisions/0010).

use warp_stream::OperationClass;

use crate::analyse::ControlFlow;

use super::allocate::Allocation;
use super::code::{Code, Node};
use super::combine::Combinations;
use super::live::{Live, OfWords, RegisterClass as _, live_out};
use super::schedule::{Ahead, Room, schedule};
use super::target::Registers;
use super::values::Values;

/// Registers of a thread that hold no value.
const WITHOUT_VALUE: u32 = 3;
/// Rooms that an order may take to hide latency: registers less than those with which all warps are
/// resident, the widest room first.
const LESS: [u32; 4] = [0, 4, 8, 12];
/// Registers above those of all warps from which narrower rooms cannot help.
const FAR: u32 = 16;
/// Kept values ([`kept`]) from which `ptxas` lets fewer warps be resident, and leaves room for loads
/// ahead.
const MANY_KEPT: usize = 22;
/// Registers of the widest order from which `ptxas` does so.
const MANY_REGISTERS: u32 = 160;

/// Registers of the fullest block that wider orders of other blocks leave free. The second figure
/// is for pairs that fit nowhere.
const ROOM_LEFT: [usize; 2] = [0, 3];

/// Rooms of a target's code.
impl Registers {
    /// Live registers of an order that keeps all warps resident, less some.
    fn room(&self, less: u32) -> usize {
        self.all_warps.saturating_sub(WITHOUT_VALUE + less) as usize
    }

    /// Room that `ptxas` takes for many kept values: half of the warps stay resident.
    fn half_of_warps(&self) -> Room {
        Room { registers: self.room(0) + self.all_warps as usize, ahead: Ahead::Within(200) }
    }

    /// Rooms of the order of few registers: many loads ahead, few loads ahead, none.
    fn few(&self) -> [Room; 3] {
        [
            Room { registers: self.room(LESS[0]), ahead: Ahead::Within(48) },
            Room { registers: self.room(LESS[1]), ahead: Ahead::Within(24) },
            Room { registers: 0, ahead: Ahead::Within(0) },
        ]
    }
}

/// Code in an order, with its registers.
struct Ordered<'a> {
    code: Code,
    allocation: Allocation,
    target: &'a Registers,
    /// For each block, the most registers that are live at once.
    peaks: Vec<usize>,
}

impl<'a> Ordered<'a> {
    fn of(code: Code, flow: &ControlFlow, calls: bool, target: &'a Registers) -> Ordered<'a> {
        let allocation = Allocation::of(&code, flow, calls, target);
        let peaks = peaks(&code, flow, |_| true);
        Ordered { code, allocation, target, peaks }
    }

    fn registers(&self) -> u32 {
        self.allocation.registers
    }

    /// Units of registers that a thread takes, which decide how many warps are resident.
    fn units(&self) -> u32 {
        self.registers().div_ceil(self.target.unit)
    }

    /// Can all warps be resident?
    fn fits(&self) -> bool {
        self.registers() <= self.target.all_warps
    }
}

/// Orders the code and allocates the target's registers; `calls` is true if the function calls another.
pub(super) fn order(
    code: &Code,
    flow: &ControlFlow,
    values: &Values<'_>,
    combinations: &Combinations,
    calls: bool,
    target: &Registers,
) -> (Code, Allocation) {
    let ordered = |room: Room| {
        let mut code = code.clone();
        schedule(&mut code, flow, values, combinations, room);
        Ordered::of(code, flow, calls, target)
    };
    let mut best = ordered(Room { registers: target.room(LESS[0]), ahead: Ahead::Anything });
    let mut wider = Vec::new();
    if best.registers() >= MANY_REGISTERS && kept(code, flow) >= MANY_KEPT {
        take(&mut best, &mut wider, ordered(target.half_of_warps()), Ordered::units);
    } else {
        for registers in LESS.into_iter().skip(1).map(|less| target.room(less)) {
            if best.fits() || best.registers() >= target.all_warps + FAR {
                break;
            }
            let next = ordered(Room { registers, ahead: Ahead::Anything });
            take(&mut best, &mut wider, next, Ordered::registers);
        }
        for room in target.few() {
            if best.fits() {
                break;
            }
            // Of two orders with as many resident warps, the wider one hides more latency.
            take(&mut best, &mut wider, ordered(room), Ordered::units);
        }
    }
    let best = widened(best, &wider, flow, calls);
    (best.code, best.allocation)
}

/// Replaces the best order by the next one if that has fewer of `measure`.
fn take<'a>(
    best: &mut Ordered<'a>,
    wider: &mut Vec<Ordered<'a>>,
    next: Ordered<'a>,
    measure: fn(&Ordered<'a>) -> u32,
) {
    if measure(&next) < measure(best) {
        wider.push(std::mem::replace(best, next));
    }
}

/// Gives each block its widest order within the registers of the fullest block of `narrow`, as long
/// as the same number of warps stays resident.
fn widened<'a>(narrow: Ordered<'a>, wider: &[Ordered<'a>], flow: &ControlFlow, calls: bool) -> Ordered<'a> {
    let most = narrow.peaks.iter().copied().max().unwrap_or(0);
    for room in ROOM_LEFT.map(|left| most.saturating_sub(left)) {
        let mut code = narrow.code.clone();
        let mut changes = false;
        for (block, nodes) in code.blocks.iter_mut().enumerate() {
            if let Some(of) = wider.iter().find(|of| of.peaks[block] <= room) {
                nodes.clone_from(&of.code.blocks[block]);
                changes = true;
            }
        }
        if !changes {
            break;
        }
        let mixed = Ordered::of(code, flow, calls, narrow.target);
        if mixed.units() <= narrow.units() {
            return mixed;
        }
    }
    narrow
}

/// In the fullest block, the most values live at once in the order of the PTX code, loaded values
/// and constants aside. A load can move to its users; other values stay in registers.
fn kept(code: &Code, flow: &ControlFlow) -> usize {
    let mut is_given = vec![false; code.group_of.len()];
    for node in code.blocks.iter().flatten().filter(|node| gives(node)) {
        node.destination.iter().for_each(|word| is_given[word as usize] = true);
    }
    let of_all = peaks(code, flow, |_| true);
    let fullest = (0..of_all.len()).max_by_key(|block| of_all[*block]);
    fullest.map_or(0, |block| peaks(code, flow, |word| !is_given[word as usize])[block])
}

/// For each block, the most registers among those of interest that are live at once.
fn peaks(code: &Code, flow: &ControlFlow, is_counted: impl Fn(u32) -> bool) -> Vec<usize> {
    let live_out = live_out::<OfWords>(code, flow);
    let mut live = Live::new(OfWords::count(code));
    let mut peaks = Vec::with_capacity(code.blocks.len());
    for (block, nodes) in code.blocks.iter().enumerate() {
        live.reset(live_out.of_block(block).filter(|word| is_counted(*word)));
        let mut most = live.count();
        for node in nodes.iter().rev() {
            OfWords::writes(node, |word| live.clear(word));
            OfWords::reads(node, |word| {
                if is_counted(word) {
                    live.set(word);
                }
            });
            most = most.max(live.count());
        }
        peaks.push(most);
    }
    peaks
}

/// Is the result a loaded value or a constant?
fn gives(node: &Node) -> bool {
    matches!(node.class, OperationClass::Load | OperationClass::LoadConstant | OperationClass::Move)
}

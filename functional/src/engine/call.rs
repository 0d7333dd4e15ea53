//! Calls: frames of callees, transfer of arguments and results through local memory, and native functions
//! (`vprintf`, `malloc`, …).

use super::address_translation::lanes_of;
use super::frame::Frame;
use super::op::{Flow, Op};
use super::passing::{FrameMemory, copy_value};
use super::program::{BoundFunction, CallSite};
use super::warp_context::WarpContext;
use crate::fault::FaultKind;
use crate::sanitizer::stack;

/// Calls the function of call site `immediate`. An indirect call takes the targets from row `a`, and lanes
/// may differ.
pub(crate) fn call(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let grid = w.grid;
    let site = &grid.program.call_sites[op.immediate as usize];
    let function = match site.function {
        Some(function) => function,
        None => match indirect_target(w, op) {
            Ok(function) => function,
            Err(flow) => return flow,
        },
    };
    enter(w, site, op.immediate as u32, function)
}

/// Function that the first lane calls. Lanes with other targets execute this op again.
fn indirect_target(w: &mut WarpContext<'_>, op: &Op) -> Result<u32, Flow> {
    // SAFETY: `a` is a 64-bit row.
    let targets = unsafe { w.read_row::<u64>(op.a) };
    let first = w.mask.trailing_zeros() as usize;
    let mut same = 0;
    for lane in lanes_of(w.mask) {
        if targets[lane] == targets[first] {
            same |= 1 << lane;
        }
    }
    if same != w.mask {
        // The lanes reconverge after the call, at an op placed by the binder.
        let pc = w.pc;
        return Err(w.diverge(same, pc, pc, pc + 1));
    }
    let addresses = &w.grid.program.function_addresses;
    match addresses.binary_search_by_key(&targets[first], |&(address, _)| address) {
        Ok(found) => Ok(addresses[found].1),
        Err(_) => Err(w.fault(FaultKind::InvalidTarget { target: targets[first], lane: first as u32 })),
    }
}

fn enter(w: &mut WarpContext<'_>, site: &CallSite, number: u32, function: u32) -> Flow {
    let grid = w.grid;
    let callee = &grid.program.functions[function as usize];
    let local_base = w.frame_end();
    let stack = lanes_of(w.mask).map(|lane| w.divergence.stack[lane]).min().unwrap_or(w.local_bytes);
    if local_base + callee.local_bytes > stack {
        let lane = w.mask.trailing_zeros();
        return w.fault(FaultKind::StackOverflow { limit: w.local_bytes, lane });
    }
    let used = &mut w.divergence.local_used.0;
    *used = (*used).max(local_base + callee.local_bytes);
    if let (true, Some(checker)) = (w.cta.checks.is_some(), grid.owner.checker())
        && local_base + callee.frame_bytes() > grid.owner.stack_limit()
    {
        stack::called(w, checker, function, local_base + callee.frame_bytes());
    }
    let caller = w.divergence.frame;
    let frame = Frame::new(&callee.layout, function, local_base).called_from(number, caller);
    crate::engine::special::fill(&callee.specials, frame.base, grid, w.cta, w.warp);
    let base = frame.base;
    let (from, to) = (w.own_frame(), FrameMemory { rows: base, local: local_base });
    for (argument, parameter) in site.arguments.iter().zip(&callee.parameters) {
        copy_value(w, (from, argument), (to, parameter));
    }
    w.enter(callee.entry, frame)
}

/// Minimum local memory charged per activation, so that endless recursion faults.
const FRAME_COST: u32 = 16;

impl WarpContext<'_> {
    /// End of the running frame's part of local memory.
    pub(crate) fn frame_end(&self) -> u32 {
        let function = self.divergence.frames.get(self.divergence.frame).function as usize;
        self.local_base + self.grid.program.functions[function].frame_bytes()
    }
}

impl BoundFunction {
    /// Bytes of local memory charged for an activation.
    pub(crate) fn frame_bytes(&self) -> u32 {
        self.local_bytes.max(FRAME_COST)
    }
}

/// Copies the executing lanes' results to the destinations of their call.
pub(crate) fn return_values(w: &mut WarpContext<'_>) {
    let grid = w.grid;
    if w.divergence.frame == 0 {
        return;
    }
    let frame = w.divergence.frames.get(w.divergence.frame);
    let callee: &BoundFunction = &grid.program.functions[frame.function as usize];
    let from = w.own_frame();
    let site = &grid.program.call_sites[frame.site as usize];
    let caller = w.divergence.frames.get(frame.caller);
    let to = FrameMemory { rows: caller.base, local: caller.local_base };
    for (value, result) in callee.returns.iter().zip(&site.results) {
        copy_value(w, (from, value), (to, result));
    }
}

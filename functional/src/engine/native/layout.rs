//! Places of the engine's state that emitted code reads and writes.

use std::mem::offset_of;

use crate::engine::divergence::Divergence;
use crate::engine::grid::Grid;
use crate::engine::view::{Range, View};
use crate::engine::warp_context::WarpContext;

/// Defines offsets of fields of [`WarpContext`], in bytes.
macro_rules! fields {
    ($($name:ident = $field:ident;)*) => {
        $(pub(super) const $name: i32 = offset_of!(WarpContext<'static>, $field) as i32;)*
    };
}
fields! {
    FRAME = frame;
    CONSTANTS = constants;
    MASK = mask;
    ACTIVE = active;
    PC = pc;
    FUEL = fuel;
    INSTRUCTIONS = instructions;
    LANE_INSTRUCTIONS = lane_instructions;
    NATIVE_INSTRUCTIONS = native_instructions;
    SHARED = shared;
    SHARED_BYTES = shared_bytes;
    VIEW = view;
    DIVERGENCE = divergence;
    PARAMETERS = parameters;
    GRID = grid;
}

/// Flag of a grid whose memory no other thread accesses, from the start of [`Grid`].
pub(super) const HAS_ONE_WORKER: i32 = offset_of!(Grid<'static>, has_one_worker) as i32;

/// Innermost join, from the start of [`Divergence`].
pub(super) const JOIN: i32 = Divergence::JOIN_OFFSET as i32;

/// First address of a slot's range, from the start of [`View`].
pub(super) fn slot_start(slot: u32) -> i32 {
    (View::slot_offset(slot) + offset_of!(Range, start)) as i32
}

/// End address of a slot's range, from the start of [`View`].
pub(super) fn slot_end(slot: u32) -> i32 {
    (View::slot_offset(slot) + offset_of!(Range, end)) as i32
}

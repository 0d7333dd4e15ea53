//! Two levels (Narasiman et al., MICRO 2011): a few active warps take turns. One that waits for memory leaves them, and the
//! oldest that can be issued takes its place.

use super::{Order, lrr, oldest};

pub fn pick(order: &mut Order, eligible: u32, waits_for_memory: u32, places: u32) -> u32 {
    order.active &= !waits_for_memory;
    while eligible & !order.active != 0 && order.active.count_ones() < places {
        order.active |= 1 << oldest::pick(order, eligible & !order.active);
    }
    // If none of the active ones can, one of the others takes the place of one that cannot.
    if eligible & order.active == 0 {
        let blocked = order.active.trailing_zeros();
        order.active &= !(1_u32.checked_shl(blocked).unwrap_or(0));
        order.active |= 1 << oldest::pick(order, eligible);
    }
    lrr::pick(order, eligible & order.active)
}

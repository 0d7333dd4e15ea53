//! Loose round robin: the next warp after the one that was issued last.

use super::Order;

pub fn pick(order: &Order, eligible: u32) -> u32 {
    let start = (order.last + 1) % 32;
    (start + eligible.rotate_right(start).trailing_zeros()) % 32
}

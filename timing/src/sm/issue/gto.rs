//! Greedy, then oldest: the warp that was issued last goes on as long as it can, then the oldest one.

use super::{Order, oldest};

pub fn pick(order: &Order, eligible: u32) -> u32 {
    if eligible >> order.last & 1 != 0 { order.last } else { oldest::pick(order, eligible) }
}

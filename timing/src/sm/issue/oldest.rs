//! The warp that has been there longest.

use super::Order;

pub fn pick(order: &Order, eligible: u32) -> u32 {
    let oldest = order.by_age.iter().find(|&&warp| eligible >> warp & 1 != 0);
    oldest.map_or(eligible.trailing_zeros(), |&warp| u32::from(warp))
}

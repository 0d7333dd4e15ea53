//! The warp that has been there longest.

use super::Order;

pub fn pick(order: &Order, eligible: u32) -> u32 {
    let mut warp = eligible.trailing_zeros();
    loop {
        match eligible & order.older[warp as usize % 32] {
            0 => return warp,
            older => warp = older.trailing_zeros(),
        }
    }
}

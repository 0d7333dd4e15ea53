//! Entry point of the fronts, which fills their function tables.

use crate::api::tables::front;
use std::ffi::{c_int, c_void};

/// Fills the table of front `number`. Returns 1 without effect if the front was built from another
/// API table.
///
/// # Safety
/// `table` points to `length` writable entries that no other thread uses yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn voltsim_core_bind(
    number: u32,
    fingerprint: u64,
    table: *mut *const c_void,
    length: usize,
) -> c_int {
    let Some(front) = front(number) else { return 1 };
    if front.fingerprint != fingerprint || front.slots.len() != length || table.is_null() {
        return 1;
    }
    for (index, slot) in front.slots.iter().enumerate() {
        // SAFETY: `index` is less than `length`, and the caller owns the table.
        unsafe { table.add(index).write(slot.address()) };
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_of_another_build_is_rejected_unchanged() {
        let mut table = [std::ptr::null(); 4];
        // SAFETY: the table has four entries.
        let result = unsafe { voltsim_core_bind(0, 1, table.as_mut_ptr(), 4) };
        assert_eq!((result, table), (1, [std::ptr::null(); 4]));
    }
}

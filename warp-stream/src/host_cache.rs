//! The caches of the machine that simulates.
//!
//! An SM's turn comes again after those of all others, when its state has left the host's caches. What is known some time
//! before it is used is asked for then. Nothing but time depends on it.
//!
//! A processor has room for some twenty lines that are on their way, and drops the hints of a program for more: of 4,096 lines that
//! were asked for by hints one after the other next to none came on a Zen 3, where loads bring each within 6 to 20 ns (170 for one
//! alone). So hints are for single values ([`fetch`]), and what is needed in bulk is read ([`read_all`]).

/// Bytes of a line of the host's caches.
const LINE: usize = 64;

/// Asks for a value that is going to be used soon.
#[inline(always)]
pub fn fetch<T>(value: &T) {
    let first: *const u8 = (&raw const *value).cast();
    (0..size_of::<T>()).step_by(LINE).for_each(|offset| fetch_line(first.wrapping_add(offset)));
}

/// Asks for the line of an address that is going to be used soon; the address may be any.
#[inline(always)]
pub fn fetch_at(address: *const u8) {
    fetch_line(address);
}

/// Asks for a few values that are going to be used soon.
#[inline]
pub fn fetch_all<T>(values: &[T]) {
    values.iter().step_by((LINE / size_of::<T>().max(1)).max(1)).for_each(fetch);
}

/// Reads the lines that values lie in, so that they are there when they are used; it does not wait for them.
#[inline]
pub fn read_all<T>(values: &[T]) {
    lines(values.as_ptr().cast(), size_of_val(values)).for_each(read_line);
}

/// Addresses of so many bytes, one in each line of the host's caches.
#[inline(always)]
fn lines(address: *const u8, bytes: usize) -> impl Iterator<Item = *const u8> {
    let last = (bytes != 0).then(|| address.wrapping_add(bytes - 1));
    // Without the last byte: it may lie in the line of the one before, or in one more.
    (0..bytes.saturating_sub(1)).step_by(LINE).map(move |offset| address.wrapping_add(offset)).chain(last)
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch_line(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the hint neither reads nor writes for the program, and is without effect for an address that is not mapped.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn read_line(address: *const u8) {
    // SAFETY: the byte is one of a value that is borrowed. What it holds, which may be nothing, reaches no value of the program.
    unsafe {
        std::arch::asm!(
            "movzx {read:e}, byte ptr [{address}]",
            address = in(reg) address,
            read = out(reg) _,
            options(readonly, nostack, preserves_flags)
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn fetch_line(_: *const u8) {}

#[cfg(not(target_arch = "x86_64"))]
fn read_line(_: *const u8) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_some_bytes_has_an_address_which_is_one_of_theirs() {
        for (start, bytes) in (0..130).flat_map(|start| (0..200).map(move |bytes| (start, bytes))) {
            let found: Vec<usize> =
                lines(std::ptr::without_provenance(start), bytes).map(<*const u8>::addr).collect();
            let theirs = start..start + bytes;
            assert!(found.iter().all(|address| theirs.contains(address)), "{start}, {bytes}");
            let has_line = |address| found.iter().any(|found| found / LINE == address / LINE);
            assert!(theirs.clone().all(has_line), "{start}, {bytes}");
            assert!(found.len() <= bytes.div_ceil(LINE) + 1, "{start}, {bytes}");
        }
    }
}

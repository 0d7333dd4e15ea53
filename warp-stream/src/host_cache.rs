//! Prefetches of simulator state into the caches of the host processor.
//!
//! An SM's state has left the host's caches by the time the simulation returns to that SM. Code that knows
//! early which state it needs prefetches that state here. Prefetches change the speed, never a result.
//!
//! A processor tracks about twenty outstanding lines and drops further prefetch hints. On a Zen 3, nearly
//! none of 4,096 consecutive hints took effect. Plain loads brought each line within 6 to 20 ns, against
//! 170 ns for a single load. Hints ([`fetch`]) therefore serve single values; bulk data is read
//! ([`read_all`]).
//!
//! The feature `without-host-hints` compiles both to nothing: `cargo test -p timing --features
//! warp-stream/without-host-hints --test gpu` has the same results.

/// Bytes of a line in the host's caches.
const LINE: usize = 64;

/// Prefetches a value.
#[inline(always)]
pub fn fetch<T>(value: &T) {
    let first: *const u8 = (&raw const *value).cast();
    (0..size_of::<T>()).step_by(LINE).for_each(|offset| fetch_line(first.wrapping_add(offset)));
}

/// Prefetches the line of any address, mapped or not.
#[inline(always)]
pub fn fetch_at(address: *const u8) {
    fetch_line(address);
}

/// Prefetches a short slice, one hint per line.
#[inline]
pub fn fetch_all<T>(values: &[T]) {
    values.iter().step_by((LINE / size_of::<T>().max(1)).max(1)).for_each(fetch);
}

/// Loads the lines of a slice into the host's caches without waiting for the data.
#[inline]
pub fn read_all<T>(values: &[T]) {
    lines(values.as_ptr().cast(), size_of_val(values)).for_each(read_line);
}

/// One address in each line that `bytes` bytes from `address` touch.
#[inline(always)]
fn lines(address: *const u8, bytes: usize) -> impl Iterator<Item = *const u8> {
    let last = (bytes != 0).then(|| address.wrapping_add(bytes - 1));
    // The last byte is chained separately: it may share the previous line or start another.
    (0..bytes.saturating_sub(1)).step_by(LINE).map(move |offset| address.wrapping_add(offset)).chain(last)
}

#[cfg(all(target_arch = "x86_64", not(feature = "without-host-hints")))]
#[inline(always)]
fn fetch_line(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the hint reads and writes nothing, and an unmapped address makes it a no-op.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

#[cfg(all(target_arch = "x86_64", not(feature = "without-host-hints")))]
#[inline(always)]
fn read_line(address: *const u8) {
    // SAFETY: the byte lies in a borrowed value. The loaded content may be uninitialised and is discarded.
    unsafe {
        std::arch::asm!(
            "movzx {read:e}, byte ptr [{address}]",
            address = in(reg) address,
            read = out(reg) _,
            options(readonly, nostack, preserves_flags)
        );
    }
}

#[cfg(any(not(target_arch = "x86_64"), feature = "without-host-hints"))]
fn fetch_line(_: *const u8) {}

#[cfg(any(not(target_arch = "x86_64"), feature = "without-host-hints"))]
fn read_line(_: *const u8) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_touched_line_has_one_address_in_range() {
        // Miri takes minutes for all pairs.
        let step = if cfg!(miri) { 37 } else { 1 };
        let starts = (0..130).step_by(step);
        for (start, bytes) in starts.flat_map(|start| (0..200).step_by(step).map(move |bytes| (start, bytes)))
        {
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

//! Hints to the caches of the machine that simulates.
//!
//! An SM's turn comes again after those of all others, when its state has left the host's caches. What is known some time
//! before it is used is asked for then. Nothing but time depends on it.

/// Whose turn it is going to be, seen from the SM whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The next SM's: what the turn before has asked for is there, and tells what else there is.
    Next,
    /// That of the one after it.
    AfterNext,
}

/// Bytes of a line of the host's caches.
const LINE: usize = 64;

/// Asks for a value that is going to be used soon.
#[inline(always)]
pub fn fetch<T>(value: &T) {
    lines((&raw const *value).cast(), size_of::<T>()).for_each(fetch_line);
}

/// Asks for values that are going to be used soon.
#[inline]
pub fn fetch_all<T>(values: &[T]) {
    lines(values.as_ptr().cast(), size_of_val(values)).for_each(fetch_line);
}

/// Asks for values that are going to be used in a turn: they do not fit the nearest of the caches, with what is in use there.
#[inline]
pub fn prepare<T>(values: &[T]) {
    prepare_at(values.as_ptr().cast(), size_of_val(values));
}

/// The same for so many bytes at an address, of which nobody need know what is there, or whether anything is.
#[inline(always)]
pub fn prepare_at(address: *const u8, bytes: usize) {
    lines(address, bytes).for_each(prepare_line);
}

/// Addresses of so many bytes, one in each line of the host's caches.
#[inline(always)]
fn lines(address: *const u8, bytes: usize) -> impl Iterator<Item = *const u8> {
    (0..bytes).step_by(LINE).map(move |offset| address.wrapping_add(offset))
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
fn prepare_line(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
    // SAFETY: as for `fetch_line`.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(address.cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
fn fetch_line(_: *const u8) {}

#[cfg(not(target_arch = "x86_64"))]
fn prepare_line(_: *const u8) {}

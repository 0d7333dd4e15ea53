//! Hints to the caches of the machine that simulates.
//!
//! An SM's turn comes again after those of all others, when its state has left the host's caches. What is known some time
//! before it is used is asked for then.

/// Asks for a value that is going to be used. Nothing but time depends on it.
#[inline(always)]
pub(crate) fn fetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is that of a reference, and the hint neither reads nor writes for the program.
        unsafe { _mm_prefetch::<_MM_HINT_T0>((&raw const *value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

//! Updates of atomic operations, by atomic operations of the host.

use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU16, AtomicU32, AtomicU64, Ordering};

use half::{bf16, f16};

use crate::engine::lane::Lane;

/// Memory value with atomic operations on the host.
pub(in crate::ops) trait Cell: Lane + PartialEq {
    /// Replaces `old` by `new`; the error is the value found instead.
    ///
    /// # Safety
    /// `at` is aligned and points to a live value, which others access only atomically.
    unsafe fn compare_exchange(at: *mut Self, old: Self, new: Self) -> Result<Self, Self>;
    /// Replaces the value and returns the old one.
    ///
    /// # Safety
    /// As for [`Cell::compare_exchange`].
    unsafe fn exchange(at: *mut Self, new: Self) -> Self;
    /// Adds to the value and returns the old one.
    ///
    /// # Safety
    /// As for [`Cell::compare_exchange`].
    unsafe fn fetch_add(at: *mut Self, addend: Self) -> Self;
    /// Current value.
    ///
    /// # Safety
    /// As for [`Cell::compare_exchange`].
    unsafe fn load(at: *mut Self) -> Self;
}

macro_rules! cells {
    ($($ty:ty => $atomic:ty),*) => {
        $(impl Cell for $ty {
            #[inline(always)]
            unsafe fn compare_exchange(at: *mut $ty, old: $ty, new: $ty) -> Result<$ty, $ty> {
                // SAFETY: guaranteed by the caller.
                let atomic = unsafe { <$atomic>::from_ptr(at) };
                atomic.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst)
            }
            #[inline(always)]
            unsafe fn exchange(at: *mut $ty, new: $ty) -> $ty {
                // SAFETY: guaranteed by the caller.
                unsafe { <$atomic>::from_ptr(at) }.swap(new, Ordering::SeqCst)
            }
            #[inline(always)]
            unsafe fn fetch_add(at: *mut $ty, addend: $ty) -> $ty {
                // SAFETY: guaranteed by the caller.
                unsafe { <$atomic>::from_ptr(at) }.fetch_add(addend, Ordering::SeqCst)
            }
            #[inline(always)]
            unsafe fn load(at: *mut $ty) -> $ty {
                // SAFETY: guaranteed by the caller.
                unsafe { <$atomic>::from_ptr(at) }.load(Ordering::SeqCst)
            }
        })*
    };
}
cells! { u16 => AtomicU16, u32 => AtomicU32, u64 => AtomicU64, i32 => AtomicI32, i64 => AtomicI64 }

/// Update of a value by an atomic operation.
pub(in crate::ops) trait Update: 'static {
    /// Value type.
    type Value: Cell;
    /// True if consecutive updates equal one update whose operand is combined by `apply`.
    const MERGES: bool;
    /// New value.
    fn apply(old: Self::Value, b: Self::Value, shared: bool) -> Self::Value;
    /// Updates the value atomically and returns the old one.
    ///
    /// # Safety
    /// As for [`Cell::compare_exchange`].
    #[inline(always)]
    unsafe fn indivisibly(at: *mut Self::Value, b: Self::Value, shared: bool) -> Self::Value {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut old = Self::Value::load(at);
            loop {
                match Self::Value::compare_exchange(at, old, Self::apply(old, b, shared)) {
                    Ok(old) => return old,
                    Err(found) => old = found,
                }
            }
        }
    }
}

macro_rules! updates {
    (@host $ty:ty []) => {};
    (@host $ty:ty [$host:ident]) => {
        #[inline(always)]
        unsafe fn indivisibly(at: *mut $ty, b: $ty, _: bool) -> $ty {
            // SAFETY: guaranteed by the caller.
            unsafe { <$ty>::$host(at, b) }
        }
    };
    (@types $name:ident [$($ty:ty),+] $merges:tt $lane:tt $host:tt) => {
        $(updates! { @impl $name $ty, $merges $lane $host })+
    };
    (@impl $name:ident $ty:ty, $merges:literal [|$old:ident, $b:ident| $new:expr] $host:tt) => {
        impl Update for $name<$ty> {
            type Value = $ty;
            const MERGES: bool = $merges;
            #[inline(always)]
            fn apply($old: $ty, $b: $ty, _: bool) -> $ty { $new }
            updates! { @host $ty $host }
        }
    };
    ($($(#[$doc:meta])* $name:ident $types:tt merges $merges:literal $lane:tt $host:tt;)*) => {
        $(
            $(#[$doc])*
            pub(super) struct $name<T>(std::marker::PhantomData<T>);
            updates! { @types $name $types $merges $lane $host }
        )*
    };
}
updates! {
    /// old and b.
    And [u32, u64] merges true [|old, b| old & b] [];
    /// old or b.
    Or [u32, u64] merges true [|old, b| old | b] [];
    /// old exclusive-or b.
    Xor [u32, u64] merges true [|old, b| old ^ b] [];
    /// b.
    Exchange [u32, u64] merges false [|_old, b| b] [exchange];
    /// old + b.
    Add [u32, u64] merges true [|old, b| old.wrapping_add(b)] [fetch_add];
    /// The smaller of old and b.
    Min [u32, u64, i32, i64] merges true [|old, b| old.min(b)] [];
    /// The larger of old and b.
    Max [u32, u64, i32, i64] merges true [|old, b| old.max(b)] [];
    /// old + 1, 0 after b.
    Increment [u32] merges false [|old, b| if old >= b { 0 } else { old + 1 }] [];
    /// old - 1, b after 0 and from above b.
    Decrement [u32] merges false [|old, b| if old == 0 || old > b { b } else { old - 1 }] [];
}

/// old + b in a floating-point type.
pub(super) struct AddFloat<T>(std::marker::PhantomData<T>);

impl Update for AddFloat<f32> {
    type Value = u32;
    const MERGES: bool = false;
    /// Subnormals survive in shared memory and are flushed to zero in global memory (PTX manual 9.7.13.5).
    #[inline(always)]
    fn apply(old: u32, b: u32, shared: bool) -> u32 {
        let read = |bits: u32| if shared { bits } else { flush(bits) };
        let sum = f32::from_bits(read(old)) + f32::from_bits(read(b));
        read(sum.to_bits())
    }
}

/// Flushes a subnormal single to zero of the same sign.
#[inline(always)]
fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

impl Update for AddFloat<f64> {
    type Value = u64;
    const MERGES: bool = false;
    #[inline(always)]
    fn apply(old: u64, b: u64, _: bool) -> u64 {
        (f64::from_bits(old) + f64::from_bits(b)).to_bits()
    }
}

macro_rules! half_sums {
    ($($ty:ty),*) => {
        $(impl Update for AddFloat<$ty> {
            type Value = u16;
            const MERGES: bool = false;
            #[inline(always)]
            fn apply(old: u16, b: u16, _: bool) -> u16 {
                (<$ty>::from_bits(old) + <$ty>::from_bits(b)).to_bits()
            }
        }
        impl Update for AddFloat<[$ty; 2]> {
            type Value = u32;
            const MERGES: bool = false;
            #[inline(always)]
            fn apply(old: u32, b: u32, _: bool) -> u32 {
                let half = |at: u32| {
                    u32::from(AddFloat::<$ty>::apply((old >> at) as u16, (b >> at) as u16, false)) << at
                };
                half(0) | half(16)
            }
        })*
    };
}
half_sums! { f16, bf16 }

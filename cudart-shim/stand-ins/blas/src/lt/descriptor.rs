//! Descriptors and their attributes.
//!
//! A descriptor has at most the size of the opaque struct of cuBLASLt, since programs may place it
//! in memory of their own.

use std::ffi::{c_int, c_void};

use crate::handle::store;
use crate::status::{Answer, Status, code, not_supported};

/// `cublasLtMatrixLayout_t`
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Layout {
    pub(crate) kind: i32,
    pub(crate) order: i32,
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    pub(crate) leading: i64,
    pub(crate) batch_stride: i64,
    plane: i64,
    pub(crate) batches: i32,
}

/// `cublasLtMatmulDesc_t`
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Operation {
    pub(crate) compute: i32,
    pub(crate) scale: i32,
    pub(crate) pointers: i32,
    pub(crate) of_a: i32,
    pub(crate) of_b: i32,
    pub(crate) of_c: i32,
    fill: i32,
    pub(crate) epilogue: u32,
    pub(crate) bias: u64,
    pub(crate) bias_batch: i64,
    pub(crate) auxiliary: u64,
    pub(crate) auxiliary_leading: i64,
    pub(crate) auxiliary_batch: i64,
    alpha_batch: i64,
    pub(crate) scales: [u64; 4],
    /// Addresses for the largest magnitudes and a factor of the auxiliary matrix, which no kernel has.
    pub(crate) unsupported: [u64; 3],
    sms: i32,
    /// `cudaDataType` of the bias and of the auxiliary matrix; negative for the default.
    pub(crate) bias_kind: i32,
    pub(crate) auxiliary_kind: i32,
    fast: u8,
}

/// `cublasLtMatmulPreference_t`
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Preference {
    workspace: u64,
    implementations: u64,
    search: u32,
    reductions: u32,
    alignments: [u32; 4],
    waves: u32,
    pointers: u32,
    epilogues: u32,
}

/// `cublasLtMatrixTransformDesc_t`
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Transform {
    pub(crate) scale: i32,
    pub(crate) pointers: i32,
    pub(crate) of_a: i32,
    pub(crate) of_b: i32,
}

/// A struct with attributes.
pub(crate) trait Attributes: Default {
    /// Address and size of an attribute.
    fn attribute(&mut self, number: c_int) -> Option<(*mut u8, usize)>;
}

macro_rules! attributes {
    ($($type:ty: $($number:pat => $($field:ident).+ $([$index:literal])?),+;)*) => {
        $(impl Attributes for $type {
            fn attribute(&mut self, number: c_int) -> Option<(*mut u8, usize)> {
                Some(match number {
                    $($number => {
                        let field = &mut self.$($field).+ $([$index])?;
                        (std::ptr::from_mut(field).cast(), size_of_val(field))
                    })+
                    _ => return None,
                })
            }
        })*
    };
}

attributes! {
    Layout: 0 => kind, 1 => order, 2 => rows, 3 => columns, 4 => leading, 5 => batches, 6 => batch_stride,
        7 => plane;
    Operation: 0 => compute, 1 => scale, 2 => pointers, 3 => of_a, 4 => of_b, 5 => of_c, 6 => fill,
        7 => epilogue, 8 => bias, 10 => bias_batch, 11 => auxiliary, 12 => auxiliary_leading,
        13 => auxiliary_batch, 14 => alpha_batch, 15 => sms, 17 => scales[0], 18 => scales[1],
        19 => scales[2], 20 => scales[3], 21 => unsupported[0], 22 => auxiliary_kind, 23 => unsupported[1],
        24 => unsupported[2], 25 => fast, 26 => bias_kind;
    Preference: 0 => search, 1 => workspace, 3 => reductions, 5 => alignments[0], 6 => alignments[1],
        7 => alignments[2], 8 => alignments[3], 9 => waves, 10 => pointers, 11 => epilogues,
        12 => implementations;
    Transform: 0 => scale, 1 => pointers, 2 => of_a, 3 => of_b;
}

/// Sets an attribute: `cublasLtMatmulDescSetAttribute` and its like.
///
/// # Safety
/// `descriptor` is null or live; `value` is null or has `bytes`.
pub(crate) unsafe extern "C" fn set<D: Attributes>(
    descriptor: *mut D,
    number: c_int,
    value: *const c_void,
    bytes: usize,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        let descriptor = unsafe { descriptor.as_mut() }.ok_or(Status::InvalidValue)?;
        let Some((place, size)) = descriptor.attribute(number) else {
            return not_supported(&format!("attribute {number} of {}", name_of::<D>()));
        };
        if value.is_null() || bytes < size {
            return Err(Status::InvalidValue);
        }
        // SAFETY: a field with this size, and a value with as many bytes.
        unsafe { std::ptr::copy_nonoverlapping(value.cast::<u8>(), place, size) };
        Ok(())
    })
}

/// Tells an attribute: `cublasLtMatmulDescGetAttribute` and its like.
///
/// # Safety
/// `descriptor` is null or live; `value` is null or has room for `bytes`; `written` is null or has room.
pub(crate) unsafe extern "C" fn get<D: Attributes>(
    descriptor: *mut D,
    number: c_int,
    value: *mut c_void,
    bytes: usize,
    written: *mut usize,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        let descriptor = unsafe { descriptor.as_mut() }.ok_or(Status::InvalidValue)?;
        let Some((place, size)) = descriptor.attribute(number) else {
            return not_supported(&format!("attribute {number} of {}", name_of::<D>()));
        };
        if !written.is_null() {
            // SAFETY: not null, so there is room.
            unsafe { store(written, size)? };
        }
        if bytes == 0 {
            return if written.is_null() { Err(Status::InvalidValue) } else { Ok(()) };
        }
        if value.is_null() || bytes < size {
            return Err(Status::InvalidValue);
        }
        // SAFETY: a field with this size, and room for as many bytes.
        unsafe { std::ptr::copy_nonoverlapping(place, value.cast::<u8>(), size) };
        Ok(())
    })
}

/// Name of a descriptor's type in messages.
fn name_of<D>() -> &'static str {
    std::any::type_name::<D>().rsplit("::").next().unwrap_or_default()
}

/// Stores a descriptor in memory of this library.
unsafe fn made<D>(place: *mut *mut D, descriptor: D) -> Answer {
    if place.is_null() {
        return Err(Status::InvalidValue);
    }
    // SAFETY: not null, so there is room.
    unsafe { store(place, Box::into_raw(Box::new(descriptor))) }
}

/// Stores a descriptor in memory of the program: `cublasLtMatmulDescInit_internal` and its like.
unsafe fn placed<D>(place: *mut D, bytes: usize, descriptor: D) -> Answer {
    if bytes < size_of::<D>() {
        return Err(Status::InvalidValue);
    }
    // SAFETY: the caller's promise.
    unsafe { store(place, descriptor) }
}

/// Frees a descriptor: `cublasLtMatmulDescDestroy` and its like.
///
/// # Safety
/// `descriptor` is null or live, and dead afterwards.
pub(crate) unsafe extern "C" fn destroy<D>(descriptor: *mut D) -> c_int {
    if !descriptor.is_null() {
        // SAFETY: the caller's promise; `made` made the box.
        drop(unsafe { Box::from_raw(descriptor) });
    }
    0
}

fn operation(compute: c_int, scale: c_int) -> Operation {
    Operation { compute, scale, epilogue: 1, bias_kind: -1, auxiliary_kind: -1, ..Operation::default() }
}

fn layout(kind: c_int, rows: u64, columns: u64, leading: i64) -> Layout {
    Layout { kind, rows, columns, leading, batches: 1, ..Layout::default() }
}

/// `cublasLtMatmulDescCreate`
///
/// # Safety
/// `place` is null or has room.
pub(crate) unsafe extern "C" fn create_operation(
    place: *mut *mut Operation,
    compute: c_int,
    scale: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    code(|| unsafe { made(place, operation(compute, scale)) })
}

/// `cublasLtMatmulDescInit_internal`
///
/// # Safety
/// `place` is null or has room for `bytes`.
pub(crate) unsafe extern "C" fn init_operation(
    place: *mut Operation,
    bytes: usize,
    compute: c_int,
    scale: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    code(|| unsafe { placed(place, bytes, operation(compute, scale)) })
}

/// `cublasLtMatrixLayoutCreate`
///
/// # Safety
/// `place` is null or has room.
pub(crate) unsafe extern "C" fn create_layout(
    place: *mut *mut Layout,
    kind: c_int,
    rows: u64,
    columns: u64,
    leading: i64,
) -> c_int {
    // SAFETY: the caller's promise.
    code(|| unsafe { made(place, layout(kind, rows, columns, leading)) })
}

/// `cublasLtMatrixLayoutInit_internal`
///
/// # Safety
/// `place` is null or has room for `bytes`.
pub(crate) unsafe extern "C" fn init_layout(
    place: *mut Layout,
    bytes: usize,
    kind: c_int,
    rows: u64,
    columns: u64,
    leading: i64,
) -> c_int {
    // SAFETY: the caller's promise.
    code(|| unsafe { placed(place, bytes, layout(kind, rows, columns, leading)) })
}

/// `cublasLtMatmulPreferenceCreate`
///
/// # Safety
/// `place` is null or has room.
pub(crate) unsafe extern "C" fn create_preference(place: *mut *mut Preference) -> c_int {
    // SAFETY: the caller's promise.
    code(|| unsafe { made(place, Preference::default()) })
}

/// `cublasLtMatmulPreferenceInit_internal`
///
/// # Safety
/// `place` is null or has room for `bytes`.
pub(crate) unsafe extern "C" fn init_preference(place: *mut Preference, bytes: usize) -> c_int {
    // SAFETY: the caller's promise.
    code(|| unsafe { placed(place, bytes, Preference::default()) })
}

/// `cublasLtMatrixTransformDescCreate`
///
/// # Safety
/// `place` is null or has room.
pub(crate) unsafe extern "C" fn create_transform(place: *mut *mut Transform, scale: c_int) -> c_int {
    // SAFETY: the caller's promise.
    code(|| unsafe { made(place, Transform { scale, ..Transform::default() }) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_fit_into_the_opaque_structs() {
        assert!(size_of::<Layout>() <= 64 && size_of::<Preference>() <= 64 && size_of::<Transform>() <= 64);
        assert!(size_of::<Operation>() <= 184);
    }

    #[test]
    fn attribute_is_told_as_it_was_set() {
        let mut layout = layout(0, 3, 4, 5);
        let (value, mut told, mut written) = (7_i32, 0_i32, 0_usize);
        // SAFETY: values of these sizes.
        unsafe {
            assert_eq!(set(&mut layout, 5, (&raw const value).cast(), 4), 0);
            assert_eq!(get(&mut layout, 5, (&raw mut told).cast(), 4, &mut written), 0);
            assert_eq!(set(&mut layout, 5, (&raw const value).cast(), 2), Status::InvalidValue as i32);
        }
        assert_eq!((told, written, layout.batches), (7, 4, 7));
    }
}

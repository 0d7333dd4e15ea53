//! Level 1: vectors of one type.

use std::ffi::{c_int, c_void};

use standin_driver::Grid;

use crate::arguments::{Vector, size};
use crate::element::{Element, Int, Scalar, Type};
use crate::handle::{Handle, PointerMode, Raw};
use crate::kernels::{addresses, by_type, launch};
use crate::status::{Answer, Status, code, not_supported};

/// Threads of a CTA.
const THREADS: u32 = 256;
/// Most CTAs of a launch; a thread has several elements of a longer vector.
const MAX_CTAS: u32 = 1024;

/// CTAs for `n` elements.
pub(crate) fn elementwise(n: u32) -> Grid {
    Grid { ctas: [n.div_ceil(THREADS).clamp(1, MAX_CTAS), 1, 1], threads: THREADS }
}

/// One CTA, which reduces a vector.
pub(crate) const REDUCTION: Grid = Grid { ctas: [1, 1, 1], threads: THREADS };

/// Elements of a vector; none for a negative number.
pub(crate) fn length(n: impl Int) -> Answer<u32> {
    if n.wide() < 0 { Ok(0) } else { size(n) }
}

/// `cublasSaxpy` and its like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn axpy<E: Element, I: Int>(
    handle: Raw,
    n: I,
    alpha: *const c_void,
    x: *const c_void,
    incx: I,
    y: *mut c_void,
    incy: I,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        unsafe {
            let handle = Handle::of(handle)?;
            let mut n = length(n)?;
            let mut alpha = Scalar::read(alpha, E::TYPE, handle.pointers())?;
            let mut x = Vector::new(x, n, incx, E::TYPE);
            let mut y = Vector::new(y, n, incy, E::TYPE);
            if n == 0 {
                return Ok(());
            }
            let arguments = addresses![n, alpha, x, y];
            launch(handle.context, handle.stream(), by_type!(E::TYPE, "axpy"), elementwise(n), arguments)
        }
    })
}

/// # Safety
/// As for the functions of cuBLAS.
unsafe fn scaled<E: Element, I: Int>(
    handle: Raw,
    n: I,
    alpha: *const c_void,
    kind: Type,
    x: *mut c_void,
    incx: I,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        unsafe {
            let handle = Handle::of(handle)?;
            let mut n = length(n)?;
            let mut alpha = Scalar::read(alpha, kind, handle.pointers())?;
            let mut x = Vector::new(x, n, incx, E::TYPE);
            if n == 0 || incx.wide() <= 0 {
                return Ok(());
            }
            let arguments = addresses![n, alpha, x];
            launch(handle.context, handle.stream(), by_type!(E::TYPE, "scal"), elementwise(n), arguments)
        }
    })
}

/// `cublasSscal` and its like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn scal<E: Element, I: Int>(
    handle: Raw,
    n: I,
    alpha: *const c_void,
    x: *mut c_void,
    incx: I,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { scaled::<E, I>(handle, n, alpha, E::TYPE, x, incx) }
}

/// `cublasCsscal` and `cublasZdscal`, with a real factor.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn scal_real<E: Element, I: Int>(
    handle: Raw,
    n: I,
    alpha: *const c_void,
    x: *mut c_void,
    incx: I,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { scaled::<E, I>(handle, n, alpha, E::Real::TYPE, x, incx) }
}

/// # Safety
/// As for the functions of cuBLAS.
unsafe fn moved<E: Element, I: Int>(
    kernel: &'static str,
    handle: Raw,
    n: I,
    x: *const c_void,
    incx: I,
    y: *mut c_void,
    incy: I,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        unsafe {
            let handle = Handle::of(handle)?;
            let mut n = length(n)?;
            let mut x = Vector::new(x, n, incx, E::TYPE);
            let mut y = Vector::new(y, n, incy, E::TYPE);
            if n == 0 {
                return Ok(());
            }
            launch(handle.context, handle.stream(), kernel, elementwise(n), addresses![n, x, y])
        }
    })
}

/// `cublasScopy` and its like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn copy<E: Element, I: Int>(
    handle: Raw,
    n: I,
    x: *const c_void,
    incx: I,
    y: *mut c_void,
    incy: I,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { moved::<E, I>(by_type!(E::TYPE, "copy"), handle, n, x, incx, y, incy) }
}

/// `cublasSswap` and its like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn swap<E: Element, I: Int>(
    handle: Raw,
    n: I,
    x: *mut c_void,
    incx: I,
    y: *mut c_void,
    incy: I,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { moved::<E, I>(by_type!(E::TYPE, "swap"), handle, n, x, incx, y, incy) }
}

/// # Safety
/// As for the functions of cuBLAS.
unsafe fn product<E: Element, I: Int>(
    mut is_conjugated: u32,
    handle: Raw,
    n: I,
    (x, incx): (*const c_void, I),
    (y, incy): (*const c_void, I),
    result: *mut c_void,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        unsafe {
            let handle = Handle::of(handle)?;
            let mut n = length(n)?;
            let mut x = Vector::new(x, n, incx, E::TYPE);
            let mut y = Vector::new(y, n, incy, E::TYPE);
            handle.reduce(result, E::TYPE.size(), |mut place| {
                let arguments = addresses![n, x, y, is_conjugated, place];
                launch(handle.context, handle.stream(), by_type!(E::TYPE, "dot"), REDUCTION, arguments)
            })
        }
    })
}

/// `cublasSdot`, `cublasCdotu` and their like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn dot<E: Element, I: Int>(
    handle: Raw,
    n: I,
    x: *const c_void,
    incx: I,
    y: *const c_void,
    incy: I,
    result: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { product::<E, I>(0, handle, n, (x, incx), (y, incy), result) }
}

/// `cublasCdotc` and `cublasZdotc`
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn dotc<E: Element, I: Int>(
    handle: Raw,
    n: I,
    x: *const c_void,
    incx: I,
    y: *const c_void,
    incy: I,
    result: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { product::<E, I>(1, handle, n, (x, incx), (y, incy), result) }
}

/// # Safety
/// As for the functions of cuBLAS.
unsafe fn reduced<E: Element, I: Int>(
    kernel: &'static str,
    handle: Raw,
    n: I,
    x: *const c_void,
    incx: I,
    result: *mut c_void,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        unsafe {
            let handle = Handle::of(handle)?;
            let mut n = if incx.wide() <= 0 { 0 } else { length(n)? };
            let mut x = Vector::new(x, n, incx, E::TYPE);
            handle.reduce(result, E::Real::TYPE.size(), |mut place| {
                launch(handle.context, handle.stream(), kernel, REDUCTION, addresses![n, x, place])
            })
        }
    })
}

/// `cublasSasum` and its like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn asum<E: Element, I: Int>(
    handle: Raw,
    n: I,
    x: *const c_void,
    incx: I,
    result: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { reduced::<E, I>(by_type!(E::TYPE, "asum"), handle, n, x, incx, result) }
}

/// `cublasSnrm2` and its like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn nrm2<E: Element, I: Int>(
    handle: Raw,
    n: I,
    x: *const c_void,
    incx: I,
    result: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { reduced::<E, I>(by_type!(E::TYPE, "nrm2"), handle, n, x, incx, result) }
}

/// # Safety
/// As for the functions of cuBLAS.
unsafe fn extreme<E: Element, I: Int>(
    mut least: u32,
    handle: Raw,
    n: I,
    x: *const c_void,
    incx: I,
    result: *mut I,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        unsafe {
            let handle = Handle::of(handle)?;
            let mut n = if incx.wide() <= 0 { 0 } else { length(n)? };
            let mut x = Vector::new(x, n, incx, E::TYPE);
            let mut is_wide = u32::from(size_of::<I>() == 8);
            handle.reduce(result.cast(), size_of::<I>(), |mut place| {
                let arguments = addresses![n, x, least, place, is_wide];
                launch(handle.context, handle.stream(), by_type!(E::TYPE, "amax"), REDUCTION, arguments)
            })
        }
    })
}

/// `cublasIsamax` and its like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn amax<E: Element, I: Int>(
    handle: Raw,
    n: I,
    x: *const c_void,
    incx: I,
    result: *mut I,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { extreme::<E, I>(0, handle, n, x, incx, result) }
}

/// `cublasIsamin` and its like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn amin<E: Element, I: Int>(
    handle: Raw,
    n: I,
    x: *const c_void,
    incx: I,
    result: *mut I,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { extreme::<E, I>(1, handle, n, x, incx, result) }
}

/// `cublasSrot` and its like. The sine is of type `S`.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn rot<E: Element, S: Element, I: Int>(
    handle: Raw,
    n: I,
    x: *mut c_void,
    incx: I,
    y: *mut c_void,
    incy: I,
    c: *const c_void,
    s: *const c_void,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        unsafe {
            let handle = Handle::of(handle)?;
            let mut n = length(n)?;
            let mode = handle.pointers();
            let (mut c, mut s) = (Scalar::read(c, E::Real::TYPE, mode)?, Scalar::read(s, S::TYPE, mode)?);
            let mut x = Vector::new(x, n, incx, E::TYPE);
            let mut y = Vector::new(y, n, incy, E::TYPE);
            if n == 0 {
                return Ok(());
            }
            let arguments = addresses![n, x, y, c, s];
            launch(handle.context, handle.stream(), by_type!(E::TYPE, "rot"), elementwise(n), arguments)
        }
    })
}

/// Numbers of the host that a rotation is computed with.
pub(crate) trait Real: Element + Copy + Default + Into<f64> {
    fn of(value: f64) -> Self;
}

impl Real for f32 {
    fn of(value: f64) -> f32 {
        value as f32
    }
}

impl Real for f64 {
    fn of(value: f64) -> f64 {
        value
    }
}

/// `cublasSrotm` and `cublasDrotm`
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn rotm<E: Real, I: Int>(
    handle: Raw,
    n: I,
    x: *mut c_void,
    incx: I,
    y: *mut c_void,
    incy: I,
    parameters: *const E,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        unsafe {
            let handle = Handle::of(handle)?;
            let mut n = length(n)?;
            let mut x = Vector::new(x, n, incx, E::TYPE);
            let mut y = Vector::new(y, n, incy, E::TYPE);
            if parameters.is_null() {
                return Err(Status::InvalidValue);
            }
            let (mut address, mut given) = (parameters as u64, [E::default(); 5]);
            if handle.pointers() == PointerMode::Host {
                address = 0;
                given = parameters.cast::<[E; 5]>().read_unaligned();
            }
            if n == 0 {
                return Ok(());
            }
            let [flag, h11, h21, h12, h22] = &mut given;
            let arguments = addresses![n, x, y, address, *flag, *h11, *h21, *h12, *h22];
            let kernel = if E::TYPE == Type::F64 { "voltsim_rotm_f64" } else { "voltsim_rotm_f32" };
            launch(handle.context, handle.stream(), kernel, elementwise(n), arguments)
        }
    })
}

/// `cublasSrotg` and `cublasDrotg`: numbers of the host alone.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn rotg<E: Real>(
    handle: Raw,
    a: *mut E,
    b: *mut E,
    c: *mut E,
    s: *mut E,
) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        unsafe {
            if Handle::of(handle)?.pointers() == PointerMode::Device {
                return not_supported("rotg with scalars on the device");
            }
            if [a, b, c, s].iter().any(|pointer| pointer.is_null()) {
                return Err(Status::InvalidValue);
            }
            let [r, z, cosine, sine] = rotation((*a).into(), (*b).into());
            (*a, *b, *c, *s) = (E::of(r), E::of(z), E::of(cosine), E::of(sine));
        }
        Ok(())
    })
}

/// Length, reconstruction value, cosine and sine of a rotation, as the reference BLAS defines them.
fn rotation(a: f64, b: f64) -> [f64; 4] {
    let length = a.hypot(b);
    if length == 0.0 {
        return [0.0, 0.0, 1.0, 0.0];
    }
    let sign = if a.abs() > b.abs() { a.signum() } else { b.signum() };
    let r = sign * length;
    let (cosine, sine) = (a / r, b / r);
    let z = if a.abs() > b.abs() {
        sine
    } else if cosine != 0.0 {
        1.0 / cosine
    } else {
        1.0
    };
    [r, z, cosine, sine]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotation_turns_the_second_number_to_zero() {
        for (a, b) in [(3.0, 4.0), (-4.0, 3.0), (0.0, 2.0), (5.0, 0.0)] {
            let [r, _, c, s] = rotation(a, b);
            assert!((c * a + s * b - r).abs() < 1e-12 && (c * b - s * a).abs() < 1e-12, "{a} {b}");
        }
    }
}

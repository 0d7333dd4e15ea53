//! Functions on vectors whose types are arguments: `cublasDotEx` and its like.

use std::ffi::{c_int, c_void};

use crate::arguments::Vector;
use crate::element::{Complex, Int, Scalar, Type};
use crate::handle::{Handle, Raw};
use crate::kernels::{addresses, launch};
use crate::level1::{self, REDUCTION, elementwise, length};
use crate::status::{Answer, Status, code, not_supported};

/// Types of a call: of vectors, of a scalar or result, of the computation.
fn known(codes: [c_int; 4], function: &str) -> Answer<[Type; 4]> {
    let mut types = [Type::F32; 4];
    for (known, code) in types.iter_mut().zip(codes) {
        *known = match Type::of(code) {
            Some(known) => known,
            None => return not_supported(&format!("cudaDataType {code} of {function}")),
        };
    }
    Ok(types)
}

/// The function of one type for all four types, or `None`.
macro_rules! of_one_type {
    ($types:expr, $function:ident $arguments:tt) => {
        match $types {
            [Type::F32, Type::F32, Type::F32, Type::F32] => Some(level1::$function::<f32, I> $arguments),
            [Type::F64, Type::F64, Type::F64, Type::F64] => Some(level1::$function::<f64, I> $arguments),
            [Type::C32, Type::C32, Type::C32, Type::C32] => Some(level1::$function::<Complex<f32>, I> $arguments),
            [Type::C64, Type::C64, Type::C64, Type::C64] => Some(level1::$function::<Complex<f64>, I> $arguments),
            _ => None,
        }
    };
}

/// Types that kernels with sums in single precision load and store.
fn check_mixed(types: [Type; 4], function: &str) -> Answer {
    let is_known = types.iter().all(|kind| kind.is_result()) && types[3] == Type::F32;
    if is_known { Ok(()) } else { not_supported(&format!("{function} of {types:?}")) }
}

/// `cublasAxpyEx`
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn axpy<I: Int>(
    handle: Raw,
    n: I,
    alpha: *const c_void,
    alpha_type: c_int,
    x: *const c_void,
    x_type: c_int,
    incx: I,
    y: *mut c_void,
    y_type: c_int,
    incy: I,
    execution: c_int,
) -> c_int {
    code(|| {
        let types = known([alpha_type, x_type, y_type, execution], "axpy")?;
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(status) = of_one_type!(types, axpy(handle, n, alpha, x, incx, y, incy)) {
                return passed_on(status);
            }
            check_mixed(types, "axpy")?;
            let [alpha_type, of_x, of_y, _] = types;
            let handle = Handle::of(handle)?;
            let mut n = length(n)?;
            let mut alpha = Scalar::read(alpha, alpha_type, handle.pointers())?;
            let (mut x, mut y) = (Vector::new(x, n, incx, of_x), Vector::new(y, n, incy, of_y));
            let (mut x_type, mut y_type) = (of_x as u32, of_y as u32);
            if n == 0 {
                return Ok(());
            }
            let arguments = addresses![n, alpha, x, x_type, y, y_type];
            launch(handle.context, handle.stream(), "voltsim_axpy_mixed", elementwise(n), arguments)
        }
    })
}

/// `cublasScalEx`
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn scal<I: Int>(
    handle: Raw,
    n: I,
    alpha: *const c_void,
    alpha_type: c_int,
    x: *mut c_void,
    x_type: c_int,
    incx: I,
    execution: c_int,
) -> c_int {
    code(|| {
        let types = known([alpha_type, x_type, x_type, execution], "scal")?;
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(status) = of_one_type!(types, scal(handle, n, alpha, x, incx)) {
                return passed_on(status);
            }
            check_mixed(types, "scal")?;
            let [alpha_type, of_x, ..] = types;
            let handle = Handle::of(handle)?;
            let mut n = length(n)?;
            let mut alpha = Scalar::read(alpha, alpha_type, handle.pointers())?;
            let mut x = Vector::new(x, n, incx, of_x);
            let mut x_type = of_x as u32;
            if n == 0 || incx.wide() <= 0 {
                return Ok(());
            }
            let arguments = addresses![n, alpha, x, x_type];
            launch(handle.context, handle.stream(), "voltsim_scal_mixed", elementwise(n), arguments)
        }
    })
}

/// `cublasDotEx`, and `cublasDotcEx` with conjugated elements.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn dot<const CONJUGATED: bool, I: Int>(
    handle: Raw,
    n: I,
    x: *const c_void,
    x_type: c_int,
    incx: I,
    y: *const c_void,
    y_type: c_int,
    incy: I,
    result: *mut c_void,
    result_type: c_int,
    execution: c_int,
) -> c_int {
    code(|| {
        let types = known([x_type, y_type, result_type, execution], "dot")?;
        // SAFETY: the caller's promise.
        unsafe {
            let status = if CONJUGATED {
                of_one_type!(types, dotc(handle, n, x, incx, y, incy, result))
            } else {
                of_one_type!(types, dot(handle, n, x, incx, y, incy, result))
            };
            if let Some(status) = status {
                return passed_on(status);
            }
            check_mixed(types, "dot")?;
            let [of_x, of_y, of_result, _] = types;
            let handle = Handle::of(handle)?;
            let mut n = length(n)?;
            let (mut x, mut y) = (Vector::new(x, n, incx, of_x), Vector::new(y, n, incy, of_y));
            let [mut x_type, mut y_type, mut kind] = [of_x, of_y, of_result].map(|kind| kind as u32);
            handle.reduce(result, of_result.size(), |mut place| {
                let arguments = addresses![n, x, x_type, y, y_type, place, kind];
                launch(handle.context, handle.stream(), "voltsim_dot_mixed", REDUCTION, arguments)
            })
        }
    })
}

/// `cublasNrm2Ex`
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn nrm2<I: Int>(
    handle: Raw,
    n: I,
    x: *const c_void,
    x_type: c_int,
    incx: I,
    result: *mut c_void,
    result_type: c_int,
    execution: c_int,
) -> c_int {
    code(|| {
        let types = known([x_type, result_type, result_type, execution], "nrm2")?;
        // SAFETY: the caller's promise.
        unsafe {
            let status = match types {
                [Type::C32, Type::F32, ..] => {
                    Some(level1::nrm2::<Complex<f32>, I>(handle, n, x, incx, result))
                }
                [Type::C64, Type::F64, ..] => {
                    Some(level1::nrm2::<Complex<f64>, I>(handle, n, x, incx, result))
                }
                _ => of_one_type!(types, nrm2(handle, n, x, incx, result)),
            };
            if let Some(status) = status {
                return passed_on(status);
            }
            check_mixed(types, "nrm2")?;
            let [of_x, of_result, ..] = types;
            let handle = Handle::of(handle)?;
            let mut n = if incx.wide() <= 0 { 0 } else { length(n)? };
            let mut x = Vector::new(x, n, incx, of_x);
            let [mut x_type, mut kind] = [of_x, of_result].map(|kind| kind as u32);
            handle.reduce(result, of_result.size(), |mut place| {
                let arguments = addresses![n, x, x_type, place, kind];
                launch(handle.context, handle.stream(), "voltsim_nrm2_mixed", REDUCTION, arguments)
            })
        }
    })
}

/// The answer of a function that gave a status.
fn passed_on(status: c_int) -> Answer {
    if status == 0 { Ok(()) } else { Err(Status::of(status)) }
}

//! Copies between the host and the device: `cublasSetMatrix` and its like.

use std::ffi::{c_int, c_void};

use standin_driver::{Stream, driver};

use crate::arguments::{leading, size};
use crate::element::Int;
use crate::status::{Answer, Status, code};

/// Copies `columns` runs of `rows` elements; strides count elements.
fn copy(
    (rows, columns): (u32, u32),
    element: impl Int,
    (from, from_stride): (*const c_void, i64),
    (to, to_stride): (*mut c_void, i64),
    stream: Stream,
) -> Answer {
    let element = usize::try_from(element.wide()).ok().filter(|bytes| *bytes > 0);
    let element = element.ok_or(Status::InvalidValue)?;
    let bytes = rows as usize * element;
    let driver = driver()?;
    driver.current()?;
    let rows = i64::from(rows);
    if from_stride == rows && to_stride == rows {
        driver.copy(to as u64, from as u64, bytes * columns as usize, stream)?;
        return Ok(());
    }
    for column in 0..i64::from(columns) {
        let place = |start: u64, stride: i64| start.wrapping_add_signed(column * stride * element as i64);
        driver.copy(place(to as u64, to_stride), place(from as u64, from_stride), bytes, stream)?;
    }
    Ok(())
}

/// Copies that wait, and copies of a stream.
macro_rules! transfers {
    ($($vector:ident, $matrix:ident, $waits:literal, ($($stream:ident)?);)*) => {
        $(
            /// `cublasSetVector`, `cublasGetVector` and their like.
            ///
            /// # Safety
            /// As for the function of cuBLAS.
            pub(crate) unsafe extern "C" fn $vector<I: Int>(
                n: I, element: I, x: *const c_void, incx: I, y: *mut c_void, incy: I, $($stream: Stream,)?
            ) -> c_int {
                code(|| {
                    let stream = 0 $(+ $stream)?;
                    let (n, incx, incy) = (size(n)?, incx.wide(), incy.wide());
                    if incx < 1 || incy < 1 {
                        return Err(Status::InvalidValue);
                    }
                    let shape = if incx == 1 && incy == 1 { (n, 1) } else { (1, n) };
                    copy(shape, element, (x, incx), (y, incy), stream)?;
                    if $waits { Ok(driver()?.synchronize(stream)?) } else { Ok(()) }
                })
            }

            /// `cublasSetMatrix`, `cublasGetMatrix` and their like.
            ///
            /// # Safety
            /// As for the function of cuBLAS.
            pub(crate) unsafe extern "C" fn $matrix<I: Int>(
                rows: I, columns: I, element: I, a: *const c_void, lda: I, b: *mut c_void, ldb: I, $($stream: Stream,)?
            ) -> c_int {
                code(|| {
                    let stream = 0 $(+ $stream)?;
                    let (rows, columns) = (size(rows)?, size(columns)?);
                    let (lda, ldb) = (leading(lda, rows)?, leading(ldb, rows)?);
                    copy((rows, columns), element, (a, lda), (b, ldb), stream)?;
                    if $waits { Ok(driver()?.synchronize(stream)?) } else { Ok(()) }
                })
            }
        )*
    };
}

transfers! {
    vector, matrix, true, ();
    vector_async, matrix_async, false, (stream);
}

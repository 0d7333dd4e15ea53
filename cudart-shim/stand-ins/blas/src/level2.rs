//! Level 2: matrices and vectors.

use std::ffi::{c_int, c_longlong, c_void};

use standin_driver::Grid;

use crate::arguments::{Batch, Operation, Stored, Vector, is_first, is_lower, leading, size};
use crate::element::{Element, Int, Scalar, Type};
use crate::handle::{Handle, Raw};
use crate::kernels::{addresses, by_type, launch};
use crate::level1::elementwise;
use crate::product::{Epilogue, Matrix, Precision, Product};
use crate::shaped::{Shaped, Storage};
use crate::status::{Answer, Status, code, not_supported};

/// Threads of a CTA, each with a row.
const ROWS: u32 = 128;
/// Rows and columns of a CTA of an update.
pub(crate) const SQUARE: u32 = 16;

/// CTAs with a thread for each element.
pub(crate) fn squares(rows: u32, columns: u32, batches: u32) -> Grid {
    let ctas = [rows.div_ceil(SQUARE).max(1), columns.div_ceil(SQUARE).max(1), batches];
    Grid { ctas, threads: SQUARE * SQUARE }
}

/// A vector with its scalar: its factor.
type Scaled<I> = (*const c_void, *const c_void, I);

/// `y = alpha * a * x + beta * y`
///
/// # Safety
/// As for the functions of cuBLAS.
unsafe fn matvec<E: Element, I: Int>(
    handle: &Handle,
    mut a: Shaped,
    (mut rows, mut columns): (u32, u32),
    (alpha, x, incx): Scaled<I>,
    (beta, y, incy): Scaled<I>,
) -> Answer {
    let mut x = Vector::checked(x, columns, incx, E::TYPE)?;
    let mut y = Vector::checked(y, rows, incy, E::TYPE)?;
    let mode = handle.pointers();
    // SAFETY: the caller's promise.
    unsafe {
        let (mut alpha, mut beta) = (Scalar::read(alpha, E::TYPE, mode)?, Scalar::read(beta, E::TYPE, mode)?);
        if rows == 0 {
            return Ok(());
        }
        let grid = Grid { ctas: [rows.div_ceil(ROWS), 1, 1], threads: ROWS };
        let arguments = addresses![a, rows, columns, alpha, x, beta, y];
        launch(handle.context, handle.stream(), by_type!(E::TYPE, "matvec"), grid, arguments)
    }
}

/// `cublasSgemv` and its like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn gemv<E: Element, I: Int>(
    handle: Raw,
    of: c_int,
    m: I,
    n: I,
    alpha: *const c_void,
    a: *const c_void,
    lda: I,
    x: *const c_void,
    incx: I,
    beta: *const c_void,
    y: *mut c_void,
    incy: I,
) -> c_int {
    code(|| {
        let (of, m, n) = (Operation::of(of)?, size(m)?, size(n)?);
        let a = Shaped::new(a, leading(lda, m)?, n, Storage::Full).seen(of);
        let sizes = if of.is_transposed() { (n, m) } else { (m, n) };
        // SAFETY: the caller's promise.
        unsafe { matvec::<E, I>(Handle::of(handle)?, a, sizes, (alpha, x, incx), (beta, y, incy)) }
    })
}

/// `cublasSgbmv` and its like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn gbmv<E: Element, I: Int>(
    handle: Raw,
    of: c_int,
    m: I,
    n: I,
    below: I,
    above: I,
    alpha: *const c_void,
    a: *const c_void,
    lda: I,
    x: *const c_void,
    incx: I,
    beta: *const c_void,
    y: *mut c_void,
    incy: I,
) -> c_int {
    code(|| {
        let (of, m, n) = (Operation::of(of)?, size(m)?, size(n)?);
        let (below, above) = (size(below)?, size(above)?);
        let lda = leading(lda, below + above + 1)?;
        let a = Shaped::new(a, lda, n, Storage::Band(below, above)).seen(of);
        let sizes = if of.is_transposed() { (n, m) } else { (m, n) };
        // SAFETY: the caller's promise.
        unsafe { matvec::<E, I>(Handle::of(handle)?, a, sizes, (alpha, x, incx), (beta, y, incy)) }
    })
}

/// Storage of a band of a triangle with `width` further diagonals.
fn band(is_lower: bool, width: u32) -> Storage {
    if is_lower { Storage::Band(width, 0) } else { Storage::Band(0, width) }
}

/// `cublasSsymv`, `cublasChemv` and their like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn symv<E: Element, const HERMITIAN: bool, I: Int>(
    handle: Raw,
    fill: c_int,
    n: I,
    alpha: *const c_void,
    a: *const c_void,
    lda: I,
    x: *const c_void,
    incx: I,
    beta: *const c_void,
    y: *mut c_void,
    incy: I,
) -> c_int {
    code(|| {
        let n = size(n)?;
        let a = Shaped::new(a, leading(lda, n)?, n, Storage::Full).triangle(is_lower(fill)?);
        let a = a.mirrored(HERMITIAN);
        // SAFETY: the caller's promise.
        unsafe { matvec::<E, I>(Handle::of(handle)?, a, (n, n), (alpha, x, incx), (beta, y, incy)) }
    })
}

/// `cublasSsbmv`, `cublasChbmv` and their like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn sbmv<E: Element, const HERMITIAN: bool, I: Int>(
    handle: Raw,
    fill: c_int,
    n: I,
    width: I,
    alpha: *const c_void,
    a: *const c_void,
    lda: I,
    x: *const c_void,
    incx: I,
    beta: *const c_void,
    y: *mut c_void,
    incy: I,
) -> c_int {
    code(|| {
        let (is_lower, n, width) = (is_lower(fill)?, size(n)?, size(width)?);
        let a = Shaped::new(a, leading(lda, width + 1)?, n, band(is_lower, width));
        let a = a.triangle(is_lower).mirrored(HERMITIAN);
        // SAFETY: the caller's promise.
        unsafe { matvec::<E, I>(Handle::of(handle)?, a, (n, n), (alpha, x, incx), (beta, y, incy)) }
    })
}

/// `cublasSspmv`, `cublasChpmv` and their like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn spmv<E: Element, const HERMITIAN: bool, I: Int>(
    handle: Raw,
    fill: c_int,
    n: I,
    alpha: *const c_void,
    a: *const c_void,
    x: *const c_void,
    incx: I,
    beta: *const c_void,
    y: *mut c_void,
    incy: I,
) -> c_int {
    code(|| {
        let n = size(n)?;
        let a = Shaped::new(a, 0, n, Storage::Packed).triangle(is_lower(fill)?).mirrored(HERMITIAN);
        // SAFETY: the caller's promise.
        unsafe { matvec::<E, I>(Handle::of(handle)?, a, (n, n), (alpha, x, incx), (beta, y, incy)) }
    })
}

/// A triangle as arguments give it: fill, operation, diagonal.
type Triangle = (c_int, c_int, c_int);

fn triangle((fill, of, diagonal): Triangle, a: Shaped) -> Answer<Shaped> {
    Ok(a.triangle(is_lower(fill)?).unit(!is_first(diagonal)?).seen(Operation::of(of)?))
}

/// `x = a * x`, or `x = a^-1 * x`.
///
/// # Safety
/// As for the functions of cuBLAS.
unsafe fn apply<E: Element, I: Int>(
    handle: Raw,
    mut a: Shaped,
    mut n: u32,
    (x, incx): (*mut c_void, I),
    is_inverse: bool,
) -> Answer {
    // SAFETY: the caller's promise.
    unsafe {
        let handle = Handle::of(handle)?;
        let mut x = Vector::checked(x, n, incx, E::TYPE)?;
        if n == 0 {
            return Ok(());
        }
        let (context, stream) = (handle.context, handle.stream());
        let mut one = Scalar::value(1.0);
        if is_inverse {
            let (mut column, mut is_array) = (0_i64, 0_u32);
            let grid = Grid { ctas: [1, 1, 1], threads: ROWS };
            let arguments = addresses![a, n, one, x.start, x.increment, column, is_array];
            return launch(context, stream, by_type!(E::TYPE, "solve"), grid, arguments);
        }
        let mut zero = Scalar::value(0.0);
        handle.with_memory(n as usize * E::TYPE.size(), |start| {
            let mut before = Vector { start, increment: 1 };
            launch(context, stream, by_type!(E::TYPE, "copy"), elementwise(n), addresses![n, x, before])?;
            let grid = Grid { ctas: [n.div_ceil(ROWS), 1, 1], threads: ROWS };
            let mut columns = n;
            let arguments = addresses![a, n, columns, one, before, zero, x];
            launch(context, stream, by_type!(E::TYPE, "matvec"), grid, arguments)
        })
    }
}

/// Functions with a triangle of full or packed storage, or of a band.
macro_rules! triangles {
    ($($full:ident, $banded:ident, $packed:ident: $is_inverse:literal;)*) => {
        $(
            /// `cublasStrmv`, `cublasStrsv` and their like.
            ///
            /// # Safety
            /// As for the function of cuBLAS.
            pub(crate) unsafe extern "C" fn $full<E: Element, I: Int>(
                handle: Raw, fill: c_int, of: c_int, diagonal: c_int, n: I, a: *const c_void, lda: I, x: *mut c_void,
                incx: I,
            ) -> c_int {
                code(|| {
                    let n = size(n)?;
                    let a = Shaped::new(a, leading(lda, n)?, n, Storage::Full);
                    // SAFETY: the caller's promise.
                    unsafe { apply::<E, I>(handle, triangle((fill, of, diagonal), a)?, n, (x, incx), $is_inverse) }
                })
            }

            /// `cublasStbmv`, `cublasStbsv` and their like.
            ///
            /// # Safety
            /// As for the function of cuBLAS.
            pub(crate) unsafe extern "C" fn $banded<E: Element, I: Int>(
                handle: Raw, fill: c_int, of: c_int, diagonal: c_int, n: I, width: I, a: *const c_void, lda: I,
                x: *mut c_void, incx: I,
            ) -> c_int {
                code(|| {
                    let (n, width) = (size(n)?, size(width)?);
                    let a = Shaped::new(a, leading(lda, width + 1)?, n, band(is_lower(fill)?, width));
                    // SAFETY: the caller's promise.
                    unsafe { apply::<E, I>(handle, triangle((fill, of, diagonal), a)?, n, (x, incx), $is_inverse) }
                })
            }

            /// `cublasStpmv`, `cublasStpsv` and their like.
            ///
            /// # Safety
            /// As for the function of cuBLAS.
            pub(crate) unsafe extern "C" fn $packed<E: Element, I: Int>(
                handle: Raw, fill: c_int, of: c_int, diagonal: c_int, n: I, a: *const c_void, x: *mut c_void, incx: I,
            ) -> c_int {
                code(|| {
                    let n = size(n)?;
                    let a = Shaped::new(a, 0, n, Storage::Packed);
                    // SAFETY: the caller's promise.
                    unsafe { apply::<E, I>(handle, triangle((fill, of, diagonal), a)?, n, (x, incx), $is_inverse) }
                })
            }
        )*
    };
}

triangles! {
    trmv, tbmv, tpmv: false;
    trsv, tbsv, tpsv: true;
}

/// `a += alpha * x * y'`, and for `both` the mirrored product too.
///
/// # Safety
/// As for the functions of cuBLAS.
unsafe fn rank<E: Element, I: Int>(
    handle: Raw,
    mut a: Shaped,
    (mut rows, mut columns): (u32, u32),
    (alpha, scale): (*const c_void, Type),
    (x, incx): (*const c_void, I),
    (y, incy): (*const c_void, I),
    both: bool,
) -> Answer {
    // SAFETY: the caller's promise.
    unsafe {
        let handle = Handle::of(handle)?;
        let mut alpha = Scalar::read(alpha, scale, handle.pointers())?;
        let mut x = Vector::checked(x, rows, incx, E::TYPE)?;
        let mut y = Vector::checked(y, columns, incy, E::TYPE)?;
        let mut both = u32::from(both);
        if rows == 0 || columns == 0 {
            return Ok(());
        }
        let grid = squares(rows, columns, 1);
        let arguments = addresses![a, rows, columns, alpha, x, y, both];
        launch(handle.context, handle.stream(), by_type!(E::TYPE, "rank"), grid, arguments)
    }
}

/// `cublasSger`, `cublasCgeru`, `cublasCgerc` and their like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn ger<E: Element, const CONJUGATED: bool, I: Int>(
    handle: Raw,
    m: I,
    n: I,
    alpha: *const c_void,
    x: *const c_void,
    incx: I,
    y: *const c_void,
    incy: I,
    a: *mut c_void,
    lda: I,
) -> c_int {
    code(|| {
        let (m, n) = (size(m)?, size(n)?);
        let a = Shaped::new(a, leading(lda, m)?, n, Storage::Full).conjugated(CONJUGATED);
        // SAFETY: the caller's promise.
        unsafe { rank::<E, I>(handle, a, (m, n), (alpha, E::TYPE), (x, incx), (y, incy), false) }
    })
}

/// A triangle that an update changes.
fn updated(
    a: *mut c_void,
    leading: i64,
    n: u32,
    fill: c_int,
    storage: Storage,
    is_hermitian: bool,
) -> Answer<Shaped> {
    let a = Shaped::new(a, leading, n, storage).triangle(is_lower(fill)?);
    Ok(a.mirrored(is_hermitian).conjugated(is_hermitian))
}

/// Type of the factor of an update with one vector.
fn factor<E: Element>(is_hermitian: bool) -> Type {
    if is_hermitian { E::Real::TYPE } else { E::TYPE }
}

/// `cublasSsyr`, `cublasCher` and their like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn syr<E: Element, const HERMITIAN: bool, I: Int>(
    handle: Raw,
    fill: c_int,
    n: I,
    alpha: *const c_void,
    x: *const c_void,
    incx: I,
    a: *mut c_void,
    lda: I,
) -> c_int {
    code(|| {
        let n = size(n)?;
        let a = updated(a, leading(lda, n)?, n, fill, Storage::Full, HERMITIAN)?;
        let alpha = (alpha, factor::<E>(HERMITIAN));
        // SAFETY: the caller's promise.
        unsafe { rank::<E, I>(handle, a, (n, n), alpha, (x, incx), (x, incx), false) }
    })
}

/// `cublasSspr`, `cublasChpr` and their like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn spr<E: Element, const HERMITIAN: bool, I: Int>(
    handle: Raw,
    fill: c_int,
    n: I,
    alpha: *const c_void,
    x: *const c_void,
    incx: I,
    a: *mut c_void,
) -> c_int {
    code(|| {
        let n = size(n)?;
        let a = updated(a, 0, n, fill, Storage::Packed, HERMITIAN)?;
        let alpha = (alpha, factor::<E>(HERMITIAN));
        // SAFETY: the caller's promise.
        unsafe { rank::<E, I>(handle, a, (n, n), alpha, (x, incx), (x, incx), false) }
    })
}

/// `cublasSsyr2`, `cublasCher2` and their like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn syr2<E: Element, const HERMITIAN: bool, I: Int>(
    handle: Raw,
    fill: c_int,
    n: I,
    alpha: *const c_void,
    x: *const c_void,
    incx: I,
    y: *const c_void,
    incy: I,
    a: *mut c_void,
    lda: I,
) -> c_int {
    code(|| {
        let n = size(n)?;
        let a = updated(a, leading(lda, n)?, n, fill, Storage::Full, HERMITIAN)?;
        // SAFETY: the caller's promise.
        unsafe { rank::<E, I>(handle, a, (n, n), (alpha, E::TYPE), (x, incx), (y, incy), true) }
    })
}

/// `cublasSspr2`, `cublasChpr2` and their like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn spr2<E: Element, const HERMITIAN: bool, I: Int>(
    handle: Raw,
    fill: c_int,
    n: I,
    alpha: *const c_void,
    x: *const c_void,
    incx: I,
    y: *const c_void,
    incy: I,
    a: *mut c_void,
) -> c_int {
    code(|| {
        let n = size(n)?;
        let a = updated(a, 0, n, fill, Storage::Packed, HERMITIAN)?;
        // SAFETY: the caller's promise.
        unsafe { rank::<E, I>(handle, a, (n, n), (alpha, E::TYPE), (x, incx), (y, incy), true) }
    })
}

/// `cublasSgemvStridedBatched`, `cublasHSHgemvStridedBatched` and their like: products with one
/// column. `Y` is the type of the result, `S` that of the scalars.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn gemv_strided<E: Element, Y: Element, S: Element, I: Int>(
    handle: Raw,
    of: c_int,
    m: I,
    n: I,
    alpha: *const c_void,
    a: *const c_void,
    lda: I,
    a_stride: c_longlong,
    x: *const c_void,
    incx: I,
    x_stride: c_longlong,
    beta: *const c_void,
    y: *mut c_void,
    incy: I,
    y_stride: c_longlong,
    batches: I,
) -> c_int {
    code(|| {
        let (of, m, n) = (Operation::of(of)?, size(m)?, size(n)?);
        let stored = Stored::single(a, leading(lda, m)?, E::TYPE);
        let stored = Stored { batch: Batch::Stride(a_stride), ..stored };
        let (rows, columns) = if of.is_transposed() { (n, m) } else { (m, n) };
        let vector = |address, n, increment: I, batch, kind: Type| {
            let Vector { start, increment } = Vector::checked(address, n, increment, kind)?;
            Ok::<_, Status>(Matrix {
                base: start,
                row: increment,
                column: 1,
                batch,
                kind: kind as u32,
                flags: 0,
            })
        };
        let y = vector(y.cast_const(), rows, incy, y_stride, Y::TYPE)?;
        // SAFETY: the caller's promise.
        unsafe {
            let handle = Handle::of(handle)?;
            let mode = handle.pointers();
            let product = Product {
                a: stored.seen(of),
                b: vector(x, columns, incx, x_stride, E::TYPE)?,
                c: y,
                d: y,
                m: rows,
                n: 1,
                k: columns,
                batches: size(batches)?,
                alpha: Scalar::read(alpha, S::TYPE, mode)?,
                beta: Scalar::read(beta, S::TYPE, mode)?,
                epilogue: Epilogue::default(),
            };
            product.launch(handle, handle.stream(), [E::TYPE, E::TYPE, Y::TYPE], Precision::Full)
        }
    })
}

/// `cublasSgemvBatched`, `cublasHSHgemvBatched` and their like: products with one column, whose
/// matrices and vectors are arrays of addresses.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn gemv_batched<E: Element, Y: Element, S: Element, I: Int>(
    handle: Raw,
    of: c_int,
    m: I,
    n: I,
    alpha: *const c_void,
    a: *const c_void,
    lda: I,
    x: *const c_void,
    incx: I,
    beta: *const c_void,
    y: *const c_void,
    incy: I,
    batches: I,
) -> c_int {
    code(|| {
        let (of, m, n) = (Operation::of(of)?, size(m)?, size(n)?);
        let (incx, incy) = (incx.wide(), incy.wide());
        if incx < 0 || incy < 0 {
            return not_supported("a negative increment of a batch of vectors");
        }
        if incx == 0 || incy == 0 {
            return Err(Status::InvalidValue);
        }
        let stored = Stored::single(a, leading(lda, m)?, E::TYPE);
        let stored = Stored { batch: Batch::Array, ..stored };
        let (rows, columns) = if of.is_transposed() { (n, m) } else { (m, n) };
        let vector = |address: *const c_void, row, kind: Type| {
            let (base, kind) = (address as u64, kind as u32);
            Matrix { base, row, column: 1, batch: 0, kind, flags: Matrix::IS_ARRAY }
        };
        let y = vector(y, incy, Y::TYPE);
        // SAFETY: the caller's promise.
        unsafe {
            let handle = Handle::of(handle)?;
            let mode = handle.pointers();
            let product = Product {
                a: stored.seen(of),
                b: vector(x, incx, E::TYPE),
                c: y,
                d: y,
                m: rows,
                n: 1,
                k: columns,
                batches: size(batches)?,
                alpha: Scalar::read(alpha, S::TYPE, mode)?,
                beta: Scalar::read(beta, S::TYPE, mode)?,
                epilogue: Epilogue::default(),
            };
            product.launch(handle, handle.stream(), [E::TYPE, E::TYPE, Y::TYPE], Precision::Full)
        }
    })
}

//! Triangular systems, and factors of batches of square matrices.

use std::ffi::{c_int, c_void};

use standin_driver::Grid;

use crate::arguments::{Operation, is_first, is_lower, leading, size};
use crate::element::{Element, Int, Scalar, Type};
use crate::handle::{Handle, Raw};
use crate::kernels::{addresses, by_type, launch};
use crate::level2::squares;
use crate::shaped::{Shaped, Storage};
use crate::status::{Answer, Status, code, not_supported};

/// Threads of a CTA.
const THREADS: u32 = 128;
/// Largest number of matrices of a batch.
const MAX_BATCHES: u32 = 65_535;

fn batches(count: impl Int) -> Answer<u32> {
    let count = size(count)?;
    if count > MAX_BATCHES { not_supported(&format!("a batch of {count} matrices")) } else { Ok(count) }
}

/// Right sides of a system: their number, and where they lie.
#[derive(Clone, Copy)]
struct Right {
    base: u64,
    /// Elements between unknowns, and between right sides.
    unknown: i64,
    side: i64,
    count: u32,
    is_array: bool,
}

/// Solves `a * x = alpha * b` in place.
///
/// # Safety
/// The matrices are memory of the device.
unsafe fn solve<E: Element>(
    handle: &Handle,
    mut a: Shaped,
    mut n: u32,
    mut alpha: Scalar,
    right: Right,
    batches: u32,
) -> Answer {
    let Right { mut base, mut unknown, mut side, count, is_array } = right;
    let mut is_array = u32::from(is_array);
    if n == 0 || count == 0 || batches == 0 {
        return Ok(());
    }
    let grid = Grid { ctas: [count, 1, batches], threads: THREADS };
    let arguments = addresses![a, n, alpha, base, unknown, side, is_array];
    // SAFETY: the kernel's parameters; the memory is the caller's promise.
    unsafe { launch(handle.context, handle.stream(), by_type!(E::TYPE, "solve"), grid, arguments) }
}

/// The arguments of `trsm`, with a batch.
struct System<I> {
    side: c_int,
    fill: c_int,
    of: c_int,
    diagonal: c_int,
    sizes: [I; 2],
    alpha: *const c_void,
    a: (*const c_void, I),
    b: (*mut c_void, I),
    /// Matrices of a batch, if the addresses are of arrays.
    batches: Option<I>,
}

impl<I: Int> System<I> {
    /// # Safety
    /// As for the functions of cuBLAS.
    unsafe fn run<E: Element>(self, handle: Raw) -> Answer {
        let [m, n] = self.sizes.map(size);
        let (is_left, m, n) = (is_first(self.side)?, m?, n?);
        let (a, lda) = self.a;
        let (b, ldb) = self.b;
        let unknowns = if is_left { m } else { n };
        let ldb = leading(ldb, m)?;
        let a = Shaped::new(a, leading(lda, unknowns)?, unknowns, Storage::Full);
        let a = a.triangle(is_lower(self.fill)?).unit(!is_first(self.diagonal)?);
        let a = a.seen(Operation::of(self.of)?);
        let is_array = self.batches.is_some();
        let right = if is_left {
            Right { base: b as u64, unknown: 1, side: ldb, count: n, is_array }
        } else {
            Right { base: b as u64, unknown: ldb, side: 1, count: m, is_array }
        };
        // Rows are right sides of the transposed system.
        let a = if is_left { a } else { a.transposed() };
        let a = if is_array { a.array() } else { a };
        let batches = self.batches.map_or(Ok(1), batches)?;
        // SAFETY: the caller's promise.
        unsafe {
            let handle = Handle::of(handle)?;
            let alpha = Scalar::read(self.alpha, E::TYPE, handle.pointers())?;
            solve::<E>(handle, a, unknowns, alpha, right, batches)
        }
    }
}

/// `cublasStrsm` and its like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn trsm<E: Element, I: Int>(
    handle: Raw,
    side: c_int,
    fill: c_int,
    of: c_int,
    diagonal: c_int,
    m: I,
    n: I,
    alpha: *const c_void,
    a: *const c_void,
    lda: I,
    b: *mut c_void,
    ldb: I,
) -> c_int {
    let sizes = [m, n];
    let system = System { side, fill, of, diagonal, sizes, alpha, a: (a, lda), b: (b, ldb), batches: None };
    // SAFETY: the caller's promise.
    code(|| unsafe { system.run::<E>(handle) })
}

/// `cublasStrsmBatched` and its like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn trsm_batched<E: Element, I: Int>(
    handle: Raw,
    side: c_int,
    fill: c_int,
    of: c_int,
    diagonal: c_int,
    m: I,
    n: I,
    alpha: *const c_void,
    a: *const c_void,
    lda: I,
    b: *mut c_void,
    ldb: I,
    count: I,
) -> c_int {
    let (sizes, batches) = ([m, n], Some(count));
    let system = System { side, fill, of, diagonal, sizes, alpha, a: (a, lda), b: (b, ldb), batches };
    // SAFETY: the caller's promise.
    code(|| unsafe { system.run::<E>(handle) })
}

/// A batch of square matrices.
fn squares_of(addresses: *const c_void, lead: c_int, n: u32) -> Answer<Shaped> {
    Ok(Shaped::new(addresses, leading(lead, n)?, n, Storage::Full).array())
}

/// `cublasSgetrfBatched` and its like: factors with partial pivoting, or without for null `pivots`.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn getrf<E: Element>(
    handle: Raw,
    n: c_int,
    a: *const c_void,
    lda: c_int,
    pivots: *mut c_int,
    information: *mut c_int,
    count: c_int,
) -> c_int {
    code(|| {
        let (mut n, count) = (size(n)?, batches(count)?);
        let mut a = squares_of(a, lda, n)?;
        let (mut pivots, mut information) = (pivots as u64, information as u64);
        if n == 0 || count == 0 {
            return Ok(());
        }
        let grid = Grid { ctas: [count, 1, 1], threads: THREADS };
        // SAFETY: the caller's promise.
        unsafe {
            let handle = Handle::of(handle)?;
            let arguments = addresses![n, a, pivots, information];
            launch(handle.context, handle.stream(), by_type!(E::TYPE, "getrf"), grid, arguments)
        }
    })
}

/// Solves with the factors of [`getrf`].
///
/// # Safety
/// As for the functions of cuBLAS.
unsafe fn solve_factored<E: Element>(
    handle: &Handle,
    (a, of): (Shaped, Operation),
    n: u32,
    pivots: *const c_int,
    (b, base, ldb): (Shaped, u64, i64),
    (columns, count): (u32, u32),
) -> Answer {
    let right = Right { base, unknown: 1, side: ldb, count: columns, is_array: true };
    let one = Scalar::value(1.0);
    let grid = Grid { ctas: [columns.div_ceil(THREADS).max(1), 1, count], threads: THREADS };
    let permute = || -> Answer {
        if pivots.is_null() {
            return Ok(());
        }
        let (mut n, mut columns, mut b) = (n, columns, b);
        let (mut pivots, mut is_backwards) = (pivots as u64, u32::from(of.is_transposed()));
        let arguments = addresses![n, columns, pivots, b, is_backwards];
        let kernel = by_type!(E::TYPE, "permute");
        // SAFETY: the kernel's parameters; the memory is the caller's promise.
        unsafe { launch(handle.context, handle.stream(), kernel, grid, arguments) }
    };
    let (lower, upper) = (a.triangle(true).unit(true), a.triangle(false));
    // SAFETY: the caller's promise.
    unsafe {
        if of.is_transposed() {
            solve::<E>(handle, upper.seen(of), n, one, right, count)?;
            solve::<E>(handle, lower.seen(of), n, one, right, count)?;
            permute()
        } else {
            permute()?;
            solve::<E>(handle, lower, n, one, right, count)?;
            solve::<E>(handle, upper, n, one, right, count)
        }
    }
}

/// `cublasSgetrsBatched` and its like.
///
/// # Safety
/// As for the function of cuBLAS; `information` is a number of the host.
pub(crate) unsafe extern "C" fn getrs<E: Element>(
    handle: Raw,
    of: c_int,
    n: c_int,
    columns: c_int,
    a: *const c_void,
    lda: c_int,
    pivots: *const c_int,
    b: *const c_void,
    ldb: c_int,
    information: *mut c_int,
    count: c_int,
) -> c_int {
    code(|| {
        let (of, n, columns, count) = (Operation::of(of)?, size(n)?, size(columns)?, batches(count)?);
        let a = squares_of(a, lda, n)?;
        let (shaped, ldb) = (squares_of(b, ldb, n)?, leading(ldb, n)?);
        if information.is_null() {
            return Err(Status::InvalidValue);
        }
        // SAFETY: the caller's promise.
        unsafe {
            *information = 0;
            if n == 0 || columns == 0 || count == 0 {
                return Ok(());
            }
            let handle = Handle::of(handle)?;
            solve_factored::<E>(handle, (a, of), n, pivots, (shaped, b as u64, ldb), (columns, count))
        }
    })
}

/// `cublasSgetriBatched` and its like: inverses from factors.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn getri<E: Element>(
    handle: Raw,
    n: c_int,
    a: *const c_void,
    lda: c_int,
    pivots: *const c_int,
    c: *const c_void,
    ldc: c_int,
    information: *mut c_int,
    count: c_int,
) -> c_int {
    code(|| {
        let (mut n, count) = (size(n)?, batches(count)?);
        let a = squares_of(a, lda, n)?;
        let (mut shaped, ldc) = (squares_of(c, ldc, n)?, leading(ldc, n)?);
        if n == 0 || count == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe {
            let handle = Handle::of(handle)?;
            let kernel = by_type!(E::TYPE, "identity");
            let grid = squares(n, n, count);
            launch(handle.context, handle.stream(), kernel, grid, addresses![n, shaped])?;
            let driver = standin_driver::driver()?;
            if !information.is_null() {
                driver.fill(information as u64, 0, count as usize * 4, handle.stream())?;
            }
            let a = (a, Operation::None);
            solve_factored::<E>(handle, a, n, pivots, (shaped, c as u64, ldc), (n, count))
        }
    })
}

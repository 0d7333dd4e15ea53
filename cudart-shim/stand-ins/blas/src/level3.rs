//! Level 3: products of matrices with structure, and sums of matrices.

use std::ffi::{c_int, c_void};

use standin_driver::driver;

use crate::arguments::{Operation, Stored, Vector, is_first, is_lower, leading, size};
use crate::element::{Element, Int, Scalar, Type};
use crate::handle::{Handle, Raw};
use crate::kernels::{addresses, by_type, launch};
use crate::level2::squares;
use crate::product::{Epilogue, Matrix, Precision, Product};
use crate::shaped::{Shaped, Storage};
use crate::status::{Answer, Status, code, not_supported};

/// Launches `c = alpha * a * b + beta * c` with matrices of one type.
///
/// # Safety
/// The matrices are memory of the device.
unsafe fn product<E: Element>(
    handle: &Handle,
    [a, b, c]: [Matrix; 3],
    [m, n, k]: [u32; 3],
    [alpha, beta]: [Scalar; 2],
) -> Answer {
    let product = Product { a, b, c, d: c, m, n, k, batches: 1, alpha, beta, epilogue: Epilogue::default() };
    // SAFETY: the caller's promise.
    unsafe { product.launch(handle, handle.stream(), [E::TYPE; 3], Precision::Full) }
}

/// `cublasSsymm`, `cublasChemm` and their like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn symm<E: Element, const HERMITIAN: bool, I: Int>(
    handle: Raw,
    side: c_int,
    fill: c_int,
    m: I,
    n: I,
    alpha: *const c_void,
    a: *const c_void,
    lda: I,
    b: *const c_void,
    ldb: I,
    beta: *const c_void,
    c: *mut c_void,
    ldc: I,
) -> c_int {
    code(|| {
        let (is_left, m, n) = (is_first(side)?, size(m)?, size(n)?);
        let k = if is_left { m } else { n };
        let whole =
            |address: *const c_void, leading| Stored::single(address, leading, E::TYPE).seen(Operation::None);
        let a = whole(a, leading(lda, k)?).triangle(is_lower(fill)?).mirrored(HERMITIAN);
        let (b, c) = (whole(b, leading(ldb, m)?), whole(c, leading(ldc, m)?));
        let (left, right) = if is_left { (a, b) } else { (b, a) };
        // SAFETY: the caller's promise.
        unsafe {
            let handle = Handle::of(handle)?;
            let mode = handle.pointers();
            let scalars = [Scalar::read(alpha, E::TYPE, mode)?, Scalar::read(beta, E::TYPE, mode)?];
            product::<E>(handle, [left, right, c], [m, n, k], scalars)
        }
    })
}

/// An update of a triangle.
struct Update<I> {
    fill: c_int,
    of: c_int,
    sizes: [I; 2],
    c: (*mut c_void, I),
    /// Alpha and beta, with their types.
    scalars: [(*const c_void, Type); 2],
    is_hermitian: bool,
}

impl<I: Int> Update<I> {
    /// Adds the product of a matrix and a transposed one, and for `both` the mirrored product.
    ///
    /// # Safety
    /// As for the functions of cuBLAS.
    unsafe fn run<E: Element>(
        self,
        handle: Raw,
        (a, lda): (*const c_void, I),
        (b, ldb): (*const c_void, I),
        both: bool,
    ) -> Answer {
        let of = Operation::of(self.of)?;
        let is_fitting = match (self.is_hermitian, E::TYPE) {
            (true, _) => of != Operation::Transposed,
            (false, Type::C32 | Type::C64) => of != Operation::Adjoint,
            _ => true,
        };
        if !is_fitting {
            return Err(Status::InvalidValue);
        }
        let [n, k] = self.sizes.map(size);
        let (n, k) = (n?, k?);
        let rows = if of.is_transposed() { k } else { n };
        // The second factor is the first one's shape, transposed, and conjugated for Hermitian results.
        let second = match (of.is_transposed(), self.is_hermitian) {
            (true, _) => Operation::None,
            (false, true) => Operation::Adjoint,
            (false, false) => Operation::Transposed,
        };
        let a = Stored::single(a, leading(lda, rows)?, E::TYPE);
        let b = Stored::single(b, leading(ldb, rows)?, E::TYPE);
        let (c, ldc) = self.c;
        let c = Stored::single(c, leading(ldc, n)?, E::TYPE).seen(Operation::None);
        let mut c = c.triangle(is_lower(self.fill)?);
        if self.is_hermitian {
            c = c.mirrored(true);
        }
        // SAFETY: the caller's promise.
        unsafe {
            let handle = Handle::of(handle)?;
            let mode = handle.pointers();
            let [alpha, beta] = self.scalars.map(|(pointer, kind)| Scalar::read(pointer, kind, mode));
            let (alpha, beta) = (alpha?, beta?);
            if !both {
                let factors = [a.seen(of), b.seen(second), c];
                return product::<E>(handle, factors, [n, n, k], [alpha, beta]);
            }
            let mirrored = if self.is_hermitian { alpha.conjugate() } else { alpha };
            if self.is_hermitian && alpha.is_on_device() {
                return not_supported("her2k with scalars on the device");
            }
            // The diagonal of the first product alone need not be real.
            let first = Matrix { flags: 0, ..c }.triangle(is_lower(self.fill)?);
            product::<E>(handle, [a.seen(of), b.seen(second), first], [n, n, k], [alpha, beta])?;
            let factors = [b.seen(of), a.seen(second), c];
            product::<E>(handle, factors, [n, n, k], [mirrored, Scalar::value(1.0)])
        }
    }
}

/// Types of alpha and beta of an update: real ones for Hermitian results, but for two factors alpha is
/// of the elements' type.
fn scales<E: Element>(is_hermitian: bool, has_two_factors: bool) -> [Type; 2] {
    let real = if is_hermitian { E::Real::TYPE } else { E::TYPE };
    [if has_two_factors { E::TYPE } else { real }, real]
}

/// `cublasSsyrk`, `cublasCherk` and their like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn syrk<E: Element, const HERMITIAN: bool, I: Int>(
    handle: Raw,
    fill: c_int,
    of: c_int,
    n: I,
    k: I,
    alpha: *const c_void,
    a: *const c_void,
    lda: I,
    beta: *const c_void,
    c: *mut c_void,
    ldc: I,
) -> c_int {
    let [alpha_type, beta_type] = scales::<E>(HERMITIAN, false);
    let scalars = [(alpha, alpha_type), (beta, beta_type)];
    let update = Update { fill, of, sizes: [n, k], c: (c, ldc), scalars, is_hermitian: HERMITIAN };
    // SAFETY: the caller's promise.
    code(|| unsafe { update.run::<E>(handle, (a, lda), (a, lda), false) })
}

/// Updates with two factors.
macro_rules! two_factors {
    ($($(#[$doc:meta])* $name:ident: $both:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As for the function of cuBLAS.
            pub(crate) unsafe extern "C" fn $name<E: Element, const HERMITIAN: bool, I: Int>(
                handle: Raw, fill: c_int, of: c_int, n: I, k: I, alpha: *const c_void, a: *const c_void, lda: I,
                b: *const c_void, ldb: I, beta: *const c_void, c: *mut c_void, ldc: I,
            ) -> c_int {
                let [alpha_type, beta_type] = scales::<E>(HERMITIAN, true);
                let scalars = [(alpha, alpha_type), (beta, beta_type)];
                let update = Update { fill, of, sizes: [n, k], c: (c, ldc), scalars, is_hermitian: HERMITIAN };
                // SAFETY: the caller's promise.
                code(|| unsafe { update.run::<E>(handle, (a, lda), (b, ldb), $both) })
            }
        )*
    };
}

two_factors! {
    /// `cublasSsyr2k`, `cublasCher2k` and their like.
    syr2k: true;
    /// `cublasSsyrkx`, `cublasCherkx` and their like.
    syrkx: false;
}

/// `cublasStrmm` and its like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn trmm<E: Element, I: Int>(
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
    b: *const c_void,
    ldb: I,
    c: *mut c_void,
    ldc: I,
) -> c_int {
    code(|| {
        let (is_left, of, m, n) = (is_first(side)?, Operation::of(of)?, size(m)?, size(n)?);
        let k = if is_left { m } else { n };
        let is_lower = is_lower(fill)? != of.is_transposed();
        let triangle = Stored::single(a, leading(lda, k)?, E::TYPE).seen(of).triangle(is_lower);
        let triangle = triangle.unit(!is_first(diagonal)?);
        let (ldb, ldc) = (leading(ldb, m)?, leading(ldc, m)?);
        // SAFETY: the caller's promise.
        unsafe {
            let handle = Handle::of(handle)?;
            let alpha = Scalar::read(alpha, E::TYPE, handle.pointers())?;
            let run = |b: u64| {
                let whole = |base, leading| {
                    Stored { base, ..Stored::single(c, leading, E::TYPE) }.seen(Operation::None)
                };
                let (b, c) = (whole(b, ldb), whole(c as u64, ldc));
                let factors = if is_left { [triangle, b, c] } else { [b, triangle, c] };
                product::<E>(handle, factors, [m, n, k], [alpha, Scalar::value(0.0)])
            };
            if b != c.cast_const() {
                return run(b as u64);
            }
            // A product in place needs its factor until the end.
            let bytes = ldb as usize * n as usize * E::TYPE.size();
            handle.with_memory(bytes, |copy| {
                driver()?.copy(copy, b as u64, bytes, handle.stream())?;
                run(copy)
            })
        }
    })
}

/// `cublasSgeam` and its like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn geam<E: Element, I: Int>(
    handle: Raw,
    of_a: c_int,
    of_b: c_int,
    m: I,
    n: I,
    alpha: *const c_void,
    a: *const c_void,
    lda: I,
    beta: *const c_void,
    b: *const c_void,
    ldb: I,
    c: *mut c_void,
    ldc: I,
) -> c_int {
    code(|| {
        let (of_a, of_b) = (Operation::of(of_a)?, Operation::of(of_b)?);
        let (mut m, mut n) = (size(m)?, size(n)?);
        let shaped = |address, lead: I, of: Operation| -> Answer<Shaped> {
            let rows = if of.is_transposed() { n } else { m };
            // A matrix with a factor of zero may have any leading dimension.
            Ok(Shaped::new(address, leading(lead, rows.min(1))?, n, Storage::Full).seen(of))
        };
        let (mut a, mut b) = (shaped(a, lda, of_a)?, shaped(b, ldb, of_b)?);
        let (mut c, mut ldc) = (c as u64, leading(ldc, m)?);
        // SAFETY: the caller's promise.
        unsafe {
            let handle = Handle::of(handle)?;
            let mode = handle.pointers();
            let mut alpha = Scalar::read(alpha, E::TYPE, mode)?;
            let mut beta = Scalar::read(beta, E::TYPE, mode)?;
            if m == 0 || n == 0 {
                return Ok(());
            }
            let arguments = addresses![m, n, alpha, a, beta, b, c, ldc];
            let kernel = by_type!(E::TYPE, "geam");
            launch(handle.context, handle.stream(), kernel, squares(m, n, 1), arguments)
        }
    })
}

/// `cublasSdgmm` and its like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn dgmm<E: Element, I: Int>(
    handle: Raw,
    side: c_int,
    m: I,
    n: I,
    a: *const c_void,
    lda: I,
    x: *const c_void,
    incx: I,
    c: *mut c_void,
    ldc: I,
) -> c_int {
    code(|| {
        let (mut m, mut n) = (size(m)?, size(n)?);
        let is_left = is_first(side)?;
        let mut from_left = u32::from(is_left);
        let mut a = Shaped::new(a, leading(lda, m)?, n, Storage::Full);
        let mut x = Vector::new(x, if is_left { m } else { n }, incx, E::TYPE);
        let (mut c, mut ldc) = (c as u64, leading(ldc, m)?);
        if m == 0 || n == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe {
            let handle = Handle::of(handle)?;
            let arguments = addresses![m, n, from_left, a, x, c, ldc];
            let kernel = by_type!(E::TYPE, "dgmm");
            launch(handle.context, handle.stream(), kernel, squares(m, n, 1), arguments)
        }
    })
}

/// # Safety
/// As for the functions of cuBLAS.
unsafe fn stored_anew<E: Element>(
    handle: Raw,
    fill: c_int,
    mut n: u32,
    from: (*const c_void, i64, Storage),
    to: (*const c_void, i64, Storage),
) -> Answer {
    let is_lower = is_lower(fill)?;
    let shaped = |(address, leading, storage)| Shaped::new(address, leading, n, storage).triangle(is_lower);
    let (mut from, mut to) = (shaped(from), shaped(to));
    if n == 0 {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe {
        let handle = Handle::of(handle)?;
        let kernel = by_type!(E::TYPE, "triangle");
        launch(handle.context, handle.stream(), kernel, squares(n, n, 1), addresses![n, from, to])
    }
}

/// `cublasStpttr` and its like: a packed triangle becomes a full one.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn tpttr<E: Element>(
    handle: Raw,
    fill: c_int,
    n: c_int,
    packed: *const c_void,
    a: *mut c_void,
    lda: c_int,
) -> c_int {
    code(|| {
        let n = size(n)?;
        let to = (a.cast_const(), leading(lda, n)?, Storage::Full);
        // SAFETY: the caller's promise.
        unsafe { stored_anew::<E>(handle, fill, n, (packed, 0, Storage::Packed), to) }
    })
}

/// `cublasStrttp` and its like: a full triangle becomes a packed one.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn trttp<E: Element>(
    handle: Raw,
    fill: c_int,
    n: c_int,
    a: *const c_void,
    lda: c_int,
    packed: *mut c_void,
) -> c_int {
    code(|| {
        let n = size(n)?;
        let from = (a, leading(lda, n)?, Storage::Full);
        // SAFETY: the caller's promise.
        unsafe { stored_anew::<E>(handle, fill, n, from, (packed.cast_const(), 0, Storage::Packed)) }
    })
}

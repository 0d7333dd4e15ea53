//! Products of matrices: plain, batched and strided, of one type and of several.

use std::ffi::{c_int, c_longlong, c_void};

use crate::arguments::{Batch, Operation, Stored, leading, size};
use crate::element::{Compute, Element, Int, Scalar, Type};
use crate::handle::{Handle, Raw};
use crate::product::{Epilogue, Precision, Product};
use crate::status::{Answer, code, not_supported};

/// A matrix as an argument: address, leading dimension, batch, type.
#[derive(Clone, Copy)]
struct Given<I> {
    address: *const c_void,
    leading: I,
    batch: Batch,
    kind: Type,
}

/// The arguments of all variants.
struct Call<I> {
    operations: [c_int; 2],
    sizes: [I; 3],
    batches: i64,
    /// Addresses of alpha and beta.
    scalars: [*const c_void; 2],
    scale: Type,
    matrices: [Given<I>; 3],
    precision: Precision,
}

impl<I: Int> Call<I> {
    /// # Safety
    /// `handle` is null or live; addresses are of the types that the call says.
    unsafe fn run(self, handle: Raw) -> Answer {
        // SAFETY: the caller's promise.
        let handle = unsafe { Handle::of(handle) }?;
        let [of_a, of_b] = self.operations.map(Operation::of);
        let (of_a, of_b) = (of_a?, of_b?);
        let [m, n, k] = self.sizes.map(size);
        let (m, n, k, batches) = (m?, n?, k?, size(self.batches)?);
        let stored = |given: Given<I>, rows: u32| -> Answer<Stored> {
            let Given { address, batch, kind, .. } = given;
            Ok(Stored { base: address as u64, leading: leading(given.leading, rows)?, batch, kind })
        };
        let [a, b, c] = self.matrices;
        let types = [a.kind, b.kind, c.kind];
        let a = stored(a, if of_a.is_transposed() { k } else { m })?.seen(of_a);
        let b = stored(b, if of_b.is_transposed() { n } else { k })?.seen(of_b);
        let c = stored(c, m)?.seen(Operation::None);
        let mode = handle.pointers();
        let [alpha, beta] = self.scalars;
        // SAFETY: the caller's promise.
        let (alpha, beta) =
            unsafe { (Scalar::read(alpha, self.scale, mode)?, Scalar::read(beta, self.scale, mode)?) };
        let product = Product { a, b, c, d: c, m, n, k, batches, alpha, beta, epilogue: Epilogue::default() };
        let precision = if handle.allows_tf32() { Precision::Tf32 } else { self.precision };
        // SAFETY: the caller's promise.
        unsafe { product.launch(handle, handle.stream(), types, precision) }
    }
}

/// `CUBLAS_COMPUTE_32F`
const COMPUTE_32F: c_int = 68;

/// Types of a call, by the codes of its arguments.
fn typed(types: [c_int; 3], compute: c_int) -> Answer<([Type; 3], Type, Precision)> {
    let mut known = [Type::F32; 3];
    for (known, code) in known.iter_mut().zip(types) {
        *known = match Type::of(code) {
            Some(known) => known,
            None => return not_supported(&format!("cudaDataType {code} of a product")),
        };
    }
    let result = known[2];
    let Some(compute) = Compute::of(compute) else {
        return not_supported(&format!("cublasComputeType_t {compute} of a product"));
    };
    let precision = if compute == Compute::Tf32 { Precision::Tf32 } else { Precision::Full };
    Ok((known, compute.scale(result), precision))
}

/// `cublasSgemm` and its like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn gemm<E: Element, I: Int>(
    handle: Raw,
    of_a: c_int,
    of_b: c_int,
    m: I,
    n: I,
    k: I,
    alpha: *const c_void,
    a: *const c_void,
    lda: I,
    b: *const c_void,
    ldb: I,
    beta: *const c_void,
    c: *const c_void,
    ldc: I,
) -> c_int {
    code(|| {
        let call = Call {
            operations: [of_a, of_b],
            sizes: [m, n, k],
            batches: 1,
            scalars: [alpha, beta],
            scale: E::TYPE,
            matrices: [
                Given { address: a, leading: lda, batch: Batch::Stride(0), kind: E::TYPE },
                Given { address: b, leading: ldb, batch: Batch::Stride(0), kind: E::TYPE },
                Given { address: c, leading: ldc, batch: Batch::Stride(0), kind: E::TYPE },
            ],
            precision: Precision::Full,
        };
        // SAFETY: the caller's promise.
        unsafe { call.run(handle) }
    })
}

/// `cublasSgemmStridedBatched` and its like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn gemm_strided<E: Element, I: Int>(
    handle: Raw,
    of_a: c_int,
    of_b: c_int,
    m: I,
    n: I,
    k: I,
    alpha: *const c_void,
    a: *const c_void,
    lda: I,
    a_stride: c_longlong,
    b: *const c_void,
    ldb: I,
    b_stride: c_longlong,
    beta: *const c_void,
    c: *const c_void,
    ldc: I,
    c_stride: c_longlong,
    batches: I,
) -> c_int {
    code(|| {
        let call = Call {
            operations: [of_a, of_b],
            sizes: [m, n, k],
            batches: batches.wide(),
            scalars: [alpha, beta],
            scale: E::TYPE,
            matrices: [
                Given { address: a, leading: lda, batch: Batch::Stride(a_stride), kind: E::TYPE },
                Given { address: b, leading: ldb, batch: Batch::Stride(b_stride), kind: E::TYPE },
                Given { address: c, leading: ldc, batch: Batch::Stride(c_stride), kind: E::TYPE },
            ],
            precision: Precision::Full,
        };
        // SAFETY: the caller's promise.
        unsafe { call.run(handle) }
    })
}

/// `cublasSgemmBatched` and its like.
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn gemm_batched<E: Element, I: Int>(
    handle: Raw,
    of_a: c_int,
    of_b: c_int,
    m: I,
    n: I,
    k: I,
    alpha: *const c_void,
    a: *const c_void,
    lda: I,
    b: *const c_void,
    ldb: I,
    beta: *const c_void,
    c: *const c_void,
    ldc: I,
    batches: I,
) -> c_int {
    code(|| {
        let call = Call {
            operations: [of_a, of_b],
            sizes: [m, n, k],
            batches: batches.wide(),
            scalars: [alpha, beta],
            scale: E::TYPE,
            matrices: [
                Given { address: a, leading: lda, batch: Batch::Array, kind: E::TYPE },
                Given { address: b, leading: ldb, batch: Batch::Array, kind: E::TYPE },
                Given { address: c, leading: ldc, batch: Batch::Array, kind: E::TYPE },
            ],
            precision: Precision::Full,
        };
        // SAFETY: the caller's promise.
        unsafe { call.run(handle) }
    })
}

/// `cublasGemmEx`
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn gemm_ex<I: Int>(
    handle: Raw,
    of_a: c_int,
    of_b: c_int,
    m: I,
    n: I,
    k: I,
    alpha: *const c_void,
    a: *const c_void,
    a_type: c_int,
    lda: I,
    b: *const c_void,
    b_type: c_int,
    ldb: I,
    beta: *const c_void,
    c: *const c_void,
    c_type: c_int,
    ldc: I,
    compute: c_int,
    _algorithm: c_int,
) -> c_int {
    code(|| {
        let (kinds, scale, precision) = typed([a_type, b_type, c_type], compute)?;
        let call = Call {
            operations: [of_a, of_b],
            sizes: [m, n, k],
            batches: 1,
            scalars: [alpha, beta],
            scale,
            matrices: [
                Given { address: a, leading: lda, batch: Batch::Stride(0), kind: kinds[0] },
                Given { address: b, leading: ldb, batch: Batch::Stride(0), kind: kinds[1] },
                Given { address: c, leading: ldc, batch: Batch::Stride(0), kind: kinds[2] },
            ],
            precision,
        };
        // SAFETY: the caller's promise.
        unsafe { call.run(handle) }
    })
}

/// `cublasGemmStridedBatchedEx`
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn gemm_strided_ex<I: Int>(
    handle: Raw,
    of_a: c_int,
    of_b: c_int,
    m: I,
    n: I,
    k: I,
    alpha: *const c_void,
    a: *const c_void,
    a_type: c_int,
    lda: I,
    a_stride: c_longlong,
    b: *const c_void,
    b_type: c_int,
    ldb: I,
    b_stride: c_longlong,
    beta: *const c_void,
    c: *const c_void,
    c_type: c_int,
    ldc: I,
    c_stride: c_longlong,
    batches: I,
    compute: c_int,
    _algorithm: c_int,
) -> c_int {
    code(|| {
        let (kinds, scale, precision) = typed([a_type, b_type, c_type], compute)?;
        let call = Call {
            operations: [of_a, of_b],
            sizes: [m, n, k],
            batches: batches.wide(),
            scalars: [alpha, beta],
            scale,
            matrices: [
                Given { address: a, leading: lda, batch: Batch::Stride(a_stride), kind: kinds[0] },
                Given { address: b, leading: ldb, batch: Batch::Stride(b_stride), kind: kinds[1] },
                Given { address: c, leading: ldc, batch: Batch::Stride(c_stride), kind: kinds[2] },
            ],
            precision,
        };
        // SAFETY: the caller's promise.
        unsafe { call.run(handle) }
    })
}

/// `cublasGemmBatchedEx`
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn gemm_batched_ex<I: Int>(
    handle: Raw,
    of_a: c_int,
    of_b: c_int,
    m: I,
    n: I,
    k: I,
    alpha: *const c_void,
    a: *const c_void,
    a_type: c_int,
    lda: I,
    b: *const c_void,
    b_type: c_int,
    ldb: I,
    beta: *const c_void,
    c: *const c_void,
    c_type: c_int,
    ldc: I,
    batches: I,
    compute: c_int,
    _algorithm: c_int,
) -> c_int {
    code(|| {
        let (kinds, scale, precision) = typed([a_type, b_type, c_type], compute)?;
        let call = Call {
            operations: [of_a, of_b],
            sizes: [m, n, k],
            batches: batches.wide(),
            scalars: [alpha, beta],
            scale,
            matrices: [
                Given { address: a, leading: lda, batch: Batch::Array, kind: kinds[0] },
                Given { address: b, leading: ldb, batch: Batch::Array, kind: kinds[1] },
                Given { address: c, leading: ldc, batch: Batch::Array, kind: kinds[2] },
            ],
            precision,
        };
        // SAFETY: the caller's promise.
        unsafe { call.run(handle) }
    })
}

/// `cublasSgemmEx` and `cublasCgemmEx`
///
/// # Safety
/// As for the function of cuBLAS.
pub(crate) unsafe extern "C" fn typed_gemm_ex<E: Element, I: Int>(
    handle: Raw,
    of_a: c_int,
    of_b: c_int,
    m: I,
    n: I,
    k: I,
    alpha: *const c_void,
    a: *const c_void,
    a_type: c_int,
    lda: I,
    b: *const c_void,
    b_type: c_int,
    ldb: I,
    beta: *const c_void,
    c: *const c_void,
    c_type: c_int,
    ldc: I,
) -> c_int {
    code(|| {
        // Elements may be of other types, the sums are of the name's.
        let (kinds, ..) = typed([a_type, b_type, c_type], COMPUTE_32F)?;
        let call = Call {
            operations: [of_a, of_b],
            sizes: [m, n, k],
            batches: 1,
            scalars: [alpha, beta],
            scale: E::TYPE,
            matrices: [
                Given { address: a, leading: lda, batch: Batch::Stride(0), kind: kinds[0] },
                Given { address: b, leading: ldb, batch: Batch::Stride(0), kind: kinds[1] },
                Given { address: c, leading: ldc, batch: Batch::Stride(0), kind: kinds[2] },
            ],
            precision: Precision::Full,
        };
        // SAFETY: the caller's promise.
        unsafe { call.run(handle) }
    })
}

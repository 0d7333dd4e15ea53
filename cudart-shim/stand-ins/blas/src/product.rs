//! A product as kernels get it, and the choice of a kernel.

use standin_driver::{Grid, Stream};

use crate::element::{Scalar, Type};
use crate::handle::Handle;
use crate::kernels::{addresses, launch};
use crate::status::{Answer, not_supported};

/// A matrix as kernels see it. The struct has the layout of the one in `kernels/blas/product.cuh`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Matrix {
    pub(crate) base: u64,
    /// Elements between rows, columns and matrices.
    pub(crate) row: i64,
    pub(crate) column: i64,
    pub(crate) batch: i64,
    pub(crate) kind: u32,
    pub(crate) flags: u32,
}

impl Matrix {
    /// The base is an array of addresses.
    pub(crate) const IS_ARRAY: u32 = 1;
    /// Elements are conjugated.
    pub(crate) const IS_CONJUGATED: u32 = 2;
    const IS_LOWER: u32 = 4;
    const IS_UPPER: u32 = 8;
    const IS_SYMMETRIC: u32 = 16;
    const IS_HERMITIAN: u32 = 32;
    const HAS_UNIT_DIAGONAL: u32 = 64;

    /// One triangle of the matrix, as it is seen, is read or written.
    pub(crate) fn triangle(self, is_lower: bool) -> Matrix {
        self.with(if is_lower { Matrix::IS_LOWER } else { Matrix::IS_UPPER })
    }

    /// The other triangle is the mirrored one, conjugated or not. The diagonal of a Hermitian matrix
    /// is real.
    pub(crate) fn mirrored(self, is_hermitian: bool) -> Matrix {
        self.with(if is_hermitian { Matrix::IS_HERMITIAN } else { Matrix::IS_SYMMETRIC })
    }

    /// The diagonal is one, whatever is stored.
    pub(crate) fn unit(self, is_unit: bool) -> Matrix {
        self.with(if is_unit { Matrix::HAS_UNIT_DIAGONAL } else { 0 })
    }

    fn with(self, flags: u32) -> Matrix {
        Matrix { flags: self.flags | flags, ..self }
    }
}

/// `d = alpha * a * b + beta * c`, with an epilogue. The struct has the layout of the one in
/// `kernels/blas/product.cuh`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Product {
    pub(crate) a: Matrix,
    pub(crate) b: Matrix,
    pub(crate) c: Matrix,
    pub(crate) d: Matrix,
    pub(crate) m: u32,
    pub(crate) n: u32,
    pub(crate) k: u32,
    pub(crate) batches: u32,
    pub(crate) alpha: Scalar,
    pub(crate) beta: Scalar,
    pub(crate) epilogue: Epilogue,
}

/// Steps between the sum of an element and its store.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Epilogue {
    pub(crate) bias: u64,
    pub(crate) bias_batch: i64,
    pub(crate) auxiliary: u64,
    pub(crate) auxiliary_column: i64,
    pub(crate) auxiliary_batch: i64,
    pub(crate) bias_type: u32,
    pub(crate) auxiliary_type: u32,
    pub(crate) parts: u32,
    pub(crate) padding: u32,
    /// Addresses of the factors of a, b, c and d; 0 for none.
    pub(crate) scales: [u64; 4],
}

/// Precision of products of floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Full,
    /// The tensor cores may round to TF32.
    Tf32,
}

/// A kernel with the side of the square that a CTA makes, and its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kernel {
    name: &'static str,
    side: u32,
    threads: u32,
}

const fn scalar(name: &'static str, side: u32) -> Kernel {
    Kernel { name, side, threads: 256 }
}

const fn tensor(name: &'static str) -> Kernel {
    Kernel { name, side: 64, threads: 128 }
}

/// A result with at most so many rows or columns is made by small CTAs.
const SMALL: u32 = 32;

/// The kernel for types of a, b and d; `None` if there is none.
fn kernel([a, b, d]: [Type; 3], (m, n): (u32, u32), precision: Precision, capability: i32) -> Option<Kernel> {
    let is_small = m.min(n) <= SMALL;
    let sized = |small: &'static str, large: &'static str, side| {
        if is_small { scalar(small, 16) } else { scalar(large, side) }
    };
    Some(match (a, b) {
        (Type::F16, Type::F16) if d.is_result() => tensor("voltsim_gemm_f16_tensor"),
        (Type::Bf16, Type::Bf16) if d.is_result() && capability >= 80 => tensor("voltsim_gemm_bf16_tensor"),
        (Type::F32, Type::F32) if d.is_result() && precision == Precision::Tf32 && capability >= 80 => {
            tensor("voltsim_gemm_tf32_tensor")
        }
        (Type::F32, Type::F32) if d.is_result() => sized("voltsim_gemm_f32_16", "voltsim_gemm_f32_64", 64),
        (Type::S8, Type::S8) if matches!(d, Type::S32 | Type::S8) => {
            sized("voltsim_gemm_s8_16", "voltsim_gemm_s8_64", 64)
        }
        (Type::F64, Type::F64) if d == Type::F64 => sized("voltsim_gemm_f64_16", "voltsim_gemm_f64_64", 64),
        (Type::C32, Type::C32) if d == Type::C32 => sized("voltsim_gemm_c32_16", "voltsim_gemm_c32_32", 32),
        (Type::C64, Type::C64) if d == Type::C64 => scalar("voltsim_gemm_c64_16", 16),
        _ if a.is_mixed() && b.is_mixed() && d.is_result() => {
            sized("voltsim_gemm_mixed_16", "voltsim_gemm_mixed_64", 64)
        }
        _ => return None,
    })
}

/// Tells whether a product of these types, those of a, b and d, has a kernel.
pub(crate) fn has_kernel(types: [Type; 3]) -> bool {
    kernel(types, (1, 1), Precision::Full, 70).is_some()
}

/// Largest number of CTAs in y and z.
const MAX_CTAS: u32 = 65_535;

impl Product {
    /// Launches the product.
    ///
    /// # Safety
    /// The matrices are memory of the device with elements of `types`, those of a, b and d.
    pub(crate) unsafe fn launch(
        self,
        handle: &Handle,
        stream: Stream,
        types: [Type; 3],
        precision: Precision,
    ) -> Answer {
        if self.m == 0 || self.n == 0 || self.batches == 0 {
            return Ok(());
        }
        let kernel = kernel(types, (self.m, self.n), precision, handle.capability);
        let Some(kernel) = kernel else {
            let [a, b, d] = types;
            return not_supported(&format!("a product of {a:?} and {b:?} with a result of {d:?}"));
        };
        let ctas = [self.m, self.n].map(|size| size.div_ceil(kernel.side));
        let [x, y] = ctas;
        if y > MAX_CTAS {
            return not_supported(&format!("a product with {} columns", self.n));
        }
        let grid = Grid { ctas: [x, y, self.batches.min(MAX_CTAS)], threads: kernel.threads };
        let mut product = self;
        // SAFETY: the kernels take one value of this layout; its addresses are the caller's promise.
        unsafe { launch(handle.context, stream, kernel.name, grid, addresses![product]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Layout of the struct in `kernels/blas/product.cuh`.
    #[test]
    fn product_has_the_size_of_the_kernels_argument() {
        assert_eq!(size_of::<Matrix>(), 40);
        assert_eq!(size_of::<Scalar>(), 32);
        let declared = include_str!("../../kernels/blas/gemm.ptx");
        let line = declared.lines().find(|line| line.contains("voltsim_gemm_f32_16_param_0["));
        let size = line.and_then(|line| line.split(['[', ']']).nth(1)).and_then(|size| size.parse().ok());
        assert_eq!(size, Some(size_of::<Product>()));
    }

    #[test]
    fn kernel_follows_types_and_capability() {
        let name = |types, precision, capability| {
            kernel(types, (128, 128), precision, capability).map(|kernel| kernel.name)
        };
        let half = [Type::F16, Type::F16, Type::F32];
        let bfloat = [Type::Bf16; 3];
        assert_eq!(name(half, Precision::Full, 70), Some("voltsim_gemm_f16_tensor"));
        assert_eq!(name(bfloat, Precision::Full, 70), Some("voltsim_gemm_mixed_64"));
        assert_eq!(name(bfloat, Precision::Full, 80), Some("voltsim_gemm_bf16_tensor"));
        assert_eq!(name([Type::F32; 3], Precision::Tf32, 90), Some("voltsim_gemm_tf32_tensor"));
        assert_eq!(name([Type::F32; 3], Precision::Full, 90), Some("voltsim_gemm_f32_64"));
        assert_eq!(name([Type::F64, Type::F32, Type::F64], Precision::Full, 90), None);
    }
}

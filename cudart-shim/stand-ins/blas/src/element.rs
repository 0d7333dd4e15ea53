//! Types of elements and of sums, and scalars.

use std::ffi::{c_int, c_void};

use half::{bf16, f16};

use crate::handle::PointerMode;
use crate::status::{Answer, Status};

/// Type of the elements of a matrix or vector. The numbers are those of `kernels/blas/number.cuh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Type {
    F32 = 0,
    F16 = 1,
    Bf16 = 2,
    F64 = 3,
    S8 = 4,
    S32 = 5,
    C32 = 6,
    C64 = 7,
    E4M3 = 8,
    E5M2 = 9,
}

impl Type {
    /// The type of a `cudaDataType`.
    pub(crate) fn of(data_type: c_int) -> Option<Type> {
        Some(match data_type {
            0 => Type::F32,
            1 => Type::F64,
            2 => Type::F16,
            3 => Type::S8,
            4 => Type::C32,
            5 => Type::C64,
            10 => Type::S32,
            14 => Type::Bf16,
            28 => Type::E4M3,
            29 => Type::E5M2,
            _ => return None,
        })
    }

    /// Bytes of an element.
    pub(crate) fn size(self) -> usize {
        match self {
            Type::S8 | Type::E4M3 | Type::E5M2 => 1,
            Type::F16 | Type::Bf16 => 2,
            Type::F32 | Type::S32 => 4,
            Type::F64 | Type::C32 => 8,
            Type::C64 => 16,
        }
    }

    /// Types that kernels of single precision convert as they load them.
    pub(crate) fn is_mixed(self) -> bool {
        matches!(self, Type::F32 | Type::F16 | Type::Bf16 | Type::S8 | Type::E4M3 | Type::E5M2)
    }

    /// Types of sums in single precision that kernels can store.
    pub(crate) fn is_result(self) -> bool {
        matches!(self, Type::F32 | Type::F16 | Type::Bf16)
    }
}

/// Type in which a product is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compute {
    F16,
    F32,
    /// Single precision, whose products may have the precision of TF32.
    Tf32,
    F64,
    S32,
}

impl Compute {
    /// The type of a `cublasComputeType_t`.
    pub(crate) fn of(compute: c_int) -> Option<Compute> {
        Some(match compute {
            64 | 65 => Compute::F16,
            // Types that allow less precision for products of floats are computed in single precision.
            68 | 69 | 74 | 75 | 78 => Compute::F32,
            77 => Compute::Tf32,
            70 | 71 => Compute::F64,
            72 | 73 => Compute::S32,
            _ => return None,
        })
    }

    /// Type of the scalars, for a result with elements of `result`.
    pub(crate) fn scale(self, result: Type) -> Type {
        match (self, result) {
            (_, Type::C32 | Type::C64) => result,
            (Compute::F16, _) => Type::F16,
            (Compute::F32 | Compute::Tf32, _) => Type::F32,
            (Compute::F64, _) => Type::F64,
            (Compute::S32, _) => Type::S32,
        }
    }
}

/// A type of elements that functions are named after: S, D, C, Z and H.
pub(crate) trait Element {
    const TYPE: Type;
    /// Type of magnitudes: of norms, and of some scalars.
    type Real: Element;
}

/// Marks elements of complex numbers.
pub(crate) struct Complex<T>(std::marker::PhantomData<T>);

macro_rules! elements {
    ($($element:ty: $type:ident, $real:ty;)*) => {
        $(impl Element for $element {
            const TYPE: Type = Type::$type;
            type Real = $real;
        })*
    };
}

elements! {
    f32: F32, f32;
    f64: F64, f64;
    f16: F16, f16;
    bf16: Bf16, bf16;
    Complex<f32>: C32, f32;
    Complex<f64>: C64, f64;
}

/// Type of sizes in signatures: `int`, or `int64_t` in functions with the suffix `_64`.
pub(crate) trait Int: Copy {
    fn wide(self) -> i64;
}

impl Int for i32 {
    fn wide(self) -> i64 {
        self.into()
    }
}

impl Int for i64 {
    fn wide(self) -> i64 {
        self
    }
}

/// A scalar as kernels get it: a value, or an address of the device's memory.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(crate) struct Scalar {
    address: u64,
    kind: u32,
    padding: u32,
    re: f64,
    im: f64,
}

impl Scalar {
    /// A real value.
    pub(crate) fn value(re: f64) -> Scalar {
        Scalar { address: 0, kind: 0, padding: 0, re, im: 0.0 }
    }

    /// The conjugate of a scalar that is no address; an address stays.
    pub(crate) fn conjugate(self) -> Scalar {
        Scalar { im: -self.im, ..self }
    }

    /// Tells whether the value is an address of the device's memory.
    pub(crate) fn is_on_device(self) -> bool {
        self.address != 0
    }

    /// The scalar that a program's pointer names.
    ///
    /// # Safety
    /// In host mode, `pointer` is null or the address of a value of `kind`.
    pub(crate) unsafe fn read(pointer: *const c_void, kind: Type, mode: PointerMode) -> Answer<Scalar> {
        if pointer.is_null() {
            return Err(Status::InvalidValue);
        }
        if mode == PointerMode::Device {
            return Ok(Scalar { address: pointer as u64, kind: kind as u32, ..Scalar::value(0.0) });
        }
        // SAFETY: not null, and of this type by the caller's promise.
        let (re, im) = unsafe {
            match kind {
                Type::F32 => (pointer.cast::<f32>().read_unaligned().into(), 0.0),
                Type::F64 => (pointer.cast::<f64>().read_unaligned(), 0.0),
                Type::F16 => (pointer.cast::<f16>().read_unaligned().into(), 0.0),
                Type::Bf16 => (pointer.cast::<bf16>().read_unaligned().into(), 0.0),
                Type::S32 => (pointer.cast::<i32>().read_unaligned().into(), 0.0),
                Type::C32 => {
                    let [re, im] = pointer.cast::<[f32; 2]>().read_unaligned();
                    (re.into(), im.into())
                }
                Type::C64 => {
                    let [re, im] = pointer.cast::<[f64; 2]>().read_unaligned();
                    (re, im)
                }
                Type::S8 | Type::E4M3 | Type::E5M2 => return Err(Status::NotSupported),
            }
        };
        Ok(Scalar { re, im, ..Scalar::value(0.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalar_of_the_host_is_read_when_the_call_is_made() {
        let value = [2.5_f32, -1.0];
        // SAFETY: a value of this type.
        let scalar = unsafe { Scalar::read(value.as_ptr().cast(), Type::C32, PointerMode::Host) };
        let scalar = scalar.unwrap();
        assert_eq!((scalar.address, scalar.re, scalar.im), (0, 2.5, -1.0));
    }

    #[test]
    fn missing_scalar_is_an_invalid_value() {
        // SAFETY: null is allowed.
        let scalar = unsafe { Scalar::read(std::ptr::null(), Type::F32, PointerMode::Device) };
        assert_eq!(scalar, Err(Status::InvalidValue));
    }
}

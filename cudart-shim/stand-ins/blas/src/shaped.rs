//! Matrices of all storages, as kernels of level 2 get them.

use std::ffi::c_void;

use crate::arguments::Operation;

/// A matrix with its storage and structure. The struct has the layout of the one in
/// `kernels/blas/matrix.cu`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Shaped {
    base: u64,
    leading: i64,
    size: u32,
    storage: u32,
    below: u32,
    above: u32,
    flags: u32,
    is_array: u32,
}

/// Storage of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    Full,
    /// Diagonals below and above the main one.
    Band(u32, u32),
    /// Columns of a triangle without gaps.
    Packed,
}

/// Flags of `kernels/blas/matrix.cu`.
const TRANSPOSED: u32 = 1;
const CONJUGATED: u32 = 2;
const LOWER: u32 = 4;
const UPPER: u32 = 8;
const SYMMETRIC: u32 = 16;
const HERMITIAN: u32 = 32;
const UNIT_DIAGONAL: u32 = 64;

impl Shaped {
    /// A matrix at an address; `size` counts the columns of a packed triangle.
    pub(crate) fn new(base: *const c_void, leading: i64, size: u32, storage: Storage) -> Shaped {
        let (storage, below, above) = match storage {
            Storage::Full => (0, 0, 0),
            Storage::Band(below, above) => (1, below, above),
            Storage::Packed => (2, 0, 0),
        };
        Shaped { base: base as u64, leading, size, storage, below, above, ..Shaped::default() }
    }

    fn with(self, flags: u32) -> Shaped {
        Shaped { flags: self.flags | flags, ..self }
    }

    fn without(self, flags: u32) -> Shaped {
        Shaped { flags: self.flags & !flags, ..self }
    }

    /// The base is an array of addresses.
    pub(crate) fn array(self) -> Shaped {
        Shaped { is_array: 1, ..self }
    }

    /// One triangle is stored, and the other is zero.
    pub(crate) fn triangle(self, is_lower: bool) -> Shaped {
        self.with(if is_lower { LOWER } else { UPPER })
    }

    /// The other triangle is the mirrored one, conjugated or not.
    pub(crate) fn mirrored(self, is_hermitian: bool) -> Shaped {
        self.with(if is_hermitian { HERMITIAN } else { SYMMETRIC })
    }

    /// The diagonal is one, whatever is stored.
    pub(crate) fn unit(self, is_unit: bool) -> Shaped {
        self.with(if is_unit { UNIT_DIAGONAL } else { 0 })
    }

    pub(crate) fn seen(self, operation: Operation) -> Shaped {
        self.with(match operation {
            Operation::None => 0,
            Operation::Transposed => TRANSPOSED,
            Operation::Adjoint => TRANSPOSED | CONJUGATED,
        })
    }

    /// Elements of the second vector of an update are conjugated.
    pub(crate) fn conjugated(self, is_conjugated: bool) -> Shaped {
        self.with(if is_conjugated { CONJUGATED } else { 0 })
    }

    /// The transposed matrix.
    pub(crate) fn transposed(self) -> Shaped {
        if self.flags & TRANSPOSED == 0 { self.with(TRANSPOSED) } else { self.without(TRANSPOSED) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposed_adjoint_is_conjugated_alone() {
        let matrix = Shaped::new(std::ptr::null(), 1, 1, Storage::Full).seen(Operation::Adjoint);
        assert_eq!(matrix.transposed().flags, CONJUGATED);
        assert_eq!(size_of::<Shaped>(), 40);
    }
}

//! Checks of arguments, which are the same in many functions.

use std::ffi::{c_int, c_void};

use crate::element::{Int, Type};
use crate::product::Matrix;
use crate::status::{Answer, Status, not_supported};

/// `cublasOperation_t`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    None,
    Transposed,
    Adjoint,
}

impl Operation {
    pub(crate) fn of(operation: c_int) -> Answer<Operation> {
        match operation {
            0 => Ok(Operation::None),
            1 => Ok(Operation::Transposed),
            2 => Ok(Operation::Adjoint),
            _ => Err(Status::InvalidValue),
        }
    }

    pub(crate) fn is_transposed(self) -> bool {
        self != Operation::None
    }
}

/// A number of rows, columns or elements.
pub(crate) fn size(value: impl Int) -> Answer<u32> {
    let value = value.wide();
    if value < 0 {
        return Err(Status::InvalidValue);
    }
    match u32::try_from(value).ok().filter(|value| *value <= i32::MAX as u32) {
        Some(value) => Ok(value),
        None => not_supported("a size of 2^31 or more"),
    }
}

/// A leading dimension of a matrix with this number of rows.
pub(crate) fn leading(value: impl Int, rows: u32) -> Answer<i64> {
    let value = value.wide();
    if value < i64::from(rows.max(1)) { Err(Status::InvalidValue) } else { Ok(value) }
}

/// A vector as kernels get it: the address of element 0, and elements between elements.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Vector {
    pub(crate) start: u64,
    pub(crate) increment: i64,
}

impl Vector {
    /// A vector of `n` elements. With a negative increment, the address is that of the last element.
    pub(crate) fn new(address: *const c_void, n: u32, increment: impl Int, kind: Type) -> Vector {
        let increment = increment.wide();
        let before = if increment < 0 { (1 - i64::from(n)) * increment } else { 0 };
        let start = (address as u64).wrapping_add_signed(before * kind.size() as i64);
        Vector { start, increment }
    }

    /// A vector of which functions refuse an increment of zero.
    pub(crate) fn checked(address: *const c_void, n: u32, increment: impl Int, kind: Type) -> Answer<Vector> {
        if increment.wide() == 0 {
            return Err(Status::InvalidValue);
        }
        Ok(Vector::new(address, n, increment, kind))
    }
}

/// A matrix in the program's memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    /// Address of the elements, or of an array of such addresses.
    pub(crate) base: u64,
    pub(crate) leading: i64,
    pub(crate) batch: Batch,
    pub(crate) kind: Type,
}

/// Place of the other matrices of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Batch {
    /// Elements between matrices.
    Stride(i64),
    /// The base is an array of addresses.
    Array,
}

impl Stored {
    /// One matrix.
    pub(crate) fn single(base: *const c_void, leading: i64, kind: Type) -> Stored {
        Stored { base: base as u64, leading, batch: Batch::Stride(0), kind }
    }

    /// The matrix, or the transposed or adjoint one.
    pub(crate) fn seen(self, operation: Operation) -> Matrix {
        let (row, column) = if operation.is_transposed() { (self.leading, 1) } else { (1, self.leading) };
        let mut flags = 0;
        let mut batch = 0;
        match self.batch {
            Batch::Stride(stride) => batch = stride,
            Batch::Array => flags |= Matrix::IS_ARRAY,
        }
        if operation == Operation::Adjoint {
            flags |= Matrix::IS_CONJUGATED;
        }
        Matrix { base: self.base, row, column, batch, kind: self.kind as u32, flags }
    }
}

/// Tells whether a `cublasFillMode_t` means the lower triangle.
pub(crate) fn is_lower(fill: c_int) -> Answer<bool> {
    match fill {
        0 => Ok(true),
        1 => Ok(false),
        _ => Err(Status::InvalidValue),
    }
}

/// Tells whether the first of two values of an enumeration is meant.
pub(crate) fn is_first(value: c_int) -> Answer<bool> {
    is_lower(value)
}

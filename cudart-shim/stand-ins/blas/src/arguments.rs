//! Checks of arguments, which are the same in many functions.

use std::ffi::c_int;

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

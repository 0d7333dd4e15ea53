//! The transform that a program asks for: type, sizes and layouts.

use std::ffi::c_int;

use crate::status::{Answer, Status, not_supported};

/// Precision of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Single,
    Double,
}

impl Precision {
    /// Complex values of a CTA's shared memory, of which the kernels have two copies.
    pub(crate) fn values_of_cta(self) -> u64 {
        match self {
            Precision::Single => 2048,
            Precision::Double => 1024,
        }
    }

    /// Bytes of a complex value.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Precision::Single => 8,
            Precision::Double => 16,
        }
    }
}

/// Sides of a transform that are complex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Complex,
    /// Real input; the first half of the complex output.
    ToComplex,
    /// The first half of a complex input; real output.
    ToReal,
}

/// `cufftType`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) precision: Precision,
    pub(crate) form: Form,
}

impl Kind {
    /// The type with a number of cuFFT's.
    pub(crate) fn of(number: c_int) -> Answer<Kind> {
        let precision = if number & 0x40 == 0 { Precision::Single } else { Precision::Double };
        let form = match number & !0x40 {
            0x29 => Form::Complex,
            0x2a => Form::ToComplex,
            0x2c => Form::ToReal,
            _ => return Err(Status::InvalidType),
        };
        Ok(Kind { precision, form })
    }

    /// The type with values of `cudaDataType` for input, output and arithmetic.
    pub(crate) fn of_data(input: c_int, output: c_int, execution: c_int) -> Answer<Kind> {
        // CUDA_R_16F, CUDA_C_16F, CUDA_R_16BF, CUDA_C_16BF
        if [input, output, execution].iter().any(|kind| [2, 6, 14, 15].contains(kind)) {
            return not_supported("a transform in half precision or bfloat16");
        }
        let number = match (input, output, execution) {
            (4, 4, 4) => 0x29,
            (0, 4, 4 | 0) => 0x2a,
            (4, 0, 4 | 0) => 0x2c,
            (5, 5, 5) => 0x69,
            (1, 5, 5 | 1) => 0x6a,
            (5, 1, 5 | 1) => 0x6c,
            _ => return Err(Status::InvalidType),
        };
        Kind::of(number)
    }
}

/// Advanced layout of a side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Embedding {
    /// Sizes of the memory, one for each dimension; the first has no effect.
    pub(crate) sizes: [i64; 3],
    pub(crate) stride: i64,
    pub(crate) distance: i64,
}

/// Coordinates of an element: the transform of the batch, and three dimensions.
pub(crate) const COORDINATES: usize = 4;
/// The coordinate of the last dimension.
pub(crate) const LAST: usize = 3;

/// Distances of elements by coordinate.
pub(crate) type Strides = [i64; COORDINATES];

/// A transform.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) kind: Kind,
    /// The batch, and sizes of three dimensions; missing dimensions come first, with size 1.
    pub(crate) sizes: [u64; COORDINATES],
    /// Layouts of input and output, if they are not packed.
    pub(crate) layouts: Option<(Embedding, Embedding)>,
}

/// Most elements of a transform with its batch.
const MOST: u64 = 1 << 40;
/// Most elements of a line.
const LONGEST: u64 = 1 << 27;

impl Request {
    /// The transform of these sizes.
    pub(crate) fn new(
        kind: Kind,
        dimensions: &[i64],
        batch: i64,
        layouts: Option<(Embedding, Embedding)>,
    ) -> Answer<Request> {
        let mut sizes = [1; COORDINATES];
        let first = COORDINATES.checked_sub(dimensions.len()).ok_or(Status::InvalidValue)?;
        if first == 0 || dimensions.is_empty() {
            return Err(Status::InvalidValue);
        }
        let all = std::iter::once(&batch).chain(dimensions);
        for (place, size) in (std::iter::once(0).chain(first..)).zip(all) {
            let size = u64::try_from(*size).ok().filter(|size| *size > 0).ok_or(Status::InvalidSize)?;
            if let Some(place) = sizes.get_mut(place) {
                *place = size;
            }
        }
        let volume = sizes.iter().try_fold(1_u64, |volume, size| volume.checked_mul(*size));
        volume.filter(|volume| *volume <= MOST).ok_or(Status::InvalidSize)?;
        if sizes.iter().skip(1).any(|size| *size > LONGEST) {
            return Err(Status::InvalidSize);
        }
        Ok(Request { kind, sizes, layouts })
    }

    /// Sizes of the complex side of a transform with a real one.
    pub(crate) fn halved(&self) -> [u64; COORDINATES] {
        let [batch, x, y, z] = self.sizes;
        [batch, x, y, z / 2 + 1]
    }

    /// Strides of input and output.
    pub(crate) fn strides(&self, in_place: bool) -> (Strides, Strides) {
        if let Some((input, output)) = self.layouts {
            return (embedded(input), embedded(output));
        }
        let [batch, x, y, z] = self.sizes;
        let padded = [batch, x, y, 2 * (z / 2 + 1)];
        let real = packed(if in_place { padded } else { self.sizes });
        let complex = packed(self.halved());
        match self.kind.form {
            Form::Complex => (packed(self.sizes), packed(self.sizes)),
            Form::ToComplex => (real, complex),
            Form::ToReal => (complex, real),
        }
    }
}

/// Strides of packed elements.
pub(crate) fn packed([_, x, y, z]: [u64; COORDINATES]) -> Strides {
    [x * y * z, y * z, z, 1].map(u64::cast_signed)
}

fn embedded(layout: Embedding) -> Strides {
    let [_, y, z] = layout.sizes;
    let row = layout.stride.wrapping_mul(z);
    [layout.distance, row.wrapping_mul(y), row, layout.stride]
}

//! The passes of a transform.
//!
//! A pass transforms lines along one axis. A long line takes several passes (Gentleman and Sande, 1966).
//! The index of the input is a number with a digit for each part, the first part greatest. The index of
//! the output has the digits in the opposite order.
//!
//! A line with a large prime factor takes two transforms of a power of two (Bluestein, 1970).

use std::collections::BTreeSet;

use crate::kernels::{
    CONJUGATE_IN, CONJUGATE_OUT, DIMENSIONS, Dimension, HERMITIAN, Pass, REAL_IN, REAL_OUT,
};
use crate::lengths::{chirp, parts, radices};
use crate::request::{COORDINATES, Form, LAST, Request, Strides, packed};
use crate::status::{Answer, Status};
use crate::tables::Table;

/// Memory of a side of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buffer {
    Input,
    Output,
    /// One of the two halves of the work area.
    Work(u64),
}

/// A pass without addresses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) from: Buffer,
    pub(crate) to: Buffer,
    pub(crate) roots: Option<Table>,
    pub(crate) load_factors: Option<Table>,
    pub(crate) store_factors: Option<Table>,
    pub(crate) twiddles: Option<Table>,
    pub(crate) pass: Pass,
}

/// The passes of a transform, and the work area between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    pub(crate) steps: Vec<Step>,
    /// Complex values of a half of the work area.
    half: u64,
}

/// A pass of a line of `axis`.
#[derive(Clone, Debug)]
struct Part {
    axis: usize,
    /// Length of the line, with which memory between passes is laid out.
    length: u64,
    /// Lengths of all parts of the line, and the place of this one.
    parts: Vec<u64>,
    place: usize,
    is_first_of_axis: bool,
    is_last_of_axis: bool,
    /// The first of the two transforms of a convolution, or the second.
    chirp: Option<Half>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    First,
    Second,
}

/// A side of a pass.
#[derive(Clone, Copy, Debug)]
struct Side {
    buffer: Buffer,
    strides: Strides,
    /// Elements, of memory between passes.
    volume: u64,
}

impl Steps {
    /// The passes of a request, for one array or two.
    pub(crate) fn new(request: &Request, in_place: bool) -> Answer<Steps> {
        let (input, output) = request.strides(in_place);
        let parts = all_parts(request)?;
        let is_detour = in_place && parts.len() == 1 && !has_same_bytes(request, &input, &output);
        let mut steps = Steps::default();
        let mut from = Side { buffer: Buffer::Input, strides: input, volume: 0 };
        for (number, part) in parts.iter().enumerate() {
            let is_last = number + 1 == parts.len();
            let to = if is_last && !is_detour {
                Side { buffer: Buffer::Output, strides: output, volume: 0 }
            } else {
                let (strides, volume) = part.memory_behind(request);
                Side { buffer: Buffer::Work(number as u64 % 2), strides, volume }
            };
            steps.half = steps.half.max(to.volume);
            steps.steps.push(part.step(request, from, to)?);
            from = to;
        }
        if is_detour {
            let to = Side { buffer: Buffer::Output, strides: output, volume: 0 };
            steps.steps.push(copy(request, from, to)?);
        }
        if let Some(step) = steps.steps.first_mut()
            && request.kind.form == Form::ToComplex
        {
            step.pass.flags |= REAL_IN;
        }
        if let Some(step) = steps.steps.last_mut()
            && request.kind.form == Form::ToReal
        {
            step.pass.flags |= REAL_OUT;
        }
        Ok(steps)
    }

    /// Bytes of a half of the work area.
    pub(crate) fn half_bytes(&self, request: &Request) -> u64 {
        self.half * request.kind.precision.bytes()
    }

    /// Bytes of the work area.
    pub(crate) fn work_bytes(&self, request: &Request) -> u64 {
        self.half_bytes(request) * (self.steps.len() as u64 - 1).min(2)
    }

    /// All tables of the passes.
    pub(crate) fn tables(&self) -> BTreeSet<Table> {
        let of = |step: &Step| [step.roots, step.load_factors, step.store_factors, step.twiddles];
        self.steps.iter().flat_map(of).flatten().collect()
    }
}

/// Tells whether each line of input and output has the same bytes in one array.
fn has_same_bytes(request: &Request, input: &Strides, output: &Strides) -> bool {
    let (real, complex) = match request.kind.form {
        Form::Complex => return input == output,
        Form::ToComplex => (input, output),
        Form::ToReal => (output, input),
    };
    let pairs = real.iter().zip(complex).zip(&request.sizes);
    let mut same = pairs.map(|((real, complex), size)| *size == 1 || *real == 2 * complex);
    same.by_ref().take(LAST).all(|same| same) && real.last() == Some(&1) && complex.last() == Some(&1)
}

/// The passes of all axes. A transform with a real side has the last axis on that side.
fn all_parts(request: &Request) -> Answer<Vec<Part>> {
    let mut axes: Vec<usize> = (1..COORDINATES).rev().collect();
    if request.kind.form == Form::ToReal {
        axes.reverse();
    }
    let mut all = Vec::new();
    for axis in axes {
        let size = size_of(&request.sizes, axis);
        if size == 1 && axis != LAST {
            continue;
        }
        let first = all.len();
        match chirp(size) {
            None => add_parts(&mut all, request, axis, size, None)?,
            Some(length) => {
                add_parts(&mut all, request, axis, length, Some(Half::First))?;
                add_parts(&mut all, request, axis, length, Some(Half::Second))?;
            }
        }
        if let Some(part) = all.get_mut(first) {
            part.is_first_of_axis = true;
        }
        if let Some(part) = all.last_mut() {
            part.is_last_of_axis = true;
        }
    }
    Ok(all)
}

fn add_parts(
    all: &mut Vec<Part>,
    request: &Request,
    axis: usize,
    length: u64,
    chirp: Option<Half>,
) -> Answer {
    let parts = parts(length, request.kind.precision.values_of_cta()).ok_or(Status::InvalidSize)?;
    for place in 0..parts.len() {
        let parts = parts.clone();
        all.push(Part { axis, length, parts, place, is_first_of_axis: false, is_last_of_axis: false, chirp });
    }
    Ok(())
}

fn size_of(sizes: &[u64; COORDINATES], axis: usize) -> u64 {
    sizes.get(axis).copied().unwrap_or(1)
}

fn stride_of(strides: &Strides, axis: usize) -> i64 {
    strides.get(axis).copied().unwrap_or(0)
}

impl Part {
    /// Lines by coordinate, while this axis is transformed.
    fn extents(&self, request: &Request) -> [u64; COORDINATES] {
        let is_half = self.axis != LAST && request.kind.form != Form::Complex;
        if is_half { request.halved() } else { request.sizes }
    }

    /// Layout and elements of the work area behind this pass. Lines of an axis in the middle of their
    /// passes are packed; between axes, all dimensions are in their order.
    fn memory_behind(&self, request: &Request) -> (Strides, u64) {
        if self.is_last_of_axis {
            return (packed(request.sizes), request.sizes.iter().product());
        }
        let mut strides = [0; COORDINATES];
        let mut running = self.length;
        for (coordinate, size) in self.extents(request).into_iter().enumerate().rev() {
            let Some(stride) = strides.get_mut(coordinate) else { continue };
            if coordinate == self.axis {
                *stride = 1;
            } else {
                *stride = running.cast_signed();
                running *= size;
            }
        }
        (strides, running)
    }

    /// Dimensions of the digits of the index, apart from that of this pass, and the distances of
    /// indices of neighbours in the line.
    fn digits(&self) -> (Vec<Dimension>, i64, i64) {
        let (before, rest) = self.parts.split_at(self.place.min(self.parts.len()));
        let n = rest.first().copied().unwrap_or(1);
        let behind: u64 = rest.iter().skip(1).product();
        let digit = |size: u64, from: u64, to: u64| Dimension {
            size,
            in_index: from.cast_signed(),
            out_index: to.cast_signed(),
            ..Dimension::default()
        };
        if self.place + 1 < self.parts.len() {
            let prefix: u64 = before.iter().product();
            let dimensions = vec![digit(behind, 1, 1), digit(prefix, n * behind, n * behind)];
            return (dimensions, behind.cast_signed(), behind.cast_signed());
        }
        let mut done = 1;
        let mut dimensions = Vec::new();
        for part in before {
            dimensions.push(digit(*part, self.length / (done * part), done));
            done *= part;
        }
        (dimensions, 1, done.cast_signed())
    }

    fn step(&self, request: &Request, from: Side, to: Side) -> Answer<Step> {
        let n = self.parts.get(self.place).copied().unwrap_or(1);
        let size = size_of(&request.sizes, self.axis);
        let (mut dimensions, in_element, out_element) = self.digits();
        for (coordinate, extent) in self.extents(request).into_iter().enumerate().rev() {
            if coordinate != self.axis && extent > 1 {
                dimensions.push(Dimension {
                    size: extent,
                    in_offset: stride_of(&from.strides, coordinate),
                    out_offset: stride_of(&to.strides, coordinate),
                    ..Dimension::default()
                });
            }
        }
        debug_assert!(dimensions.len() <= DIMENSIONS, "a step has at most six dimensions");
        let mut pass = Pass {
            length: size,
            in_limit: u64::MAX,
            out_limit: u64::MAX,
            in_element,
            in_stride: stride_of(&from.strides, self.axis),
            out_element,
            out_stride: stride_of(&to.strides, self.axis),
            radices: radices(n),
            n: u32::try_from(n).map_err(|_| Status::InvalidSize)?,
            ..Pass::default()
        };
        self.limit(request, size, &mut pass);
        pass.set_lines(&dimensions, request.kind.precision)?;
        let is_first = self.place == 0;
        let is_last = self.place + 1 == self.parts.len();
        let behind: u64 = self.parts.iter().skip(self.place).product();
        Ok(Step {
            from: from.buffer,
            to: to.buffer,
            roots: Some(Table::Roots(n)),
            load_factors: (is_first && self.chirp == Some(Half::First)).then_some(Table::Chirp(size)),
            store_factors: match self.chirp.filter(|_| is_last) {
                None => None,
                Some(Half::First) => Some(Table::Spectrum(size)),
                Some(Half::Second) => Some(Table::Chirp(size)),
            },
            twiddles: (!is_last).then_some(Table::Roots(behind)),
            pass,
        })
    }

    /// Sets bounds of the indices, and the flags of the part.
    fn limit(&self, request: &Request, size: u64, pass: &mut Pass) {
        let form = request.kind.form;
        if self.is_first_of_axis {
            pass.in_limit = size;
            if self.axis == LAST && form == Form::ToReal {
                pass.flags |= HERMITIAN;
            }
        }
        if self.is_last_of_axis {
            let is_half = self.axis == LAST && form == Form::ToComplex;
            pass.out_limit = if is_half { size / 2 + 1 } else { size };
        }
        if self.chirp == Some(Half::Second) {
            if self.place == 0 {
                pass.flags |= CONJUGATE_IN;
            }
            if self.place + 1 == self.parts.len() {
                pass.flags |= CONJUGATE_OUT;
            }
        }
    }
}

/// A copy of the work area to the output.
fn copy(request: &Request, from: Side, to: Side) -> Answer<Step> {
    let is_half = request.kind.form == Form::ToComplex;
    let extents = if is_half { request.halved() } else { request.sizes };
    let strides = from.strides.into_iter().zip(to.strides);
    let mut dimensions: Vec<Dimension> = extents
        .into_iter()
        .zip(strides)
        .map(|(size, (in_offset, out_offset))| Dimension {
            size,
            in_offset,
            out_offset,
            ..Dimension::default()
        })
        .collect();
    dimensions.reverse();
    let mut pass = Pass { length: 1, in_limit: 1, out_limit: 1, n: 1, ..Pass::default() };
    pass.set_lines(&dimensions, request.kind.precision)?;
    Ok(Step {
        from: from.buffer,
        to: to.buffer,
        roots: None,
        load_factors: None,
        store_factors: None,
        twiddles: None,
        pass,
    })
}

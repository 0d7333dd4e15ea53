//! Copies to, from and between arrays.

use crate::abi::error::{Error, Result};
use crate::abi::{Address, ArrayHandle, DefaultStream, StreamHandle};
use crate::api::entry::api;
use crate::objects::array::stretch;
use crate::objects::rows::{Extent, Side};
use crate::root::simulator;
use crate::session::simulator::Simulator;
use crate::work::copy::{Copy, Direction};
use std::ffi::c_int;
use stream_engine::StreamId;

/// Completion of the call: at once or after the copy.
#[derive(Clone, Copy)]
struct When {
    stream: StreamHandle,
    default: DefaultStream,
    waits: bool,
}

const fn waiting(default: DefaultStream) -> When {
    When { stream: StreamHandle(0), default, waits: true }
}

const fn returning(stream: StreamHandle, default: DefaultStream) -> When {
    When { stream, default, waits: false }
}

impl When {
    fn stream(self, simulator: &Simulator) -> Result<StreamId> {
        simulator.stream(self.stream, self.default)
    }

    fn copy(
        self,
        simulator: &'static Simulator,
        (to, from): (Side, Side),
        extent: Extent,
        direction: Direction,
    ) -> Result<()> {
        let stream = self.stream(simulator)?;
        let copy = Copy::new(simulator, to, from, extent, direction)?;
        if self.waits { simulator.copy_now(copy, stream) } else { simulator.copy_async(copy, stream) }
    }
}

/// Side of the copy that is the array.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Target,
    Source,
}

impl End {
    fn order(self, array: Side, other: Side) -> (Side, Side) {
        if self == End::Target { (array, other) } else { (other, array) }
    }

    fn check(self, direction: Direction) -> Result<()> {
        let fits = match self {
            End::Target => {
                matches!(direction, Direction::HostToDevice | Direction::DeviceToDevice | Direction::Default)
            }
            End::Source => {
                matches!(direction, Direction::DeviceToHost | Direction::DeviceToDevice | Direction::Default)
            }
        };
        if fits { Ok(()) } else { Err(Error::InvalidMemcpyDirection) }
    }
}

/// Position in an array: array, byte of the row, row.
type Corner = (ArrayHandle, usize, usize);

/// Copies an array's byte range from or to contiguous memory.
fn linear(
    end: End,
    (array, x, y): Corner,
    other: Address,
    count: usize,
    kind: c_int,
    when: When,
) -> Result<()> {
    let simulator = simulator()?;
    let direction = Direction::from_kind(kind)?;
    end.check(direction)?;
    let array = simulator.array(array)?;
    let row = array.row_bytes()?;
    let start = y.checked_mul(row).and_then(|rows| rows.checked_add(x)).ok_or(Error::InvalidValue)?;
    for (side, extent, before) in stretch(&array, start, count)? {
        let address = other.0.checked_add(before).ok_or(Error::InvalidValue)?;
        let other = Side::rows(address, extent.width);
        when.copy(simulator, end.order(side, other), extent, direction)?;
    }
    Ok(())
}

/// Copies a box of an array from or to rows of memory.
fn rows(
    end: End,
    (array, x, y): Corner,
    (other, pitch): (Address, usize),
    (width, height): (usize, usize),
    kind: c_int,
    when: When,
) -> Result<()> {
    let simulator = simulator()?;
    let direction = Direction::from_kind(kind)?;
    end.check(direction)?;
    if width > pitch {
        return Err(Error::InvalidPitchValue);
    }
    let extent = Extent { width, height, depth: 1 };
    let side = simulator.array(array)?.side([x, y, 0], extent)?;
    let other = Side::rows(other.0, pitch);
    when.copy(simulator, end.order(side, other), extent, direction)
}

/// Copies a box of an array to another.
fn between(
    (to, to_x, to_y): Corner,
    (from, from_x, from_y): Corner,
    extent: Extent,
    kind: c_int,
    when: When,
) -> Result<()> {
    let simulator = simulator()?;
    if !matches!(Direction::from_kind(kind)?, Direction::DeviceToDevice | Direction::Default) {
        return Err(Error::InvalidMemcpyDirection);
    }
    let to = simulator.array(to)?.side([to_x, to_y, 0], extent)?;
    let from = simulator.array(from)?.side([from_x, from_y, 0], extent)?;
    when.copy(simulator, (to, from), extent, Direction::DeviceToDevice)
}

api! { Runtime;
    /// Copies to an array and waits.
    fn cudaMemcpyToArray, cudaMemcpyToArray_ptds [default] (
        dst: ArrayHandle, wOffset: usize, hOffset: usize, src: Address, count: usize, kind: c_int,
    ) {
        linear(End::Target, (dst, wOffset, hOffset), src, count, kind, waiting(default))
    }

    /// Copies from an array and waits.
    fn cudaMemcpyFromArray, cudaMemcpyFromArray_ptds [default] (
        dst: Address, src: ArrayHandle, wOffset: usize, hOffset: usize, count: usize, kind: c_int,
    ) {
        linear(End::Source, (src, wOffset, hOffset), dst, count, kind, waiting(default))
    }

    /// Copies to an array in stream order.
    fn cudaMemcpyToArrayAsync, cudaMemcpyToArrayAsync_ptsz [default] (
        dst: ArrayHandle, wOffset: usize, hOffset: usize, src: Address, count: usize, kind: c_int, stream: StreamHandle,
    ) {
        linear(End::Target, (dst, wOffset, hOffset), src, count, kind, returning(stream, default))
    }

    /// Copies from an array in stream order.
    fn cudaMemcpyFromArrayAsync, cudaMemcpyFromArrayAsync_ptsz [default] (
        dst: Address, src: ArrayHandle, wOffset: usize, hOffset: usize, count: usize, kind: c_int, stream: StreamHandle,
    ) {
        linear(End::Source, (src, wOffset, hOffset), dst, count, kind, returning(stream, default))
    }

    /// Copies a range between arrays and waits.
    fn cudaMemcpyArrayToArray, cudaMemcpyArrayToArray_ptds [default] (
        dst: ArrayHandle, wOffsetDst: usize, hOffsetDst: usize, src: ArrayHandle, wOffsetSrc: usize, hOffsetSrc: usize,
        count: usize, kind: c_int,
    ) {
        let row = simulator()?.array(src)?.row_bytes()?;
        let whole = wOffsetDst == 0 && wOffsetSrc == 0 && count.is_multiple_of(row);
        let extent = if whole { Extent { width: row, height: count / row, depth: 1 } } else { Extent::row(count) };
        between((dst, wOffsetDst, hOffsetDst), (src, wOffsetSrc, hOffsetSrc), extent, kind, waiting(default))
    }

    /// Copies rows to an array and waits.
    fn cudaMemcpy2DToArray, cudaMemcpy2DToArray_ptds [default] (
        dst: ArrayHandle, wOffset: usize, hOffset: usize, src: Address, spitch: usize, width: usize, height: usize,
        kind: c_int,
    ) {
        rows(End::Target, (dst, wOffset, hOffset), (src, spitch), (width, height), kind, waiting(default))
    }

    /// Copies rows from an array and waits.
    fn cudaMemcpy2DFromArray, cudaMemcpy2DFromArray_ptds [default] (
        dst: Address, dpitch: usize, src: ArrayHandle, wOffset: usize, hOffset: usize, width: usize, height: usize,
        kind: c_int,
    ) {
        rows(End::Source, (src, wOffset, hOffset), (dst, dpitch), (width, height), kind, waiting(default))
    }

    /// Copies rows to an array in stream order.
    fn cudaMemcpy2DToArrayAsync, cudaMemcpy2DToArrayAsync_ptsz [default] (
        dst: ArrayHandle, wOffset: usize, hOffset: usize, src: Address, spitch: usize, width: usize, height: usize,
        kind: c_int, stream: StreamHandle,
    ) {
        let when = returning(stream, default);
        rows(End::Target, (dst, wOffset, hOffset), (src, spitch), (width, height), kind, when)
    }

    /// Copies rows from an array in stream order.
    fn cudaMemcpy2DFromArrayAsync, cudaMemcpy2DFromArrayAsync_ptsz [default] (
        dst: Address, dpitch: usize, src: ArrayHandle, wOffset: usize, hOffset: usize, width: usize, height: usize,
        kind: c_int, stream: StreamHandle,
    ) {
        let when = returning(stream, default);
        rows(End::Source, (src, wOffset, hOffset), (dst, dpitch), (width, height), kind, when)
    }

    /// Copies a box between arrays and waits.
    fn cudaMemcpy2DArrayToArray, cudaMemcpy2DArrayToArray_ptds [default] (
        dst: ArrayHandle, wOffsetDst: usize, hOffsetDst: usize, src: ArrayHandle, wOffsetSrc: usize, hOffsetSrc: usize,
        width: usize, height: usize, kind: c_int,
    ) {
        let extent = Extent { width, height, depth: 1 };
        between((dst, wOffsetDst, hOffsetDst), (src, wOffsetSrc, hOffsetSrc), extent, kind, waiting(default))
    }
}

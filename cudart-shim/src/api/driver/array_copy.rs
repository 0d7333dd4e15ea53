//! Copies of array ranges; offsets are in bytes.

use crate::abi::error::{Error, Result};
use crate::abi::{Address, ArrayHandle, DefaultStream, StreamHandle};
use crate::api::entry::api;
use crate::objects::array::stretch;
use crate::objects::rows::Side;
use crate::root::{session, simulator};
use crate::session::streams::of_stream;
use crate::work::copy::{Copy, Direction};

/// Start of a range: an array and a byte offset.
type Start = (ArrayHandle, usize);

/// Copies between an array range and contiguous memory.
fn linear(
    (array, start): Start,
    other: Address,
    count: usize,
    direction: Direction,
    (stream, default): (StreamHandle, DefaultStream),
    waits: bool,
) -> Result<()> {
    let simulator = of_stream(session(), stream)?;
    let stream = simulator.stream(stream, default)?;
    // An array is the destination for `HostToDevice` and `DeviceToDevice`, else the source.
    let is_source = matches!(direction, Direction::DeviceToHost | Direction::Default);
    let direction = if direction == Direction::Default { Direction::DeviceToDevice } else { direction };
    for (side, extent, before) in stretch(&*simulator.array(array)?, start, count)? {
        let address = other.0.checked_add(before).ok_or(Error::InvalidValue)?;
        let other = Side::rows(address, extent.width);
        let (to, from) = if is_source { (other, side) } else { (side, other) };
        let copy = Copy::new(simulator, to, from, extent, direction)?;
        if waits { simulator.copy_now(copy, stream)? } else { simulator.copy_async(copy, stream)? }
    }
    Ok(())
}

const DEFAULT: StreamHandle = StreamHandle(0);

api! { Driver;
    /// Copies from host to array and waits.
    fn cuMemcpyHtoA_v2, cuMemcpyHtoA_v2_ptds [default] (
        dstArray: ArrayHandle, dstOffset: usize, srcHost: Address, ByteCount: usize,
    ) {
        linear((dstArray, dstOffset), srcHost, ByteCount, Direction::HostToDevice, (DEFAULT, default), true)
    }

    /// Copies from array to host and waits.
    fn cuMemcpyAtoH_v2, cuMemcpyAtoH_v2_ptds [default] (
        dstHost: Address, srcArray: ArrayHandle, srcOffset: usize, ByteCount: usize,
    ) {
        linear((srcArray, srcOffset), dstHost, ByteCount, Direction::DeviceToHost, (DEFAULT, default), true)
    }

    /// Copies from device memory to array.
    fn cuMemcpyDtoA_v2, cuMemcpyDtoA_v2_ptds [default] (
        dstArray: ArrayHandle, dstOffset: usize, srcDevice: Address, ByteCount: usize,
    ) {
        linear((dstArray, dstOffset), srcDevice, ByteCount, Direction::DeviceToDevice, (DEFAULT, default), true)
    }

    /// Copies from array to device memory.
    fn cuMemcpyAtoD_v2, cuMemcpyAtoD_v2_ptds [default] (
        dstDevice: Address, srcArray: ArrayHandle, srcOffset: usize, ByteCount: usize,
    ) {
        linear((srcArray, srcOffset), dstDevice, ByteCount, Direction::Default, (DEFAULT, default), true)
    }

    /// Copies between arrays, within rows of equal length.
    fn cuMemcpyAtoA_v2, cuMemcpyAtoA_v2_ptds [default] (
        dstArray: ArrayHandle, dstOffset: usize, srcArray: ArrayHandle, srcOffset: usize, ByteCount: usize,
    ) {
        let simulator = simulator()?;
        let stream = simulator.stream(DEFAULT, default)?;
        let to = stretch(&*simulator.array(dstArray)?, dstOffset, ByteCount)?;
        let from = stretch(&*simulator.array(srcArray)?, srcOffset, ByteCount)?;
        if !to.iter().map(|part| part.1).eq(from.iter().map(|part| part.1)) {
            return Err(Error::NotSupported);
        }
        for ((to, extent, _), (from, ..)) in to.into_iter().zip(from) {
            let copy = Copy::new(simulator, to, from, extent, Direction::DeviceToDevice)?;
            simulator.copy_now(copy, stream)?;
        }
        Ok(())
    }

    /// Copies from host to array in stream order.
    fn cuMemcpyHtoAAsync_v2, cuMemcpyHtoAAsync_v2_ptsz [default] (
        dstArray: ArrayHandle, dstOffset: usize, srcHost: Address, ByteCount: usize, hStream: StreamHandle,
    ) {
        linear((dstArray, dstOffset), srcHost, ByteCount, Direction::HostToDevice, (hStream, default), false)
    }

    /// Copies from array to host in stream order.
    fn cuMemcpyAtoHAsync_v2, cuMemcpyAtoHAsync_v2_ptsz [default] (
        dstHost: Address, srcArray: ArrayHandle, srcOffset: usize, ByteCount: usize, hStream: StreamHandle,
    ) {
        linear((srcArray, srcOffset), dstHost, ByteCount, Direction::DeviceToHost, (hStream, default), false)
    }
}

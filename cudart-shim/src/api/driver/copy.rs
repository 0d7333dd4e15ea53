//! Copies and fills.

use crate::abi::error::{Error, Result};
use crate::abi::{Address, ArrayHandle, ContextHandle, DefaultStream, In, StreamHandle};
use crate::api::entry::api;
use crate::objects::rows::{Extent, Side};
use crate::session::context;
use crate::session::simulator::Simulator;
use crate::session::streams::of_stream;
use crate::work::copy::{Copy, Direction, Pattern};
use std::ffi::{c_int, c_uint};

/// One side of `CUDA_MEMCPY2D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Side2d {
    x_bytes: usize,
    y: usize,
    memory_type: c_int,
    host: Address,
    device: Address,
    array: ArrayHandle,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Copy2d {
    source: Side2d,
    target: Side2d,
    width_bytes: usize,
    height: usize,
}

/// One side of `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Side3d {
    x_bytes: usize,
    y: usize,
    z: usize,
    level: usize,
    memory_type: c_int,
    host: Address,
    device: Address,
    array: ArrayHandle,
    /// Unused: `CUDA_MEMCPY3D` lacks it, and in `CUDA_MEMCPY3D_PEER` addresses identify the device.
    context: ContextHandle,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct DriverCopy3d {
    source: Side3d,
    target: Side3d,
    width_bytes: usize,
    height: usize,
    depth: usize,
}

/// Kind of a side, `CUmemorytype`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    Host,
    Device,
    Array,
    Unified,
}

fn memory_of(kind: c_int) -> Result<Memory> {
    match kind {
        1 => Ok(Memory::Host),
        2 => Ok(Memory::Device),
        3 => Ok(Memory::Array),
        4 => Ok(Memory::Unified),
        _ => Err(Error::InvalidValue),
    }
}

fn direction(to: Memory, from: Memory) -> Direction {
    use Memory::{Array, Device, Host, Unified};
    match (from, to) {
        (Host, Host) => Direction::HostToHost,
        (Host, Device | Array) => Direction::HostToDevice,
        (Device | Array, Host) => Direction::DeviceToHost,
        (Device | Array, Device | Array) => Direction::DeviceToDevice,
        (Unified, _) | (_, Unified) => Direction::Default,
    }
}

impl Side3d {
    fn resolve(&self, simulator: &Simulator, extent: Extent) -> Result<(Side, Memory)> {
        let memory = memory_of(self.memory_type)?;
        if memory == Memory::Array {
            let side = simulator.array(self.array)?.side([self.x_bytes, self.y, self.z], extent)?;
            return Ok((side, memory));
        }
        let base = if memory == Memory::Host { self.host } else { self.device };
        let side = Side::pitched(base.0, self.pitch, self.height, [self.x_bytes, self.y, self.z])?;
        Ok((side, memory))
    }
}

impl Side3d {
    /// Describes a side; `place` applies unless it is an array.
    fn of(side: &Side, place: Memory) -> Self {
        let [x_bytes, y, z] = side.position;
        let memory = if side.array.is_some() { Memory::Array } else { place };
        let base = if side.array.is_some() { 0 } else { side.base() };
        let (host, device) = if memory == Memory::Host { (base, 0) } else { (0, base) };
        Self {
            x_bytes,
            y,
            z,
            level: 0,
            memory_type: match memory {
                Memory::Host => 1,
                Memory::Device => 2,
                Memory::Array => 3,
                Memory::Unified => 4,
            },
            host: Address(host),
            device: Address(device),
            array: side.array.unwrap_or(ArrayHandle(0)),
            context: ContextHandle(0),
            pitch: if side.array.is_some() { 0 } else { side.pitch },
            height: side.slice.checked_div(side.pitch).filter(|_| side.array.is_none()).unwrap_or(0),
        }
    }
}

impl DriverCopy3d {
    /// Describes a copy in the program's form.
    pub(crate) fn of(copy: &Copy) -> Self {
        let (target, source) = match copy.direction {
            Direction::HostToHost => (Memory::Host, Memory::Host),
            Direction::HostToDevice => (Memory::Device, Memory::Host),
            Direction::DeviceToHost => (Memory::Host, Memory::Device),
            Direction::DeviceToDevice => (Memory::Device, Memory::Device),
            Direction::Default => (Memory::Unified, Memory::Unified),
        };
        let Extent { width, height, depth } = copy.extent;
        let (source, target) = (Side3d::of(&copy.from, source), Side3d::of(&copy.to, target));
        Self { source, target, width_bytes: width, height, depth }
    }
}

impl From<Side2d> for Side3d {
    fn from(side: Side2d) -> Self {
        let Side2d { x_bytes, y, memory_type, host, device, array, pitch } = side;
        let context = ContextHandle(0);
        Self { x_bytes, y, z: 0, level: 0, memory_type, host, device, array, context, pitch, height: 0 }
    }
}

impl From<Copy2d> for DriverCopy3d {
    fn from(copy: Copy2d) -> Self {
        let Copy2d { source, target, width_bytes, height } = copy;
        Self { source: source.into(), target: target.into(), width_bytes, height, depth: 1 }
    }
}

/// Tells if the call waits for the copy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Waits,
    Returns,
}
use crate::root::session;
use Waiting::{Returns, Waits};

fn linear(
    to: Address,
    from: Address,
    count: usize,
    direction: Direction,
    stream: StreamHandle,
    default: DefaultStream,
    waiting: Waiting,
) -> Result<()> {
    let simulator = of_stream(session(), stream)?;
    let stream = simulator.stream(stream, default)?;
    let copy = Copy::linear(simulator, to.0, from.0, count, direction)?;
    if waiting == Waits { simulator.copy_now(copy, stream) } else { simulator.copy_async(copy, stream) }
}

fn slices(copy: DriverCopy3d, stream: StreamHandle, default: DefaultStream, waiting: Waiting) -> Result<()> {
    let simulator = of_stream(session(), stream)?;
    let stream = simulator.stream(stream, default)?;
    let copy = copy.check(simulator)?;
    if waiting == Waits { simulator.copy_now(copy, stream) } else { simulator.copy_async(copy, stream) }
}

impl DriverCopy3d {
    /// The validated copy; `None` if it is empty.
    pub(crate) fn check(&self, simulator: &Simulator) -> Result<Option<Copy>> {
        let extent = Extent { width: self.width_bytes, height: self.height, depth: self.depth };
        let (to, to_memory) = self.target.resolve(simulator, extent)?;
        let (from, from_memory) = self.source.resolve(simulator, extent)?;
        Copy::new(simulator, to, from, extent, direction(to_memory, from_memory))
    }
}

/// Fills rows of `width` elements.
fn fill(
    (address, pitch): (Address, usize),
    pattern: Pattern,
    (width, height): (usize, usize),
    stream: StreamHandle,
    default: DefaultStream,
    waiting: Waiting,
) -> Result<()> {
    let simulator = of_stream(session(), stream)?;
    let stream = simulator.stream(stream, default)?;
    let width = width.checked_mul(pattern.size()).ok_or(Error::InvalidValue)?;
    let side = Side::rows(address.0, pitch);
    let extent = Extent { width, height, depth: 1 };
    if waiting == Waits {
        simulator.fill_now(side, pattern, extent, stream)
    } else {
        simulator.fill(side, pattern, extent, stream)
    }
}

const DEFAULT: StreamHandle = StreamHandle(0);

api! { Driver;
    /// Copies from host to device and waits.
    fn cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds [default] (dst: Address, src: Address, count: usize) {
        linear(dst, src, count, Direction::HostToDevice, DEFAULT, default, Waits)
    }

    /// Copies from device to host and waits.
    fn cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds [default] (dst: Address, src: Address, count: usize) {
        linear(dst, src, count, Direction::DeviceToHost, DEFAULT, default, Waits)
    }

    /// Copies from device to device.
    fn cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds [default] (dst: Address, src: Address, count: usize) {
        linear(dst, src, count, Direction::DeviceToDevice, DEFAULT, default, Waits)
    }

    /// Copies in the direction that the addresses imply.
    fn cuMemcpy, cuMemcpy_ptds [default] (dst: Address, src: Address, count: usize) {
        linear(dst, src, count, Direction::Default, DEFAULT, default, Waits)
    }

    /// Copies from host to device in stream order.
    fn cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz [default] (
        dst: Address, src: Address, count: usize, stream: StreamHandle,
    ) {
        linear(dst, src, count, Direction::HostToDevice, stream, default, Returns)
    }

    /// Copies from device to host in stream order.
    fn cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz [default] (
        dst: Address, src: Address, count: usize, stream: StreamHandle,
    ) {
        linear(dst, src, count, Direction::DeviceToHost, stream, default, Returns)
    }

    /// Copies from device to device in stream order.
    fn cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz [default] (
        dst: Address, src: Address, count: usize, stream: StreamHandle,
    ) {
        linear(dst, src, count, Direction::DeviceToDevice, stream, default, Returns)
    }

    /// Copies in stream order in the direction that the addresses imply.
    fn cuMemcpyAsync, cuMemcpyAsync_ptsz [default] (
        dst: Address, src: Address, count: usize, stream: StreamHandle,
    ) {
        linear(dst, src, count, Direction::Default, stream, default, Returns)
    }

    /// Copies between contexts and waits; they share one device.
    fn cuMemcpyPeer, cuMemcpyPeer_ptds [default] (
        dst: Address, dstContext: ContextHandle, src: Address, srcContext: ContextHandle, count: usize,
    ) {
        context::check(session(), dstContext)?;
        context::check(session(), srcContext)?;
        linear(dst, src, count, Direction::Default, DEFAULT, default, Waits)
    }

    /// Copies between contexts in stream order; they share one device.
    fn cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz [default] (
        dst: Address, dstContext: ContextHandle, src: Address, srcContext: ContextHandle, count: usize,
        stream: StreamHandle,
    ) {
        context::check(session(), dstContext)?;
        context::check(session(), srcContext)?;
        linear(dst, src, count, Direction::Default, stream, default, Returns)
    }

    /// Copies rows and waits.
    fn cuMemcpy2D_v2, cuMemcpy2D_v2_ptds [default] (copy: In<Copy2d>) {
        slices(copy.get()?.into(), DEFAULT, default, Waits)
    }

    /// Copies rows of any alignment and waits.
    fn cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds [default] (copy: In<Copy2d>) {
        slices(copy.get()?.into(), DEFAULT, default, Waits)
    }

    /// Copies rows in stream order.
    fn cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz [default] (copy: In<Copy2d>, stream: StreamHandle) {
        slices(copy.get()?.into(), stream, default, Returns)
    }

    /// Copies slices of rows and waits.
    fn cuMemcpy3D_v2, cuMemcpy3D_v2_ptds [default] (copy: In<DriverCopy3d>) { slices(copy.get()?, DEFAULT, default, Waits) }

    /// Copies slices of rows in stream order.
    fn cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz [default] (copy: In<DriverCopy3d>, stream: StreamHandle) {
        slices(copy.get()?, stream, default, Returns)
    }

    /// Copies slices between contexts and waits.
    fn cuMemcpy3DPeer, cuMemcpy3DPeer_ptds [default] (copy: In<DriverCopy3d>) {
        slices(copy.get()?, DEFAULT, default, Waits)
    }

    /// Copies slices between contexts in stream order.
    fn cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync_ptsz [default] (copy: In<DriverCopy3d>, stream: StreamHandle) {
        slices(copy.get()?, stream, default, Returns)
    }

    /// Fills bytes.
    fn cuMemsetD8_v2, cuMemsetD8_v2_ptds [default] (dst: Address, value: u8, count: usize) {
        fill((dst, 0), Pattern::Byte(value), (count, 1), DEFAULT, default, Waits)
    }

    /// Fills 16-bit values.
    fn cuMemsetD16_v2, cuMemsetD16_v2_ptds [default] (dst: Address, value: u16, count: usize) {
        fill((dst, 0), Pattern::Half(value), (count, 1), DEFAULT, default, Waits)
    }

    /// Fills 32-bit values.
    fn cuMemsetD32_v2, cuMemsetD32_v2_ptds [default] (dst: Address, value: c_uint, count: usize) {
        fill((dst, 0), Pattern::Word(value), (count, 1), DEFAULT, default, Waits)
    }

    /// Fills bytes in stream order.
    fn cuMemsetD8Async, cuMemsetD8Async_ptsz [default] (
        dst: Address, value: u8, count: usize, stream: StreamHandle,
    ) {
        fill((dst, 0), Pattern::Byte(value), (count, 1), stream, default, Returns)
    }

    /// Fills 16-bit values in stream order.
    fn cuMemsetD16Async, cuMemsetD16Async_ptsz [default] (
        dst: Address, value: u16, count: usize, stream: StreamHandle,
    ) {
        fill((dst, 0), Pattern::Half(value), (count, 1), stream, default, Returns)
    }

    /// Fills 32-bit values in stream order.
    fn cuMemsetD32Async, cuMemsetD32Async_ptsz [default] (
        dst: Address, value: c_uint, count: usize, stream: StreamHandle,
    ) {
        fill((dst, 0), Pattern::Word(value), (count, 1), stream, default, Returns)
    }

    /// Fills rows of bytes.
    fn cuMemsetD2D8_v2, cuMemsetD2D8_v2_ptds [default] (
        dst: Address, pitch: usize, value: u8, width: usize, height: usize,
    ) {
        fill((dst, pitch), Pattern::Byte(value), (width, height), DEFAULT, default, Waits)
    }

    /// Fills rows of 16-bit values.
    fn cuMemsetD2D16_v2, cuMemsetD2D16_v2_ptds [default] (
        dst: Address, pitch: usize, value: u16, width: usize, height: usize,
    ) {
        fill((dst, pitch), Pattern::Half(value), (width, height), DEFAULT, default, Waits)
    }

    /// Fills rows of 32-bit values.
    fn cuMemsetD2D32_v2, cuMemsetD2D32_v2_ptds [default] (
        dst: Address, pitch: usize, value: c_uint, width: usize, height: usize,
    ) {
        fill((dst, pitch), Pattern::Word(value), (width, height), DEFAULT, default, Waits)
    }

    /// Fills rows of bytes in stream order.
    fn cuMemsetD2D8Async, cuMemsetD2D8Async_ptsz [default] (
        dst: Address, pitch: usize, value: u8, width: usize, height: usize, stream: StreamHandle,
    ) {
        fill((dst, pitch), Pattern::Byte(value), (width, height), stream, default, Returns)
    }

    /// Fills rows of 16-bit values in stream order.
    fn cuMemsetD2D16Async, cuMemsetD2D16Async_ptsz [default] (
        dst: Address, pitch: usize, value: u16, width: usize, height: usize, stream: StreamHandle,
    ) {
        fill((dst, pitch), Pattern::Half(value), (width, height), stream, default, Returns)
    }

    /// Fills rows of 32-bit values in stream order.
    fn cuMemsetD2D32Async, cuMemsetD2D32Async_ptsz [default] (
        dst: Address, pitch: usize, value: c_uint, width: usize, height: usize, stream: StreamHandle,
    ) {
        fill((dst, pitch), Pattern::Word(value), (width, height), stream, default, Returns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_original_sizes() {
        assert_eq!((size_of::<Copy2d>(), size_of::<DriverCopy3d>()), (128, 200));
    }
}

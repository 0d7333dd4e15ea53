//! Copies and fills.

use crate::abi::error::{Error, Result};
use crate::abi::{
    Address, ArrayHandle, CudaExtent, CudaPosition, DefaultStream, In, PitchedPointer, StreamHandle,
};
use crate::api::entry::api;
use crate::objects::array::Array;
use crate::objects::rows::{Extent, Side};
use crate::session::context::check_device;
use crate::session::simulator::Simulator;
use crate::session::streams::of_stream;
use crate::work::copy::{Copy, Direction, Pattern};
use std::ffi::c_int;
use std::sync::Arc;

/// `cudaMemcpy3DParms`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Copy3d {
    source_array: ArrayHandle,
    source_position: CudaPosition,
    source: PitchedPointer,
    target_array: ArrayHandle,
    target_position: CudaPosition,
    target: PitchedPointer,
    extent: CudaExtent,
    kind: c_int,
}

/// `cudaMemcpy3DPeerParms`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct PeerCopy3d {
    source_array: ArrayHandle,
    source_position: CudaPosition,
    source: PitchedPointer,
    source_device: c_int,
    target_array: ArrayHandle,
    target_position: CudaPosition,
    target: PitchedPointer,
    target_device: c_int,
    extent: CudaExtent,
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
    kind: c_int,
    stream: StreamHandle,
    default: DefaultStream,
    waiting: Waiting,
) -> Result<()> {
    let simulator = of_stream(session(), stream)?;
    let stream = simulator.stream(stream, default)?;
    let copy = linear_copy(simulator, to, from, count, kind)?;
    if waiting == Waits { simulator.copy_now(copy, stream) } else { simulator.copy_async(copy, stream) }
}

/// A side in rows: address and pitch.
type Rows = (Address, usize);

fn rows(
    (to, to_pitch): Rows,
    (from, from_pitch): Rows,
    (width, height): (usize, usize),
    kind: c_int,
    stream: StreamHandle,
    default: DefaultStream,
    waiting: Waiting,
) -> Result<()> {
    if width > to_pitch || width > from_pitch {
        return Err(Error::InvalidPitchValue);
    }
    let simulator = of_stream(session(), stream)?;
    let stream = simulator.stream(stream, default)?;
    let to = Side::rows(to.0, to_pitch);
    let from = Side::rows(from.0, from_pitch);
    let extent = Extent { width, height, depth: 1 };
    let copy = Copy::new(simulator, to, from, extent, Direction::from_kind(kind)?)?;
    if waiting == Waits { simulator.copy_now(copy, stream) } else { simulator.copy_async(copy, stream) }
}

/// A side in a pitched structure, whose slices have `ysize` rows.
fn pitched_side(pointer: PitchedPointer, position: CudaPosition) -> Result<Side> {
    let CudaPosition { x, y, z } = position;
    Side::pitched(pointer.address.0, pointer.pitch, pointer.ysize, [x, y, z])
}

fn array_if_given(simulator: &Simulator, array: ArrayHandle) -> Result<Option<Arc<Array>>> {
    if array.0 == 0 { Ok(None) } else { simulator.array(array).map(Some) }
}

/// A side in an array, else in a pitched structure.
fn side(
    array: Option<Arc<Array>>,
    pointer: PitchedPointer,
    position: CudaPosition,
    extent: Extent,
) -> Result<Side> {
    let Some(array) = array else { return pitched_side(pointer, position) };
    let x = position.x.checked_mul(array.texel_bytes()).ok_or(Error::InvalidValue)?;
    array.side([x, position.y, position.z], extent)
}

fn slices(copy: Copy3d, stream: StreamHandle, default: DefaultStream, waiting: Waiting) -> Result<()> {
    let simulator = of_stream(session(), stream)?;
    let stream = simulator.stream(stream, default)?;
    let copy = copy.check(simulator)?;
    if waiting == Waits { simulator.copy_now(copy, stream) } else { simulator.copy_async(copy, stream) }
}

impl Copy3d {
    /// The validated copy; `None` if it is empty.
    pub(crate) fn check(&self, simulator: &Simulator) -> Result<Option<Copy>> {
        let copy = self;
        let arrays = [copy.source_array, copy.target_array].map(|array| array_if_given(simulator, array));
        let [source_array, target_array] = arrays;
        let (source_array, target_array) = (source_array?, target_array?);
        // With an array, the width counts elements.
        let bytes = |array: &Option<Arc<Array>>| array.as_ref().map(|array| array.texel_bytes());
        let (source_bytes, target_bytes) = (bytes(&source_array), bytes(&target_array));
        if source_bytes.zip(target_bytes).is_some_and(|(source, target)| source != target) {
            return Err(Error::InvalidValue);
        }
        let CudaExtent { width, height, depth } = copy.extent;
        let width =
            width.checked_mul(source_bytes.or(target_bytes).unwrap_or(1)).ok_or(Error::InvalidValue)?;
        let extent = Extent { width, height, depth };
        let to = side(target_array, copy.target, copy.target_position, extent)?;
        let from = side(source_array, copy.source, copy.source_position, extent)?;
        Copy::new(simulator, to, from, extent, Direction::from_kind(copy.kind)?)
    }
}

impl Copy3d {
    /// Describes a copy in the program's form.
    pub(crate) fn of(simulator: &Simulator, copy: &Copy) -> Result<Self> {
        let array_of = |side: &Side| array_if_given(simulator, side.array.unwrap_or(ArrayHandle(0)));
        let (source, target) = (array_of(&copy.from)?, array_of(&copy.to)?);
        let texel = |array: &Option<Arc<Array>>| array.as_ref().map_or(1, |array| array.texel_bytes().max(1));
        let Extent { width, height, depth } = copy.extent;
        let width = width / texel(&source).max(texel(&target));
        let position = |side: &Side, texel: usize| {
            let [x, y, z] = side.position;
            CudaPosition { x: x / texel, y, z }
        };
        let pointer = |side: &Side| {
            if side.array.is_some() {
                return PitchedPointer { address: Address(0), pitch: 0, xsize: 0, ysize: 0 };
            }
            let pitch = if side.pitch == 0 { copy.extent.width } else { side.pitch };
            let ysize = if side.slice == 0 { height } else { side.slice / pitch.max(1) };
            PitchedPointer { address: Address(side.base()), pitch, xsize: copy.extent.width, ysize }
        };
        Ok(Self {
            source_array: copy.from.array.unwrap_or(ArrayHandle(0)),
            source_position: position(&copy.from, texel(&source)),
            source: pointer(&copy.from),
            target_array: copy.to.array.unwrap_or(ArrayHandle(0)),
            target_position: position(&copy.to, texel(&target)),
            target: pointer(&copy.to),
            extent: CudaExtent { width, height, depth },
            kind: copy.direction.kind(),
        })
    }
}

/// A validated copy of one row; `None` if it is empty.
pub(crate) fn linear_copy(
    simulator: &Simulator,
    to: Address,
    from: Address,
    count: usize,
    kind: c_int,
) -> Result<Option<Copy>> {
    Copy::linear(simulator, to.0, from.0, count, Direction::from_kind(kind)?)
}

fn peer_slices(
    copy: PeerCopy3d,
    stream: StreamHandle,
    default: DefaultStream,
    waiting: Waiting,
) -> Result<()> {
    check_device(copy.source_device)?;
    check_device(copy.target_device)?;
    let PeerCopy3d {
        source_array,
        source_position,
        source,
        target_array,
        target_position,
        target,
        extent,
        ..
    } = copy;
    let kind = 3;
    let copy =
        Copy3d { source_array, source_position, source, target_array, target_position, target, extent, kind };
    slices(copy, stream, default, waiting)
}

fn fill(
    target: Side,
    value: c_int,
    (width, height, depth): (usize, usize, usize),
    stream: StreamHandle,
    default: DefaultStream,
    waiting: Waiting,
) -> Result<()> {
    let simulator = of_stream(session(), stream)?;
    let stream = simulator.stream(stream, default)?;
    // As in C's memset, the value is converted to a byte.
    let (pattern, extent) = (Pattern::Byte(value as u8), Extent { width, height, depth });
    if waiting == Waits {
        simulator.fill_now(target, pattern, extent, stream)
    } else {
        simulator.fill(target, pattern, extent, stream)
    }
}

fn fill_rows(
    (address, pitch): Rows,
    value: c_int,
    (width, height): (usize, usize),
    stream: StreamHandle,
    default: DefaultStream,
    waiting: Waiting,
) -> Result<()> {
    if width > pitch && height > 1 {
        return Err(Error::InvalidPitchValue);
    }
    fill(Side::rows(address.0, pitch), value, (width, height, 1), stream, default, waiting)
}

fn fill_slices(
    target: PitchedPointer,
    value: c_int,
    extent: CudaExtent,
    stream: StreamHandle,
    default: DefaultStream,
    waiting: Waiting,
) -> Result<()> {
    let side = pitched_side(target, CudaPosition { x: 0, y: 0, z: 0 })?;
    fill(side, value, (extent.width, extent.height, extent.depth), stream, default, waiting)
}

const DEFAULT: StreamHandle = StreamHandle(0);
/// `cudaMemcpyDefault`: the addresses imply the direction.
const BY_ADDRESS: c_int = 4;

api! { Runtime;
    /// Copies and waits.
    fn cudaMemcpy, cudaMemcpy_ptds [default] (dst: Address, src: Address, count: usize, kind: c_int) {
        linear(dst, src, count, kind, DEFAULT, default, Waits)
    }

    /// Copies in stream order.
    fn cudaMemcpyAsync, cudaMemcpyAsync_ptsz [default] (
        dst: Address, src: Address, count: usize, kind: c_int, stream: StreamHandle,
    ) {
        linear(dst, src, count, kind, stream, default, Returns)
    }

    /// Copies rows and waits.
    fn cudaMemcpy2D, cudaMemcpy2D_ptds [default] (
        dst: Address, dpitch: usize, src: Address, spitch: usize, width: usize, height: usize, kind: c_int,
    ) {
        rows((dst, dpitch), (src, spitch), (width, height), kind, DEFAULT, default, Waits)
    }

    /// Copies rows in stream order.
    fn cudaMemcpy2DAsync, cudaMemcpy2DAsync_ptsz [default] (
        dst: Address, dpitch: usize, src: Address, spitch: usize, width: usize, height: usize, kind: c_int,
        stream: StreamHandle,
    ) {
        rows((dst, dpitch), (src, spitch), (width, height), kind, stream, default, Returns)
    }

    /// Copies slices of rows and waits.
    fn cudaMemcpy3D, cudaMemcpy3D_ptds [default] (p: In<Copy3d>) { slices(p.get()?, DEFAULT, default, Waits) }

    /// Copies slices of rows in stream order.
    fn cudaMemcpy3DAsync, cudaMemcpy3DAsync_ptsz [default] (p: In<Copy3d>, stream: StreamHandle) {
        slices(p.get()?, stream, default, Returns)
    }

    /// Copies between devices and waits; there is one device.
    fn cudaMemcpyPeer(dst: Address, dstDevice: c_int, src: Address, srcDevice: c_int, count: usize) {
        check_device(dstDevice)?;
        check_device(srcDevice)?;
        linear(dst, src, count, BY_ADDRESS, DEFAULT, DefaultStream::Legacy, Waits)
    }

    /// Copies between devices in stream order; there is one device.
    fn cudaMemcpyPeerAsync(
        dst: Address, dstDevice: c_int, src: Address, srcDevice: c_int, count: usize, stream: StreamHandle,
    ) {
        check_device(dstDevice)?;
        check_device(srcDevice)?;
        linear(dst, src, count, BY_ADDRESS, stream, DefaultStream::Legacy, Returns)
    }

    /// Copies slices between devices and waits; there is one device.
    fn cudaMemcpy3DPeer, cudaMemcpy3DPeer_ptds [default] (p: In<PeerCopy3d>) {
        peer_slices(p.get()?, DEFAULT, default, Waits)
    }

    /// Copies slices between devices in stream order; there is one device.
    fn cudaMemcpy3DPeerAsync, cudaMemcpy3DPeerAsync_ptsz [default] (p: In<PeerCopy3d>, stream: StreamHandle) {
        peer_slices(p.get()?, stream, default, Returns)
    }

    /// Fills bytes.
    fn cudaMemset, cudaMemset_ptds [default] (devPtr: Address, value: c_int, count: usize) {
        fill(Side::row(devPtr.0), value, (count, 1, 1), DEFAULT, default, Waits)
    }

    /// Fills bytes in stream order.
    fn cudaMemsetAsync, cudaMemsetAsync_ptsz [default] (
        devPtr: Address, value: c_int, count: usize, stream: StreamHandle,
    ) {
        fill(Side::row(devPtr.0), value, (count, 1, 1), stream, default, Returns)
    }

    /// Fills rows.
    fn cudaMemset2D, cudaMemset2D_ptds [default] (
        devPtr: Address, pitch: usize, value: c_int, width: usize, height: usize,
    ) {
        fill_rows((devPtr, pitch), value, (width, height), DEFAULT, default, Waits)
    }

    /// Fills rows in stream order.
    fn cudaMemset2DAsync, cudaMemset2DAsync_ptsz [default] (
        devPtr: Address, pitch: usize, value: c_int, width: usize, height: usize, stream: StreamHandle,
    ) {
        fill_rows((devPtr, pitch), value, (width, height), stream, default, Returns)
    }

    /// Fills slices of rows.
    fn cudaMemset3D, cudaMemset3D_ptds [default] (pitchedDevPtr: PitchedPointer, value: c_int, extent: CudaExtent) {
        fill_slices(pitchedDevPtr, value, extent, DEFAULT, default, Waits)
    }

    /// Fills slices of rows in stream order.
    fn cudaMemset3DAsync, cudaMemset3DAsync_ptsz [default] (
        pitchedDevPtr: PitchedPointer, value: c_int, extent: CudaExtent, stream: StreamHandle,
    ) {
        fill_slices(pitchedDevPtr, value, extent, stream, default, Returns)
    }
}

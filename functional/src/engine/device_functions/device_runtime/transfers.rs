//! Copies and fills that kernels request.

use super::super::read;
use super::{Call, Outcome, each, error, numbers};
use crate::dynamic_parallelism::{ChildOperation, RowLayout, Rows};
use crate::engine::op::{Flow, Op};
use crate::engine::warp_context::WarpContext;

/// Adds a copy; fails if the copy leaves allocated memory or the device.
fn copy(call: &Call<'_, '_>, [to, from]: [RowLayout; 2], rows: Rows, kind: i32, stream: usize) -> Outcome {
    const DEVICE_TO_DEVICE: i32 = 3;
    const DEFAULT: i32 = 4;
    if !matches!(kind, DEVICE_TO_DEVICE | DEFAULT) {
        return Err(error::INVALID_MEMCPY_DIRECTION.into());
    }
    let device = call.w.grid.owner;
    rows.check(device, to).and_then(|()| rows.check(device, from)).map_err(|_| error::INVALID_VALUE)?;
    call.enqueue(stream, ChildOperation::Copy { to, from, rows })
}

/// Adds a fill; fails if the fill leaves allocated memory.
fn fill(call: &Call<'_, '_>, to: RowLayout, rows: Rows, value: i32, stream: usize) -> Outcome {
    rows.check(call.w.grid.owner, to).map_err(|_| error::INVALID_VALUE)?;
    call.enqueue(stream, ChildOperation::Fill { to, rows, byte: value as u8 })
}

/// `cudaError_t MemcpyAsync(void *to, const void *from, size_t count, cudaMemcpyKind, cudaStream_t)`.
pub(super) fn memcpy(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each(w, op, |call| {
        let rows = Rows { width: call.argument(2), height: 1, depth: 1 };
        let ends = [0, 1].map(|n| RowLayout::row(call.argument(n)));
        copy(call, ends, rows, call.integer(3), 4)
    })
}

/// `cudaError_t Memcpy2DAsync(void *to, size_t, const void *from, size_t, size_t width, size_t
/// height, kind, stream)`.
pub(super) fn memcpy_2d(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each(w, op, |call| {
        let place = |n| RowLayout { address: call.argument(n), pitch: call.argument(n + 1), slice: 0 };
        let rows = Rows { width: call.argument(4), height: call.argument(5), depth: 1 };
        if [call.argument(1), call.argument(3)].iter().any(|pitch| *pitch < rows.width) {
            return Err(error::INVALID_VALUE.into());
        }
        copy(call, [place(0), place(2)], rows, call.integer(6), 7)
    })
}

/// `cudaError_t Memcpy3DAsync(const cudaMemcpy3DParms *, cudaStream_t)`.
pub(super) fn memcpy_3d(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each(w, op, |call| {
        let address = call.argument(0);
        let lane = call.lane;
        let fields = numbers(&read::<160>(call.w, lane, address)?);
        // Layout: array, position x, y, z, pointer, pitch, width, height, twice; then extent and kind.
        let place = |first: usize| {
            let [array, x, y, z, pointer, pitch, _, rows] = std::array::from_fn(|n| fields[first + n]);
            let slice = pitch.checked_mul(rows).filter(|_| array == 0)?;
            let offset = x.checked_add(y.checked_mul(pitch)?)?.checked_add(z.checked_mul(slice)?)?;
            Some(RowLayout { address: pointer.checked_add(offset)?, pitch, slice })
        };
        let (Some(from), Some(to)) = (place(0), place(8)) else { return Err(error::INVALID_VALUE.into()) };
        let rows = Rows { width: fields[16], height: fields[17], depth: fields[18] };
        copy(call, [to, from], rows, fields[19] as i32, 1)
    })
}

/// `cudaError_t MemsetAsync(void *to, int value, size_t count, cudaStream_t)`.
pub(super) fn memset(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each(w, op, |call| {
        let rows = Rows { width: call.argument(2), height: 1, depth: 1 };
        fill(call, RowLayout::row(call.argument(0)), rows, call.integer(1), 3)
    })
}

/// `cudaError_t Memset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t)`.
pub(super) fn memset_2d(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each(w, op, |call| {
        let to = RowLayout { address: call.argument(0), pitch: call.argument(1), slice: 0 };
        let rows = Rows { width: call.argument(3), height: call.argument(4), depth: 1 };
        if to.pitch < rows.width {
            return Err(error::INVALID_VALUE.into());
        }
        fill(call, to, rows, call.integer(2), 5)
    })
}

/// `cudaError_t Memset3DAsync(cudaPitchedPtr to, int value, cudaExtent, cudaStream_t)`.
pub(super) fn memset_3d(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    each(w, op, |call| {
        let [address, pitch, _, rows] = numbers(&call.bytes::<32>(0))[..] else { return Ok(()) };
        let [width, height, depth] = numbers(&call.bytes::<24>(2))[..] else { return Ok(()) };
        let slice = pitch.checked_mul(rows).ok_or(error::INVALID_VALUE)?;
        fill(call, RowLayout { address, pitch, slice }, Rows { width, height, depth }, call.integer(1), 3)
    })
}

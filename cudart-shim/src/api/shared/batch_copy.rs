//! Copies with attributes: one, or a batch.

use crate::abi::error::Result;
use crate::abi::{Address, DefaultStream, In, Out, StreamHandle};
use crate::api::entry::shared;
use crate::root::session;
use crate::session::batch::{self, Batch, BatchOperation, CopyAttributes};
use crate::session::simulator::Simulator;
use crate::session::streams::of_stream;
use std::ffi::c_ulonglong;

fn copy(
    simulator: &'static Simulator,
    batch: &Batch,
    fail_index: Option<Out<usize>>,
    (stream, default): (StreamHandle, DefaultStream),
) -> Result<()> {
    simulator.copy_batch(batch, fail_index, batch::stream(simulator, stream, default)?)
}

fn copy_3d(
    simulator: &'static Simulator,
    operations: In<BatchOperation>,
    count: usize,
    flags: u64,
    fail_index: Option<Out<usize>>,
    (stream, default): (StreamHandle, DefaultStream),
) -> Result<()> {
    simulator.copy_batch_3d(operations, count, flags, fail_index, batch::stream(simulator, stream, default)?)
}

shared! {
    /// Linear copies.
    fn cudaMemcpyBatchAsync, cudaMemcpyBatchAsync_ptsz = cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync_v2_ptsz [default] (
        dsts: In<Address>, srcs: In<Address>, sizes: In<usize>, count: usize, attrs: In<CopyAttributes>,
        attrsIdxs: In<usize>, numAttrs: usize, stream: StreamHandle,
    ) {
        let batch = Batch {
            targets: dsts,
            sources: srcs,
            sizes,
            count,
            attributes: attrs,
            first: attrsIdxs,
            attribute_count: numAttrs,
        };
        copy(context()?, &batch, None, (stream, default))
    }

    /// Linear copies, in CUDA 12's version, which reports the index of an invalid copy.
    fn cudaMemcpyBatchAsync_v12, cudaMemcpyBatchAsync_v12_ptsz = cuMemcpyBatchAsync, cuMemcpyBatchAsync_ptsz [default] (
        dsts: In<Address>, srcs: In<Address>, sizes: In<usize>, count: usize, attrs: In<CopyAttributes>,
        attrsIdxs: In<usize>, numAttrs: usize, failIdx: Out<usize>,
        stream: StreamHandle,
    ) {
        let batch = Batch {
            targets: dsts,
            sources: srcs,
            sizes,
            count,
            attributes: attrs,
            first: attrsIdxs,
            attribute_count: numAttrs,
        };
        copy(context()?, &batch, Some(failIdx), (stream, default))
    }

    /// Copies of boxes.
    fn cudaMemcpy3DBatchAsync, cudaMemcpy3DBatchAsync_ptsz = cuMemcpy3DBatchAsync_v2, cuMemcpy3DBatchAsync_v2_ptsz [default] (
        numOps: usize, opList: In<BatchOperation>, flags: c_ulonglong, stream: StreamHandle,
    ) {
        copy_3d(context()?, opList, numOps, flags, None, (stream, default))
    }

    /// Copies of boxes, in CUDA 12's version, which reports the index of an invalid copy.
    fn cudaMemcpy3DBatchAsync_v12, cudaMemcpy3DBatchAsync_v12_ptsz = cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync_ptsz [default] (
        numOps: usize, opList: In<BatchOperation>, failIdx: Out<usize>, flags: c_ulonglong, stream: StreamHandle,
    ) {
        copy_3d(context()?, opList, numOps, flags, Some(failIdx), (stream, default))
    }

    /// One linear copy.
    fn cudaMemcpyWithAttributesAsync, cudaMemcpyWithAttributesAsync_ptsz = cuMemcpyWithAttributesAsync, cuMemcpyWithAttributesAsync_ptsz [default] (
        dst: Address, src: Address, size: usize, attr: In<CopyAttributes>, stream: StreamHandle,
    ) {
        context()?;
        let simulator = of_stream(session(), stream)?;
        let stream = simulator.stream(stream, default)?;
        simulator.copy_with_attributes(dst, src, size, attr.get()?, stream)
    }

    /// One copy of a box.
    fn cudaMemcpy3DWithAttributesAsync, cudaMemcpy3DWithAttributesAsync_ptsz = cuMemcpy3DWithAttributesAsync, cuMemcpy3DWithAttributesAsync_ptsz [default] (
        op: In<BatchOperation>, flags: c_ulonglong, stream: StreamHandle,
    ) {
        context()?;
        let simulator = of_stream(session(), stream)?;
        let stream = simulator.stream(stream, default)?;
        simulator.copy_batch_3d(op, 1, flags, None, stream)
    }
}

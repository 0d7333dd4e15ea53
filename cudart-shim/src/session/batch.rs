//! Batched copies with attributes, for both APIs.

use crate::abi::error::{Error, Result};
use crate::abi::{Address, ArrayHandle, CudaExtent, DefaultStream, In, MemoryLocation, Out, StreamHandle};
use crate::objects::rows::{Extent, Side};
use crate::session::simulator::Simulator;
use crate::work::copy::{Copy, Direction};
use std::ffi::{c_int, c_uint};
use stream_engine::StreamId;

/// `cudaMemcpyAttributes`, `CUmemcpyAttributes`. Location hints and overlap flags have no effect
/// here.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct CopyAttributes {
    source_order: c_int,
    source_hint: MemoryLocation,
    target_hint: MemoryLocation,
    flags: c_uint,
}

/// `cudaMemcpy3DOperand`, `CUmemcpy3DOperand`: memory (1) with address, row length, layer height
/// and hint, or an array (2) with handle and offset.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Operand {
    kind: c_int,
    fields: [usize; 4],
}

/// `cudaMemcpy3DBatchOp`, `CUDA_MEMCPY3D_BATCH_OP`. Lengths are in elements of the array, else in
/// bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct BatchOperation {
    source: Operand,
    target: Operand,
    extent: CudaExtent,
    source_order: c_int,
    flags: c_uint,
}

/// Time of the source access, `CUmemcpySrcAccessOrder`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceOrder {
    /// In stream order. Also stands for "any time", which stream order satisfies.
    Stream,
    /// Before the call returns.
    DuringCall,
}

impl SourceOrder {
    /// Rejects unknown flags too.
    fn new(order: c_int, flags: c_uint) -> Result<Self> {
        match (order, flags) {
            (1 | 3, 0 | 1) => Ok(Self::Stream),
            (2, 0 | 1) => Ok(Self::DuringCall),
            _ => Err(Error::InvalidValue),
        }
    }
}

/// A batch of linear copies.
pub(crate) struct Batch {
    pub(crate) targets: In<Address>,
    pub(crate) sources: In<Address>,
    pub(crate) sizes: In<usize>,
    pub(crate) count: usize,
    pub(crate) attributes: In<CopyAttributes>,
    pub(crate) first: In<usize>,
    pub(crate) attribute_count: usize,
}

/// The stream of a batch. The legacy default stream is not allowed.
pub(crate) fn stream(
    simulator: &Simulator,
    stream: StreamHandle,
    default: DefaultStream,
) -> Result<StreamId> {
    let stream = simulator.stream(stream, default)?;
    simulator.engine.stream_info(stream)?;
    if stream == StreamId::LEGACY { Err(Error::InvalidValue) } else { Ok(stream) }
}

/// Expands values to `count` operations: value `k` applies from operation `first[k]` on.
pub(crate) fn expand<T: std::marker::Copy>(
    values: In<T>,
    first: In<usize>,
    value_count: usize,
    count: usize,
) -> Result<Vec<T>> {
    if value_count == 0 || value_count > count {
        return Err(Error::InvalidValue);
    }
    let (values, first) = (values.list(value_count)?, first.list(value_count)?);
    let increases = first.windows(2).all(|pair| pair[0] < pair[1]);
    if first.first() != Some(&0) || !increases || first.last().is_some_and(|last| *last >= count) {
        return Err(Error::InvalidValue);
    }
    let ends = first.iter().skip(1).copied().chain([count]);
    let lengths = first.iter().zip(ends).map(|(start, end)| end - start);
    Ok(values
        .into_iter()
        .zip(lengths)
        .flat_map(|(value, length)| std::iter::repeat_n(value, length))
        .collect())
}

/// Creates the copy of each operation. On an error, stores its index in `fail_index`.
fn each<T>(
    operations: impl Iterator<Item = T>,
    fail_index: Option<Out<usize>>,
    make: impl Fn(T) -> Result<(Option<Copy>, SourceOrder)>,
) -> Result<Vec<(Option<Copy>, SourceOrder)>> {
    operations
        .enumerate()
        .map(|(index, operation)| {
            make(operation).inspect_err(|_| {
                fail_index.map(|fail_index| fail_index.set_if_wanted(index));
            })
        })
        .collect()
}

impl Simulator {
    /// Copies a batch in stream order.
    pub(crate) fn copy_batch(
        &'static self,
        batch: &Batch,
        fail_index: Option<Out<usize>>,
        stream: StreamId,
    ) -> Result<()> {
        // Until an operation is checked, the error belongs to none.
        fail_index.map(|fail_index| fail_index.set_if_wanted(usize::MAX));
        if batch.count == 0 {
            return Err(Error::InvalidValue);
        }
        let attributes = expand(batch.attributes, batch.first, batch.attribute_count, batch.count)?;
        let targets = batch.targets.list(batch.count)?;
        let sources = batch.sources.list(batch.count)?;
        let sizes = batch.sizes.list(batch.count)?;
        let operations = targets.into_iter().zip(sources).zip(sizes).zip(attributes);
        let copies = each(operations, fail_index, |(((to, from), size), attributes)| {
            let order = SourceOrder::new(attributes.source_order, attributes.flags)?;
            Ok((Copy::linear(self, to.0, from.0, size, Direction::Default)?, order))
        })?;
        copies.into_iter().try_for_each(|(copy, order)| self.copy_in_batch(copy, order, stream))
    }

    /// One copy with attributes.
    pub(crate) fn copy_with_attributes(
        &'static self,
        to: Address,
        from: Address,
        size: usize,
        attributes: CopyAttributes,
        stream: StreamId,
    ) -> Result<()> {
        let order = SourceOrder::new(attributes.source_order, attributes.flags)?;
        let copy = Copy::linear(self, to.0, from.0, size, Direction::Default)?;
        self.copy_in_batch(copy, order, stream)
    }

    /// Copies boxes in stream order.
    pub(crate) fn copy_batch_3d(
        &'static self,
        operations: In<BatchOperation>,
        count: usize,
        flags: u64,
        fail_index: Option<Out<usize>>,
        stream: StreamId,
    ) -> Result<()> {
        fail_index.map(|fail_index| fail_index.set_if_wanted(usize::MAX));
        if count == 0 || flags != 0 {
            return Err(Error::InvalidValue);
        }
        let copies = each(operations.list(count)?.into_iter(), fail_index, |operation| {
            let order = SourceOrder::new(operation.source_order, operation.flags)?;
            Ok((self.copy_of(&operation)?, order))
        })?;
        copies.into_iter().try_for_each(|(copy, order)| self.copy_in_batch(copy, order, stream))
    }

    fn copy_of(&self, operation: &BatchOperation) -> Result<Option<Copy>> {
        let BatchOperation { source, target, extent: CudaExtent { width, height, depth }, .. } = *operation;
        if width == 0 || height == 0 || depth == 0 {
            return Err(Error::InvalidValue);
        }
        let element = match (self.element_bytes(&source)?, self.element_bytes(&target)?) {
            (Some(source), Some(target)) if source != target => return Err(Error::InvalidValue),
            (source, target) => source.or(target).unwrap_or(1),
        };
        let width = width.checked_mul(element).ok_or(Error::InvalidValue)?;
        let extent = Extent { width, height, depth };
        let to = self.operand_side(&target, extent, element)?;
        let from = self.operand_side(&source, extent, element)?;
        Copy::new(self, to, from, extent, Direction::Default)
    }

    /// Bytes per element of an array; `None` for memory.
    fn element_bytes(&self, operand: &Operand) -> Result<Option<usize>> {
        match operand.kind {
            1 => Ok(None),
            2 => Ok(Some(self.array(ArrayHandle(operand.fields[0]))?.texel_bytes())),
            _ => Err(Error::InvalidValue),
        }
    }

    fn operand_side(&self, operand: &Operand, extent: Extent, element: usize) -> Result<Side> {
        let [first, second, third, fourth] = operand.fields;
        let bytes = |elements: usize| elements.checked_mul(element).ok_or(Error::InvalidValue);
        if operand.kind == 2 {
            return self.array(ArrayHandle(first))?.side([bytes(second)?, third, fourth], extent);
        }
        let pitch = if second == 0 { extent.width } else { bytes(second)? };
        let rows = if third == 0 { extent.height } else { third };
        if pitch < extent.width || rows < extent.height {
            return Err(Error::InvalidValue);
        }
        Side::pitched(first, pitch, rows, [0; 3])
    }
}

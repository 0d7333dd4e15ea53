//! Copies and fills of boxes in host and device memory: checked at the call, executed in stream
//! order.

mod modelled;

use crate::abi::error::{Error, Result};
use crate::host::log;
use crate::objects::fault::DeviceFault;
use crate::objects::rows::{Extent, Side};
use crate::session::batch::SourceOrder;
use crate::session::operation::Operation;
use crate::session::sanitizer_report;
use crate::session::simulator::{Simulator, owner_of, started};
use functional::memory::{AllocationKind, Memory};
use std::ffi::c_int;
use stream_engine::{Context, Scope, StreamId};

/// Largest pageable source in bytes that is staged, so that the caller need not wait for the
/// stream.
const STAGED_BYTES: usize = 64 << 10;

/// The fault of a copy or fill whose memory was freed or unmapped before its turn in the stream.
fn memory_gone(simulator: &Simulator, what: &str, side: &Side, extent: Extent) -> DeviceFault {
    log::report(|| {
        let Extent { width, height, depth } = extent;
        format!(
            "{what} {width} x {height} x {depth} bytes at 0x{:x}: the memory was freed or unmapped before the stream reached the copy",
            side.address
        )
    });
    DeviceFault { device: simulator.ordinal, error: Error::IllegalAddress }
}

/// Direction of a copy, `cudaMemcpyKind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    HostToHost,
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
    /// Inferred from the addresses.
    Default,
}

impl Direction {
    /// From a `cudaMemcpyKind`.
    pub(crate) fn from_kind(kind: c_int) -> Result<Self> {
        Ok(match kind {
            0 => Self::HostToHost,
            1 => Self::HostToDevice,
            2 => Self::DeviceToHost,
            3 => Self::DeviceToDevice,
            4 => Self::Default,
            _ => return Err(Error::InvalidMemcpyDirection),
        })
    }
}

impl Direction {
    /// The `cudaMemcpyKind`.
    pub(crate) fn kind(self) -> c_int {
        self as c_int
    }
}

/// Kinds of memory at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Device memory.
    Device,
    /// Managed, pinned or registered memory, accessible to both sides.
    Shared,
    /// Other host memory.
    Pageable,
}

fn place(memory: &Memory, side: &Side, extent: Extent) -> Result<Place> {
    let span = side.span(extent)?;
    if side.address == 0 {
        return Err(Error::InvalidValue);
    }
    // Copies may access the memory of all devices.
    let own = memory.allocation_of(side.address as u64).map(|found| (memory, found));
    let elsewhere = || owner_of(side.address as u64).map(|(owner, found)| (&owner.device.memory, found));
    let Some((memory, allocation)) = own.or_else(elsewhere) else {
        let is_no_memory = |memory: &Memory, address| memory.owns(address) || memory.was_unmapped(address);
        let is_reserved =
            started().any(|simulator| is_no_memory(&simulator.device.memory, side.address as u64));
        return if is_reserved { Err(Error::InvalidValue) } else { Ok(Place::Pageable) };
    };
    match allocation.kind {
        // A host buffer may be registered only in part. It then counts as pageable.
        AllocationKind::Registered if memory.check_range(side.address as u64, span as u64).is_err() => {
            return Ok(Place::Pageable);
        }
        _ => memory.check_range(side.address as u64, span as u64)?,
    }
    Ok(match allocation.kind {
        AllocationKind::Managed | AllocationKind::Host | AllocationKind::Registered => Place::Shared,
        _ => Place::Device,
    })
}

/// Merges rows that are contiguous on all sides. The bytes stay the same.
fn joined<const N: usize>(extent: Extent, sides: [Side; N]) -> Extent {
    let Extent { width, height, depth } = extent;
    let slice_bytes = width.saturating_mul(height);
    let rows_follow = height == 1 || sides.iter().all(|side| side.pitch == width);
    let slices_follow = depth == 1 || sides.iter().all(|side| side.slice == slice_bytes);
    match (rows_follow, slices_follow) {
        (true, true) => Extent { width: slice_bytes.saturating_mul(depth), height: 1, depth: 1 },
        (true, false) => Extent { width: slice_bytes, height: 1, depth },
        _ => extent,
    }
}

/// A checked copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    pub(crate) to: Side,
    pub(crate) from: Side,
    pub(crate) extent: Extent,
    /// Direction given by the program.
    pub(crate) direction: Direction,
    to_place: Place,
    from_place: Place,
}

impl Copy {
    /// Checks a copy. `None` if the copy is empty.
    pub(crate) fn new(
        memory: &Memory,
        to: Side,
        from: Side,
        extent: Extent,
        direction: Direction,
    ) -> Result<Option<Self>> {
        if extent.is_empty() {
            return Ok(None);
        }
        for side in [&to, &from] {
            side.check_apart(extent)?;
        }
        let to_place = place(memory, &to, extent)?;
        let from_place = place(memory, &from, extent)?;
        let (to_expected, from_expected) = match direction {
            Direction::HostToHost => (Place::Pageable, Place::Pageable),
            Direction::HostToDevice => (Place::Device, Place::Pageable),
            Direction::DeviceToHost => (Place::Pageable, Place::Device),
            Direction::DeviceToDevice => (Place::Device, Place::Device),
            Direction::Default => (to_place, from_place),
        };
        let fits = |actual, expected| actual == Place::Shared || actual == expected;
        if fits(to_place, to_expected) && fits(from_place, from_expected) {
            Ok(Some(Self { to, from, extent, direction, to_place, from_place }))
        } else {
            Err(Error::InvalidValue)
        }
    }

    /// A copy of one row.
    pub(crate) fn linear(
        memory: &Memory,
        to: usize,
        from: usize,
        count: usize,
        direction: Direction,
    ) -> Result<Option<Self>> {
        Self::new(memory, Side::row(to), Side::row(from), Extent::row(count), direction)
    }

    fn bytes(&self) -> usize {
        self.extent.bytes()
    }

    /// This copy with a packed source.
    pub(crate) fn with_packed_source(&self, source: &[u8]) -> Self {
        let Extent { width, height, .. } = self.extent;
        let slice = width.saturating_mul(height);
        let from = Side { address: source.as_ptr() as usize, pitch: width, slice, ..Side::default() };
        Self { from, ..*self }
    }

    /// Packs the source's rows.
    pub(crate) fn pack_source(&self) -> Vec<u8> {
        let mut packed = vec![0_u8; self.bytes()];
        let Extent { width, height, .. } = self.extent;
        let slice = width.saturating_mul(height);
        let to = Side { address: packed.as_mut_ptr() as usize, pitch: width, slice, ..Side::default() };
        Self { to, to_place: Place::Pageable, ..*self }.execute();
        packed
    }

    /// Packs the target's rows.
    pub(crate) fn pack_target(&self) -> Vec<u8> {
        Self { from: self.to, from_place: self.to_place, ..*self }.pack_source()
    }

    /// Tells whether the target is device memory.
    pub(crate) fn is_to_device(&self) -> bool {
        self.to_place == Place::Device
    }

    /// Tells whether the source is device memory.
    pub(crate) fn is_from_device(&self) -> bool {
        self.from_place == Place::Device
    }

    /// Tells whether the target is pageable memory.
    pub(crate) fn is_to_pageable(&self) -> bool {
        self.to_place == Place::Pageable
    }

    /// Tells whether the source is pageable memory.
    pub(crate) fn is_from_pageable(&self) -> bool {
        self.from_place == Place::Pageable
    }

    /// Executes the copy on behalf of a stream if both ranges are still valid.
    pub(crate) fn run(&self, simulator: &Simulator, stream: u64) -> std::result::Result<(), DeviceFault> {
        let memory = &simulator.device.memory;
        for (name, side, expected) in
            [("copy to", &self.to, self.to_place), ("copy from", &self.from, self.from_place)]
        {
            if place(memory, side, self.extent).ok() != Some(expected) {
                return Err(memory_gone(simulator, name, side, self.extent));
            }
        }
        self.execute();
        self.tell_model(simulator, stream)
    }

    /// Executes the copy with a packed source.
    pub(crate) fn run_staged(
        &self,
        source: &[u8],
        simulator: &Simulator,
        stream: u64,
    ) -> std::result::Result<(), DeviceFault> {
        if place(&simulator.device.memory, &self.to, self.extent).ok() != Some(self.to_place) {
            return Err(memory_gone(simulator, "copy to", &self.to, self.extent));
        }
        self.with_packed_source(source).execute();
        self.tell_model(simulator, stream)
    }

    /// Tells whether both copies are between the same kinds of memory.
    pub(crate) fn is_same_kind(&self, other: &Self) -> bool {
        (self.to_place, self.from_place) == (other.to_place, other.from_place)
    }

    /// Copies.
    pub(crate) fn execute(&self) {
        let Extent { width, height, depth } = joined(self.extent, [self.to, self.from]);
        for slice in 0..depth {
            for row in 0..height {
                let to = self.to.row_address(row, slice) as *mut u8;
                let from = self.from.row_address(row, slice) as *const u8;
                // SAFETY: device ranges were found in live allocations, which are freed only after
                // the work that uses them. The caller is responsible for host ranges. Ranges may
                // overlap, as on a device.
                unsafe { std::ptr::copy(from, to, width) };
                match (self.to_place, self.from_place) {
                    (Place::Device, Place::Device) => {
                        sanitizer_report::note_copied(to as usize, from as usize, width)
                    }
                    (Place::Device, _) => sanitizer_report::note_written(to as usize, width),
                    _ => {}
                }
            }
        }
    }
}

impl Simulator {
    /// Copies in stream order and waits for completion wherever CUDA does.
    pub(crate) fn copy_now(&'static self, copy: Option<Copy>, stream: StreamId) -> Result<()> {
        self.forbid_capture(stream)?;
        let Some(copy) = copy else { return self.do_nothing(stream) };
        if copy.to_place == Place::Device && copy.from_place == Place::Device {
            return self.submit(stream, Operation::Copy(copy));
        }
        self.engine.run_now(stream, |context: &Context<DeviceFault>| {
            Operation::Copy(copy).run_inside(self, context)
        })?;
        self.pass_on_printed_text();
        Ok(())
    }

    /// An empty copy or fill only checks the stream and the device.
    fn do_nothing(&self, stream: StreamId) -> Result<()> {
        self.engine.is_complete(Scope::Stream(stream))?;
        Ok(())
    }

    /// Copies in stream order without waiting, except for pageable memory: a small pageable source
    /// is staged, otherwise the call waits (CUDA runtime, "API synchronization behavior").
    pub(crate) fn copy_async(&'static self, copy: Option<Copy>, stream: StreamId) -> Result<()> {
        let Some(copy) = copy else { return self.do_nothing(stream) };
        let pageable = |place| place == Place::Pageable;
        if self.add_if_capturing(stream, || Operation::Copy(copy))? {
            return Ok(());
        }
        if pageable(copy.to_place) || (pageable(copy.from_place) && copy.bytes() > STAGED_BYTES) {
            return self.copy_now(Some(copy), stream);
        }
        if pageable(copy.from_place) {
            return self.submit(stream, Operation::StagedCopy(copy, copy.pack_source().into()));
        }
        self.submit(stream, Operation::Copy(copy))
    }

    /// Copies in stream order without waiting, even for pageable memory.
    pub(crate) fn copy_in_batch(
        &'static self,
        copy: Option<Copy>,
        order: SourceOrder,
        stream: StreamId,
    ) -> Result<()> {
        let Some(copy) = copy else { return Ok(()) };
        if self.add_if_capturing(stream, || Operation::Copy(copy))? {
            return Ok(());
        }
        if order == SourceOrder::DuringCall && copy.from_place != Place::Device {
            return self.submit(stream, Operation::StagedCopy(copy, copy.pack_source().into()));
        }
        self.submit(stream, Operation::Copy(copy))
    }

    /// Fills rows with a pattern of 1, 2 or 4 bytes in stream order. `extent.width` is in bytes.
    pub(crate) fn fill(
        &'static self,
        to: Side,
        pattern: Pattern,
        extent: Extent,
        stream: StreamId,
    ) -> Result<()> {
        match Fill::new(&self.device.memory, to, pattern, extent)? {
            Some(fill) => self.enqueue(stream, Operation::Fill(fill)),
            None => self.do_nothing(stream),
        }
    }

    /// Fills without a stream argument. Returns without waiting, except for host-visible memory
    /// (CUDA runtime, "API synchronization behavior", memset).
    pub(crate) fn fill_now(
        &'static self,
        to: Side,
        pattern: Pattern,
        extent: Extent,
        stream: StreamId,
    ) -> Result<()> {
        self.forbid_capture(stream)?;
        self.fill(to, pattern, extent, stream)?;
        let found = self.device.memory.allocation_of(to.address as u64);
        if found.is_some_and(|found| found.kind.is_seen_by_host()) {
            self.synchronize(Scope::Stream(stream))?;
        }
        Ok(())
    }
}

/// A checked fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fill {
    pub(crate) to: Side,
    pub(crate) pattern: Pattern,
    /// Size, with the width in bytes.
    pub(crate) extent: Extent,
}

impl Fill {
    /// Checks a fill. `None` if the fill is empty.
    pub(crate) fn new(memory: &Memory, to: Side, pattern: Pattern, extent: Extent) -> Result<Option<Self>> {
        if extent.is_empty() {
            return Ok(None);
        }
        to.check_apart(extent)?;
        if place(memory, &to, extent)? == Place::Pageable {
            return Err(Error::InvalidValue);
        }
        let rows_fit = extent.height == 1 || to.pitch.is_multiple_of(pattern.size());
        if !to.address.is_multiple_of(pattern.size()) || !rows_fit {
            return Err(Error::InvalidValue);
        }
        Ok(Some(Self { to, pattern, extent }))
    }

    /// Tells whether the memory is host-visible.
    pub(crate) fn is_seen_by_host(&self) -> bool {
        owner_of(self.to.address as u64).is_some_and(|(_, found)| found.kind.is_seen_by_host())
    }

    /// Executes the fill on behalf of a stream if the range is still valid device memory.
    pub(crate) fn run(&self, simulator: &Simulator, stream: u64) -> std::result::Result<(), DeviceFault> {
        let Self { to, pattern, extent } = *self;
        let place = match place(&simulator.device.memory, &to, extent) {
            Ok(place @ (Place::Device | Place::Shared)) => place,
            _ => return Err(memory_gone(simulator, "fill of", &to, extent)),
        };
        let rows = joined(extent, [to]);
        for slice in 0..rows.depth {
            for row in 0..rows.height {
                let address = to.row_address(row, slice);
                pattern.write(address, rows.width);
                sanitizer_report::note_written(address, rows.width);
            }
        }
        self.tell_model(simulator, place, stream)
    }
}

/// Fill pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    Byte(u8),
    Half(u16),
    Word(u32),
}

impl Pattern {
    /// Bytes per element.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Byte(_) => 1,
            Self::Half(_) => 2,
            Self::Word(_) => 4,
        }
    }

    /// Fills `bytes` bytes at a checked, aligned device address.
    fn write(self, address: usize, bytes: usize) {
        let count = bytes / self.size();
        // SAFETY: the caller checked the range and the alignment.
        unsafe {
            match self {
                Self::Byte(value) => std::ptr::write_bytes(address as *mut u8, value, count),
                Self::Half(value) => std::slice::from_raw_parts_mut(address as *mut u16, count).fill(value),
                Self::Word(value) => std::slice::from_raw_parts_mut(address as *mut u32, count).fill(value),
            }
        }
    }
}

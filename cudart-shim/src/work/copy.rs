//! Copies and fills of boxes in host and device memory, checked at the call.

use crate::abi::error::{Error, Result};
use crate::objects::device::DeviceObjects;
use crate::objects::rows::{Extent, Side};
use crate::objects::shared::Shared;
use functional::memory::{AllocationKind, Memory};
use std::ffi::c_int;

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
pub(crate) enum Place {
    /// Device memory.
    Device,
    /// Managed, pinned or registered memory, accessible to both sides.
    Shared,
    /// Other host memory.
    Pageable,
}

/// The kind of memory that holds a box. A box outside of any memory is pageable.
pub(crate) fn place(device: &DeviceObjects, side: &Side, extent: Extent) -> Result<Place> {
    let span = side.span(extent)?;
    if side.address == 0 {
        return Err(Error::InvalidValue);
    }
    // Copies may access the memory of all devices.
    let (memory, shared) = (&device.device.memory, device.shared);
    let own = memory.allocation_of(side.address as u64).map(|found| (memory, found));
    let elsewhere =
        || shared.owner_of(side.address as u64).map(|(owner, found)| (&owner.device.memory, found));
    let Some((memory, allocation)) = own.or_else(elsewhere) else {
        let is_no_memory = |memory: &Memory, address| memory.owns(address) || memory.was_unmapped(address);
        let is_reserved =
            shared.started().any(|simulator| is_no_memory(&simulator.device.memory, side.address as u64));
        return if is_reserved { Err(Error::InvalidValue) } else { Ok(Place::Pageable) };
    };
    match allocation.kind {
        // A host buffer that is registered only in part counts as pageable.
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

/// A checked copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    pub(crate) to: Side,
    pub(crate) from: Side,
    pub(crate) extent: Extent,
    /// Direction given by the program.
    pub(crate) direction: Direction,
    pub(crate) to_place: Place,
    pub(crate) from_place: Place,
}

impl Copy {
    /// Checks a copy. `None` if the copy is empty.
    pub(crate) fn new(
        device: &DeviceObjects,
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
        let to_place = place(device, &to, extent)?;
        let from_place = place(device, &from, extent)?;
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
        device: &DeviceObjects,
        to: usize,
        from: usize,
        count: usize,
        direction: Direction,
    ) -> Result<Option<Self>> {
        Self::new(device, Side::row(to), Side::row(from), Extent::row(count), direction)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.extent.bytes()
    }

    /// This copy with a packed source.
    pub(crate) fn with_packed_source(&self, source: &[u8]) -> Self {
        let Extent { width, height, .. } = self.extent;
        let slice = width.saturating_mul(height);
        let from = Side { address: source.as_ptr() as usize, pitch: width, slice, ..Side::default() };
        Self { from, ..*self }
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

    /// Tells whether both copies are between the same kinds of memory.
    pub(crate) fn is_same_kind(&self, other: &Self) -> bool {
        (self.to_place, self.from_place) == (other.to_place, other.from_place)
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
    pub(crate) fn new(
        device: &DeviceObjects,
        to: Side,
        pattern: Pattern,
        extent: Extent,
    ) -> Result<Option<Self>> {
        if extent.is_empty() {
            return Ok(None);
        }
        to.check_apart(extent)?;
        if place(device, &to, extent)? == Place::Pageable {
            return Err(Error::InvalidValue);
        }
        let rows_fit = extent.height == 1 || to.pitch.is_multiple_of(pattern.size());
        if !to.address.is_multiple_of(pattern.size()) || !rows_fit {
            return Err(Error::InvalidValue);
        }
        Ok(Some(Self { to, pattern, extent }))
    }

    /// Tells whether the memory is host-visible.
    pub(crate) fn is_seen_by_host(&self, shared: &'static Shared) -> bool {
        shared.owner_of(self.to.address as u64).is_some_and(|(_, found)| found.kind.is_seen_by_host())
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
}

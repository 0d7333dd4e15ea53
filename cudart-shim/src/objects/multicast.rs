//! Multicast objects: addresses that map to memory of several devices, for `multimem` instructions.
//!
//! An object is an allocation without memory, mapped like any other (`virtual_memory.rs`). Ordinary
//! accesses to the mapping fail; only `multimem` instructions reach the bound memory.

use crate::abi::error::{Error, Result};
use crate::objects::shared::Shared;
use crate::objects::virtual_memory::GRANULARITY;
use crate::profile::visible_devices;
use functional::memory::{AllocationKind, Memory, Pages};
use std::sync::Arc;

/// `CUmulticastObjectProp`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct MulticastProperties {
    pub(crate) devices: u32,
    pub(crate) size: usize,
    pub(crate) handle_types: u64,
    pub(crate) flags: u64,
}

impl MulticastProperties {
    /// Rejects a device count above the number of devices, and sizes other than whole pages.
    pub(crate) fn check(&self) -> Result<()> {
        let is_granular = self.size > 0 && (self.size as u64).is_multiple_of(GRANULARITY);
        let exist = self.devices > 0 && self.devices as usize <= visible_devices::count();
        if exist && is_granular && self.flags == 0 { Ok(()) } else { Err(Error::InvalidValue) }
    }
}

/// Memory of one device, bound to a part of an object.
#[derive(Debug)]
struct Binding {
    shared: &'static Shared,
    device: usize,
    offset: u64,
    size: u64,
    /// Address in the device's memory.
    address: u64,
    /// Set if the address was reserved for the binding.
    own: bool,
}

impl Drop for Binding {
    fn drop(&mut self) {
        if self.own {
            // A failed free leaks the memory.
            let _ = memory_of(self.shared, self.device).map(|memory| memory.free(self.address));
        }
    }
}

/// A multicast object.
#[derive(Debug)]
pub(crate) struct Multicast {
    shared: &'static Shared,
    /// Number of devices to add.
    wanted: usize,
    size: u64,
    /// Added devices, by number.
    devices: Vec<usize>,
    /// Bindings of all devices.
    bindings: Vec<Binding>,
}

impl Multicast {
    pub(crate) fn new(shared: &'static Shared, properties: &MulticastProperties) -> Multicast {
        let (wanted, size) = (properties.devices as usize, properties.size as u64);
        Multicast { shared, wanted, size, devices: Vec::new(), bindings: Vec::new() }
    }

    /// Adds a device.
    pub(crate) fn add(&mut self, device: usize) -> Result<()> {
        if self.devices.contains(&device) || self.devices.len() == self.wanted {
            return Err(Error::InvalidValue);
        }
        self.devices.push(device);
        Ok(())
    }

    /// Tells whether all devices were added. Mapping and binding require it.
    pub(crate) fn is_complete(&self) -> bool {
        self.devices.len() == self.wanted
    }

    /// Checks that a device may bind memory to a range: the device has no binding there yet.
    fn check(&self, device: usize, offset: u64, size: u64) -> Result<()> {
        let end = offset.checked_add(size).ok_or(Error::InvalidValue)?;
        let is_granular = size > 0 && (offset | size).is_multiple_of(GRANULARITY) && end <= self.size;
        let overlaps = |it: &Binding| it.device == device && it.offset < end && offset < it.offset + it.size;
        if is_granular
            && self.is_complete()
            && self.devices.contains(&device)
            && !self.bindings.iter().any(overlaps)
        {
            Ok(())
        } else {
            Err(Error::InvalidValue)
        }
    }

    fn insert(&mut self, binding: Binding) {
        let place = self.bindings.partition_point(|it| it.device <= binding.device);
        self.bindings.insert(place, binding);
    }

    /// Binds pages of a device, starting at `from`.
    pub(crate) fn bind_pages(
        &mut self,
        device: usize,
        (offset, size): (u64, u64),
        pages: &Arc<Pages>,
        from: u64,
    ) -> Result<()> {
        self.check(device, offset, size)?;
        if !from.is_multiple_of(GRANULARITY) {
            return Err(Error::InvalidValue);
        }
        let memory = memory_of(self.shared, device).ok_or(Error::InvalidValue)?;
        let address = memory.attach(pages, from, size, AllocationKind::Imported)?;
        self.insert(Binding { shared: self.shared, device, offset, size, address, own: true });
        Ok(())
    }

    /// Binds memory of a device by address.
    pub(crate) fn bind_address(
        &mut self,
        device: usize,
        (offset, size): (u64, u64),
        address: u64,
    ) -> Result<()> {
        self.check(device, offset, size)?;
        if !address.is_multiple_of(GRANULARITY) {
            return Err(Error::InvalidValue);
        }
        self.insert(Binding { shared: self.shared, device, offset, size, address, own: false });
        Ok(())
    }

    /// Removes a device's bindings in a range.
    pub(crate) fn unbind(&mut self, device: usize, offset: u64, size: u64) -> Result<()> {
        let end = offset.checked_add(size).ok_or(Error::InvalidValue)?;
        let bound = self.bindings.len();
        self.bindings.retain(|it| it.device != device || it.offset < offset || it.offset + it.size > end);
        if self.bindings.len() < bound { Ok(()) } else { Err(Error::InvalidValue) }
    }

    /// Removes the bindings of a device that is being reset.
    pub(crate) fn forget(&mut self, device: usize) {
        self.bindings.retain(|it| it.device != device);
    }

    /// The device addresses behind a range; empty unless every device has bound the whole range.
    pub(crate) fn places(&self, offset: u64, bytes: u64) -> Vec<(usize, u64)> {
        let holds = |it: &&Binding| offset >= it.offset && offset + bytes <= it.offset + it.size;
        let place = |it: &Binding| (it.device, it.address + (offset - it.offset));
        let places: Vec<_> = self.bindings.iter().filter(holds).map(place).collect();
        if places.len() == self.wanted { places } else { Vec::new() }
    }
}

/// The memory of a started device.
fn memory_of(shared: &'static Shared, device: usize) -> Option<&'static Memory> {
    shared.started().find(|simulator| simulator.ordinal == device).map(|simulator| &simulator.device.memory)
}

/// Tells whether a device's kernels may access a range of its memory.
pub(crate) fn is_in_memory(shared: &'static Shared, device: usize, address: u64, bytes: u64) -> bool {
    let around = memory_of(shared, device).and_then(|memory| memory.accessible_around(address));
    around.is_some_and(|(start, end)| {
        address >= start && address.checked_add(bytes).is_some_and(|last| last <= end)
    })
}

//! Allocation and release of device, managed and host memory, for both APIs.

use crate::abi::error::{Error, Result};
use crate::host::host_pages::{self, Access};
use crate::host::{call_site, log, present_call};
use crate::objects::device::DeviceObjects;
use crate::objects::ownership::{self, Object};
use crate::objects::shared::Shared;
use crate::objects::{interprocess, managed, pool};
use crate::profile::Attribute;
use functional::memory::{ALLOCATION_ALIGNMENT, Allocation, AllocationKind, MemoryError};
use functional::sanitizer::Origin;
use saved_run::Registration;
use stream_engine::Scope;

/// Flags of pinned memory: portable (1), mapped (2), write-combined (4).
pub(crate) const HOST_ALLOC_FLAGS: u32 = 7;
/// Flags of registered memory: portable (1), mapped (2), I/O (4), read-only (8).
const HOST_REGISTER_FLAGS: u32 = 15;
/// The device only reads the memory. No profile supports this flag
/// (`ReadOnlyHostRegisterSupported`).
const HOST_REGISTER_READ_ONLY: u32 = 8;

/// Ends the registration of host memory that the program has unmapped, and warns the user. Kernels,
/// copies and fills then find no memory there.
pub(crate) fn end_unmapped(shared: &'static Shared) {
    for ended in shared.started().flat_map(|simulator| simulator.device.memory.end_unmapped()) {
        log::report(|| {
            let Allocation { address, size, .. } = ended;
            format!(
                "registered host memory of {size} bytes at {address:#x} has been unmapped or protected, which ends its \
                 registration. Call cudaHostUnregister before munmap, mprotect or free"
            )
        });
    }
}

impl DeviceObjects {
    /// Allocates memory of a kind. A size of 0 allocates nothing and returns the address 0.
    pub(crate) fn allocate(&self, size: usize, kind: AllocationKind, flags: u32) -> Result<u64> {
        if size == 0 {
            return Ok(0);
        }
        // Any allocation may be bound to a texture.
        let alignment = ALLOCATION_ALIGNMENT.max(self.texture_alignment() as u64);
        let address = self.device.memory.allocate(size as u64, alignment, kind)?;
        if let Some(checker) = self.device.checker() {
            let call = call_site::here();
            checker.allocated(&self.device.memory, address, present_call::origin(), call);
        }
        if flags != 0 {
            self.shared.allocation_flags.lock().insert(address, flags);
        }
        Ok(address)
    }

    /// Allocates rows of `width` bytes, each aligned for textures. Returns the address and the
    /// pitch.
    pub(crate) fn allocate_rows(&self, width: usize, rows: usize) -> Result<(u64, usize)> {
        self.check_unsafe_call()?;
        let alignment = self.profile.amount(Attribute::TextureAlignment).max(1) as usize;
        let pitch = width.checked_next_multiple_of(alignment).ok_or(Error::MemoryAllocation)?;
        let size = pitch.checked_mul(rows).ok_or(Error::MemoryAllocation)?;
        let address = self.allocate(size, AllocationKind::Device, 0)?;
        ownership::adopt(self.shared, Object::Memory(address));
        Ok((address, pitch))
    }

    /// The device that owns the memory at an address; this device if no device owns it.
    pub(crate) fn owner(&self, address: u64) -> &Self {
        self.shared.owner_of(address).map_or(self, |(owner, _)| owner)
    }

    /// Rejects an address at which no allocation of these kinds starts.
    pub(crate) fn check_start(&self, address: u64, kinds: &[AllocationKind]) -> Result<()> {
        let allocation = self.device.memory.allocation_of(address);
        // Imported memory is freed like local memory. Memory opened by handle must be closed
        // instead.
        let is_kind = |kind| {
            kinds.contains(&kind)
                || (kind == AllocationKind::Imported
                    && kinds.contains(&AllocationKind::Device)
                    && !interprocess::is_opened(self.shared, address))
        };
        let fits = |found: &Allocation| found.address == address && is_kind(found.kind);
        if allocation.as_ref().is_some_and(fits) { Ok(()) } else { Err(Error::InvalidValue) }
    }

    /// Frees an allocation immediately.
    pub(crate) fn release(&self, address: u64, by: Origin) -> Result<()> {
        let freed = self.device.memory.free(address)?;
        ownership::disown(self.shared, Object::Memory(address));
        managed::forget(self.shared, freed.address, freed.size);
        if let Some(checker) = self.device.checker() {
            checker.freed(address, by);
        }
        pool::forget_allocation(self.shared, address);
        self.shared.allocation_flags.lock().remove(&address);
        self.shared.synchronous.lock().remove(&address);
        Ok(())
    }

    /// Maps memory of the program for kernels.
    pub(crate) fn register_host(&self, address: u64, size: usize, flags: u32) -> Result<()> {
        self.check_unsafe_call()?;
        if address == 0 || size == 0 || flags & !HOST_REGISTER_FLAGS != 0 {
            return Err(Error::InvalidValue);
        }
        if flags & HOST_REGISTER_READ_ONLY != 0 {
            return Err(Error::NotSupported);
        }
        end_unmapped(self.shared);
        if self.shared.owner_of(address).is_some() {
            return Err(Error::HostMemoryAlreadyRegistered);
        }
        self.check_registrable(address, size as u64)?;
        self.device.memory.register_host(address, size as u64)?;
        if let Some(found) = self.device.memory.allocation_of(address) {
            self.registered.lock().insert(found.number, Registration { address, size: size as u64 });
        }
        self.shared.allocation_flags.lock().insert(address, flags);
        ownership::adopt(self.shared, Object::Registration(address));
        Ok(())
    }

    /// Rejects host memory that is unmapped, or that the program itself may not write.
    fn check_registrable(&self, address: u64, size: u64) -> Result<()> {
        if self.shared.started().any(|simulator| simulator.device.memory.owns(address)) {
            return Err(Error::InvalidValue);
        }
        match host_pages::access(address, size) {
            Some(Access::Written) => Ok(()),
            _ => Err(Error::InvalidValue),
        }
    }

    /// Undoes [`DeviceObjects::register_host`].
    pub(crate) fn unregister_host(&self, address: u64) -> Result<()> {
        self.check_unsafe_call()?;
        if address == 0 {
            return Err(Error::InvalidValue);
        }
        self.engine.synchronize(Scope::Context)?;
        let is_inside =
            |found: &Allocation| found.kind == AllocationKind::Registered && found.address != address;
        if self.shared.owner_of(address).is_some_and(|(_, found)| is_inside(&found)) {
            return Err(Error::InvalidValue);
        }
        self.owner(address).device.memory.unregister_host(address).map_err(|error| match error {
            MemoryError::NotAllocated(_) => Error::HostMemoryNotRegistered,
            other => other.into(),
        })?;
        self.shared.allocation_flags.lock().remove(&address);
        ownership::disown(self.shared, Object::Registration(address));
        Ok(())
    }

    /// The pinned or registered host allocation that holds an address.
    pub(crate) fn host_allocation(&self, address: u64) -> Result<Allocation> {
        self.shared
            .owner_of(address)
            .map(|(_, found)| found)
            .filter(|found| matches!(found.kind, AllocationKind::Host | AllocationKind::Registered))
            .ok_or(Error::InvalidValue)
    }

    /// Flags with which the allocation at this start address was made.
    pub(crate) fn allocation_flags(&self, address: u64) -> u32 {
        self.shared.allocation_flags.lock().get(&address).copied().unwrap_or(0)
    }

    /// Free and total device memory in bytes.
    pub(crate) fn memory_info(&self) -> (u64, u64) {
        let total = self.device.memory.capacity();
        (total.saturating_sub(self.device.memory.used()), total)
    }

    /// Rejects a range outside managed memory.
    pub(crate) fn check_managed(&self, address: u64, size: usize) -> Result<()> {
        let memory = &self.owner(address).device.memory;
        memory.check_range(address, size as u64)?;
        let managed =
            |found: &Allocation| matches!(found.kind, AllocationKind::Managed | AllocationKind::Registered);
        if memory.allocation_of(address).as_ref().is_some_and(managed) {
            Ok(())
        } else {
            Err(Error::InvalidValue)
        }
    }
}

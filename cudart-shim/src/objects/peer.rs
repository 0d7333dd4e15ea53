//! Peer access between devices.
//!
//! Every device can access host and managed memory. Device memory needs
//! `cudaDeviceEnablePeerAccess`, and pool memory needs `cudaMemPoolSetAccess`.

use crate::abi::error::{Error, Result};
use crate::objects::shared::Shared;
use crate::objects::{pool, virtual_memory};
use functional::memory::{AccessibleRange, Allocation, AllocationKind};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

fn reached(shared: &'static Shared, device: usize) -> Result<&'static AtomicU32> {
    shared.reached.get(device).ok_or(Error::InvalidDevice)
}

/// Tells whether a device's kernels can access an allocation of another device.
fn reaches(shared: &'static Shared, device: usize, owner: usize, found: &Allocation) -> bool {
    match found.kind {
        AllocationKind::Host | AllocationKind::Registered | AllocationKind::Managed => true,
        AllocationKind::Parameters | AllocationKind::Heap => false,
        AllocationKind::Mapped | AllocationKind::MappedHost => {
            virtual_memory::has_access(shared, device, found.address)
        }
        _ => {
            let enabled =
                reached(shared, device).is_ok_and(|bits| bits.load(Ordering::Relaxed) & (1 << owner) != 0);
            enabled || pool::reaches(shared, device, found.address)
        }
    }
}

/// Accessible memory of another device at an address.
pub(crate) fn find(shared: &'static Shared, device: usize, address: u64) -> Option<AccessibleRange> {
    let (owner, found) = shared.owner_of(address).filter(|(owner, _)| owner.ordinal != device)?;
    let around = || owner.device.memory.accessible_around(address);
    let (start, end) = reaches(shared, device, owner.ordinal, &found).then(around).flatten()?;
    Some(AccessibleRange { start, end, is_registered: found.kind == AllocationKind::Registered })
}

/// Enables access to another device's memory.
pub(crate) fn enable(shared: &'static Shared, device: usize, other: usize, flags: u32) -> Result<()> {
    if flags != 0 {
        return Err(Error::InvalidValue);
    }
    if device == other {
        return Err(Error::InvalidDevice);
    }
    let before = reached(shared, device)?.fetch_or(1 << other, Ordering::Relaxed);
    if before & (1 << other) == 0 { Ok(()) } else { Err(Error::PeerAccessAlreadyEnabled) }
}

/// Disables access to another device's memory.
pub(crate) fn disable(shared: &'static Shared, device: usize, other: usize) -> Result<()> {
    let before = reached(shared, device)?.fetch_and(!(1 << other), Ordering::Relaxed);
    if before & (1 << other) == 0 { Err(Error::PeerAccessNotEnabled) } else { Ok(()) }
}

/// Removes the access rights of a device that is being reset.
pub(crate) fn forget(shared: &'static Shared, device: usize) {
    if let Ok(bits) = reached(shared, device) {
        bits.store(0, Ordering::Relaxed);
    }
}

/// `cudaDeviceP2PAttr`, `CUdevice_P2PAttribute`: performance rank, access, native atomics, access
/// to arrays. All devices are on one board, fully connected by equal links.
pub(crate) fn attribute(attribute: c_int, source: usize, target: usize) -> Result<c_int> {
    if source == target {
        return Err(Error::InvalidDevice);
    }
    match attribute {
        1 | 3 => Ok(0),
        2 | 4 => Ok(1),
        _ => Err(Error::InvalidValue),
    }
}

//! Devices that reach each other's memory.
//!
//! Host and managed memory all devices reach, wherever it was allocated. Memory of a device others reach once they have
//! said so (`cudaDeviceEnablePeerAccess`), and that of a pool as far as the pool says (`cudaMemPoolSetAccess`).

use crate::abi::error::{Error, Result};
use crate::objects::pool;
use crate::objects::virtual_memory;
use crate::session::process::process;
use crate::session::simulator::owner_of;
use functional::memory::{Allocation, AllocationKind, Found};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

fn reached(device: usize) -> Result<&'static AtomicU32> {
    process().reached.get(device).ok_or(Error::InvalidDevice)
}

/// Do kernels of a device reach an allocation of another?
fn reaches(device: usize, owner: usize, found: &Allocation) -> bool {
    match found.kind {
        AllocationKind::Host | AllocationKind::Registered | AllocationKind::Managed => true,
        AllocationKind::Parameters | AllocationKind::Heap => false,
        AllocationKind::Mapped | AllocationKind::MappedHost => {
            virtual_memory::has_access(device, found.address)
        }
        _ => {
            let enabled = reached(device).is_ok_and(|bits| bits.load(Ordering::Relaxed) & (1 << owner) != 0);
            enabled || pool::reaches(device, found.address)
        }
    }
}

/// Memory of another device that a device's kernels may access.
pub(crate) fn find(device: usize, address: u64) -> Option<Found> {
    let (owner, found) = owner_of(address).filter(|(owner, _)| owner.ordinal != device)?;
    let around = || owner.device.memory.accessible_around(address);
    let (start, end) = reaches(device, owner.ordinal, &found).then(around).flatten()?;
    Some(Found { start, end, is_registered: found.kind == AllocationKind::Registered })
}

/// Lets a device reach another's memory.
pub(crate) fn enable(device: usize, other: usize, flags: u32) -> Result<()> {
    if flags != 0 {
        return Err(Error::InvalidValue);
    }
    if device == other {
        return Err(Error::InvalidDevice);
    }
    let before = reached(device)?.fetch_or(1 << other, Ordering::Relaxed);
    if before & (1 << other) == 0 { Ok(()) } else { Err(Error::PeerAccessAlreadyEnabled) }
}

/// Undoes [`enable`].
pub(crate) fn disable(device: usize, other: usize) -> Result<()> {
    let before = reached(device)?.fetch_and(!(1 << other), Ordering::Relaxed);
    if before & (1 << other) == 0 { Err(Error::PeerAccessNotEnabled) } else { Ok(()) }
}

/// A device has been reset.
pub(crate) fn forget(device: usize) {
    if let Ok(bits) = reached(device) {
        bits.store(0, Ordering::Relaxed);
    }
}

/// `cudaDeviceP2PAttr`, `CUdevice_P2PAttribute`: performance rank, access, native atomics, access to arrays. The devices
/// are those of one board: each reaches each, and all links are the same.
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

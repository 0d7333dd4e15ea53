//! Memory of allocation nodes.
//!
//! An allocation node's address is fixed at its creation, as long as the node or an executable
//! graph with it exists. The first launch reserves memory for it, which is released when trimmed
//! while unused. A lifetime tracks if the program may use the memory: a launch starts it, a free
//! ends it.

use crate::abi::error::{Error, Result};
use crate::host::present_call;
use crate::objects::device::DeviceObjects;
use crate::objects::shared::Shared;
use functional::memory::MemoryError;
use rustc_hash::FxHashMap;
use stream_engine::Scope;

/// Lifetime of a reservation.
#[derive(Clone, Copy, Debug)]
struct Life {
    bytes: u64,
    /// The program may use the memory: allocated by a launch and not freed.
    live: bool,
    /// A launch has used the memory since the last trim.
    reserved: bool,
    /// No node is left; the memory is released when the program frees it.
    orphan: bool,
}

/// Memory of a device's graphs.
#[derive(Debug, Default)]
pub(crate) struct Account {
    lives: FxHashMap<u64, Life>,
    /// Bytes of removed reservations that were used since the last trim.
    gone: u64,
    used_high: u64,
    reserved_high: u64,
}

/// Applies a function to the account of the device of an address; `None` if there is no such
/// device.
fn with_account<T>(
    shared: &'static Shared,
    address: u64,
    use_it: impl FnOnce(&mut Account) -> T,
) -> Option<T> {
    let (owner, _) = shared.owner_of(address)?;
    Some(use_it(&mut owner.graph_memory.lock()))
}

impl Account {
    /// Bytes used by launches since the last trim, both as used and as reserved. A real driver's
    /// count falls at a trim too, not at a free.
    fn held(&self) -> u64 {
        let held = self.lives.values().filter(|life| life.live || life.reserved);
        self.gone + held.map(|life| life.bytes).sum::<u64>()
    }

    fn remove(&mut self, address: u64) -> Option<Life> {
        let life = self.lives.remove(&address)?;
        if life.reserved {
            self.gone += life.bytes;
        }
        Some(life)
    }
}

/// Memory of an allocation node. A drop releases it, at the latest when the program frees it.
#[derive(Debug)]
pub(crate) struct Reservation {
    shared: &'static Shared,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
}

impl Reservation {
    /// Takes over device memory, which counts as free until a launch.
    pub(crate) fn new(shared: &'static Shared, address: u64, bytes: u64) -> Self {
        if let Some((owner, _)) = shared.owner_of(address) {
            // Releasing room cannot fail.
            let _ = set_room(owner, address, false);
        }
        let life = Life { bytes, live: false, reserved: false, orphan: false };
        with_account(shared, address, |account| account.lives.insert(address, life));
        Self { shared, address, bytes }
    }

    /// True if the program may use the memory.
    pub(crate) fn is_live(&self) -> bool {
        is_live(self.shared, self.address)
    }

    /// Allocates the memory for a launch, if the device has room.
    pub(crate) fn begin_life(&self) -> Result<()> {
        let Some((owner, _)) = self.shared.owner_of(self.address) else { return Err(Error::InvalidValue) };
        let account = &mut *owner.graph_memory.lock();
        let life = account.lives.get_mut(&self.address).ok_or(Error::InvalidValue)?;
        if !life.reserved {
            set_room(owner, self.address, true)?;
        }
        (life.live, life.reserved) = (true, true);
        account.used_high = account.used_high.max(account.held());
        account.reserved_high = account.reserved_high.max(account.held());
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let is_over = with_account(self.shared, self.address, |account| {
            let life = account.lives.get_mut(&self.address)?;
            life.orphan = true;
            if life.live {
                return None;
            }
            account.remove(self.address)
        });
        if is_over.flatten().is_some() {
            give_back(self.shared, self.address);
        }
    }
}

/// Makes memory count or not count as used on its device.
fn set_room(owner: &DeviceObjects, address: u64, takes: bool) -> Result<()> {
    match owner.device.memory.set_idle(address, !takes) {
        // Managed memory always has room.
        Ok(()) | Err(MemoryError::NotAllocated(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn give_back(shared: &'static Shared, address: u64) {
    // A device reset has already freed the memory.
    if let Some((owner, _)) = shared.owner_of(address) {
        let _ = owner.release(address, present_call::origin());
    }
}

/// True if memory of an allocation node begins at this address.
pub(crate) fn is_reserved(shared: &'static Shared, address: u64) -> bool {
    with_account(shared, address, |account| account.lives.contains_key(&address)).unwrap_or(false)
}

/// True if the program may use the allocation node's memory at this address.
pub(crate) fn is_live(shared: &'static Shared, address: u64) -> bool {
    with_account(shared, address, |account| account.lives.get(&address).is_some_and(|life| life.live))
        .unwrap_or(false)
}

/// Ends the lifetime of an allocation node's memory at this address, if any. An error if it has
/// ended.
pub(crate) fn end_life(shared: &'static Shared, address: u64) -> Result<()> {
    let ended = with_account(shared, address, |account| -> Result<bool> {
        let life = account.lives.get_mut(&address).filter(|life| life.live).ok_or(Error::InvalidValue)?;
        life.live = false;
        let orphan = life.orphan;
        if orphan {
            account.remove(address);
        }
        Ok(orphan)
    });
    if ended.ok_or(Error::InvalidValue)?? {
        give_back(shared, address);
    }
    Ok(())
}

impl DeviceObjects {
    /// `cudaDeviceGraphMemTrim`: releases unused graph memory. Work in flight may use any.
    pub(crate) fn trim_graph_memory(&self) -> Result<()> {
        if !self.engine.is_complete(Scope::Context)? {
            return Ok(());
        }
        let account = &mut *self.graph_memory.lock();
        account.gone = 0;
        for (&address, life) in account.lives.iter_mut().filter(|(_, life)| life.reserved && !life.live) {
            set_room(self, address, false)?;
            life.reserved = false;
        }
        Ok(())
    }
}

/// Attributes of a device's graph memory.
impl Account {
    /// `cudaGraphMemAttributeType`, `CUgraphMem_attribute`: bytes used or reserved, now or at most.
    pub(crate) fn attribute(&self, number: i32) -> Result<u64> {
        match number {
            0 | 2 => Ok(self.held()),
            1 => Ok(self.used_high),
            3 => Ok(self.reserved_high),
            _ => Err(Error::InvalidValue),
        }
    }

    /// Resets a high-water mark, the only possible change.
    pub(crate) fn set_attribute(&mut self, number: i32, value: u64) -> Result<()> {
        match (number, value) {
            (1, 0) => self.used_high = self.held(),
            (3, 0) => self.reserved_high = self.held(),
            _ => return Err(Error::InvalidValue),
        }
        Ok(())
    }
}

//! Interprocess sharing: memory and events by handle, pools by file descriptor.
//!
//! A handle names an open file of its creator: process, descriptor and file identity. The identity
//! detects a handle whose file has been closed. The importer opens the file through `/proc/PID/fd`
//! (proc(5)), which the system allows to processes of one user while the creator lives.

use crate::abi::PoolHandle;
use crate::abi::error::{Error, Result};
use crate::objects::device::DeviceObjects;
use crate::objects::pool;
use crate::objects::shared::Shared;
use functional::memory::{AllocationKind, FileIdentity, Pages};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use stream_engine::Scope;

/// Kinds of handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Kind {
    Memory = u64::from_le_bytes(*b"vs-memor"),
    Event = u64::from_le_bytes(*b"vs-event"),
    PoolMemory = u64::from_le_bytes(*b"vs-poolm"),
}

/// The 64 bytes of `cudaIpcMemHandle_t`, `cudaIpcEventHandle_t`, `cudaMemPoolPtrExportData` and
/// their driver API counterparts.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Handle {
    kind: u64,
    process: u64,
    descriptor: u64,
    device: u64,
    inode: u64,
    /// Offset and size of the memory in the file, in bytes.
    offset: u64,
    size: u64,
    /// Identity of the pool's file, for pool memory.
    pool: u64,
}

#[cfg(test)]
impl crate::abi::check::Abi for Handle {
    const CLASS: api_table::Class = api_table::Class::Struct(64);
}

impl Handle {
    pub(crate) fn new(kind: Kind, pages: &Pages, offset: u64, size: u64, pool: u64) -> Result<Self> {
        let FileIdentity { device, inode } = pages.identity().map_err(|_| Error::OperatingSystem)?;
        let descriptor = pages.descriptor().as_raw_fd() as u64;
        Ok(Self {
            kind: kind as u64,
            process: std::process::id().into(),
            descriptor,
            device,
            inode,
            offset,
            size,
            pool,
        })
    }

    pub(crate) fn check(&self, kind: Kind) -> Result<()> {
        if self.kind == kind as u64 { Ok(()) } else { Err(Error::InvalidValue) }
    }

    fn is_of_this_process(&self) -> bool {
        self.process == u64::from(std::process::id())
    }

    fn identity(&self) -> FileIdentity {
        FileIdentity { device: self.device, inode: self.inode }
    }

    /// The file that the handle names.
    pub(crate) fn open(&self) -> Result<Pages> {
        let path = format!("/proc/{}/fd/{}", self.process, self.descriptor);
        let file = File::options().read(true).write(true).open(path);
        let file = file.map_err(|_| Error::MapBufferObjectFailed)?;
        let pages = Pages::from_descriptor(OwnedFd::from(file)).map_err(|_| Error::MapBufferObjectFailed)?;
        match pages.identity() {
            Ok(identity) if identity == self.identity() => Ok(pages),
            _ => Err(Error::MapBufferObjectFailed),
        }
    }
}

/// Memory of another process, mapped here: its open count and address.
#[derive(Default)]
pub(crate) struct Opened {
    addresses: FxHashMap<(FileIdentity, u64), u64>,
    users: FxHashMap<u64, usize>,
}

/// Unmaps the opened memory of a device that is being reset.
pub(crate) fn forget(simulator: &DeviceObjects) {
    let stays = |address: &u64| !simulator.device.memory.owns(*address);
    let mut opened = simulator.shared.opened.lock();
    opened.addresses.retain(|_, address| stays(address));
    opened.users.retain(|address, _| stays(address));
}

/// Tells whether the memory at this address was opened by handle.
pub(crate) fn is_opened(shared: &'static Shared, address: u64) -> bool {
    shared.opened.lock().users.contains_key(&address)
}

/// Memory.
impl DeviceObjects {
    fn share(&self, address: u64) -> Result<(functional::memory::Mapping, u64)> {
        let (owner, found) = self.shared.owner_of(address).ok_or(Error::InvalidValue)?;
        if found.kind != AllocationKind::Device {
            return Err(Error::InvalidValue);
        }
        // No kernel or copy may write the memory while it becomes shareable.
        self.engine.synchronize(Scope::Context)?;
        owner.engine.synchronize(Scope::Context)?;
        Ok((owner.device.memory.share(found.address)?, found.size))
    }

    /// A handle for the allocation that contains an address.
    pub(crate) fn memory_handle(&self, address: u64) -> Result<Handle> {
        if pool::pool_of(self.shared, address).is_some() {
            return Err(Error::InvalidValue);
        }
        let (mapping, size) = self.share(address)?;
        Handle::new(Kind::Memory, &mapping.pages, mapping.offset, size, 0)
    }

    /// Maps memory of another process.
    pub(crate) fn open_memory_handle(&self, handle: &Handle, flags: u32) -> Result<u64> {
        // cudaIpcMemLazyEnablePeerAccess.
        if flags != 1 {
            return Err(Error::InvalidValue);
        }
        handle.check(Kind::Memory)?;
        if handle.is_of_this_process() {
            return Err(Error::DeviceUninitialized);
        }
        let opened = &mut *self.shared.opened.lock();
        let key = (handle.identity(), handle.offset);
        let address = match opened.addresses.get(&key) {
            Some(address) => *address,
            None => {
                let pages = Arc::new(handle.open()?);
                let kind = AllocationKind::Imported;
                let address = self.device.memory.attach(&pages, handle.offset, handle.size, kind)?;
                opened.addresses.insert(key, address);
                address
            }
        };
        *opened.users.entry(address).or_default() += 1;
        Ok(address)
    }

    /// Drops one reference to memory of another process; the last one unmaps it.
    pub(crate) fn close_memory_handle(&self, address: u64) -> Result<()> {
        self.engine.synchronize(Scope::Context)?;
        let opened = &mut *self.shared.opened.lock();
        let users = opened.users.get_mut(&address).ok_or(Error::InvalidValue)?;
        *users -= 1;
        if *users == 0 {
            opened.users.remove(&address);
            opened.addresses.retain(|_, there| *there != address);
            let (owner, _) = self.shared.owner_of(address).ok_or(Error::InvalidValue)?;
            owner.device.memory.free(address)?;
        }
        Ok(())
    }

    /// Export data for memory of an exportable pool.
    pub(crate) fn export_pool_pointer(&self, address: u64) -> Result<Handle> {
        let pool = pool::pool_of(self.shared, address).ok_or(Error::InvalidValue)?;
        let identity = pool::exported_identity(self.shared, pool)?;
        let (mapping, size) = self.share(address)?;
        Handle::new(Kind::PoolMemory, &mapping.pages, mapping.offset, size, identity.inode)
    }

    /// Maps memory of an imported pool.
    pub(crate) fn import_pool_pointer(&self, pool: PoolHandle, handle: &Handle) -> Result<u64> {
        handle.check(Kind::PoolMemory)?;
        if pool::imported_identity(self.shared, pool)?.inode != handle.pool {
            return Err(Error::InvalidValue);
        }
        let pages = Arc::new(handle.open()?);
        let address =
            self.device.memory.attach(&pages, handle.offset, handle.size, AllocationKind::Imported)?;
        pool::note_allocation(self.shared, pool, address, handle.size);
        Ok(address)
    }
}

/// An event shared between processes: the number of records, and the last record that the device
/// reached.
pub(crate) struct SharedEvent {
    pub(crate) pages: Pages,
    words: *const [AtomicU64; 2],
}

// SAFETY: the words are atomic and remain mapped for the event's lifetime.
unsafe impl Send for SharedEvent {}
// SAFETY: as above.
unsafe impl Sync for SharedEvent {}

/// Size in bytes of an event's file.
pub(crate) const EVENT_BYTES: u64 = 4096;

impl SharedEvent {
    pub(crate) fn new(pages: Pages) -> Result<Self> {
        if pages.size() != EVENT_BYTES {
            return Err(Error::MapBufferObjectFailed);
        }
        // SAFETY: a new mapping of a file of this size.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                EVENT_BYTES as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                pages.descriptor().as_raw_fd(),
                0,
            )
        };
        if at == libc::MAP_FAILED {
            return Err(Error::MapBufferObjectFailed);
        }
        Ok(Self { pages, words: at.cast_const().cast() })
    }

    pub(crate) fn words(&self) -> &[AtomicU64; 2] {
        // SAFETY: mapped by `new`, aligned to a page; other processes change the words atomically
        // only.
        unsafe { &*self.words }
    }

    pub(crate) fn recorded(&self) -> u64 {
        self.words()[0].load(Ordering::SeqCst)
    }

    pub(crate) fn has_reached(&self, record: u64) -> bool {
        self.words()[1].load(Ordering::SeqCst) >= record
    }

    pub(crate) fn reach(&self, record: u64) {
        self.words()[1].fetch_max(record, Ordering::SeqCst);
    }
}

impl Drop for SharedEvent {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and no reference remains.
        unsafe { libc::munmap(self.words.cast_mut().cast(), EVENT_BYTES as usize) };
    }
}

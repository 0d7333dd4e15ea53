//! Memory pools and stream-ordered allocation.
//!
//! An allocation happens during the call, which is early enough for the stream. A free happens in
//! stream order. Pools only count their memory: freed memory returns to the device immediately.

use crate::abi::error::{Error, Result};
use crate::abi::handle::MAX_DEVICES;
use crate::abi::{Address, MemoryLocation, Out, PoolHandle};
use crate::objects::context::{current_device, ordinal};
use crate::objects::shared::Shared;
use crate::objects::virtual_memory::{FILE_DESCRIPTOR, pages_of_descriptor};
use crate::profile::visible_devices;
use functional::memory::{AllocationKind, FileIdentity, Pages};
use rustc_hash::FxHashMap;
use std::ffi::{c_int, c_void};
use std::os::fd::IntoRawFd;
use std::sync::Arc;

/// Handle values lie outside the address space of any process. The first handles are the devices'
/// default pools.
const POOLS: usize = 0x5700_0000_0000_0000;

/// Memory that a pool allocates from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Home {
    pub(crate) device: usize,
    pub(crate) is_managed: bool,
}

impl Home {
    /// Pinned memory of a device.
    pub(crate) fn of_device(device: usize) -> Self {
        Self { device, is_managed: false }
    }

    /// Managed memory, accounted to a device.
    fn managed(device: usize) -> Self {
        Self { device, is_managed: true }
    }

    /// The default pool for this memory.
    pub(crate) fn default_pool(self) -> PoolHandle {
        PoolHandle(POOLS | ((self.number() + 1) << 4))
    }

    /// The current pool for this memory, used if a call names no pool.
    pub(crate) fn current_pool(self, shared: &'static Shared) -> PoolHandle {
        with_pools(shared, |pools| pools.current.get(self.number()).copied().unwrap_or(self.default_pool()))
    }

    fn number(self) -> usize {
        self.device + if self.is_managed { MAX_DEVICES } else { 0 }
    }

    /// Kind of the pool's allocations.
    pub(crate) fn kind(self) -> AllocationKind {
        if self.is_managed { AllocationKind::Managed } else { AllocationKind::Device }
    }
}

/// The default pool of a device.
pub(crate) fn default_pool(device: usize) -> PoolHandle {
    Home::of_device(device).default_pool()
}

/// `cudaMemPoolAttr`, `CUmemPool_attribute`.
mod attribute {
    pub(crate) const REUSE_FIRST: i32 = 1;
    pub(crate) const REUSE_LAST: i32 = 3;
    pub(crate) const RELEASE_THRESHOLD: i32 = 4;
    pub(crate) const RESERVED_CURRENT: i32 = 5;
    pub(crate) const RESERVED_HIGH: i32 = 6;
    pub(crate) const USED_CURRENT: i32 = 7;
    pub(crate) const USED_HIGH: i32 = 8;
}

/// Settings and counters of a pool, in bytes.
#[derive(Clone, Debug)]
struct Pool {
    /// The three flags for reuse of freed memory across streams.
    reuse: [c_int; 3],
    release_threshold: u64,
    used: u64,
    used_high: u64,
    sharing: Sharing,
    /// Memory that the pool allocates from.
    home: Home,
    /// Bit mask of the other devices with access.
    reached_by: u32,
}

/// Interprocess sharing of a pool. The pool's file is empty and serves as its identity.
#[derive(Clone, Debug)]
enum Sharing {
    Private,
    /// Can be exported.
    Exportable(Arc<Pages>),
    /// Belongs to another process.
    Imported(Arc<Pages>),
}

impl Pool {
    fn new(home: Home, sharing: Sharing) -> Self {
        Self { reuse: [1; 3], release_threshold: 0, used: 0, used_high: 0, sharing, home, reached_by: 0 }
    }

    fn usual(home: Home) -> Self {
        Self::new(home, Sharing::Private)
    }
}

/// Pools of all devices.
#[derive(Debug)]
pub(crate) struct Pools {
    live: FxHashMap<PoolHandle, Pool>,
    /// Pool and size of each allocation.
    allocations: FxHashMap<u64, (PoolHandle, u64)>,
    created: usize,
    /// Current pools by device: first of device memory, then of managed memory.
    current: [PoolHandle; 2 * MAX_DEVICES],
}

/// The default pool for an index of `current`.
fn default_of(number: usize) -> PoolHandle {
    Home { device: number % MAX_DEVICES, is_managed: number >= MAX_DEVICES }.default_pool()
}

/// The memory kinds with a default pool.
fn homes(device: usize) -> [Home; 2] {
    [Home::of_device(device), Home::managed(device)]
}

impl Pools {
    /// The default pools of `count` devices.
    pub(crate) fn of_devices(count: usize) -> Self {
        Self {
            live: (0..count).flat_map(homes).map(|home| (home.default_pool(), Pool::usual(home))).collect(),
            allocations: FxHashMap::default(),
            created: 2 * MAX_DEVICES,
            current: std::array::from_fn(default_of),
        }
    }
}

fn with_pools<T>(shared: &'static Shared, use_them: impl FnOnce(&mut Pools) -> T) -> T {
    use_them(&mut shared.pools.lock())
}

/// Changes a pool, if it exists.
fn with_pool<T>(
    shared: &'static Shared,
    pool: PoolHandle,
    use_it: impl FnOnce(&mut Pool) -> Result<T>,
) -> Result<T> {
    with_pools(shared, |pools| use_it(pools.live.get_mut(&pool).ok_or(Error::InvalidValue)?))
}

/// The current pool of a device.
pub(crate) fn current_pool(shared: &'static Shared, device: usize) -> PoolHandle {
    Home::of_device(device).current_pool(shared)
}

/// Sets the current pool.
pub(crate) fn set_current_pool(shared: &'static Shared, home: Home, pool: PoolHandle) -> Result<()> {
    with_pool(shared, pool, |pool| if pool.home == home { Ok(()) } else { Err(Error::InvalidValue) })?;
    with_pools(shared, |pools| {
        *pools.current.get_mut(home.number()).ok_or(Error::InvalidDevice)? = pool;
        Ok(())
    })
}

/// Grants or revokes a device's access to a pool. The pool's own device always has access.
pub(crate) fn set_access(
    shared: &'static Shared,
    pool: PoolHandle,
    device: usize,
    access: bool,
) -> Result<()> {
    with_pool(shared, pool, |pool| match (pool.home.device == device, access) {
        (true, true) => Ok(()),
        (true, false) => Err(Error::InvalidDevice),
        (false, true) => {
            pool.reached_by |= 1 << device;
            Ok(())
        }
        (false, false) => {
            pool.reached_by &= !(1 << device);
            Ok(())
        }
    })
}

/// Tells whether a device's kernels can access a pool.
pub(crate) fn has_access(shared: &'static Shared, pool: PoolHandle, device: usize) -> Result<bool> {
    with_pool(shared, pool, |pool| {
        Ok(pool.home.device == device || pool.home.is_managed || pool.reached_by & (1 << device) != 0)
    })
}

/// Tells whether a device's kernels can access the memory at an address through its pool.
pub(crate) fn reaches(shared: &'static Shared, device: usize, address: u64) -> bool {
    pool_of(shared, address).is_some_and(|pool| has_access(shared, pool, device).unwrap_or(false))
}

/// Rejects memory without pools. Pools exist for pinned memory (1) of devices (1) and for managed
/// memory (2), whose location is only a preference.
pub(crate) fn home_of_location(location: MemoryLocation, kind: c_int) -> Result<Home> {
    match (location.kind, kind) {
        (1, 1) => ordinal(location.id).map(Home::of_device),
        (1, 2) => ordinal(location.id).map(Home::managed),
        (0 | 2..=4, 2) => Ok(Home::managed(current_device())),
        (0..=6, 1 | 2) => Err(Error::NotSupported),
        _ => Err(Error::InvalidValue),
    }
}

/// Rejects a handle that names no pool.
pub(crate) fn check(shared: &'static Shared, pool: PoolHandle) -> Result<()> {
    with_pool(shared, pool, |_| Ok(()))
}

fn insert(shared: &'static Shared, pool: Pool) -> PoolHandle {
    with_pools(shared, |pools| {
        pools.created += 1;
        let handle = PoolHandle(POOLS | (pools.created << 4));
        pools.live.insert(handle, pool);
        handle
    })
}

/// Creates a pool that can be exported by these handle types.
pub(crate) fn create(shared: &'static Shared, home: Home, handle_types: c_int) -> Result<PoolHandle> {
    let sharing = match handle_types {
        0 => Sharing::Private,
        FILE_DESCRIPTOR if !home.is_managed => {
            Sharing::Exportable(Arc::new(Pages::anonymous(0).map_err(|_| Error::OperatingSystem)?))
        }
        _ => return Err(Error::NotSupported),
    };
    Ok(insert(shared, Pool::new(home, sharing)))
}

/// Stores a file descriptor for an exportable pool. The caller owns the descriptor.
pub(crate) fn export(
    shared: &'static Shared,
    result: Out<c_void>,
    pool: PoolHandle,
    handle_type: c_int,
    flags: u64,
) -> Result<()> {
    result.check()?;
    if handle_type != FILE_DESCRIPTOR || flags != 0 {
        return Err(Error::InvalidValue);
    }
    let pages = with_pool(shared, pool, |pool| match &pool.sharing {
        Sharing::Exportable(pages) => Ok(Arc::clone(pages)),
        _ => Err(Error::InvalidValue),
    })?;
    let descriptor = pages.descriptor().try_clone_to_owned().map_err(|_| Error::OperatingSystem)?;
    Out::new(result.pointer().cast()).set(descriptor.into_raw_fd())
}

/// A pool for the memory of the pool behind a file descriptor.
pub(crate) fn import(
    shared: &'static Shared,
    result: Out<PoolHandle>,
    descriptor: Address,
    handle_type: c_int,
    flags: u64,
) -> Result<()> {
    result.check()?;
    if handle_type != FILE_DESCRIPTOR || flags != 0 {
        return Err(Error::InvalidValue);
    }
    let pages = pages_of_descriptor(shared, descriptor.0 as c_int)?;
    if pages.size() != 0 {
        return Err(Error::InvalidValue);
    }
    result.set(insert(shared, Pool::new(Home::of_device(current_device()), Sharing::Imported(pages))))
}

/// Identity of an exportable pool's file.
pub(crate) fn exported_identity(shared: &'static Shared, pool: PoolHandle) -> Result<FileIdentity> {
    with_pool(shared, pool, |pool| match &pool.sharing {
        Sharing::Exportable(pages) => pages.identity().map_err(|_| Error::OperatingSystem),
        _ => Err(Error::InvalidValue),
    })
}

/// Identity of an imported pool's file.
pub(crate) fn imported_identity(shared: &'static Shared, pool: PoolHandle) -> Result<FileIdentity> {
    with_pool(shared, pool, |pool| match &pool.sharing {
        Sharing::Imported(pages) => pages.identity().map_err(|_| Error::OperatingSystem),
        _ => Err(Error::InvalidValue),
    })
}

/// The pool of an allocation.
pub(crate) fn pool_of(shared: &'static Shared, address: u64) -> Option<PoolHandle> {
    with_pools(shared, |pools| pools.allocations.get(&address).map(|(pool, _)| *pool))
}

/// Records an allocation from a pool.
pub(crate) fn note_allocation(shared: &'static Shared, pool: PoolHandle, address: u64, size: u64) {
    with_pools(shared, |pools| {
        pools.allocations.insert(address, (pool, size));
        if let Some(pool) = pools.live.get_mut(&pool) {
            pool.used += size;
            pool.used_high = pool.used_high.max(pool.used);
        }
    });
}

/// Destroys a created pool. Allocations of the pool remain until they are freed.
pub(crate) fn destroy(shared: &'static Shared, pool: PoolHandle) -> Result<()> {
    if (0..visible_devices::count()).flat_map(homes).any(|home| pool == home.default_pool()) {
        return Err(Error::InvalidValue);
    }
    with_pools(shared, |pools| {
        pools.live.remove(&pool).ok_or(Error::InvalidValue)?;
        for (number, current) in pools.current.iter_mut().enumerate() {
            if *current == pool {
                *current = default_of(number);
            }
        }
        Ok(())
    })
}

/// Stores an attribute of 4 or 8 bytes.
pub(crate) fn get_attribute(
    shared: &'static Shared,
    pool: PoolHandle,
    number: c_int,
    value: Out<c_void>,
) -> Result<()> {
    value.check()?;
    let value = value.pointer();
    let pool = with_pool(shared, pool, |pool| Ok(pool.clone()))?;
    let word = match number {
        attribute::REUSE_FIRST..=attribute::REUSE_LAST => {
            let index = (number - attribute::REUSE_FIRST) as usize;
            return Out::new(value.cast()).set(pool.reuse[index]);
        }
        attribute::RELEASE_THRESHOLD => pool.release_threshold,
        attribute::RESERVED_CURRENT | attribute::USED_CURRENT => pool.used,
        attribute::RESERVED_HIGH | attribute::USED_HIGH => pool.used_high,
        _ => return Err(Error::InvalidValue),
    };
    Out::new(value.cast()).set(word)
}

/// Sets an attribute. A high-water mark accepts only 0, which resets it.
pub(crate) fn set_attribute(
    shared: &'static Shared,
    pool: PoolHandle,
    number: c_int,
    value: *const c_void,
) -> Result<()> {
    if value.is_null() {
        return Err(Error::InvalidValue);
    }
    with_pool(shared, pool, |pool| {
        match number {
            attribute::REUSE_FIRST..=attribute::REUSE_LAST => {
                // SAFETY: by the API's contract the values of these attributes have type `int`.
                let flag = unsafe { value.cast::<c_int>().read_unaligned() };
                pool.reuse[(number - attribute::REUSE_FIRST) as usize] = flag;
            }
            attribute::RELEASE_THRESHOLD | attribute::RESERVED_HIGH | attribute::USED_HIGH => {
                // SAFETY: by the API's contract the values of these attributes are 64-bit numbers.
                let word = unsafe { value.cast::<u64>().read_unaligned() };
                match (number, word) {
                    (attribute::RELEASE_THRESHOLD, _) => pool.release_threshold = word,
                    (_, 0) => pool.used_high = pool.used,
                    _ => return Err(Error::InvalidValue),
                }
            }
            _ => return Err(Error::InvalidValue),
        }
        Ok(())
    })
}

/// Removes a freed allocation.
pub(crate) fn forget_allocation(shared: &'static Shared, address: u64) {
    with_pools(shared, |pools| {
        if let Some((pool, size)) = pools.allocations.remove(&address)
            && let Some(pool) = pools.live.get_mut(&pool)
        {
            pool.used -= size;
        }
    });
}

/// Removes the allocations and settings of a device that is being reset.
pub(crate) fn forget_everything(shared: &'static Shared, device: usize) {
    with_pools(shared, |pools| {
        pools.live.retain(|_, pool| pool.home.device != device);
        let Pools { live, allocations, current, .. } = pools;
        allocations.retain(|_, (pool, _)| live.contains_key(pool));
        for home in homes(device) {
            live.insert(home.default_pool(), Pool::usual(home));
            if let Some(current) = current.get_mut(home.number()) {
                *current = home.default_pool();
            }
        }
    });
}

/// Memory that a pool allocates from; an error for a pool of another process.
pub(crate) fn home_to_allocate(shared: &'static Shared, pool: PoolHandle) -> Result<Home> {
    with_pool(shared, pool, |pool| match pool.sharing {
        Sharing::Imported(_) => Err(Error::InvalidValue),
        _ => Ok(pool.home),
    })
}

//! The objects of the process: those of each device, and those that belong to no single device.

use crate::abi::EventHandle;
use crate::abi::handle::MAX_DEVICES;
use crate::host::{environment, visible_devices};
use crate::objects::device::DeviceObjects;
use crate::objects::interprocess::{Opened, SharedEvent};
use crate::objects::library::Libraries;
use crate::objects::managed::Ranges;
use crate::objects::notification::Registered;
use crate::objects::ownership::Owned;
use crate::objects::pool::Pools;
use crate::objects::sass_only::Refusals;
use crate::objects::{external_memory, virtual_memory};
use crate::profile::Profile;
use functional::memory::Allocation;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};

/// Objects of the process.
pub(crate) struct Shared {
    /// Number of devices in the machine, as NVML reports.
    pub(crate) all_devices: usize,
    /// Visible devices: device number by ordinal.
    pub(crate) visible: Vec<usize>,
    /// Objects of the devices in use, by ordinal.
    devices: [OnceLock<DeviceObjects>; MAX_DEVICES],
    /// Fault code of each device once a call has returned it; 0 before.
    pub(crate) sticky: [AtomicU32; MAX_DEVICES],
    /// Bit mask per device of the other devices whose memory it can access.
    pub(crate) reached: [AtomicU32; MAX_DEVICES],
    /// Objects of created contexts.
    pub(crate) owned: Mutex<Owned>,
    pub(crate) pools: Mutex<Pools>,
    pub(crate) managed: Mutex<Ranges>,
    /// Flags of host and managed memory by address.
    pub(crate) allocation_flags: Mutex<FxHashMap<u64, u32>>,
    /// Allocations with requested synchronous copies. All copies are synchronous here.
    pub(crate) synchronous: Mutex<FxHashSet<u64>>,
    pub(crate) physical: Mutex<virtual_memory::Table>,
    pub(crate) external: Mutex<external_memory::Table>,
    pub(crate) opened: Mutex<Opened>,
    pub(crate) shared_events: Mutex<FxHashMap<EventHandle, Arc<SharedEvent>>>,
    pub(crate) libraries: Mutex<Libraries>,
    /// Held while a device loads code that others may load too.
    pub(crate) loading: Mutex<()>,
    pub(crate) notifications: Mutex<Registered>,
    /// Kernels that were refused.
    pub(crate) refused: Mutex<Refusals>,
    /// PTX targets already reported as too new for the device.
    pub(crate) told_targets: Mutex<FxHashSet<u32>>,
}

impl Shared {
    fn new() -> Self {
        let all_devices = wanted_devices();
        let visible = visible_devices(all_devices);
        Self {
            all_devices,
            devices: Default::default(),
            sticky: Default::default(),
            reached: Default::default(),
            owned: Mutex::default(),
            pools: Mutex::new(Pools::of_devices(visible.len())),
            visible,
            managed: Mutex::default(),
            allocation_flags: Mutex::default(),
            synchronous: Mutex::default(),
            physical: Mutex::default(),
            external: Mutex::default(),
            opened: Mutex::default(),
            shared_events: Mutex::default(),
            libraries: Mutex::default(),
            loading: Mutex::default(),
            notifications: Mutex::default(),
            refused: Mutex::default(),
            told_targets: Mutex::default(),
        }
    }

    /// Adds the objects of a device that is being started.
    pub(crate) fn add(&self, device: DeviceObjects) -> Option<&DeviceObjects> {
        let place = self.devices.get(device.ordinal)?;
        Some(place.get_or_init(|| device))
    }
}

/// Number of devices in the options; one by default.
fn wanted_devices() -> usize {
    environment::options().devices.map_or(1, |devices| devices.get() as usize)
}

/// The devices in `CUDA_VISIBLE_DEVICES`, or all. `CUDA_DEVICE_ORDER` has no effect, since all
/// devices are equal.
fn visible_devices(all: usize) -> Vec<usize> {
    let everything = || (0..all).collect();
    let Some(value) = &environment::cuda().visible_devices else { return everything() };
    // An invalid profile is reported when a device starts.
    let Ok(profile) = Profile::from_environment() else { return everything() };
    let uuids: Vec<_> = (0..all).map(|number| profile.clone().numbered(number).uuid_text()).collect();
    visible_devices::visible(value, &uuids)
}

static SHARED: OnceLock<Shared> = OnceLock::new();

/// The objects of the process.
pub(crate) fn shared() -> &'static Shared {
    SHARED.get_or_init(Shared::new)
}

/// The objects of the process, if a call has needed them.
pub(crate) fn in_use() -> Option<&'static Shared> {
    SHARED.get()
}

/// Number of visible devices.
pub(crate) fn device_count() -> usize {
    shared().visible.len()
}

/// All devices used so far.
pub(crate) fn started() -> impl Iterator<Item = &'static DeviceObjects> {
    shared().devices.iter().filter_map(OnceLock::get)
}

/// The device with a live allocation at an address.
pub(crate) fn owner_of(address: u64) -> Option<(&'static DeviceObjects, Allocation)> {
    started().find_map(|device| Some((device, device.device.memory.allocation_of(address)?)))
}

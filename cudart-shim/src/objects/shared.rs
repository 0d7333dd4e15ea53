//! The objects of the process: those of each device, and those that belong to no single device.

use crate::abi::EventHandle;
use crate::abi::handle::MAX_DEVICES;
use crate::objects::device::DeviceObjects;
use crate::objects::interprocess::{Opened, SharedEvent};
use crate::objects::known_resources::GivenRegisters;
use crate::objects::library::Libraries;
use crate::objects::managed::Ranges;
use crate::objects::notification::Registered;
use crate::objects::ownership::Owned;
use crate::objects::pool::Pools;
use crate::objects::{external_memory, virtual_memory};
use crate::profile::visible_devices;
use functional::memory::Allocation;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};

/// Objects of the process.
pub(crate) struct Shared {
    /// Objects of the devices in use, by ordinal.
    devices: [OnceLock<DeviceObjects>; MAX_DEVICES],
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
    /// Registers that the options give to kernels.
    pub(crate) given_registers: GivenRegisters,
    /// PTX targets already reported as too new for the device.
    pub(crate) told_targets: Mutex<FxHashSet<u32>>,
}

impl Shared {
    /// The state before the first call.
    pub(crate) fn new() -> Self {
        Self {
            devices: Default::default(),
            reached: Default::default(),
            owned: Mutex::default(),
            pools: Mutex::new(Pools::of_devices(visible_devices::count())),
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
            given_registers: GivenRegisters::of_options(),
            told_targets: Mutex::default(),
        }
    }

    /// Adds the objects of a device that is being started.
    pub(crate) fn add(&self, device: DeviceObjects) -> Option<&DeviceObjects> {
        let place = self.devices.get(device.ordinal)?;
        Some(place.get_or_init(|| device))
    }

    /// All devices used so far.
    pub(crate) fn started(&'static self) -> impl Iterator<Item = &'static DeviceObjects> {
        self.devices.iter().filter_map(OnceLock::get)
    }

    /// The device with a live allocation at an address.
    pub(crate) fn owner_of(&'static self, address: u64) -> Option<(&'static DeviceObjects, Allocation)> {
        self.started().find_map(|device| Some((device, device.device.memory.allocation_of(address)?)))
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

//! Process state: the devices, and state that belongs to no single device. This is the only global
//! state of the simulator. API-visible state is a field here or in [`Simulator`].

use crate::abi::error::Result;
use crate::abi::handle::MAX_DEVICES;
use crate::abi::{EventHandle, FunctionHandle};
use crate::host::{environment, visible_devices};
use crate::objects::context_storage::ContextStorage;
use crate::objects::interprocess::{Opened, SharedEvent};
use crate::objects::legacy_launch::Setting;
use crate::objects::library::Libraries;
use crate::objects::linker::Links;
use crate::objects::managed::Ranges;
use crate::objects::notification::Registered;
use crate::objects::ownership::Owned;
use crate::objects::pool::Pools;
use crate::objects::{external_memory, virtual_memory};
use crate::profile::Profile;
use crate::session::checkpoint::{self, Checkpoints};
use crate::session::context::Contexts;
use crate::session::sass_only;
use crate::session::simulator::Simulator;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, OnceLock};

/// The simulator state of the process.
pub(crate) struct Process {
    /// Number of devices in the machine, as NVML reports.
    pub(crate) all_devices: usize,
    /// Visible devices: device number by ordinal.
    pub(crate) visible: Vec<usize>,
    /// Devices, each created at its first use.
    pub(crate) devices: [OnceLock<Result<Simulator>>; MAX_DEVICES],
    /// Number of kernel launches so far.
    pub(crate) launches: AtomicU64,
    /// Set in a child forked after a device was used.
    pub(crate) forked: AtomicBool,
    /// Set once the program or the runtime called `cuInit`.
    pub(crate) driver_initialized: AtomicBool,
    /// Fault code of each device once a call has returned it; 0 before.
    pub(crate) sticky: [AtomicU32; MAX_DEVICES],
    /// Bit mask per device of the other devices whose memory it can access.
    pub(crate) reached: [AtomicU32; MAX_DEVICES],
    pub(crate) contexts: Mutex<Contexts>,
    /// Number of ended contexts and activated primary contexts. While it is constant, contexts are
    /// unchanged.
    pub(crate) contexts_ended: AtomicU64,
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
    pub(crate) links: Mutex<Links>,
    pub(crate) legacy_launches: Mutex<FxHashMap<FunctionHandle, Setting>>,
    pub(crate) context_storage: Mutex<ContextStorage>,
    /// Changed core dump settings.
    pub(crate) core_dump: Mutex<FxHashMap<c_int, Vec<u8>>>,
    pub(crate) notifications: Mutex<Registered>,
    /// Kernels that were refused.
    pub(crate) refused: Mutex<sass_only::Refusals>,
    /// PTX targets already reported as too new for the device.
    pub(crate) told_targets: Mutex<FxHashSet<u32>>,
    /// Checkpoint state.
    pub(crate) checkpoints: std::result::Result<Option<Checkpoints>, checkpoint::Refused>,
}

impl Process {
    fn new() -> Self {
        let all_devices = wanted_devices();
        let visible = visible_devices(all_devices);
        Self {
            all_devices,
            devices: Default::default(),
            launches: AtomicU64::default(),
            forked: AtomicBool::default(),
            driver_initialized: AtomicBool::default(),
            sticky: Default::default(),
            reached: Default::default(),
            contexts: Mutex::default(),
            contexts_ended: AtomicU64::default(),
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
            links: Mutex::default(),
            legacy_launches: Mutex::default(),
            context_storage: Mutex::default(),
            core_dump: Mutex::default(),
            notifications: Mutex::default(),
            refused: Mutex::default(),
            told_targets: Mutex::default(),
            checkpoints: Checkpoints::from_environment(),
        }
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

static PROCESS: OnceLock<Process> = OnceLock::new();

pub(crate) fn process() -> &'static Process {
    PROCESS.get_or_init(Process::new)
}

/// The process state, if it exists.
pub(crate) fn started() -> Option<&'static Process> {
    PROCESS.get()
}

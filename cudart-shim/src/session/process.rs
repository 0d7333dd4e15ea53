//! What the process has: its devices, and what calls have made that belongs to no single one. The only global state of the
//! simulator; what a program can observe of the API later is a field here or in [`Simulator`].

use crate::abi::error::Result;
use crate::abi::{EventHandle, FunctionHandle};
use crate::api::driver::legacy_launch::Setting;
use crate::api::driver::linker::Links;
use crate::api::export_table::ContextStorage;
use crate::host::{environment, visible_devices};
use crate::objects::interprocess::{Opened, SharedEvent};
use crate::objects::library::Libraries;
use crate::objects::managed::Ranges;
use crate::objects::notification::Registered;
use crate::objects::ownership::Owned;
use crate::objects::pool::Pools;
use crate::objects::{external_memory, virtual_memory};
use crate::profile::Profile;
use crate::session::checkpoint::{self, Checkpoints};
use crate::session::context::Contexts;
use crate::session::sass_only;
use crate::session::simulator::{MAX_DEVICES, Simulator};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, OnceLock};

/// The simulator as the process has it.
pub(crate) struct Process {
    /// Devices of the machine, which NVML shows.
    pub(crate) all_devices: usize,
    /// Devices that the program sees: for each ordinal the number among all devices.
    pub(crate) visible: Vec<usize>,
    /// The devices, each once something has used it.
    pub(crate) devices: [OnceLock<Result<Simulator>>; MAX_DEVICES],
    /// Launches of kernels that the program has asked for.
    pub(crate) launches: AtomicU64,
    /// This is a child that was forked after a device was used.
    pub(crate) forked: AtomicBool,
    /// `cuInit` has been called, by the program or by the runtime.
    pub(crate) driver_initialized: AtomicBool,
    /// Code of each device's fault once some call has returned it; 0 before.
    pub(crate) sticky: [AtomicU32; MAX_DEVICES],
    /// For each device a bit for every other whose memory it reaches.
    pub(crate) reached: [AtomicU32; MAX_DEVICES],
    pub(crate) contexts: Mutex<Contexts>,
    /// Counts contexts that ended, and primary ones that became active: an unchanged count means
    /// unchanged contexts.
    pub(crate) contexts_ended: AtomicU64,
    /// Objects of the contexts that the program has created.
    pub(crate) owned: Mutex<Owned>,
    pub(crate) pools: Mutex<Pools>,
    pub(crate) managed: Mutex<Ranges>,
    /// Flags that host and managed memory was allocated or registered with, by address.
    pub(crate) allocation_flags: Mutex<FxHashMap<u64, u32>>,
    /// Addresses of allocations of which the program wants copies to be synchronous, as all are here.
    pub(crate) synchronous: Mutex<FxHashSet<u64>>,
    pub(crate) physical: Mutex<virtual_memory::Table>,
    pub(crate) external: Mutex<external_memory::Table>,
    pub(crate) opened: Mutex<Opened>,
    pub(crate) shared_events: Mutex<FxHashMap<EventHandle, Arc<SharedEvent>>>,
    pub(crate) libraries: Mutex<Libraries>,
    /// Held by a device that loads code which others may load too.
    pub(crate) loading: Mutex<()>,
    pub(crate) links: Mutex<Links>,
    pub(crate) legacy_launches: Mutex<FxHashMap<FunctionHandle, Setting>>,
    pub(crate) context_storage: Mutex<ContextStorage>,
    /// Settings of core dumps that were changed.
    pub(crate) core_dump: Mutex<FxHashMap<c_int, Vec<u8>>>,
    pub(crate) notifications: Mutex<Registered>,
    /// Kernels that cannot be launched.
    pub(crate) refused: Mutex<sass_only::Refusals>,
    /// Targets of PTX of which it was said that they are too young for the device.
    pub(crate) told_targets: Mutex<FxHashSet<u32>>,
    /// Whether the run is saved or resumed.
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

/// What `VOLTSIM_DEVICES` says, else one.
fn wanted_devices() -> usize {
    let wanted = environment::number("VOLTSIM_DEVICES").unwrap_or(1);
    let count = usize::try_from(wanted).unwrap_or(usize::MAX).clamp(1, MAX_DEVICES);
    if u64::try_from(count) != Ok(wanted) {
        eprintln!("voltsim: VOLTSIM_DEVICES={wanted}: must be 1 to {MAX_DEVICES}; using {count}");
    }
    count
}

/// Devices that `CUDA_VISIBLE_DEVICES` shows, all without it. `CUDA_DEVICE_ORDER` makes no
/// difference, as devices are alike.
fn visible_devices(all: usize) -> Vec<usize> {
    let everything = || (0..all).collect();
    let Some(value) = std::env::var_os("CUDA_VISIBLE_DEVICES") else { return everything() };
    // A mistake in the profile is told when a device starts.
    let Ok(profile) = Profile::from_environment() else { return everything() };
    let uuids: Vec<_> = (0..all).map(|number| profile.clone().numbered(number).uuid_text()).collect();
    visible_devices::visible(&value.to_string_lossy(), &uuids)
}

static PROCESS: OnceLock<Process> = OnceLock::new();

/// The process's one.
pub(crate) fn process() -> &'static Process {
    PROCESS.get_or_init(Process::new)
}

/// The process's one, if something has asked for it.
pub(crate) fn started() -> Option<&'static Process> {
    PROCESS.get()
}

//! State of the session: devices with their pipelines, and state that belongs to no single device.
//! Objects of the program are in [`Shared`].

use crate::abi::FunctionHandle;
use crate::abi::error::Result;
use crate::abi::handle::MAX_DEVICES;
use crate::objects::context_storage::ContextStorage;
use crate::objects::jit_link::JitLinks;
use crate::objects::legacy_launch::Setting;
use crate::objects::linker::Links;
use crate::objects::shared::Shared;
use crate::session::checkpoint::{self, Checkpoints};
use crate::session::context::Contexts;
use crate::session::simulator::Simulator;
use crate::session::state::Session;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::ffi::c_int;
use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// The simulator state of the process.
pub(crate) struct Process {
    /// Objects of the process.
    shared: &'static Shared,
    /// Devices, each created at its first use.
    pub(crate) devices: [OnceLock<Result<Simulator>>; MAX_DEVICES],
    /// Number of kernel launches so far.
    pub(crate) launches: AtomicU64,
    /// Set in a child forked after a device was used.
    pub(crate) forked: AtomicBool,
    /// Set once the program or the runtime called `cuInit`.
    pub(crate) driver_initialized: AtomicBool,
    pub(crate) contexts: Mutex<Contexts>,
    /// Number of ended contexts and activated primary contexts. While it is constant, contexts are
    /// unchanged.
    pub(crate) contexts_ended: AtomicU64,
    pub(crate) links: Mutex<Links>,
    pub(crate) jit_links: Mutex<JitLinks>,
    pub(crate) legacy_launches: Mutex<FxHashMap<FunctionHandle, Setting>>,
    pub(crate) context_storage: Mutex<ContextStorage>,
    /// Changed core dump settings.
    pub(crate) core_dump: Mutex<FxHashMap<c_int, Vec<u8>>>,
    /// Checkpoint state.
    pub(crate) checkpoints: std::result::Result<Option<Checkpoints>, checkpoint::Refused>,
}

impl Process {
    fn new(session: &'static Session) -> Self {
        Self {
            shared: session.shared(),
            devices: Default::default(),
            launches: AtomicU64::default(),
            forked: AtomicBool::default(),
            driver_initialized: AtomicBool::default(),
            contexts: Mutex::default(),
            contexts_ended: AtomicU64::default(),
            links: Mutex::default(),
            jit_links: Mutex::default(),
            legacy_launches: Mutex::default(),
            context_storage: Mutex::default(),
            core_dump: Mutex::default(),
            checkpoints: Checkpoints::from_environment(session),
        }
    }
}

impl Deref for Process {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        self.shared
    }
}

impl Session {
    /// State of the process.
    pub(crate) fn process(&'static self) -> &'static Process {
        self.process.get_or_init(|| Process::new(self))
    }

    /// State of the process, if it exists.
    pub(crate) fn existing_process(&'static self) -> Option<&'static Process> {
        self.process.get()
    }
}

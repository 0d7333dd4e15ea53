//! Objects of one device.

use crate::abi::error::Result;
use crate::host::standard_output::print;
use crate::objects::array::Arrays;
use crate::objects::fault::DeviceFault;
use crate::objects::graph_memory::Account;
use crate::objects::limits::Limits;
use crate::objects::module::Modules;
use crate::objects::shared::Shared;
use crate::objects::texture::Objects;
use crate::objects::texture_reference::References;
use crate::profile::Profile;
use functional::device::Device;
use parking_lot::Mutex;
use saved_run::Registration;
use std::collections::BTreeMap;
use std::sync::Arc;
use stream_engine::Engine;
use stream_engine::Scope;

/// Rejects a call that may wait for the device while streams are captured.
type CaptureRule = Box<dyn Fn() -> Result<()> + Send + Sync>;

/// A device with its engines and its objects.
pub(crate) struct DeviceObjects {
    /// Objects of the process.
    pub(crate) shared: &'static Shared,
    /// Ordinal among the visible devices.
    pub(crate) ordinal: usize,
    pub(crate) profile: Profile,
    pub(crate) device: Arc<Device>,
    pub(crate) engine: Engine<DeviceFault>,
    pub(crate) modules: Mutex<Modules>,
    pub(crate) arrays: Mutex<Arrays>,
    pub(crate) objects: Mutex<Objects>,
    pub(crate) references: Mutex<References>,
    pub(crate) limits: Mutex<Limits>,
    pub(crate) graph_memory: Mutex<Account>,
    /// All registrations of host memory by number, including those that ended.
    pub(crate) registered: Mutex<BTreeMap<u64, Registration>>,
    capture_rule: CaptureRule,
}

impl DeviceObjects {
    /// A device without objects.
    pub(crate) fn new(
        shared: &'static Shared,
        ordinal: usize,
        profile: Profile,
        device: Device,
        engine: Engine<DeviceFault>,
        capture_rule: CaptureRule,
    ) -> Self {
        Self {
            shared,
            ordinal,
            profile,
            device: Arc::new(device),
            engine,
            modules: Mutex::new(Modules::of_device(ordinal)),
            arrays: Mutex::new(Arrays::of_device(ordinal)),
            objects: Mutex::new(Objects::of_device(ordinal)),
            references: Mutex::default(),
            limits: Mutex::default(),
            graph_memory: Mutex::default(),
            registered: Mutex::default(),
            capture_rule,
        }
    }

    /// Rejects a call that may wait for the device while streams are captured: immediate allocation
    /// and release.
    pub(crate) fn check_unsafe_call(&self) -> Result<()> {
        (self.capture_rule)()
    }

    /// Waits for the streams in `scope`, then flushes kernel output.
    pub(crate) fn synchronize(&self, scope: Scope) -> Result<()> {
        let result = self.engine.synchronize(scope);
        self.pass_on_printed_text();
        Ok(result?)
    }

    /// Writes kernel output to the program's standard output. CUDA does this at synchronising calls
    /// (programming guide, "Formatted Output").
    pub(crate) fn pass_on_printed_text(&self) {
        print(&self.device.take_printed());
    }
}

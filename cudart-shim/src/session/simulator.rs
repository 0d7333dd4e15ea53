//! Simulated devices of the process, each with profile, memory and stream engine.
//!
//! A device is created at the first call that needs it, so a program that only links CUDA pays
//! nothing.

use crate::abi::FunctionHandle;
use crate::abi::error::{Error, Result};
use crate::graph::GraphDevice;
use crate::host::environment;
use crate::host::standard_output::print;
use crate::objects::device::DeviceObjects;
use crate::objects::module::Kernel;
use crate::objects::peer;
use crate::objects::virtual_memory;
use crate::profile::{Attribute, Profile, modelled_capability, visible_devices};
use crate::session::accesses;
use crate::session::checkpoint;
use crate::session::checksums;
use crate::session::context;
use crate::session::context::ordinal;
use crate::session::coverage::coverage;
use crate::session::ending;
use crate::session::kernel_stream;
use crate::session::model::{self, Model};
use crate::session::recording;
use crate::session::sanitizer_report;
use crate::session::signals;
use crate::session::state::Session;
use crate::session::stream_attribute::Values;
use functional::device::{Device, DeviceSpec, Settings};
use functional::memory::Allocation;
use parking_lot::Mutex;
use ptx_frontend::lower::Target;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use stream_engine::{Clock, Config, Engine, HostClock, Scope, Start, is_engine_thread};
use warp_stream::ShapeLimits;

/// A device of the process: objects, graphs, and the launch pipeline.
pub(crate) struct Simulator {
    base: GraphDevice,
    pub(crate) session: &'static Session,
    /// Timing model, if enabled.
    pub(crate) model: Option<Model>,
    pub(crate) stream_attributes: Mutex<Values>,
}

impl Deref for Simulator {
    type Target = GraphDevice;

    fn deref(&self) -> &GraphDevice {
        &self.base
    }
}

impl Session {
    /// Number of visible devices.
    pub(crate) fn device_count(&'static self) -> usize {
        visible_devices::count()
    }

    /// The thread's current device. Fails in a child forked after the device was used, and in host
    /// functions, which must not call CUDA.
    pub(crate) fn simulator(&'static self) -> Result<&'static Simulator> {
        self.simulator_of(context::current_device())
    }

    /// A device by number.
    pub(crate) fn simulator_of(&'static self, ordinal: usize) -> Result<&'static Simulator> {
        let process = self.process();
        if process.forked.load(Ordering::Relaxed) {
            return Err(Error::InitializationError);
        }
        if is_engine_thread() {
            return Err(Error::NotPermitted);
        }
        if visible_devices::count() == 0 {
            return Err(Error::NoDevice);
        }
        if ordinal >= visible_devices::count() {
            return Err(Error::InvalidDevice);
        }
        let place = process.devices.get(ordinal).ok_or(Error::InvalidDevice)?;
        place.get_or_init(|| Simulator::start(self, ordinal)).as_ref().map_err(|error| *error)
    }

    /// All devices used so far.
    pub(crate) fn started(&'static self) -> impl Iterator<Item = &'static Simulator> {
        self.process().devices.iter().filter_map(|place| place.get()?.as_ref().ok())
    }

    /// The device with a live allocation at an address.
    pub(crate) fn owner_of(&'static self, address: u64) -> Option<(&'static Simulator, Allocation)> {
        self.started()
            .find_map(|simulator| Some((simulator, simulator.device.memory.allocation_of(address)?)))
    }

    /// The simulator of a device and the kernel loaded there.
    pub(crate) fn kernel_on(
        &'static self,
        kernel: FunctionHandle,
        device: c_int,
    ) -> Result<(&'static Simulator, Arc<Kernel>)> {
        let simulator = self.simulator_of(ordinal(device)?)?;
        Ok((simulator, simulator.kernel(kernel)?))
    }

    /// Rejects a call that may wait for a device while streams are captured.
    fn check_unsafe_call(&'static self, ordinal: usize) -> Result<()> {
        let started = self.process().devices.get(ordinal).and_then(|place| place.get()?.as_ref().ok());
        started.map_or(Ok(()), |simulator| simulator.check_unsafe_call())
    }

    /// Marks the objects of a child after a fork.
    pub(crate) fn after_fork_in_child(&'static self) {
        self.process().forked.store(true, Ordering::Relaxed);
        for simulator in self.started() {
            simulator.engine.after_fork_in_child();
        }
    }
}

/// Most resident grids of a device (CUDA programming guide, table of compute capabilities: 128 for
/// 7.0).
const RESIDENT_GRIDS: usize = 128;

/// Starts threads with all signals blocked except synchronous faults, so that the program's threads
/// receive signals.
pub(crate) fn start_without_signals(start: &mut dyn FnMut()) {
    let (mut signals, mut before) = (MaybeUninit::<libc::sigset_t>::uninit(), MaybeUninit::uninit());
    // SAFETY: each set is initialised before use.
    unsafe {
        libc::sigfillset(signals.as_mut_ptr());
        for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS] {
            libc::sigdelset(signals.as_mut_ptr(), fault);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, signals.as_ptr(), before.as_mut_ptr());
        start();
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
    }
}

/// Tells whether untimed CTAs execute in a fixed order.
pub(crate) fn is_deterministic() -> bool {
    environment::options().deterministic == Some(true)
}

fn settings(session: &'static Session, profile: &Profile) -> Settings {
    let options = environment::options();
    Settings {
        threads: options.threads.map_or(0, |count| count as usize),
        deterministic: is_deterministic(),
        watchdog: options
            .watchdog
            .filter(|seconds| seconds.0 > 0)
            .map(|seconds| Duration::from_secs(seconds.0.into())),
        fmad: options.fmad != Some(false),
        timed: model::gpu_name(session).is_some()
            || recording::is_wanted(session)
            || accesses::is_wanted(session)
            || checkpoint::is_inside_launch(session),
        target: Target::of_capability(modelled_capability().unwrap_or_else(|| profile.capability())),
        tier: options.tier.unwrap_or_default(),
        // A checkpoint stores each kernel's output.
        print: (!checkpoint::is_saved(session)).then_some(print as fn(&[u8])),
        start_threads: start_without_signals,
        ..Settings::default()
    }
}

/// Configuration of the device's streams.
fn streams_of(session: &'static Session, modelled: bool) -> Config {
    // CUDA programming guide, "CUDA Environment Variables": launches are synchronous.
    let blocking = environment::cuda().launch_blocking;
    if blocking
        || checkpoint::is_wanted(session)
        || kernel_stream::is_wanted(session)
        || checksums::is_wanted(session)
    {
        Config { start: Start::OneAtATime, ..Config::default() }
    } else if modelled {
        // Each concurrent kernel or copy in the model occupies a thread.
        let limits =
            stream_engine::Limits { kernels: RESIDENT_GRIDS, transfers: RESIDENT_GRIDS, host_functions: 1 };
        Config { start: Start::OnDemand, limits, max_executors: 2 * RESIDENT_GRIDS + 1, ..Config::default() }
    } else {
        Config::default()
    }
}

fn device_spec(profile: &Profile) -> DeviceSpec {
    let amount = |attribute| profile.amount(attribute);
    let warp_size = amount(Attribute::WarpSize).max(1);
    DeviceSpec {
        sms: amount(Attribute::MultiprocessorCount),
        threads_per_sm: amount(Attribute::MaxThreadsPerMultiprocessor),
        warps_per_sm: amount(Attribute::MaxThreadsPerMultiprocessor) / warp_size,
        limits: ShapeLimits {
            grid: [Attribute::MaxGridDimX, Attribute::MaxGridDimY, Attribute::MaxGridDimZ].map(amount),
            block: [Attribute::MaxBlockDimX, Attribute::MaxBlockDimY, Attribute::MaxBlockDimZ].map(amount),
            threads_per_cta: amount(Attribute::MaxThreadsPerBlock),
        },
        shared_per_cta: amount(Attribute::MaxSharedMemoryPerBlockOptin),
        shared_unit: profile.occupancy.shared_memory_allocation_unit,
        clock_megahertz: amount(Attribute::ClockRate) / 1000,
        memory_bytes: profile.total_memory,
    }
}

impl Simulator {
    fn start(session: &'static Session, ordinal: usize) -> Result<Self> {
        if environment::is_refused() {
            return Err(Error::InitializationError);
        }
        if let Some(level) = environment::options().host_level {
            functional::host::limit(level);
        }
        let number = visible_devices::numbers().get(ordinal).copied().ok_or(Error::InvalidDevice)?;
        let profile =
            Profile::from_environment().map(|profile| profile.numbered(number)).map_err(|error| {
                eprintln!("voltsim: {}: {error}", Profile::variable());
                Error::InitializationError
            })?;
        let settings = settings(session, &profile);
        let model = Model::from_environment(session, settings.threads).map_err(|error| {
            eprintln!("voltsim: {error}");
            Error::InitializationError
        })?;
        let profile = match &model {
            Some(model) => profile.simulated_as(model.spec()),
            None => profile,
        };
        checkpoint::admit(session, &profile)?;
        if ending::is_wanted(session) {
            signals::watch(session);
        }
        let device = Device::new(device_spec(&profile), settings).map_err(|error| {
            eprintln!("voltsim: {error}");
            Error::InitializationError
        })?;
        let device = match coverage(session) {
            Some(coverage) => device.watched_by(coverage),
            None => device,
        };
        let device = match kernel_stream::counter(session) {
            Some(work) => device.watched_by(work),
            None => device,
        };
        let device = match checkpoint::watcher(session) {
            Some(watcher) => device.watched_by(watcher),
            None => device,
        };
        let device = match sanitizer_report::checker(session) {
            Some(checker) => device.checked_by(checker),
            None => device,
        };
        let shared = session.shared();
        if session.device_count() > 1 {
            device.memory.look_elsewhere(Box::new(move |address| peer::find(shared, ordinal, address)));
        }
        device.memory.find_replicas_by(Box::new(move |address, bytes| {
            virtual_memory::replicas(shared, ordinal, address, bytes)
        }));
        // SAFETY: the handler only stores flags.
        session.fork_handler.call_once(|| unsafe {
            libc::pthread_atfork(None, None, Some(session.after_fork));
        });
        let engine = Engine::new(
            Config {
                number: ordinal,
                start_thread: start_without_signals,
                ..streams_of(session, model.is_some())
            },
            model.as_ref().map_or_else(|| Arc::new(HostClock::default()) as Arc<dyn Clock>, Model::clock),
        );
        let capture_rule = Box::new(move || session.check_unsafe_call(ordinal));
        let objects = DeviceObjects::new(shared, ordinal, profile, device, engine, capture_rule);
        Ok(Self {
            base: GraphDevice::new(shared.add(objects).ok_or(Error::InvalidDevice)?),
            session,
            model,
            stream_attributes: Mutex::default(),
        })
    }

    /// Waits for all work. An error while a stream is captured.
    pub(crate) fn synchronize_device(&self) -> Result<()> {
        self.forbid_any_capture()?;
        self.synchronize(Scope::Context)
    }
}

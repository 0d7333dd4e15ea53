//! The one simulated device of the process: its profile, its memory, and the engine that orders its streams.
//!
//! Made at the first call that needs it, so that a program that only links CUDA pays nothing.

use crate::array::Arrays;
use crate::check;
use crate::coverage::coverage;
use crate::error::{Error, Result, observe_sticky};
use crate::graph::Graphs;
use crate::log;
use crate::module::Modules;
use crate::profile::{Attribute, Profile};
use crate::texture::Objects;
use crate::texture_reference::References;
use functional::device::{Device, DeviceSpec, Settings};
use functional::memory::MemoryError;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use stream_engine::{Engine, Scope, is_engine_thread};

/// Why work on the device failed. The first failure is the context's and stays: it is *sticky*.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceFault {
    /// What every later call returns.
    pub(crate) error: Error,
}

impl stream_engine::Fault for DeviceFault {
    fn work_panicked(message: String) -> Self {
        log::report(|| format!("internal error: {message}"));
        Self { error: Error::Unknown }
    }
}

/// The device of this process.
pub(crate) struct Simulator {
    pub(crate) profile: Profile,
    pub(crate) device: Arc<Device>,
    pub(crate) engine: Engine<DeviceFault>,
    pub(crate) modules: Mutex<Modules>,
    pub(crate) arrays: Mutex<Arrays>,
    pub(crate) objects: Mutex<Objects>,
    pub(crate) references: Mutex<References>,
    pub(crate) graphs: Mutex<Graphs>,
}

static SIMULATOR: OnceLock<Result<Simulator>> = OnceLock::new();
static FORKED: AtomicBool = AtomicBool::new(false);

/// The device. Fails in a child that was forked after the device was used, and in host functions, which must not call CUDA.
pub(crate) fn simulator() -> Result<&'static Simulator> {
    if FORKED.load(Ordering::Relaxed) {
        return Err(Error::InitializationError);
    }
    if is_engine_thread() {
        return Err(Error::NotPermitted);
    }
    SIMULATOR.get_or_init(Simulator::start).as_ref().map_err(|error| *error)
}

/// The device if something has used it already.
pub(crate) fn started() -> Option<&'static Simulator> {
    SIMULATOR.get()?.as_ref().ok()
}

extern "C" fn after_fork_in_child() {
    FORKED.store(true, Ordering::Relaxed);
    if let Some(simulator) = started() {
        simulator.engine.after_fork_in_child();
    }
}

fn number_from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    let number = text.parse().ok();
    if number.is_none() {
        eprintln!("voltsim: {name}: `{text}` is not a number");
    }
    number
}

fn settings() -> Settings {
    Settings {
        threads: number_from_environment("VOLTSIM_THREADS")
            .and_then(|count| count.try_into().ok())
            .unwrap_or(0),
        deterministic: number_from_environment("VOLTSIM_DETERMINISTIC").is_some_and(|flag| flag != 0),
        watchdog: number_from_environment("VOLTSIM_WATCHDOG")
            .filter(|seconds| *seconds > 0)
            .map(Duration::from_secs),
        fmad: number_from_environment("VOLTSIM_FMAD").is_none_or(|flag| flag != 0),
    }
}

fn device_spec(profile: &Profile) -> DeviceSpec {
    let amount = |attribute| profile.amount(attribute);
    let warp_size = amount(Attribute::WarpSize).max(1);
    DeviceSpec {
        sms: amount(Attribute::MultiprocessorCount),
        threads_per_sm: amount(Attribute::MaxThreadsPerMultiprocessor),
        warps_per_sm: amount(Attribute::MaxThreadsPerMultiprocessor) / warp_size,
        threads_per_cta: amount(Attribute::MaxThreadsPerBlock),
        cta_limits: [Attribute::MaxBlockDimX, Attribute::MaxBlockDimY, Attribute::MaxBlockDimZ].map(amount),
        grid_limits: [Attribute::MaxGridDimX, Attribute::MaxGridDimY, Attribute::MaxGridDimZ].map(amount),
        shared_per_cta: amount(Attribute::MaxSharedMemoryPerBlockOptin),
        clock_megahertz: amount(Attribute::ClockRate) / 1000,
        memory_bytes: profile.total_memory,
    }
}

impl Simulator {
    fn start() -> Result<Self> {
        let profile = Profile::from_environment().map_err(|error| {
            eprintln!("voltsim: VOLTSIM_DEVICE: {error}");
            Error::InitializationError
        })?;
        let device = Device::new(device_spec(&profile), settings()).map_err(|error| {
            eprintln!("voltsim: {error}");
            Error::InitializationError
        })?;
        let device = match coverage() {
            Some(coverage) => device.watched_by(coverage),
            None => device,
        };
        let device = match check::checker() {
            Some(checker) => device.checked_by(checker),
            None => device,
        };
        // SAFETY: the handler only stores flags.
        unsafe { libc::pthread_atfork(None, None, Some(after_fork_in_child)) };
        Ok(Self {
            profile,
            device: Arc::new(device),
            engine: Engine::default(),
            modules: Mutex::default(),
            arrays: Mutex::default(),
            objects: Mutex::default(),
            references: Mutex::default(),
            graphs: Mutex::default(),
        })
    }

    /// Waits for the streams in `scope`, then passes on what kernels have printed.
    pub(crate) fn synchronize(&self, scope: Scope) -> Result<()> {
        let result = self.engine.synchronize(scope);
        self.pass_on_printed_text();
        Ok(result?)
    }

    /// Waits for all work, which cannot be while streams are captured.
    pub(crate) fn synchronize_device(&self) -> Result<()> {
        self.forbid_any_capture()?;
        self.synchronize(Scope::Context)
    }

    /// Hands what kernels printed to the program's standard output, through C's buffer so that it keeps its place among
    /// the program's own. CUDA does this at synchronising calls (programming guide, "Formatted Output").
    pub(crate) fn pass_on_printed_text(&self) {
        unsafe extern "C" {
            static mut stdout: *mut libc::FILE;
        }
        let text = self.device.take_printed();
        if !text.is_empty() {
            // SAFETY: C's own stream, and a buffer of the length given.
            unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout) };
        }
    }
}

impl From<stream_engine::Error<DeviceFault>> for Error {
    fn from(error: stream_engine::Error<DeviceFault>) -> Self {
        use stream_engine::Error as Engine;
        match error {
            Engine::UnknownStream(_)
            | Engine::DefaultStream(_)
            | Engine::UnknownEvent(_)
            | Engine::NotRecorded(_)
            | Engine::TimingDisabled(_) => Error::InvalidResourceHandle,
            Engine::NotReady(_) => Error::NotReady,
            Engine::Fault(fault) => {
                observe_sticky(fault.error);
                fault.error
            }
            Engine::ShutDown => Error::CudartUnloading,
            Engine::Forked => Error::InitializationError,
            Engine::ThreadStart(_) => Error::OperatingSystem,
        }
    }
}

impl From<MemoryError> for Error {
    fn from(error: MemoryError) -> Self {
        match error {
            MemoryError::OutOfMemory { .. } | MemoryError::Host(_) => Error::MemoryAllocation,
            MemoryError::Alignment(_)
            | MemoryError::NotAllocated(_)
            | MemoryError::StillMapped(_)
            | MemoryError::OutOfRange { .. } => Error::InvalidValue,
            MemoryError::AlreadyRegistered(_) => Error::HostMemoryAlreadyRegistered,
        }
    }
}

//! Faults of devices, and errors of the engines as error codes.

use crate::abi::error::Error;
use crate::host::log;
use crate::objects::last_error;
use functional::memory::MemoryError;

/// Fault of a device. The first fault of a context is *sticky*.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceFault {
    /// The faulting device.
    pub(crate) device: usize,
    /// Error code of every later call.
    pub(crate) error: Error,
}

impl stream_engine::Fault for DeviceFault {
    fn work_panicked(device: usize, message: String) -> Self {
        log::report(|| format!("internal error: {message}"));
        Self { device, error: Error::Unknown }
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
                last_error::observe_sticky(fault.device, fault.error);
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

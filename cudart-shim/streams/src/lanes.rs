//! Lanes: the runner of an item, and the limits of concurrent items per kind.

use crate::work::WorkKind;

/// Runner of a ready item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Executors, as a kernel.
    Kernel,
    /// Executors, as a copy.
    Transfer,
    /// Executors, as a function of the user's program.
    HostFunction,
    /// The submitting thread.
    Caller,
}

impl Lane {
    /// Lanes that executors serve.
    pub const EXECUTORS: [Self; 3] = [Self::Kernel, Self::Transfer, Self::HostFunction];
    pub(crate) const ALL: [Self; 4] = [Self::Kernel, Self::Transfer, Self::HostFunction, Self::Caller];
}

impl From<WorkKind> for Lane {
    fn from(kind: WorkKind) -> Self {
        match kind {
            WorkKind::Kernel => Self::Kernel,
            WorkKind::Transfer => Self::Transfer,
            WorkKind::HostFunction => Self::HostFunction,
        }
    }
}

/// One value per lane.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PerLane<T>([T; Lane::ALL.len()]);

impl<T> PerLane<T> {
    pub(crate) fn get(&self, lane: Lane) -> &T {
        let [kernel, transfer, host_function, caller] = &self.0;
        match lane {
            Lane::Kernel => kernel,
            Lane::Transfer => transfer,
            Lane::HostFunction => host_function,
            Lane::Caller => caller,
        }
    }

    pub(crate) fn get_mut(&mut self, lane: Lane) -> &mut T {
        let [kernel, transfer, host_function, caller] = &mut self.0;
        match lane {
            Lane::Kernel => kernel,
            Lane::Transfer => transfer,
            Lane::HostFunction => host_function,
            Lane::Caller => caller,
        }
    }
}

/// Concurrent items per kind before the engine waits for a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Kernels, each already spread over the host's cores.
    pub kernels: usize,
    /// Copies and fills.
    pub transfers: usize,
    /// Functions of the user's program.
    pub host_functions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { kernels: 1, transfers: 1, host_functions: 1 }
    }
}

impl Limits {
    pub(crate) fn of(&self, lane: Lane) -> usize {
        match lane {
            Lane::Kernel => self.kernels,
            Lane::Transfer => self.transfers,
            Lane::HostFunction => self.host_functions,
            Lane::Caller => usize::MAX,
        }
    }
}

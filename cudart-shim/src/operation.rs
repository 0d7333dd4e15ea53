//! What the device is asked to do, as data.
//!
//! This is the one way from a call of the API to work: the call makes an [`Operation`], and [`Simulator::enqueue`] submits it
//! to the stream or, while the stream is captured, adds it to the graph as a node. A launched graph submits the same
//! operations.

use crate::capture;
use crate::copy::{Copy, Fill};
use crate::error::Result;
use crate::launch::KernelLaunch;
use crate::simulator::{DeviceFault, Simulator};
use crate::streams::HostCall;
use functional::check::Origin;
use std::sync::Arc;
use stream_engine::{Context, StreamId, Submission, WorkKind};

/// Work whose parameters have been checked.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// Runs a kernel.
    Kernel(Arc<KernelLaunch>),
    /// Copies rows.
    Copy(Copy),
    /// Copies rows whose source has been put aside, without gaps.
    StagedCopy(Copy, Arc<[u8]>),
    /// Fills rows.
    Fill(Fill),
    /// Calls a function of the program.
    Host(HostCall),
    /// Frees device memory.
    Free { address: u64, by: Origin },
}

impl Operation {
    /// What it keeps busy.
    pub(crate) fn work_kind(&self) -> WorkKind {
        match self {
            Self::Kernel(_) => WorkKind::Kernel,
            Self::Copy(_) | Self::StagedCopy(..) | Self::Fill(_) | Self::Free { .. } => WorkKind::Transfer,
            Self::Host(_) => WorkKind::HostFunction,
        }
    }

    /// The work for the stream engine.
    pub(crate) fn work(self, simulator: &'static Simulator) -> stream_engine::Work<DeviceFault> {
        // Launches are counted in the order of the calls.
        let order = match &self {
            Self::Kernel(launch) => capture::order(&launch.kernel.name),
            _ => None,
        };
        Box::new(move |_: &Context<DeviceFault>| self.run(simulator, order))
    }

    fn run(
        &self,
        simulator: &'static Simulator,
        order: Option<capture::Order>,
    ) -> std::result::Result<(), DeviceFault> {
        let memory = &simulator.device.memory;
        match self {
            Self::Kernel(launch) => launch.run(simulator, order),
            Self::Copy(copy) => copy.run(memory),
            Self::StagedCopy(copy, source) => {
                copy.with_packed_source(source).execute();
                Ok(())
            }
            Self::Fill(fill) => fill.run(memory),
            Self::Host(call) => {
                call.call();
                Ok(())
            }
            Self::Free { address, by } => {
                // A second free of the same address is the program's mistake; the first one freed it.
                let _ = simulator.release(*address, by.clone());
                Ok(())
            }
        }
    }

    /// Runs at once on the calling thread, as part of work that is being executed.
    pub(crate) fn run_inside(&self, simulator: &'static Simulator) -> std::result::Result<(), DeviceFault> {
        let order = match self {
            Self::Kernel(launch) => capture::order(&launch.kernel.name),
            _ => None,
        };
        self.run(simulator, order)
    }
}

impl Simulator {
    /// Does work in a stream's order, or adds it to the graph that the stream is captured into.
    pub(crate) fn enqueue(&'static self, stream: StreamId, operation: Operation) -> Result<()> {
        if self.add_if_capturing(stream, || operation.clone())? {
            return Ok(());
        }
        self.submit(stream, operation)
    }

    /// Does work in the order of a stream that is not captured.
    pub(crate) fn submit(&'static self, stream: StreamId, operation: Operation) -> Result<()> {
        let kind = operation.work_kind();
        let submission = Submission { kind, runs_after_fault: false, work: operation.work(self) };
        self.engine.submit(stream, submission)?;
        Ok(())
    }

    /// Adds an operation to the graph that a stream is captured into; false when it is not captured.
    pub(crate) fn add_if_capturing(
        &'static self,
        _stream: StreamId,
        _operation: impl FnOnce() -> Operation,
    ) -> Result<bool> {
        Ok(false)
    }
}

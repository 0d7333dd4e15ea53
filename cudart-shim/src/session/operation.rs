//! What the device is asked to do, as data.
//!
//! This is the one way from a call of the API to work: the call makes an [`Operation`], and [`Simulator::enqueue`] submits it
//! to the stream or, while the stream is captured, adds it to the graph as a node. A launched graph submits the same
//! operations.

use crate::abi::error::Result;
use crate::graph::{Condition, ConditionalRun};
use crate::objects::allocation::end_unmapped;
use crate::session::checkpoint::{self, Launched};
use crate::session::checksums;
use crate::session::copy::{Copy, Fill};
use crate::session::launch::{self, KernelLaunch, Resumption};
use crate::session::memory_operation::Batch;
use crate::session::simulator::{DeviceFault, Simulator};
use crate::session::streams::HostCall;
use crate::session::trace;
use functional::check::Origin;
use std::collections::BTreeMap;
use std::sync::Arc;
use stream_engine::{Context, StreamId, Submission, WorkKind};
use warp_stream::kernel_name::signature;

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
    /// Writes words and waits for them, one after the other.
    MemoryOperations(Arc<Batch>),
    /// Sets the value of a graph's condition to its default.
    ResetCondition(Arc<Condition>),
    /// Runs graphs as a condition says.
    Conditional(Arc<ConditionalRun>),
}

/// What an operation is given when the program asks for it.
struct Ticket {
    /// Its number among the steps of a run that is saved or resumed.
    step: Option<u64>,
    /// If it is a launch.
    launch: Option<launch::Ticket>,
}

impl Operation {
    /// What it keeps busy.
    pub(crate) fn work_kind(&self) -> WorkKind {
        match self {
            Self::Kernel(_) | Self::Conditional(_) => WorkKind::Kernel,
            Self::Copy(_)
            | Self::StagedCopy(..)
            | Self::Fill(_)
            | Self::Free { .. }
            | Self::ResetCondition(_) => WorkKind::Transfer,
            // Waits may take long, and no calling thread is to be held by one.
            Self::Host(_) | Self::MemoryOperations(_) => WorkKind::HostFunction,
        }
    }

    /// The work for the stream engine.
    pub(crate) fn work(self, simulator: &'static Simulator) -> stream_engine::Work<DeviceFault> {
        // Launches and steps are counted in the order of the calls.
        let ticket = self.ticket();
        Box::new(move |context: &Context<DeviceFault>| self.run(simulator, context, ticket))
    }

    fn ticket(&self) -> Ticket {
        let launch = match self {
            Self::Kernel(launch) => Some(launch::Ticket::next(&launch.kernel.name)),
            _ => None,
        };
        Ticket { step: checkpoint::next_step(), launch }
    }

    /// What it is to a reader of the timeline: name, category, and what else there is to say.
    fn shown(&self) -> (String, &'static str, BTreeMap<&'static str, String>) {
        let text = |number: usize| number.to_string();
        let (name, category) = match self {
            Self::Kernel(launch) => {
                let sizes = launch.sizes;
                let mut args = BTreeMap::from([
                    ("grid", format!("{:?}", sizes.grid)),
                    ("block", format!("{:?}", sizes.block)),
                    ("dynamic shared memory, bytes", text(sizes.shared)),
                ]);
                let mangled = launch.kernel.name.to_string_lossy();
                let name = signature(&mangled).into_owned();
                if name != mangled {
                    args.insert("mangled", mangled.into_owned());
                }
                return (name, "kernel", args);
            }
            Self::Copy(copy) | Self::StagedCopy(copy, _) => {
                let args = BTreeMap::from([
                    ("bytes", text(copy.extent.bytes())),
                    ("to", format!("{:#x}", copy.to.address)),
                    ("from", format!("{:#x}", copy.from.address)),
                ]);
                return (format!("copy {:?}", copy.direction), "copy", args);
            }
            Self::Fill(fill) => {
                let to = format!("{:#x}", fill.to.address);
                let args = BTreeMap::from([("bytes", text(fill.extent.bytes())), ("to", to)]);
                return ("fill".to_owned(), "fill", args);
            }
            Self::Host(_) => ("host function", "host"),
            Self::Free { .. } => ("free", "memory"),
            Self::MemoryOperations(_) => ("memory operations", "memory"),
            Self::ResetCondition(_) => ("condition", "graph"),
            Self::Conditional(_) => ("conditional node", "graph"),
        };
        (name.to_owned(), category, BTreeMap::new())
    }

    fn run(
        &self,
        simulator: &'static Simulator,
        context: &Context<DeviceFault>,
        Ticket { step, launch }: Ticket,
    ) -> std::result::Result<(), DeviceFault> {
        end_unmapped();
        let launched =
            launch.as_ref().map(|launch| Launched { number: launch.number, way: launch.way, context });
        let outcome = self.timed(simulator, context, || {
            checkpoint::perform(simulator, self, (step, launched), |resumption| {
                self.execute(simulator, context, launch, resumption)
            })
        });
        if let (Self::Kernel(launch), Some(launched), Ok(())) = (self, launched, &outcome) {
            checksums::after(launched.number, &launch.kernel.name.to_string_lossy());
        }
        outcome
    }

    /// Does the work, and notes it in the timeline if there is one: in simulated time where a model has it.
    fn timed<T>(&self, simulator: &Simulator, context: &Context<DeviceFault>, work: impl FnOnce() -> T) -> T {
        if !trace::enabled() {
            return work();
        }
        let start = trace::now();
        let (outcome, taken) = trace::collected(work);
        let (name, category, args) = self.shown();
        let work = trace::Work { stream: context.stream().to_raw(), name: &name, category, args };
        match &simulator.model {
            None => trace::work(work, start),
            Some(model) => {
                trace::simulated_work(work, simulator.ordinal, taken.unwrap_or_else(|| model.instant()))
            }
        }
        outcome
    }

    fn execute(
        &self,
        simulator: &'static Simulator,
        context: &Context<DeviceFault>,
        ticket: Option<launch::Ticket>,
        resumption: Resumption<'_>,
    ) -> std::result::Result<(), DeviceFault> {
        let stream = context.stream().to_raw();
        match self {
            Self::Kernel(launch) => {
                let ticket = ticket.unwrap_or_else(|| launch::Ticket::next(&launch.kernel.name));
                launch.run(simulator, context, ticket, resumption)
            }
            Self::Copy(copy) => copy.run(simulator, stream),
            Self::StagedCopy(copy, source) => copy.run_staged(source, simulator, stream),
            Self::Fill(fill) => fill.run(simulator, stream),
            Self::Host(call) => {
                call.call();
                Ok(())
            }
            Self::Free { address, by } => {
                // A second free of the same address is the program's mistake; the first one freed it.
                let _ = simulator.owner(*address).release(*address, by.clone());
                Ok(())
            }
            Self::MemoryOperations(batch) => batch.run(simulator, context),
            Self::ResetCondition(condition) => {
                condition.reset();
                Ok(())
            }
            Self::Conditional(run) => run.run(simulator, context),
        }
    }

    /// Runs at once on the calling thread, as part of work that is being executed.
    pub(crate) fn run_inside(
        &self,
        simulator: &'static Simulator,
        context: &Context<DeviceFault>,
    ) -> std::result::Result<(), DeviceFault> {
        self.run(simulator, context, self.ticket())
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
}

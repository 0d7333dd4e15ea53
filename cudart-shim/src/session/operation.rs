//! Execution of device work.
//!
//! Every API call that creates work builds an [`Operation`]. [`Simulator::enqueue`] submits it to
//! the stream, or adds it to a graph while the stream is captured. A launched graph submits the
//! same operations.

use crate::abi::error::Result;
use crate::graph::Condition;
use crate::objects::allocation::end_unmapped;
use crate::objects::fault::DeviceFault;
use crate::session::checkpoint::{self, Launched};
use crate::session::checksums;
use crate::session::graphs::ConditionalRun;
use crate::session::launch::{self, Resumption};
use crate::session::simulator::Simulator;
use crate::session::state::Session;
use crate::session::trace;
use crate::work::operation::Operation;
use std::collections::BTreeMap;
use std::sync::Arc;
use stream_engine::{Context, StreamId, Submission, WorkKind};
use warp_stream::kernel_name::signature;

/// An item of a stream or of a launched graph.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Operation(Operation),
    /// Resets a graph's conditional value to its default.
    ResetCondition(Arc<Condition>),
    /// Runs the body of a conditional node.
    Conditional(Arc<ConditionalRun>),
}

/// Numbers assigned to an operation at the API call.
struct Ticket {
    /// Step number in a saved or resumed run.
    step: Option<u64>,
    /// Launch ticket, for a launch.
    launch: Option<launch::Ticket>,
}

impl From<Operation> for Item {
    fn from(operation: Operation) -> Self {
        Self::Operation(operation)
    }
}

impl Item {
    /// The resource that the item occupies.
    pub(crate) fn work_kind(&self) -> WorkKind {
        match self {
            Self::Operation(operation) => operation.work_kind(),
            Self::ResetCondition(_) => WorkKind::Transfer,
            Self::Conditional(_) => WorkKind::Kernel,
        }
    }

    /// Converts the item to work for the stream engine.
    pub(crate) fn work(self, simulator: &'static Simulator) -> stream_engine::Work<DeviceFault> {
        // Launches and steps are numbered in call order.
        let ticket = self.ticket(simulator.session);
        Box::new(move |context: &Context<DeviceFault>| self.run(simulator, context, ticket))
    }

    fn ticket(&self, session: &'static Session) -> Ticket {
        let launch = match self {
            Self::Operation(Operation::Kernel(launch)) => {
                Some(launch::Ticket::next(session, &launch.kernel.name))
            }
            _ => None,
        };
        Ticket { step: checkpoint::next_step(session), launch }
    }

    /// The timeline entry: name, category and arguments.
    fn shown(&self) -> (String, &'static str, BTreeMap<&'static str, String>) {
        match self {
            Self::Operation(operation) => operation.shown(),
            Self::ResetCondition(_) => ("condition".to_owned(), "graph", BTreeMap::new()),
            Self::Conditional(_) => ("conditional node".to_owned(), "graph", BTreeMap::new()),
        }
    }

    fn run(
        &self,
        simulator: &'static Simulator,
        context: &Context<DeviceFault>,
        Ticket { step, launch }: Ticket,
    ) -> std::result::Result<(), DeviceFault> {
        end_unmapped(simulator.shared);
        let launched =
            launch.as_ref().map(|launch| Launched { number: launch.number, way: launch.way, context });
        let outcome = self.timed(simulator, context, || {
            let execute = |resumption: Resumption<'_>| self.execute(simulator, context, launch, resumption);
            match self {
                Self::Operation(operation) => {
                    checkpoint::perform(simulator, operation, (step, launched), execute)
                }
                // A resumed run repeats items that only control a graph.
                Self::ResetCondition(_) | Self::Conditional(_) => execute(Resumption::default()),
            }
        });
        if outcome.is_err() {
            // The program may have unmapped memory under the kernel.
            end_unmapped(simulator.shared);
        }
        if let (Self::Operation(Operation::Kernel(launch)), Some(launched), Ok(())) =
            (self, launched, &outcome)
        {
            checksums::after(simulator.session, launched.number, &launch.kernel.name.to_string_lossy());
        }
        outcome
    }

    /// Does the work and adds it to the timeline, if any, with simulated time if modelled.
    fn timed<T>(&self, simulator: &Simulator, context: &Context<DeviceFault>, work: impl FnOnce() -> T) -> T {
        if !trace::enabled(simulator.session) {
            return work();
        }
        let start = trace::now(simulator.session);
        let (outcome, taken) = trace::collected(work);
        let (name, category, args) = self.shown();
        let work = trace::Work { stream: context.stream().to_raw(), name: &name, category, args };
        match &simulator.model {
            None => trace::work(simulator.session, work, start),
            Some(model) => trace::simulated_work(
                simulator.session,
                work,
                simulator.ordinal,
                taken.unwrap_or_else(|| model.instant()),
            ),
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
        match self {
            Self::Operation(operation) => operation.execute(simulator, context, ticket, resumption),
            Self::ResetCondition(condition) => {
                condition.reset();
                Ok(())
            }
            Self::Conditional(run) => run.run(simulator, context),
        }
    }

    /// Executes the item on the calling thread, as part of other work.
    pub(crate) fn run_inside(
        &self,
        simulator: &'static Simulator,
        context: &Context<DeviceFault>,
    ) -> std::result::Result<(), DeviceFault> {
        self.run(simulator, context, self.ticket(simulator.session))
    }
}

impl Operation {
    /// The timeline entry: name, category and arguments.
    fn shown(&self) -> (String, &'static str, BTreeMap<&'static str, String>) {
        let text = |number: usize| number.to_string();
        let (name, category) = match self {
            Self::Kernel(launch) => {
                let sizes = launch.sizes;
                let mut args = BTreeMap::from([
                    ("grid", format!("{:?}", sizes.grid())),
                    ("block", format!("{:?}", sizes.block())),
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
        };
        (name.to_owned(), category, BTreeMap::new())
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
                let ticket =
                    ticket.unwrap_or_else(|| launch::Ticket::next(simulator.session, &launch.kernel.name));
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
                // A second free of the same address is the program's error and has no effect.
                let _ = simulator.owner(*address).release(*address, by.clone());
                Ok(())
            }
            Self::MemoryOperations(batch) => batch.run(simulator, context),
        }
    }
}

impl Simulator {
    /// Submits the operation to a stream, or adds it to the graph being captured.
    pub(crate) fn enqueue(&'static self, stream: StreamId, operation: Operation) -> Result<()> {
        if self.add_if_capturing(stream, || operation.clone())? {
            return Ok(());
        }
        self.submit(stream, operation)
    }

    /// Submits the operation to a stream that is not captured.
    pub(crate) fn submit(&'static self, stream: StreamId, operation: Operation) -> Result<()> {
        let kind = operation.work_kind();
        let work = Item::from(operation).work(self);
        let submission = Submission { kind, runs_after_fault: false, work };
        self.engine.submit(stream, submission)?;
        Ok(())
    }
}

//! Launches of executable graphs: one unit of their stream, with independent nodes overlapping.

use crate::abi::error::{Error, Result};
use crate::graph::conditional::{Conditional, Form};
use crate::graph::executable::{Executable, Plans, Step, flag};
use crate::graph::handle::ExecutableHandle;
use crate::graph::node::Kind;
use crate::graph::store::Graphs;
use crate::host::log;
use crate::objects::fault::DeviceFault;
use crate::objects::graph_memory as memory;
use crate::objects::shared::Shared;
use crate::session::checkpoint;
use crate::session::operation::Item;
use crate::session::simulator::Simulator;
use crate::work::operation::Operation;
use rustc_hash::FxHashSet;
use std::sync::Arc;
use std::time::Instant;
use stream_engine::{Context, Node, StreamId, Work};

/// A conditional node of a launch.
#[derive(Debug)]
pub(crate) struct ConditionalRun {
    plans: Arc<Plans>,
    conditional: Conditional,
}

impl ConditionalRun {
    /// Runs the graphs selected by the condition, node by node.
    pub(crate) fn run(
        &self,
        simulator: &'static Simulator,
        context: &Context<DeviceFault>,
    ) -> std::result::Result<(), DeviceFault> {
        run_conditional(simulator, context, &self.plans, &self.conditional)
    }
}

fn run_conditional(
    simulator: &'static Simulator,
    context: &Context<DeviceFault>,
    plans: &Arc<Plans>,
    conditional: &Conditional,
) -> std::result::Result<(), DeviceFault> {
    let Conditional { condition, form, bodies } = conditional;
    let started = Instant::now();
    loop {
        let chosen = checkpoint::choice(simulator, || form.chosen(condition.get()))?;
        let Some(body) = chosen.and_then(|number| bodies.get(number)) else {
            return Ok(());
        };
        run_steps(simulator, context, plans, plans.plan(*body))?;
        if *form != Form::While || context.is_cancelled() {
            return Ok(());
        }
        if let Some(limit) = simulator.device.settings.watchdog.filter(|limit| started.elapsed() > *limit) {
            log::report(|| format!("a conditional node still repeats its graph after {limit:?}"));
            return Err(DeviceFault { device: simulator.ordinal, error: Error::LaunchTimeout });
        }
    }
}

fn run_steps(
    simulator: &'static Simulator,
    context: &Context<DeviceFault>,
    plans: &Arc<Plans>,
    steps: &[Step],
) -> std::result::Result<(), DeviceFault> {
    for step in steps.iter().filter(|step| step.enabled) {
        match &step.kind {
            Kind::Operation(operation) => Item::from(operation.clone()).run_inside(simulator, context)?,
            Kind::Child(graph) => run_steps(simulator, context, plans, plans.plan(*graph))?,
            Kind::Conditional(conditional) => run_conditional(simulator, context, plans, conditional)?,
            // Other kinds are not allowed in bodies of conditional nodes.
            Kind::Empty | Kind::EventWait(_) | Kind::EventRecord(_) | Kind::Allocate(_) | Kind::Free(_) => {}
        }
    }
    Ok(())
}

/// Nodes of a launch as submitted.
struct Expansion {
    simulator: &'static Simulator,
    plans: Arc<Plans>,
    executable: Arc<Executable>,
    nodes: Vec<Node<Work<DeviceFault>>>,
}

impl Expansion {
    fn push(&mut self, step: stream_engine::Step<Work<DeviceFault>>, after: Vec<usize>) -> usize {
        self.push_with(None, step, after)
    }

    fn push_with(
        &mut self,
        priority: Option<i32>,
        step: stream_engine::Step<Work<DeviceFault>>,
        after: Vec<usize>,
    ) -> usize {
        self.nodes.push(Node { step, priority, after });
        self.nodes.len() - 1
    }

    fn work(&self, item: impl Into<Item>) -> stream_engine::Step<Work<DeviceFault>> {
        let item: Item = item.into();
        let kind = item.work_kind();
        let work = item.work(self.simulator);
        // The graph's resources must live until the last node completes.
        let executable = Arc::clone(&self.executable);
        let work: Work<DeviceFault> = Box::new(move |context| {
            let outcome = work(context);
            drop(executable);
            outcome
        });
        stream_engine::Step::Work(work, kind.into())
    }

    /// Adds steps, the first ones after `entry`; returns the indices of all.
    fn add(&mut self, steps: &[Step], entry: &[usize]) -> Result<Vec<usize>> {
        use stream_engine::Step::{Empty, Record, Wait};
        let plans = Arc::clone(&self.plans);
        let mut places: Vec<usize> = Vec::with_capacity(steps.len());
        for step in steps {
            let after: Vec<usize> = if step.after.is_empty() {
                entry.to_vec()
            } else {
                step.after.iter().filter_map(|&place| places.get(place).copied()).collect()
            };
            let place = match &step.kind {
                _ if !step.enabled => self.push(Empty, after),
                Kind::Operation(operation) => {
                    let by_node = self.executable.flags & flag::USE_NODE_PRIORITY != 0;
                    let priority =
                        (by_node && matches!(operation, Operation::Kernel(_))).then_some(step.priority);
                    let work = self.work(operation.clone());
                    self.push_with(priority, work, after)
                }
                Kind::Conditional(conditional) => {
                    let run = ConditionalRun { plans: Arc::clone(&plans), conditional: conditional.clone() };
                    let work = self.work(Item::Conditional(Arc::new(run)));
                    self.push(work, after)
                }
                Kind::Child(graph) => {
                    let begin = self.push(Empty, after);
                    let mut inner = self.add(plans.plan(*graph), &[begin])?;
                    inner.push(begin);
                    self.push(Empty, inner)
                }
                Kind::EventWait(event) => self.push(Wait(self.simulator.event(*event)?), after),
                Kind::EventRecord(event) => {
                    let event = self.simulator.event(*event)?;
                    self.simulator.forget_captured_event(event);
                    self.push(Record(event), after)
                }
                // The addresses of allocations are fixed before the launch.
                Kind::Empty | Kind::Allocate(_) | Kind::Free(_) => self.push(Empty, after),
            };
            places.push(place);
        }
        Ok(places)
    }
}

/// Starts and ends the lifetimes of a launch's allocations. Allocations of the previous launch must
/// have ended.
fn account_for_memory(shared: &'static Shared, plans: &Plans, auto_free: bool) -> Result<()> {
    let allocations = || {
        plans.steps().filter_map(|step| match &step.kind {
            Kind::Allocate(reservation) => Some(reservation),
            _ => None,
        })
    };
    let frees = || {
        plans.steps().filter_map(|step| match step.kind {
            Kind::Free(address) => Some(address),
            _ => None,
        })
    };
    let allocated: FxHashSet<u64> = allocations().map(|reservation| reservation.address).collect();
    let is_allocated = |address| allocated.contains(&address);
    let still_live = allocations().any(|reservation| reservation.is_live());
    if (still_live && !auto_free)
        || !frees().all(|address| is_allocated(address) || memory::is_live(shared, address))
    {
        return Err(Error::InvalidValue);
    }
    for reservation in allocations().filter(|reservation| reservation.is_live()) {
        memory::end_life(shared, reservation.address)?;
    }
    for (begun, reservation) in allocations().enumerate() {
        if let Err(error) = reservation.begin_life() {
            allocations().take(begun).try_for_each(|begun| memory::end_life(shared, begun.address))?;
            return Err(error);
        }
    }
    frees().try_for_each(|address| memory::end_life(shared, address))
}

impl Executable {
    fn launch(self: &Arc<Self>, simulator: &'static Simulator, stream: StreamId) -> Result<()> {
        let mut state = self.state.lock();
        simulator.engine.is_complete(stream_engine::Scope::Stream(stream))?;
        let is_empty = |step: &Step| matches!(&step.kind, Kind::Operation(Operation::Kernel(launch)) if launch.is_empty());
        if state.plans.steps().any(|step| step.enabled && is_empty(step)) {
            return Err(Error::InvalidConfiguration);
        }
        account_for_memory(simulator.shared, &state.plans, self.flags & flag::AUTO_FREE_ON_LAUNCH != 0)?;
        let plans = Arc::clone(&state.plans);
        let executable = Arc::clone(self);
        let mut expansion = Expansion { simulator, plans: Arc::clone(&plans), executable, nodes: Vec::new() };
        let mut entry = Vec::new();
        for condition in &plans.defaults {
            let work = expansion.work(Item::ResetCondition(Arc::clone(condition)));
            entry.push(expansion.push(work, Vec::new()));
        }
        expansion.add(plans.root(), &entry)?;
        let end = simulator.engine.submit_graph(stream, state.last, expansion.nodes)?;
        state.last = Some(end);
        Ok(())
    }
}

impl Simulator {
    /// Launches an executable graph in a stream, or adds it as a child of the stream's captured
    /// graph.
    pub(crate) fn launch_graph(&'static self, handle: ExecutableHandle, stream: StreamId) -> Result<()> {
        let executable = self.graphs.lock().executable(handle)?;
        let plans = Arc::clone(&executable.state.lock().plans);
        let child = |graphs: &mut Graphs| Ok(Kind::Child(graphs.graph_of_plans(&plans)?));
        if self.add_captured(stream, child)?.is_some() {
            return Ok(());
        }
        executable.launch(self, stream)
    }
}

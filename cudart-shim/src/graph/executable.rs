//! Executable graphs: a graph's nodes in a valid order of execution.

use super::conditional::Condition;
use super::device::GraphDevice;
use super::handle::{ExecutableHandle, GraphHandle, NodeHandle};
use super::node::{Hints, Kind};
use super::store::{Graphs, Purpose, Remains};
use super::topology::Edge;
use super::user_object::References;
use crate::abi::error::{Error, Result};
use crate::host::log;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Weak};
use stream_engine::{ItemId, is_engine_thread};

/// `cudaGraphInstantiateFlag…`, `CUDA_GRAPH_INSTANTIATE_FLAG_…`.
pub(crate) mod flag {
    pub(crate) const AUTO_FREE_ON_LAUNCH: u64 = 1;
    pub(crate) const UPLOAD: u64 = 2;
    pub(crate) const DEVICE_LAUNCH: u64 = 4;
    pub(crate) const USE_NODE_PRIORITY: u64 = 8;
}

/// `cudaGraphInstantiateResult`, `CUgraphInstantiateResult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum InstantiateResult {
    Success = 0,
    Error = 1,
    /// The graph has a cycle.
    InvalidStructure = 2,
    ConditionalHandleUnused = 5,
}

/// Reason why a graph cannot be instantiated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InstantiateFailure {
    pub(crate) result: InstantiateResult,
    /// Faulty node, or 0.
    pub(crate) node: NodeHandle,
    pub(crate) error: Error,
}

impl InstantiateFailure {
    fn new(result: InstantiateResult, error: Error) -> Self {
        Self { result, node: NodeHandle(0), error }
    }
}

impl InstantiateFailure {
    /// Description of the failure.
    pub(crate) fn text(&self) -> &'static str {
        match self.result {
            InstantiateResult::InvalidStructure => "the graph has a cycle",
            InstantiateResult::ConditionalHandleUnused => "a conditional handle is unused",
            _ => "the graph cannot be instantiated",
        }
    }
}

impl From<Error> for InstantiateFailure {
    fn from(error: Error) -> Self {
        Self::new(InstantiateResult::Error, error)
    }
}

/// A node of an executable graph.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) node: NodeHandle,
    pub(crate) kind: Kind,
    /// Priority under [`flag::USE_NODE_PRIORITY`].
    pub(crate) priority: i32,
    /// Indices of preceding steps.
    pub(crate) after: Vec<usize>,
    /// False for a step without effect.
    pub(crate) enabled: bool,
}

/// Steps of a graph in a valid order of execution.
pub(crate) type Plan = Vec<Step>;

/// Plans of a graph and of all graphs inside it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plans {
    plans: Vec<Plan>,
    by_graph: FxHashMap<GraphHandle, usize>,
    /// Plan and index of each node.
    places: FxHashMap<NodeHandle, (usize, usize)>,
    /// Conditions that a launch resets to their defaults.
    pub(crate) defaults: Vec<Arc<Condition>>,
}

impl Plans {
    /// Plans of a graph; the error names a node of a cycle.
    pub(crate) fn of(graphs: &Graphs, root: GraphHandle) -> std::result::Result<Self, InstantiateFailure> {
        let mut plans = Self::default();
        plans.add(graphs, root)?;
        Ok(plans)
    }

    fn add(&mut self, graphs: &Graphs, handle: GraphHandle) -> std::result::Result<(), InstantiateFailure> {
        let graph = graphs.graph(handle)?;
        let sorted = graph.topology.sorted().map_err(|node| InstantiateFailure {
            node,
            ..InstantiateFailure::new(InstantiateResult::InvalidStructure, Error::InvalidValue)
        })?;
        let number = self.plans.len();
        self.by_graph.insert(handle, number);
        self.plans.push(Plan::new());
        let mut steps = Plan::with_capacity(sorted.len());
        for (place, &node) in sorted.iter().enumerate() {
            self.places.insert(node, (number, place));
            let found = graphs.node(node)?;
            let (kind, priority) = (found.kind.clone(), found.priority());
            for owned in Graphs::owned_by(&kind) {
                self.add(graphs, owned)?;
            }
            let dependencies = graph.topology.dependencies(node).iter();
            let after =
                dependencies.filter_map(|(before, _)| self.places.get(before)).map(|(_, place)| *place);
            steps.push(Step { node, kind, priority, after: after.collect(), enabled: true });
        }
        if let Some(plan) = self.plans.get_mut(number) {
            *plan = steps;
        }
        for condition in &graph.conditions {
            let used = |step: &Step| matches!(&step.kind, Kind::Conditional(node) if Arc::ptr_eq(&node.condition, condition));
            if !self.plans.iter().flatten().any(used) {
                let result = InstantiateResult::ConditionalHandleUnused;
                return Err(InstantiateFailure::new(result, Error::InvalidValue));
            }
            if condition.default.is_some() {
                self.defaults.push(Arc::clone(condition));
            }
        }
        Ok(())
    }

    /// Plan of the whole graph.
    pub(crate) fn root(&self) -> &[Step] {
        self.plans.first().map_or(&[], Vec::as_slice)
    }

    /// Plan of a node's inner graph.
    pub(crate) fn plan(&self, graph: GraphHandle) -> &[Step] {
        self.by_graph.get(&graph).and_then(|&number| self.plans.get(number)).map_or(&[], Vec::as_slice)
    }

    /// All steps.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.plans.iter().flatten()
    }

    /// Step of a node.
    pub(crate) fn step(&self, node: NodeHandle) -> Option<&Step> {
        let (plan, place) = *self.places.get(&node)?;
        self.plans.get(plan)?.get(place)
    }

    /// Mutable step of a node.
    pub(crate) fn step_mut(&mut self, node: NodeHandle) -> Option<&mut Step> {
        let (plan, place) = *self.places.get(&node)?;
        self.plans.get_mut(plan)?.get_mut(place)
    }
}

/// Mutable state of an executable graph.
#[derive(Debug)]
pub(crate) struct State {
    /// Plans; launches in flight keep the plans they began with.
    pub(crate) plans: Arc<Plans>,
    /// End of the latest launch, which the next one follows.
    pub(crate) last: Option<ItemId>,
}

/// An executable graph.
#[derive(Debug)]
pub(crate) struct Executable {
    pub(crate) id: u32,
    /// Instantiation flags.
    pub(crate) flags: u64,
    /// Source graph.
    source: GraphHandle,
    pub(crate) state: Mutex<State>,
    user_objects: References,
    /// Graphs of the device.
    graphs: Weak<Mutex<Graphs>>,
}

impl Drop for Executable {
    /// Launches hold the graph, so the drop may run on an engine thread, which requires that no
    /// lock is held.
    fn drop(&mut self) {
        if !self.user_objects.is_empty()
            && !is_engine_thread()
            && let Some(graphs) = self.graphs.upgrade()
        {
            let references = std::mem::take(&mut self.user_objects);
            let destructors = graphs.lock().user_objects.release_all(references);
            Remains::of(destructors).bury();
        }
    }
}

impl GraphDevice {
    /// Makes an executable graph.
    pub(crate) fn instantiate(
        &self,
        graph: GraphHandle,
        flags: u64,
    ) -> std::result::Result<ExecutableHandle, InstantiateFailure> {
        let known = flag::AUTO_FREE_ON_LAUNCH | flag::UPLOAD | flag::DEVICE_LAUNCH | flag::USE_NODE_PRIORITY;
        let contradict = flag::AUTO_FREE_ON_LAUNCH | flag::DEVICE_LAUNCH;
        if flags & !known != 0 || flags & contradict == contradict {
            return Err(Error::InvalidValue.into());
        }
        if flags & flag::DEVICE_LAUNCH != 0 {
            log::report(|| "graph launches by kernels are not simulated".to_owned());
            return Err(Error::NotSupported.into());
        }
        let mut graphs = self.graphs.lock();
        let graphs = &mut *graphs;
        let plans = Plans::of(graphs, graph)?;
        if graphs.is_unique(graph) && graphs.executables.values().any(|other| other.source == graph) {
            return Err(Error::InvalidValue.into());
        }
        let references = graphs.graph(graph)?.user_objects.clone();
        let executable = Executable {
            id: graphs.numbers.graph_id(),
            flags,
            source: graph,
            state: Mutex::new(State { plans: Arc::new(plans), last: None }),
            user_objects: graphs.user_objects.share(&references),
            graphs: Arc::downgrade(&self.graphs),
        };
        let handle = graphs.numbers.executable();
        graphs.executables.insert(handle, Arc::new(executable));
        Ok(handle)
    }

    /// Destroys an executable graph; launches in flight continue.
    pub(crate) fn destroy_executable(&self, handle: ExecutableHandle) -> Result<()> {
        let executable = self.graphs.lock().executables.remove(&handle);
        executable.map(drop).ok_or(Error::InvalidValue)
    }

    /// Instantiation flags of an executable graph.
    pub(crate) fn executable_flags(&self, handle: ExecutableHandle) -> Result<u64> {
        Ok(self.graphs.lock().executable(handle)?.flags)
    }

    /// True if a node of an executable graph is enabled.
    pub(crate) fn is_node_enabled(&self, handle: ExecutableHandle, node: NodeHandle) -> Result<bool> {
        let executable = self.graphs.lock().executable(handle)?;
        let state = executable.state.lock();
        let step = state.plans.step(node).ok_or(Error::InvalidValue)?;
        if (0..=2).contains(&step.kind.number()) { Ok(step.enabled) } else { Err(Error::InvalidValue) }
    }

    /// Enables or disables a kernel, copy or fill in later launches.
    pub(crate) fn enable_node(
        &self,
        handle: ExecutableHandle,
        node: NodeHandle,
        enabled: bool,
    ) -> Result<()> {
        self.is_node_enabled(handle, node)?;
        let executable = self.graphs.lock().executable(handle)?;
        let mut state = executable.state.lock();
        let step = Arc::make_mut(&mut state.plans).step_mut(node).ok_or(Error::InvalidValue)?;
        step.enabled = enabled;
        Ok(())
    }
}

impl Graphs {
    /// A graph with the steps of plans, for a node that launches them. Unique graphs cannot be
    /// included.
    pub(crate) fn graph_of_plans(&mut self, plans: &Plans) -> Result<GraphHandle> {
        let is_unique = |step: &Step| step.kind.is_memory() || matches!(step.kind, Kind::Conditional(_));
        if plans.steps().any(is_unique) {
            return Err(Error::NotSupported);
        }
        self.graph_of_plan(plans, plans.root())
    }

    fn graph_of_plan(&mut self, plans: &Plans, steps: &[Step]) -> Result<GraphHandle> {
        let graph = self.create(Purpose::Child);
        let mut nodes = Vec::with_capacity(steps.len());
        for step in steps {
            let kind = match &step.kind {
                _ if !step.enabled => Kind::Empty,
                Kind::Child(child) => Kind::Child(self.graph_of_plan(plans, plans.plan(*child))?),
                other => other.clone(),
            };
            let after: Vec<_> = step
                .after
                .iter()
                .filter_map(|&place| nodes.get(place).map(|node| (*node, Edge::default())))
                .collect();
            nodes.push(self.add(graph, &after, kind, Hints::new())?);
        }
        Ok(graph)
    }
}

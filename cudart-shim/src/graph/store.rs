//! Graphs of the process, their nodes, captures and executable graphs.

use super::capture::Captures;
use super::conditional::{Condition, Conditional};
use super::executable::Executable;
use super::handle::{ExecutableHandle, GraphHandle, NodeHandle, Numbers};
use super::node::{Hints, Kind, Node};
use super::topology::{Edge, Topology, TopologyError};
use super::user_object::{References, UserObjects};
use crate::abi::error::{Error, Result};
use crate::objects::shared::Shared;
use crate::work::host_call::HostCall;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use stream_engine::{EventId, StreamId};

/// Deepest nesting of graphs.
const DEEPEST: u32 = 128;

/// Owner of a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The program.
    #[default]
    Program,
    /// A child node.
    Child,
    /// A conditional node.
    Body,
}

/// A graph.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) id: u32,
    pub(crate) topology: Topology<NodeHandle>,
    pub(crate) user_objects: References,
    /// Conditions of the graph.
    pub(crate) conditions: Vec<Arc<Condition>>,
    /// Node that owns the graph.
    pub(crate) owner: Option<NodeHandle>,
    pub(crate) purpose: Purpose,
    /// Levels of graphs inside.
    depth: u32,
    nodes_made: u32,
}

/// Remains of removed objects, to be dropped and called without locks.
#[derive(Debug, Default)]
pub(crate) struct Remains {
    destructors: Vec<HostCall>,
    nodes: Vec<Node>,
    graphs: Vec<Graph>,
}

impl Remains {
    pub(crate) fn of(destructors: Vec<HostCall>) -> Self {
        Self { destructors, ..Self::default() }
    }

    /// Drops the remains and calls the program's destructors.
    pub(crate) fn bury(self) {
        drop((self.nodes, self.graphs));
        self.destructors.into_iter().for_each(HostCall::call);
    }
}

/// All state of graphs.
pub(crate) struct Graphs {
    pub(crate) shared: &'static Shared,
    graphs: FxHashMap<GraphHandle, Graph>,
    nodes: FxHashMap<NodeHandle, Node>,
    pub(crate) executables: FxHashMap<ExecutableHandle, Arc<Executable>>,
    pub(crate) user_objects: UserObjects,
    pub(crate) captures: Captures<StreamId, EventId, NodeHandle>,
    pub(crate) numbers: Numbers,
}

impl From<TopologyError> for Error {
    fn from(_: TopologyError) -> Self {
        Error::InvalidValue
    }
}

/// Queries.
impl Graphs {
    /// Graphs of a device.
    pub(crate) fn of_device(shared: &'static Shared, ordinal: usize) -> Self {
        Self::numbered(shared, Numbers::of_device(ordinal))
    }

    /// No graphs; handles continue after `numbers`.
    fn numbered(shared: &'static Shared, numbers: Numbers) -> Self {
        Self {
            shared,
            graphs: FxHashMap::default(),
            nodes: FxHashMap::default(),
            executables: FxHashMap::default(),
            user_objects: UserObjects::default(),
            captures: Captures::default(),
            numbers,
        }
    }

    /// The graph of a handle.
    pub(crate) fn graph(&self, handle: GraphHandle) -> Result<&Graph> {
        self.graphs.get(&handle).ok_or(Error::InvalidValue)
    }

    pub(crate) fn graph_mut(&mut self, handle: GraphHandle) -> Result<&mut Graph> {
        self.graphs.get_mut(&handle).ok_or(Error::InvalidValue)
    }

    /// The node of a handle.
    pub(crate) fn node(&self, handle: NodeHandle) -> Result<&Node> {
        self.nodes.get(&handle).ok_or(Error::InvalidValue)
    }

    pub(crate) fn node_mut(&mut self, handle: NodeHandle) -> Result<&mut Node> {
        self.nodes.get_mut(&handle).ok_or(Error::InvalidValue)
    }

    /// Graph of a node, with the topology.
    pub(crate) fn graph_of(&self, node: NodeHandle) -> Result<&Graph> {
        self.graph(self.node(node)?.graph)
    }

    /// The executable graph of a handle.
    pub(crate) fn executable(&self, handle: ExecutableHandle) -> Result<Arc<Executable>> {
        self.executables.get(&handle).cloned().ok_or(Error::InvalidValue)
    }

    /// Graphs owned by a node.
    pub(crate) fn owned_by(kind: &Kind) -> Vec<GraphHandle> {
        match kind {
            Kind::Child(graph) => vec![*graph],
            Kind::Conditional(conditional) => conditional.bodies.to_vec(),
            _ => Vec::new(),
        }
    }

    /// True if a node of the graph, or of a graph inside, satisfies a predicate.
    pub(crate) fn any_node(&self, graph: GraphHandle, is_it: &impl Fn(&Kind) -> bool) -> bool {
        let nodes = self.graphs.get(&graph).map_or(&[][..], |graph| graph.topology.nodes());
        nodes.iter().filter_map(|node| self.nodes.get(node)).any(|node| {
            is_it(&node.kind)
                || Self::owned_by(&node.kind).into_iter().any(|owned| self.any_node(owned, is_it))
        })
    }

    fn has_memory(&self, graph: GraphHandle) -> bool {
        self.any_node(graph, &Kind::is_memory)
    }

    /// True if the graph is unique: it cannot be cloned, nested or instantiated twice.
    pub(crate) fn is_unique(&self, graph: GraphHandle) -> bool {
        self.any_node(graph, &|kind| kind.is_memory() || matches!(kind, Kind::Conditional(_)))
    }
}

/// Construction.
impl Graphs {
    /// A new graph.
    pub(crate) fn create(&mut self, purpose: Purpose) -> GraphHandle {
        let handle = self.numbers.graph();
        let id = self.numbers.graph_id();
        self.graphs.insert(handle, Graph { id, purpose, depth: 1, ..Graph::default() });
        handle
    }

    /// Adds a node. Graphs that it will own have no owner yet.
    pub(crate) fn add(
        &mut self,
        graph: GraphHandle,
        after: &[(NodeHandle, Edge)],
        kind: Kind,
        hints: Hints,
    ) -> Result<NodeHandle> {
        let owned = Self::owned_by(&kind);
        let is_foreign = |kind: &Kind| !kind.is_allowed_in_body();
        if self.is_in_body(graph)?
            && (is_foreign(&kind) || owned.iter().any(|owned| self.any_node(*owned, &is_foreign)))
        {
            return Err(Error::NotSupported);
        }
        let depth = owned.iter().filter_map(|owned| self.graphs.get(owned)).map(|owned| owned.depth).max();
        self.check_place(graph, &owned, depth.unwrap_or(0))?;
        let handle = self.numbers.node();
        let target = self.graph_mut(graph)?;
        target.topology.add(handle, after)?;
        let local = target.nodes_made;
        target.nodes_made = target.nodes_made.wrapping_add(1);
        self.nodes.insert(handle, Node { kind, graph, local, original: None, hints });
        for graph in owned {
            if let Some(graph) = self.graphs.get_mut(&graph) {
                graph.owner = Some(handle);
            }
        }
        self.deepen(graph, depth.unwrap_or(0));
        Ok(handle)
    }

    /// True if the graph is in a conditional node's body.
    fn is_in_body(&self, graph: GraphHandle) -> Result<bool> {
        let mut at = self.graph(graph)?;
        while let (Purpose::Program | Purpose::Child, Some(owner)) = (at.purpose, at.owner) {
            at = self.graph_of(owner)?;
        }
        Ok(at.purpose == Purpose::Body)
    }

    /// Rejects inner graphs of `depth` levels that would nest too deeply or contain the graph
    /// itself.
    fn check_place(&self, graph: GraphHandle, owned: &[GraphHandle], depth: u32) -> Result<()> {
        let (mut at, mut depth) = (graph, depth);
        loop {
            if owned.contains(&at) {
                return Err(Error::InvalidValue);
            }
            depth += 1;
            if depth > DEEPEST {
                return Err(Error::NotSupported);
            }
            let Some(owner) = self.graph(at)?.owner else { return Ok(()) };
            at = self.node(owner)?.graph;
        }
    }

    fn deepen(&mut self, graph: GraphHandle, depth: u32) {
        let (mut at, mut depth) = (Some(graph), depth);
        while let Some(graph) = at.and_then(|graph| self.graphs.get_mut(&graph)) {
            depth += 1;
            graph.depth = graph.depth.max(depth);
            at = graph.owner.and_then(|owner| self.nodes.get(&owner)).map(|node| node.graph);
        }
    }

    /// Adds edges; none if one is invalid.
    pub(crate) fn link(
        &mut self,
        graph: GraphHandle,
        edges: &[(NodeHandle, NodeHandle, Edge)],
    ) -> Result<()> {
        let topology = &mut self.graph_mut(graph)?.topology;
        for (done, (from, to, edge)) in edges.iter().enumerate() {
            if let Err(error) = topology.link(*from, *to, *edge) {
                for (from, to, edge) in edges.iter().take(done) {
                    topology.unlink(*from, *to, *edge)?;
                }
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Removes edges; none if one is missing or the graph has memory nodes.
    pub(crate) fn unlink(
        &mut self,
        graph: GraphHandle,
        edges: &[(NodeHandle, NodeHandle, Edge)],
    ) -> Result<()> {
        self.graph(graph)?;
        if self.has_memory(graph) {
            return Err(Error::InvalidValue);
        }
        let topology = &mut self.graph_mut(graph)?.topology;
        for (done, (from, to, edge)) in edges.iter().enumerate() {
            if let Err(error) = topology.unlink(*from, *to, *edge) {
                for (from, to, edge) in edges.iter().take(done) {
                    topology.link(*from, *to, *edge)?;
                }
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Clones a graph's nodes and edges; each new node records its original.
    pub(crate) fn clone_graph(&mut self, graph: GraphHandle, purpose: Purpose) -> Result<GraphHandle> {
        let source = self.graph(graph)?;
        let (topology, references) = (source.topology.clone(), source.user_objects.clone());
        let copy = self.create(purpose);
        let references = self.user_objects.share(&references);
        self.graph_mut(copy)?.user_objects = references;
        let mut copies = FxHashMap::default();
        for &node in topology.nodes() {
            let Node { kind, hints, .. } = self.node(node)?.clone();
            let kind = match kind {
                Kind::Child(child) => Kind::Child(self.clone_graph(child, Purpose::Child)?),
                other => other,
            };
            let added = self.add(copy, &[], kind, hints)?;
            self.node_mut(added)?.original = Some(node);
            copies.insert(node, added);
        }
        for (from, to, edge) in topology.edges() {
            if let (Some(from), Some(to)) = (copies.get(&from), copies.get(&to)) {
                self.graph_mut(copy)?.topology.link(*from, *to, edge)?;
            }
        }
        Ok(copy)
    }

    /// Removes a node, unless its graph has nodes of memory.
    pub(crate) fn destroy_node(&mut self, handle: NodeHandle) -> Result<Remains> {
        let graph = self.node(handle)?.graph;
        if self.has_memory(graph) {
            return Err(Error::InvalidValue);
        }
        self.graph_mut(graph)?.topology.remove(handle);
        let mut remains = Remains::default();
        self.forget_node(handle, &mut remains);
        Ok(remains)
    }

    /// Removes a graph that no node owns.
    pub(crate) fn destroy_graph(&mut self, handle: GraphHandle) -> Result<Remains> {
        if self.graph(handle)?.owner.is_some() {
            return Err(Error::InvalidValue);
        }
        let mut remains = Remains::default();
        self.forget_graph(handle, &mut remains);
        Ok(remains)
    }

    pub(crate) fn forget_graph(&mut self, handle: GraphHandle, remains: &mut Remains) {
        let Some(mut graph) = self.graphs.remove(&handle) else { return };
        for &node in graph.topology.nodes() {
            self.forget_node(node, remains);
        }
        let references = std::mem::take(&mut graph.user_objects);
        remains.destructors.extend(self.user_objects.release_all(references));
        remains.graphs.push(graph);
    }

    /// Removes graphs that were made for a node which failed.
    pub(crate) fn forget_made_for_node(&mut self, graphs: &[GraphHandle], remains: &mut Remains) {
        for &graph in graphs {
            if self.graphs.get(&graph).is_some_and(|graph| graph.purpose != Purpose::Program) {
                self.forget_graph(graph, remains);
            }
        }
    }

    /// Takes all state; numbers continue.
    pub(crate) fn take(&mut self) -> Self {
        let numbers = std::mem::take(&mut self.numbers);
        std::mem::replace(self, Self::numbered(self.shared, numbers))
    }

    fn forget_node(&mut self, handle: NodeHandle, remains: &mut Remains) {
        let Some(node) = self.nodes.remove(&handle) else { return };
        for graph in Self::owned_by(&node.kind) {
            self.forget_graph(graph, remains);
        }
        remains.nodes.push(node);
    }

    /// The unused condition of a graph with this handle.
    pub(crate) fn unused_condition(&self, graph: GraphHandle, handle: u64) -> Result<Arc<Condition>> {
        let of = |graph: &Graph| graph.conditions.iter().find(|one| one.handle() == handle).map(Arc::clone);
        let mut place = Some(graph);
        let found = std::iter::from_fn(|| {
            let graph = place?;
            place = self.owner_of_body(graph);
            Some(self.graphs.get(&graph).and_then(of))
        });
        let condition = found.flatten().next().ok_or(Error::InvalidValue)?;
        let has_it = |node: &Node| matches!(&node.kind, Kind::Conditional(Conditional { condition, .. }) if condition.handle() == handle);
        self.graph(graph)?;
        if self.nodes.values().any(has_it) { Err(Error::InvalidValue) } else { Ok(condition) }
    }

    /// Graph that contains the conditional node of a body.
    fn owner_of_body(&self, graph: GraphHandle) -> Option<GraphHandle> {
        let has_it = |node: &&Node| matches!(&node.kind, Kind::Conditional(Conditional { bodies, .. }) if bodies.contains(&graph));
        Some(self.nodes.values().find(has_it)?.graph)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graphs() -> Graphs {
        Graphs::of_device(Box::leak(Box::new(Shared::new())), 0)
    }

    fn empty(graphs: &mut Graphs, graph: GraphHandle, after: &[NodeHandle]) -> NodeHandle {
        let after: Vec<_> = after.iter().map(|node| (*node, Edge::default())).collect();
        graphs.add(graph, &after, Kind::Empty, Hints::new()).unwrap()
    }

    #[test]
    fn clone_has_its_own_nodes_with_their_originals() {
        let mut graphs = graphs();
        let graph = graphs.create(Purpose::Program);
        let first = empty(&mut graphs, graph, &[]);
        let second = empty(&mut graphs, graph, &[first]);
        let copy = graphs.clone_graph(graph, Purpose::Program).unwrap();
        graphs.destroy_graph(graph).unwrap().bury();
        let nodes = graphs.graph(copy).unwrap().topology.nodes().to_vec();
        let originals: Vec<_> = nodes.iter().map(|node| graphs.node(*node).unwrap().original).collect();
        assert_eq!(originals, [Some(first), Some(second)]);
        assert_eq!(graphs.graph(copy).unwrap().topology.edges().len(), 1);
    }

    #[test]
    fn owned_graph_is_removed_with_its_node_only() {
        let mut graphs = graphs();
        let (parent, child) = (graphs.create(Purpose::Program), graphs.create(Purpose::Program));
        let inner = empty(&mut graphs, child, &[]);
        let node = graphs.add(parent, &[], Kind::Child(child), Hints::new()).unwrap();
        assert_eq!(graphs.destroy_graph(child).err(), Some(Error::InvalidValue));
        graphs.destroy_node(node).unwrap().bury();
        assert!(graphs.node(inner).is_err() && graphs.graph(child).is_err());
    }

    #[test]
    fn graph_cannot_contain_itself() {
        let mut graphs = graphs();
        let (outer, inner) = (graphs.create(Purpose::Program), graphs.create(Purpose::Program));
        graphs.add(outer, &[], Kind::Child(inner), Hints::new()).unwrap();
        let refused =
            |graphs: &mut Graphs, at| graphs.add(at, &[], Kind::Child(outer), Hints::new()).is_err();
        assert!(refused(&mut graphs, outer) && refused(&mut graphs, inner));
    }

    #[test]
    fn edges_are_added_together_or_not_at_all() {
        let mut graphs = graphs();
        let graph = graphs.create(Purpose::Program);
        let [one, two] = [(); 2].map(|()| empty(&mut graphs, graph, &[]));
        let edge = Edge::default();
        assert!(graphs.link(graph, &[(one, two, edge), (one, one, edge)]).is_err());
        assert!(graphs.graph(graph).unwrap().topology.edges().is_empty());
    }

    #[test]
    fn memory_nodes_make_a_graph_unique_and_its_edges_permanent() {
        let mut graphs = graphs();
        let graph = graphs.create(Purpose::Program);
        let first = empty(&mut graphs, graph, &[]);
        let after = [(first, Edge::default())];
        let free = graphs.add(graph, &after, Kind::Free(16), Hints::new()).unwrap();
        assert!(graphs.is_unique(graph));
        assert_eq!(graphs.unlink(graph, &[(first, free, Edge::default())]), Err(Error::InvalidValue));
        assert_eq!(graphs.destroy_node(first).err(), Some(Error::InvalidValue));
    }

    #[test]
    fn nesting_of_graphs_is_bounded() {
        let mut graphs = graphs();
        let mut inner = graphs.create(Purpose::Program);
        let refused = (1..1000).find(|_| {
            let outer = graphs.create(Purpose::Program);
            let added = graphs.add(outer, &[], Kind::Child(inner), Hints::new());
            inner = outer;
            added.is_err()
        });
        assert_eq!(refused, Some(DEEPEST as usize));
    }
}

//! Calls that build and query graphs.

use super::capture::Mode;
use super::capturing;
use super::conditional::Condition;
use super::dot;
use super::handle::{ExecutableHandle, GraphHandle, NodeHandle};
use super::node::{Hints, Kind};
use super::store::{Graphs, Purpose, Remains};
use super::topology::Edge;
use crate::abi::UserObjectHandle;
use crate::abi::error::{Error, Result};
use crate::graph::device::GraphDevice;
use crate::objects::graph_memory::{self as memory, Account};
use crate::work::host_call::HostCall;
use functional::memory::AllocationKind;
use std::path::Path;
use std::sync::Arc;

/// Edges with both nodes.
pub(crate) type Edges = Vec<(NodeHandle, NodeHandle, Edge)>;

impl Graphs {
    /// Adds a node if valid. On failure, graphs made for it stay.
    pub(crate) fn add_checked(
        &mut self,
        graph: GraphHandle,
        after: &[(NodeHandle, Edge)],
        kind: Kind,
        remains: &mut Remains,
    ) -> Result<NodeHandle> {
        let owned = Self::owned_by(&kind);
        let checked = self.check_kind(graph, &kind);
        let added = checked.and_then(|()| self.add(graph, after, kind, Hints::new()));
        if added.is_err() {
            self.forget_made_for_node(&owned, remains);
        }
        added
    }

    /// Rejects an impossible node: one that frees memory of no allocation node, or already freed by
    /// another node.
    fn check_kind(&self, graph: GraphHandle, kind: &Kind) -> Result<()> {
        let Kind::Free(address) = kind else { return Ok(()) };
        let freed_already =
            self.any_node(graph, &|other| matches!(other, Kind::Free(freed) if freed == address));
        if memory::is_reserved(self.shared, *address) && !freed_already {
            Ok(())
        } else {
            Err(Error::InvalidValue)
        }
    }

    /// A graph for the body of a conditional node.
    pub(crate) fn create_body(&mut self) -> GraphHandle {
        self.create(Purpose::Body)
    }
}

/// Building graphs.
impl GraphDevice {
    /// A new graph.
    pub(crate) fn create_graph(&self) -> GraphHandle {
        self.graphs.lock().create(Purpose::Program)
    }

    /// Destroys a graph that no node owns.
    pub(crate) fn destroy_graph(&self, graph: GraphHandle) -> Result<()> {
        let remains = self.graphs.lock().destroy_graph(graph)?;
        remains.bury();
        Ok(())
    }

    /// Clones a graph. Graphs with memory nodes or conditional nodes cannot be cloned.
    pub(crate) fn clone_graph(&self, graph: GraphHandle) -> Result<GraphHandle> {
        let mut graphs = self.graphs.lock();
        if graphs.is_unique(graph) {
            Err(Error::InvalidValue)
        } else {
            graphs.clone_graph(graph, Purpose::Program)
        }
    }

    /// The clone's node of an original node.
    pub(crate) fn node_in_clone(&self, original: NodeHandle, graph: GraphHandle) -> Result<NodeHandle> {
        let graphs = self.graphs.lock();
        let nodes = graphs.graph(graph)?.topology.nodes();
        let is_copy =
            |node: &&NodeHandle| graphs.node(**node).is_ok_and(|node| node.original == Some(original));
        nodes.iter().find(is_copy).copied().ok_or(Error::InvalidValue)
    }

    /// Adds a node.
    pub(crate) fn add_node(
        &self,
        graph: GraphHandle,
        after: &[(NodeHandle, Edge)],
        kind: Kind,
    ) -> Result<NodeHandle> {
        let mut remains = Remains::default();
        let added = self.graphs.lock().add_checked(graph, after, kind, &mut remains);
        remains.bury();
        added
    }

    /// Removes a node.
    pub(crate) fn destroy_node(&self, node: NodeHandle) -> Result<()> {
        let remains = self.graphs.lock().destroy_node(node)?;
        remains.bury();
        Ok(())
    }

    /// Kind of a node.
    pub(crate) fn node_kind(&self, node: NodeHandle) -> Result<Kind> {
        Ok(self.graphs.lock().node(node)?.kind.clone())
    }

    /// Changes a node's parameters. The type stays, and so do executable graphs.
    pub(crate) fn set_node(&self, node: NodeHandle, kind: Kind) -> Result<()> {
        let mut graphs = self.graphs.lock();
        let place = graphs.node_mut(node)?;
        let is_fixed = place.kind.is_memory() || !Graphs::owned_by(&place.kind).is_empty();
        if is_fixed || place.kind.number() != kind.number() {
            return Err(Error::InvalidValue);
        }
        let before = std::mem::replace(&mut place.kind, kind);
        drop(graphs);
        drop(before);
        Ok(())
    }

    /// Kind of a child node: a clone of the graph, or with ownership 1 the graph itself.
    pub(crate) fn child_kind(&self, graph: GraphHandle, ownership: i32) -> Result<Kind> {
        let mut graphs = self.graphs.lock();
        let is_owned = graphs.graph(graph)?.owner.is_some();
        let has_conditions = graphs.any_node(graph, &|kind| matches!(kind, Kind::Conditional(_)));
        match ownership {
            _ if has_conditions => Err(Error::InvalidValue),
            0 if graphs.is_unique(graph) => Err(Error::InvalidValue),
            0 => Ok(Kind::Child(graphs.clone_graph(graph, Purpose::Child)?)),
            1 if !is_owned => Ok(Kind::Child(graph)),
            _ => Err(Error::InvalidValue),
        }
    }

    /// The child graph of a node.
    pub(crate) fn child_graph(&self, node: NodeHandle) -> Result<GraphHandle> {
        match self.graphs.lock().node(node)?.kind {
            Kind::Child(graph) => Ok(graph),
            _ => Err(Error::InvalidValue),
        }
    }

    /// Adds or removes edges.
    pub(crate) fn change_edges(&self, graph: GraphHandle, edges: &Edges, adds: bool) -> Result<()> {
        let mut graphs = self.graphs.lock();
        if adds { graphs.link(graph, edges) } else { graphs.unlink(graph, edges) }
    }

    /// Nodes or root nodes of a graph.
    pub(crate) fn nodes_of(&self, graph: GraphHandle, only_roots: bool) -> Result<Vec<NodeHandle>> {
        let graphs = self.graphs.lock();
        let topology = &graphs.graph(graph)?.topology;
        Ok(if only_roots { topology.roots() } else { topology.nodes().to_vec() })
    }

    /// A graph's edges.
    pub(crate) fn edges_of(&self, graph: GraphHandle) -> Result<Edges> {
        Ok(self.graphs.lock().graph(graph)?.topology.edges())
    }

    /// Dependencies or dependents of a node.
    pub(crate) fn neighbours(&self, node: NodeHandle, dependents: bool) -> Result<Vec<(NodeHandle, Edge)>> {
        let graphs = self.graphs.lock();
        let topology = &graphs.graph_of(node)?.topology;
        Ok(if dependents { topology.dependents(node) } else { topology.dependencies(node) }.to_vec())
    }

    /// Number of a graph.
    pub(crate) fn graph_number(&self, graph: GraphHandle) -> Result<u32> {
        Ok(self.graphs.lock().graph(graph)?.id)
    }

    /// Number of an executable graph.
    pub(crate) fn executable_number(&self, executable: ExecutableHandle) -> Result<u32> {
        Ok(self.graphs.lock().executable(executable)?.id)
    }

    /// Graph of a node, the graph's number, and the node's number in it.
    pub(crate) fn place_of_node(&self, node: NodeHandle) -> Result<(GraphHandle, u32, u32)> {
        let graphs = self.graphs.lock();
        let found = graphs.node(node)?;
        Ok((found.graph, graphs.graph(found.graph)?.id, found.local))
    }

    /// Creates a condition for a conditional node of a graph and returns its handle.
    pub(crate) fn create_condition(&self, graph: GraphHandle, default: u32, flags: u32) -> Result<u64> {
        self.graphs.lock().graph(graph)?;
        let address = self.allocate(size_of::<u32>(), AllocationKind::Device, 0)?;
        let condition = Arc::new(Condition::new(self.shared, address, default, flags)?);
        let handle = condition.handle();
        self.graphs.lock().graph_mut(graph)?.conditions.push(condition);
        Ok(handle)
    }

    /// Writes a DOT drawing of a graph.
    pub(crate) fn draw_graph(&self, graph: GraphHandle, path: &Path, flags: u32) -> Result<()> {
        let text = dot::picture(&self.graphs.lock(), graph, flags)?;
        std::fs::write(path, text).map_err(|_| Error::OperatingSystem)
    }

    /// Removes all graphs at a device reset.
    pub(crate) fn forget_graphs(&self) {
        let before = self.graphs.lock().take();
        drop(before);
        *self.graph_memory.lock() = Account::default();
    }

    /// Replaces the calling thread's capture mode.
    pub(crate) fn exchange_capture_mode(&self, mode: Mode) -> Mode {
        capturing::exchange_mode(mode)
    }
}

/// User objects.
impl GraphDevice {
    /// A new object with a number of references.
    pub(crate) fn create_user_object(&self, destructor: HostCall, references: u32) -> UserObjectHandle {
        self.graphs.lock().user_objects.create(destructor, references)
    }

    /// Adds references of the program.
    pub(crate) fn retain_user_object(&self, object: UserObjectHandle, count: u32) -> Result<()> {
        self.graphs.lock().user_objects.retain(object, count)
    }

    /// Removes references of the program.
    pub(crate) fn release_user_object(&self, object: UserObjectHandle, count: u32) -> Result<()> {
        let destructor = self.graphs.lock().user_objects.release(object, count)?;
        Remains::of(destructor.into_iter().collect()).bury();
        Ok(())
    }

    /// Gives a graph references: new ones, or the caller's.
    pub(crate) fn give_user_object(
        &self,
        graph: GraphHandle,
        object: UserObjectHandle,
        count: u32,
        moves: bool,
    ) -> Result<()> {
        let mut graphs = self.graphs.lock();
        graphs.graph(graph)?;
        // Moved references exist before and after.
        graphs.user_objects.retain(object, if moves { 0 } else { count })?;
        let held = graphs.graph_mut(graph)?.user_objects.entry(object).or_default();
        *held = held.saturating_add(count);
        Ok(())
    }

    /// Removes references of a graph.
    pub(crate) fn take_user_object(
        &self,
        graph: GraphHandle,
        object: UserObjectHandle,
        count: u32,
    ) -> Result<()> {
        let mut graphs = self.graphs.lock();
        let held = graphs.graph_mut(graph)?.user_objects.get_mut(&object).ok_or(Error::InvalidValue)?;
        *held = held.checked_sub(count).ok_or(Error::InvalidValue)?;
        if *held == 0 {
            graphs.graph_mut(graph)?.user_objects.remove(&object);
        }
        let destructor = graphs.user_objects.release(object, count)?;
        drop(graphs);
        Remains::of(destructor.into_iter().collect()).bury();
        Ok(())
    }
}

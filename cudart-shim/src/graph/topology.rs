//! Nodes and edges of any kind: dependency rules and orders of execution.

use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::hash::Hash;
use thiserror::Error;

/// Edge data (`cudaGraphEdgeData`). Any edge orders its nodes completely here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Edge {
    /// Event of the first node that releases the second: 0 is its end.
    pub(crate) from_port: u8,
    /// Waiting part of the second node: 0 is all of it.
    pub(crate) to_port: u8,
    /// 1 for programmatic dependent launch.
    pub(crate) kind: u8,
    pub(crate) reserved: [u8; 5],
}

/// Invalid dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum TopologyError {
    #[error("a node belongs to another graph")]
    UnknownNode,
    #[error("a node cannot depend on itself")]
    OnItself,
    #[error("the edge exists already")]
    EdgeExists,
    #[error("there is no such edge")]
    NoEdge,
}

#[derive(Clone, Debug)]
struct Links<N> {
    after: Vec<(N, Edge)>,
    before: Vec<(N, Edge)>,
}

/// A directed graph that keeps the order of insertion. Cycles are possible until it is sorted.
#[derive(Clone, Debug)]
pub(crate) struct Topology<N> {
    order: Vec<N>,
    links: FxHashMap<N, Links<N>>,
}

impl<N> Default for Topology<N> {
    fn default() -> Self {
        Self { order: Vec::new(), links: FxHashMap::default() }
    }
}

impl<N: Copy + Eq + Hash> Topology<N> {
    /// Adds a node with dependencies. Nothing is added if one is missing or repeated.
    pub(crate) fn add(&mut self, node: N, after: &[(N, Edge)]) -> Result<(), TopologyError> {
        let mut named = FxHashSet::default();
        for (other, _) in after {
            if !self.contains(*other) {
                return Err(TopologyError::UnknownNode);
            }
            if !named.insert(*other) {
                return Err(TopologyError::EdgeExists);
            }
        }
        for (other, edge) in after {
            if let Some(links) = self.links.get_mut(other) {
                links.before.push((node, *edge));
            }
        }
        self.order.push(node);
        self.links.insert(node, Links { after: after.to_vec(), before: Vec::new() });
        Ok(())
    }

    /// Removes a node with its edges.
    pub(crate) fn remove(&mut self, node: N) {
        let Some(links) = self.links.remove(&node) else { return };
        self.order.retain(|other| *other != node);
        for (other, _) in links.after {
            if let Some(links) = self.links.get_mut(&other) {
                links.before.retain(|(dependent, _)| *dependent != node);
            }
        }
        for (other, _) in links.before {
            if let Some(links) = self.links.get_mut(&other) {
                links.after.retain(|(dependency, _)| *dependency != node);
            }
        }
    }

    /// Adds an edge from `from` to `to`.
    pub(crate) fn link(&mut self, from: N, to: N, edge: Edge) -> Result<(), TopologyError> {
        if from == to {
            return Err(TopologyError::OnItself);
        }
        if !self.contains(from) {
            return Err(TopologyError::UnknownNode);
        }
        let target = self.links.get_mut(&to).ok_or(TopologyError::UnknownNode)?;
        if target.after.iter().any(|(node, _)| *node == from) {
            return Err(TopologyError::EdgeExists);
        }
        target.after.push((from, edge));
        if let Some(source) = self.links.get_mut(&from) {
            source.before.push((to, edge));
        }
        Ok(())
    }

    /// Removes an edge with exactly this data.
    pub(crate) fn unlink(&mut self, from: N, to: N, edge: Edge) -> Result<(), TopologyError> {
        let target = self.links.get_mut(&to).ok_or(TopologyError::UnknownNode)?;
        let place = target.after.iter().position(|found| *found == (from, edge));
        target.after.remove(place.ok_or(TopologyError::NoEdge)?);
        if let Some(source) = self.links.get_mut(&from) {
            source.before.retain(|(node, _)| *node != to);
        }
        Ok(())
    }

    /// True if the node exists.
    pub(crate) fn contains(&self, node: N) -> bool {
        self.links.contains_key(&node)
    }

    /// All nodes in order of insertion.
    pub(crate) fn nodes(&self) -> &[N] {
        &self.order
    }

    /// Nodes without dependencies.
    pub(crate) fn roots(&self) -> Vec<N> {
        self.order.iter().copied().filter(|node| self.dependencies(*node).is_empty()).collect()
    }

    /// Dependencies of a node.
    pub(crate) fn dependencies(&self, node: N) -> &[(N, Edge)] {
        self.links.get(&node).map_or(&[], |links| &links.after)
    }

    /// Dependents of a node.
    pub(crate) fn dependents(&self, node: N) -> &[(N, Edge)] {
        self.links.get(&node).map_or(&[], |links| &links.before)
    }

    /// All edges: from, to, data.
    pub(crate) fn edges(&self) -> Vec<(N, N, Edge)> {
        let of = |node: N| self.dependents(node).iter().map(move |(to, edge)| (node, *to, *edge));
        self.order.iter().copied().flat_map(of).collect()
    }

    /// Nodes in dependency order, else in order of insertion. An error names a node in or behind a
    /// cycle.
    pub(crate) fn sorted(&self) -> Result<Vec<N>, N> {
        let mut missing: FxHashMap<N, usize> =
            self.order.iter().map(|node| (*node, self.dependencies(*node).len())).collect();
        let mut ready: VecDeque<N> = self.roots().into();
        let mut sorted = Vec::with_capacity(self.order.len());
        while let Some(node) = ready.pop_front() {
            sorted.push(node);
            missing.remove(&node);
            for (next, _) in self.dependents(node) {
                if let Some(count) = missing.get_mut(next) {
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        ready.push_back(*next);
                    }
                }
            }
        }
        match self.order.iter().find(|node| missing.contains_key(*node)) {
            Some(node) => Err(*node),
            None => Ok(sorted),
        }
    }

    /// The given nodes and all their ancestors.
    pub(crate) fn with_ancestors(&self, nodes: impl IntoIterator<Item = N>) -> FxHashSet<N> {
        let mut found = FxHashSet::default();
        let mut open: Vec<N> = nodes.into_iter().collect();
        while let Some(node) = open.pop() {
            if found.insert(node) {
                open.extend(self.dependencies(node).iter().map(|(dependency, _)| *dependency));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Edge = Edge { from_port: 0, to_port: 0, kind: 0, reserved: [0; 5] };

    /// 0 before 1 and 2, both before 3.
    fn diamond() -> Topology<u32> {
        let mut topology = Topology::default();
        topology.add(0, &[]).unwrap();
        topology.add(1, &[(0, PLAIN)]).unwrap();
        topology.add(2, &[(0, PLAIN)]).unwrap();
        topology.add(3, &[(1, PLAIN), (2, PLAIN)]).unwrap();
        topology
    }

    #[test]
    fn sorted_node_follows_its_dependencies() {
        let mut topology = diamond();
        topology.add(4, &[]).unwrap();
        topology.link(4, 0, PLAIN).unwrap();
        assert_eq!(topology.sorted(), Ok(vec![4, 0, 1, 2, 3]));
        assert_eq!(topology.roots(), [4]);
    }

    #[test]
    fn sort_detects_a_cycle() {
        let mut topology = diamond();
        topology.link(3, 1, PLAIN).unwrap();
        assert_eq!(topology.sorted(), Err(1));
    }

    #[test]
    fn an_edge_exists_once() {
        let mut topology = diamond();
        assert_eq!(topology.link(0, 1, PLAIN), Err(TopologyError::EdgeExists));
        assert_eq!(topology.add(4, &[(1, PLAIN), (1, PLAIN)]), Err(TopologyError::EdgeExists));
        assert!(!topology.contains(4));
    }

    #[test]
    fn edge_is_removed_by_its_data() {
        let mut topology = diamond();
        let programmatic = Edge { from_port: 1, kind: 1, ..PLAIN };
        topology.link(0, 3, programmatic).unwrap();
        assert_eq!(topology.unlink(0, 3, PLAIN), Err(TopologyError::NoEdge));
        topology.unlink(0, 3, programmatic).unwrap();
        assert_eq!(topology.edges().len(), 4);
        assert_eq!(topology.unlink(1, 2, PLAIN), Err(TopologyError::NoEdge));
    }

    #[test]
    fn removed_node_loses_its_edges() {
        let mut topology = diamond();
        topology.remove(1);
        assert_eq!(topology.edges(), [(0, 2, PLAIN), (2, 3, PLAIN)]);
        assert_eq!(topology.link(1, 3, PLAIN), Err(TopologyError::UnknownNode));
    }

    #[test]
    fn node_cannot_depend_on_itself() {
        assert_eq!(diamond().link(2, 2, PLAIN), Err(TopologyError::OnItself));
    }

    #[test]
    fn ancestors_cover_indirect_dependencies() {
        let ancestors = diamond().with_ancestors([1]);
        assert_eq!(ancestors, FxHashSet::from_iter([0, 1]));
    }
}

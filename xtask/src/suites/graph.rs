//! Connected undirected graphs, the suites' file formats, and reference solutions.

use crate::random::Random;
use serde::Deserialize;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::fmt::Write as _;

/// Size and seed of a graph.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shape {
    pub(super) nodes: usize,
    /// Undirected edges; at least one fewer than nodes.
    pub(super) edges: usize,
    #[serde(default)]
    pub(super) seed: u64,
    /// All weights are 1, instead of distinct per edge.
    #[serde(default)]
    pub(super) unit: bool,
}

/// Parts of a graph that a file holds.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Format {
    /// LonestarGPU's binary format.
    Galois,
    /// Lines `a FROM TO WEIGHT` of the DIMACS challenge.
    Dimacs,
    /// A line of neighbours for each node.
    Metis,
    /// Offsets and degrees, the source, and the edges, for Parboil's and ISPASS's searches.
    Offsets,
    /// Form with counts and source first, for CHAI.
    Chai,
    /// Solution: hops from node 0 as CHAI compares them.
    ChaiHops,
    /// Solution: distances from node 0 as CHAI compares them.
    ChaiDistances,
    /// Solution: hops from node 0 as ISPASS's breadth-first search writes them.
    IspassHops,
    /// Solution: distances from node 0 as Pannotia's programs write them.
    PannotiaDistances,
    /// Solution: hops from node 0 as LonestarGPU's breadth-first search writes them.
    LonestarHops,
    /// Solution: distances from node 0 as LonestarGPU's shortest paths write them.
    LonestarDistances,
    /// Solution: hops from node 0 as Parboil's breadth-first search writes them.
    ParboilHops,
}

/// A connected undirected graph; both directions of an edge are stored.
pub(super) struct Graph {
    /// Neighbours and weights of each node, in the order of the neighbours.
    neighbours: Vec<Vec<(usize, u32)>>,
    /// Edges, each once.
    edges: Vec<(usize, usize, u32)>,
}

impl Graph {
    /// A random tree over all nodes, plus random edges.
    pub(super) fn new(shape: Shape) -> Self {
        let mut random = Random::new(shape.seed);
        let mut pairs: Vec<(usize, usize)> =
            (1..shape.nodes).map(|node| (random.below(node), node)).collect();
        let mut present: HashSet<(usize, usize)> = pairs.iter().copied().collect();
        let possible = shape.nodes * shape.nodes.saturating_sub(1) / 2;
        while pairs.len() < shape.edges.min(possible) {
            let (one, other) = (random.below(shape.nodes), random.below(shape.nodes));
            let pair = (one.min(other), one.max(other));
            if one != other && present.insert(pair) {
                pairs.push(pair);
            }
        }
        let mut weights: Vec<u32> = (1..).take(pairs.len()).collect();
        for last in (1..weights.len()).rev() {
            weights.swap(last, random.below(last + 1));
        }
        if shape.unit {
            weights.fill(1);
        }
        let mut neighbours = vec![Vec::new(); shape.nodes];
        let mut edges = Vec::with_capacity(pairs.len());
        for ((from, to), weight) in pairs.into_iter().zip(weights) {
            neighbours[from].push((to, weight));
            neighbours[to].push((from, weight));
            edges.push((from, to, weight));
        }
        neighbours.iter_mut().for_each(|list| list.sort_unstable());
        Self { neighbours, edges }
    }

    pub(super) fn file(&self, format: Format) -> Vec<u8> {
        let text = match format {
            Format::Galois => return self.galois(),
            Format::Dimacs => self.dimacs(),
            Format::Metis => self.metis(),
            Format::Offsets => {
                format!("{}\n{}0\n{}\n{}", self.nodes(), self.offsets(), self.arcs(), self.list())
            }
            Format::Chai => format!("{} {} 0\n{}{}", self.nodes(), self.arcs(), self.offsets(), self.list()),
            Format::ChaiHops => {
                format!("{}\n{}", self.nodes(), lines(&self.hops(), |i, d| format!("{i} {d}")))
            }
            Format::ChaiDistances => {
                format!("{}\n{}", self.nodes(), lines(&self.distances(), |i, d| format!("{i} {d}")))
            }
            Format::IspassHops => lines(&self.hops(), |i, d| format!("{i}) cost:{d}")),
            Format::PannotiaDistances => lines(&self.distances(), |i, d| format!("{}: {d}", i + 1)),
            Format::LonestarHops => {
                let hops = lines(&self.hops(), |i, d| format!("{i}:{d}")).replace('\n', "\n ");
                format!("Computed solution (source dist): [{hops}]")
            }
            Format::LonestarDistances => lines(&self.distances(), |i, d| format!("{i}: {d}")),
            Format::ParboilHops => {
                format!("{}\n{}", self.nodes(), lines(&self.hops(), |i, d| format!("{i} {d}")))
            }
        };
        text.into_bytes()
    }

    fn nodes(&self) -> usize {
        self.neighbours.len()
    }

    /// Directed edges.
    fn arcs(&self) -> usize {
        2 * self.edges.len()
    }

    fn galois(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [1, 4, self.nodes() as u64, self.arcs() as u64] {
            bytes.extend(word.to_le_bytes());
        }
        let mut end = 0;
        for list in &self.neighbours {
            end += list.len() as u64;
            bytes.extend(end.to_le_bytes());
        }
        let all = || self.neighbours.iter().flatten();
        // An even number of arcs needs no padding word.
        all().for_each(|(to, _)| bytes.extend((*to as u32).to_le_bytes()));
        all().for_each(|(_, weight)| bytes.extend(weight.to_le_bytes()));
        bytes
    }

    fn dimacs(&self) -> String {
        let mut text = format!("p sp {} {}\n", self.nodes(), self.arcs());
        for (from, list) in self.neighbours.iter().enumerate() {
            for (to, weight) in list {
                let _ = writeln!(text, "a {} {} {weight}", from + 1, to + 1);
            }
        }
        text
    }

    fn metis(&self) -> String {
        let mut text = format!("{} {}\n", self.nodes(), self.edges.len());
        for list in &self.neighbours {
            let words: Vec<String> = list.iter().map(|(to, _)| (to + 1).to_string()).collect();
            let _ = writeln!(text, "{}", words.join(" "));
        }
        text
    }

    fn offsets(&self) -> String {
        let (mut text, mut start) = (String::new(), 0);
        for list in &self.neighbours {
            let _ = writeln!(text, "{start} {}", list.len());
            start += list.len();
        }
        text
    }

    fn list(&self) -> String {
        let mut text = String::new();
        for (to, weight) in self.neighbours.iter().flatten() {
            let _ = writeln!(text, "{to} {weight}");
        }
        text
    }

    /// Hops from node 0 to each node.
    fn hops(&self) -> Vec<u64> {
        self.search(|_| 1)
    }

    /// Distances from node 0 to each node.
    fn distances(&self) -> Vec<u64> {
        self.search(u64::from)
    }

    /// Dijkstra's algorithm from node 0.
    fn search(&self, cost: impl Fn(u32) -> u64) -> Vec<u64> {
        let mut costs = vec![u64::MAX; self.nodes()];
        let mut queue = BinaryHeap::from([Reverse((0, 0))]);
        while let Some(Reverse((total, node))) = queue.pop() {
            if total >= costs[node] {
                continue;
            }
            costs[node] = total;
            queue.extend(
                self.neighbours[node].iter().map(|(to, weight)| Reverse((total + cost(*weight), *to))),
            );
        }
        costs
    }

    /// Weight of the minimum spanning tree, by Kruskal's algorithm.
    #[cfg(test)]
    pub(super) fn tree_weight(&self) -> u64 {
        let mut edges = self.edges.clone();
        edges.sort_unstable_by_key(|(_, _, weight)| *weight);
        let mut part: Vec<usize> = (0..self.nodes()).collect();
        let mut total = 0;
        for (from, to, weight) in edges {
            let (one, other) = (part[from], part[to]);
            if one != other {
                total += u64::from(weight);
                part.iter_mut().filter(|part| **part == other).for_each(|part| *part = one);
            }
        }
        total
    }
}

fn lines(values: &[u64], line: impl Fn(usize, u64) -> String) -> String {
    values.iter().enumerate().map(|(index, value)| line(index, *value) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Edges 0-1, 1-2, 2-3, 3-0 and 0-2 in an order set by the seed.
    fn square() -> Graph {
        let edges = vec![(0, 1, 1), (1, 2, 2), (2, 3, 3), (0, 3, 9), (0, 2, 4)];
        let mut neighbours = vec![Vec::new(); 4];
        for (from, to, weight) in edges.iter().copied() {
            neighbours[from].push((to, weight));
            neighbours[to].push((from, weight));
        }
        neighbours.iter_mut().for_each(|list: &mut Vec<(usize, u32)>| list.sort_unstable());
        Graph { neighbours, edges }
    }

    fn text(format: Format) -> String {
        String::from_utf8(square().file(format)).unwrap()
    }

    #[test]
    fn solutions_match_the_graph() {
        assert_eq!(square().hops(), [0, 1, 1, 1]);
        assert_eq!(square().distances(), [0, 1, 3, 6]);
        assert_eq!(square().tree_weight(), 1 + 2 + 3);
        assert_eq!(text(Format::IspassHops), "0) cost:0\n1) cost:1\n2) cost:1\n3) cost:1\n");
        assert_eq!(text(Format::PannotiaDistances), "1: 0\n2: 1\n3: 3\n4: 6\n");
        assert_eq!(text(Format::LonestarHops), "Computed solution (source dist): [0:0\n 1:1\n 2:1\n 3:1\n ]");
        assert_eq!(text(Format::LonestarDistances), "0: 0\n1: 1\n2: 3\n3: 6\n");
    }

    #[test]
    fn formats_hold_both_directions_of_an_edge() {
        assert_eq!(text(Format::Metis), "4 5\n2 3 4\n1 3\n1 2 4\n1 3\n");
        assert!(text(Format::Dimacs).starts_with("p sp 4 10\na 1 2 1\na 1 3 4\na 1 4 9\na 2 1 1\n"));
        assert!(text(Format::Offsets).starts_with("4\n0 3\n3 2\n5 3\n8 2\n0\n10\n1 1\n2 4\n"));
        assert!(text(Format::Chai).starts_with("4 10 0\n0 3\n3 2\n5 3\n8 2\n1 1\n2 4\n"));
        let galois = square().file(Format::Galois);
        assert_eq!(galois.len(), 8 * (4 + 4) + 4 * 20);
        assert_eq!(galois[32..40], 3_u64.to_le_bytes());
        assert_eq!(galois[galois.len() - 4..], 3_u32.to_le_bytes());
    }

    #[test]
    fn graph_is_connected_with_distinct_weights() {
        let graph = Graph::new(Shape { nodes: 500, edges: 1500, seed: 3, unit: false });
        assert_eq!(graph.edges.len(), 1500);
        assert!(graph.hops().iter().all(|hops| *hops < 500));
        let weights: HashSet<u32> = graph.edges.iter().map(|(_, _, weight)| *weight).collect();
        assert_eq!(weights.len(), 1500);
    }
}

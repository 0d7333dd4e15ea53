//! Handles of graphs, nodes and executable graphs, in an address range without memory; never
//! reused.

use crate::abi::handle::DEVICE_SHIFT;
pub(crate) use crate::abi::{ExecutableHandle, GraphHandle, NodeHandle};

const GRAPHS: usize = 0x5c00_0000_0000_0000;
const NODES: usize = 0x5d00_0000_0000_0000;
const EXECUTABLES: usize = 0x5e00_0000_0000_0000;

/// Source of handle numbers.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    last: usize,
    last_graph: u32,
}

impl Numbers {
    /// Numbers of a device, distinct from other devices'.
    pub(crate) fn of_device(ordinal: usize) -> Self {
        Self { last: ordinal << DEVICE_SHIFT, last_graph: 0 }
    }

    fn next(&mut self, base: usize) -> usize {
        self.last += 1;
        base | (self.last << 4)
    }

    /// A unique number for a graph or executable graph.
    pub(crate) fn graph_id(&mut self) -> u32 {
        self.last_graph = self.last_graph.wrapping_add(1);
        self.last_graph
    }

    pub(crate) fn graph(&mut self) -> GraphHandle {
        GraphHandle(self.next(GRAPHS))
    }

    pub(crate) fn node(&mut self) -> NodeHandle {
        NodeHandle(self.next(NODES))
    }

    pub(crate) fn executable(&mut self) -> ExecutableHandle {
        ExecutableHandle(self.next(EXECUTABLES))
    }
}

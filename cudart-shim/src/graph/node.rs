//! Graph nodes as data.

use super::conditional::Conditional;
use super::handle::{GraphHandle, NodeHandle};
use crate::abi::EventHandle;
use crate::abi::launch_attribute::number;
use crate::objects::graph_memory::Reservation;
use crate::work::operation::Operation;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::Arc;

/// Kind of a node.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Device work.
    Operation(Operation),
    /// Runs the node's child graph.
    Child(GraphHandle),
    /// No action; joins dependencies.
    Empty,
    EventWait(EventHandle),
    EventRecord(EventHandle),
    Allocate(Arc<Reservation>),
    /// Frees the allocation at this address.
    Free(u64),
    Conditional(Conditional),
}

impl Kind {
    /// `cudaGraphNodeType`, `CUgraphNodeType`.
    pub(crate) fn number(&self) -> c_int {
        match self {
            Self::Operation(Operation::Kernel(_)) => 0,
            Self::Operation(Operation::Copy(_) | Operation::StagedCopy(..)) => 1,
            Self::Operation(Operation::Fill(_)) => 2,
            Self::Operation(Operation::Host(_)) => 3,
            Self::Child(_) => 4,
            Self::Empty => 5,
            Self::EventWait(_) => 6,
            Self::EventRecord(_) => 7,
            Self::Allocate(_) => 10,
            Self::Free(_) | Self::Operation(Operation::Free { .. }) => 11,
            Self::Operation(Operation::MemoryOperations(_)) => 12,
            Self::Conditional(_) => 13,
        }
    }

    /// Name of the type.
    pub(crate) fn name(&self) -> &'static str {
        match self.number() {
            0 => "KERNEL",
            1 => "MEMCPY",
            2 => "MEMSET",
            3 => "HOST",
            4 => "GRAPH",
            5 => "EMPTY",
            6 => "WAIT_EVENT",
            7 => "EVENT_RECORD",
            10 => "MEM_ALLOC",
            11 => "MEM_FREE",
            12 => "BATCH_MEM_OP",
            _ => "CONDITIONAL",
        }
    }

    /// True if the node starts or ends a memory lifetime.
    pub(crate) fn is_memory(&self) -> bool {
        matches!(self, Self::Allocate(_) | Self::Free(_))
    }

    /// True if the node may be in a conditional node's body.
    pub(crate) fn is_allowed_in_body(&self) -> bool {
        matches!(self.number(), 0 | 1 | 2 | 4 | 5 | 13)
    }
}

impl From<Operation> for Kind {
    fn from(operation: Operation) -> Self {
        match operation {
            Operation::Free { address, .. } => Self::Free(address),
            other => Self::Operation(other),
        }
    }
}

/// Kernel node attributes without effect on launches, by number.
pub(crate) type Hints = BTreeMap<u32, [u32; 16]>;

/// A node.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) graph: GraphHandle,
    /// Number of the node in its graph.
    pub(crate) local: u32,
    /// Node that it was cloned from.
    pub(crate) original: Option<NodeHandle>,
    pub(crate) hints: Hints,
}

impl Node {
    /// Priority, for executable graphs that use node priorities.
    pub(crate) fn priority(&self) -> i32 {
        self.hints.get(&number::PRIORITY).map_or(0, |value| value[0] as i32)
    }

    /// Sets the priority.
    pub(crate) fn set_priority(&mut self, priority: i32) {
        let mut value = [0; 16];
        value[0] = priority as u32;
        self.hints.insert(number::PRIORITY, value);
    }
}

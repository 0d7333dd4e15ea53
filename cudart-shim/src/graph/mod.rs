//! CUDA graphs: nodes of work as data, built by calls or captured from streams, instantiated,
//! changed and launched (CUDA C++ programming guide, "CUDA Graphs"; runtime API, "Graph
//! Management"; driver API, "Graph Management").

pub(crate) mod attributes;
pub(crate) mod build;
pub(crate) mod capture;
pub(crate) mod capturing;
pub(crate) mod conditional;
pub(crate) mod dot;
pub(crate) mod executable;
pub(crate) mod handle;
pub(crate) mod kernel_parameters;
pub(crate) mod launch;
pub(crate) mod memory;
pub(crate) mod node;
pub(crate) mod parameters;
pub(crate) mod store;
pub(crate) mod topology;
pub(crate) mod update;
pub(crate) mod user_object;

pub(crate) use capture::Mode;
pub(crate) use conditional::Condition;
pub(crate) use launch::ConditionalRun;
pub(crate) use parameters::edges_of;
pub(crate) use store::Graphs;
pub(crate) use topology::Edge;

/// API structures, for comparison with the vendor's.
#[cfg(test)]
pub(crate) mod structures {
    pub(crate) use super::kernel_parameters::{KernelParameters, KernelParameters1};
    pub(crate) use super::parameters::{
        AllocationParameters, ConditionalParameters, FillParameters, HostParameters,
        MemoryOperationParameters, NodeParameters,
    };
    pub(crate) use super::update::UpdateResultInfo;
    pub(crate) use crate::api::graph::InstantiateParameters;
}

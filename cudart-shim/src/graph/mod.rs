//! CUDA graphs: nodes of work as data, built by calls or captured from streams, instantiated, changed and launched
//! (CUDA C++ programming guide, "CUDA Graphs"; runtime API, "Graph Management"; driver API, "Graph Management").

mod attributes;
mod build;
pub(crate) mod calls;
mod capture;
mod capturing;
mod conditional;
mod dot;
mod executable;
mod handle;
mod kernel_parameters;
mod launch;
pub(crate) mod memory;
mod node;
mod parameters;
mod store;
mod topology;
mod update;
mod user_object;

use capture::Mode;
pub(crate) use conditional::Condition;
pub(crate) use launch::ConditionalRun;
use parameters::edges_of;
pub(crate) use store::Graphs;
pub(crate) use topology::Edge;

/// The structures of the API, for the comparison with the originals.
#[cfg(test)]
pub(crate) mod structures {
    pub(crate) use super::calls::InstantiateParameters;
    pub(crate) use super::kernel_parameters::{KernelParameters, KernelParameters1};
    pub(crate) use super::parameters::{
        AllocationParameters, ConditionalParameters, FillParameters, HostParameters,
        MemoryOperationParameters, NodeParameters,
    };
    pub(crate) use super::update::UpdateResultInfo;
}

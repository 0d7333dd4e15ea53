//! CUDA graphs: nodes of work as data, built by calls or captured from streams, instantiated,
//! changed and launched. Sources: "CUDA Graphs" in the CUDA C++ programming guide, and "Graph
//! Management" in the references of both APIs.

pub(crate) mod attributes;
pub(crate) mod build;
pub(crate) mod capture;
pub(crate) mod capturing;
pub(crate) mod conditional;
pub(crate) mod device;
pub(crate) mod dot;
pub(crate) mod executable;
pub(crate) mod handle;
pub(crate) mod node;
pub(crate) mod store;
pub(crate) mod topology;
pub(crate) mod update;
pub(crate) mod user_object;

pub(crate) use capture::Mode;
pub(crate) use conditional::Condition;
pub(crate) use device::GraphDevice;
pub(crate) use topology::Edge;

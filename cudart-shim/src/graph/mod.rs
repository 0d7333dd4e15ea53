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
pub(crate) use parameters::Dialect;
use parameters::edges_of;
pub(crate) use store::Graphs;
pub(crate) use topology::Edge;

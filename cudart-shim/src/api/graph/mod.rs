//! Graph calls of both APIs. Most have equal arguments in both and are written once.

#![allow(non_snake_case)]

mod capture;
mod conditions;
mod edges;
mod executable;
mod identity;
mod kernel_structures;
mod memory;
mod node_structures;
mod nodes;
mod parameters;
mod user_objects;

/// Structures, for comparison with the vendor's.
#[cfg(test)]
pub(crate) mod structures {
    pub(crate) use super::executable::InstantiateParameters;
    pub(crate) use super::kernel_structures::{KernelParameters, KernelParameters1};
    pub(crate) use super::node_structures::{
        AllocationParameters, ConditionalParameters, FillParameters, HostParameters,
        MemoryOperationParameters, NodeParameters,
    };
    pub(crate) use crate::graph::update::UpdateResultInfo;
}

use crate::abi::Out;
use crate::abi::error::{Error, Result};
use crate::graph::handle::NodeHandle;
use crate::graph::topology::Edge;

pub(crate) mod runtime {
    pub(crate) use super::capture::runtime::*;
    pub(crate) use super::conditions::runtime_only::*;
    pub(crate) use super::edges::runtime::*;
    pub(crate) use super::executable::runtime::*;
    pub(crate) use super::executable::runtime_only::*;
    pub(crate) use super::identity::runtime::*;
    pub(crate) use super::memory::runtime::*;
    pub(crate) use super::nodes::runtime::*;
    pub(crate) use super::nodes::runtime_only::*;
    pub(crate) use super::parameters::runtime::*;
    pub(crate) use super::parameters::runtime_only::*;
    pub(crate) use super::user_objects::runtime::*;
}

pub(crate) mod driver {
    pub(crate) use super::capture::driver::*;
    pub(crate) use super::capture::driver_only::*;
    pub(crate) use super::conditions::driver_only::*;
    pub(crate) use super::edges::driver::*;
    pub(crate) use super::executable::driver::*;
    pub(crate) use super::identity::driver::*;
    pub(crate) use super::memory::driver::*;
    pub(crate) use super::nodes::driver::*;
    pub(crate) use super::nodes::driver_only::*;
    pub(crate) use super::parameters::driver::*;
    pub(crate) use super::parameters::driver_only::*;
    pub(crate) use super::user_objects::driver::*;
}

/// Fills a list of the caller as far as values go, and zeros the rest.
fn fill<T: Copy>(list: Out<T>, room: usize, found: &[T], zero: T) {
    if list.pointer().is_null() {
        return;
    }
    for (index, value) in found.iter().copied().chain(std::iter::repeat(zero)).take(room).enumerate() {
        Out::new(list.pointer().wrapping_add(index)).set_if_wanted(value);
    }
}

/// Reads the length of the caller's list and stores the result: all without a list, else the values
/// stored.
fn room(count: Out<usize>, has_list: bool, found: usize) -> Result<usize> {
    count.check()?;
    if !has_list {
        count.set(found)?;
        return Ok(0);
    }
    // SAFETY: not null, so by the API's contract it points to a number.
    let room = unsafe { count.pointer().read_unaligned() };
    count.set(room.min(found))?;
    Ok(room)
}

/// Neighbours with edge data. Fails if the caller does not request edge data that exists.
fn neighbours(
    found: Vec<(NodeHandle, Edge)>,
    nodes: Out<NodeHandle>,
    edges: Option<Out<Edge>>,
    count: Out<usize>,
) -> Result<()> {
    let (found_nodes, found_edges): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    check_lossless(&found_edges, edges)?;
    let room = room(count, !nodes.pointer().is_null(), found_nodes.len())?;
    fill(nodes, room, &found_nodes, NodeHandle(0));
    fill(edges.unwrap_or(Out::new(std::ptr::null_mut())), room, &found_edges, Edge::default());
    Ok(())
}

fn check_lossless(found: &[Edge], wanted: Option<Out<Edge>>) -> Result<()> {
    let is_wanted = wanted.is_some_and(|edges| !edges.pointer().is_null());
    let is_plain = found.iter().all(|edge| *edge == Edge::default());
    if is_wanted || is_plain { Ok(()) } else { Err(Error::LossyQuery) }
}

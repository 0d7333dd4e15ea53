//! Updates of executable graphs: one node's parameters, or all from a graph of the same topology
//! (`cudaGraphExecUpdate`).

use super::conditional::Conditional;
use super::executable::{Plans, Step};
use super::handle::{ExecutableHandle, GraphHandle, NodeHandle};
use super::node::Kind;
use crate::abi::error::{Error, Result};
use crate::graph::device::GraphDevice;
use crate::objects::rows::{Extent, Side};
use crate::work::copy::{Copy, Fill};
use crate::work::operation::Operation;
use std::sync::Arc;

/// Reason why an executable graph cannot be updated, `cudaGraphExecUpdateResult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum UpdateFailure {
    /// The other graph cannot be instantiated.
    Error = 1,
    TopologyChanged = 2,
    NodeTypeChanged = 3,
    ParametersChanged = 5,
    NotSupported = 6,
}

/// `cudaGraphExecUpdateResultInfo`, `CUgraphExecUpdateResultInfo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct UpdateResultInfo {
    pub(crate) result: i32,
    pub(crate) error_node: NodeHandle,
    pub(crate) error_from_node: NodeHandle,
}

impl UpdateResultInfo {
    pub(crate) const SUCCESS: Self =
        Self { result: 0, error_node: NodeHandle(0), error_from_node: NodeHandle(0) };
}

/// A rejection with the concerned node of the other graph, if any.
type Refusal = (UpdateFailure, NodeHandle);

fn is_linear(extent: Extent, sides: &[&Side]) -> bool {
    extent.height == 1 && extent.depth == 1 && sides.iter().all(|side| side.array.is_none())
}

/// One-dimensional copies may change addresses and length, but not the kinds of memory.
fn may_copy_change(old: &Copy, new: &Copy) -> bool {
    let linear = |copy: &Copy| is_linear(copy.extent, &[&copy.to, &copy.from]);
    old == new || (linear(old) && linear(new) && old.is_same_kind(new))
}

/// One-dimensional fills may change everything, others address and value.
fn may_fill_change(old: &Fill, new: &Fill) -> bool {
    let same_shape =
        old.extent == new.extent && old.to.pitch == new.to.pitch && old.pattern.size() == new.pattern.size();
    same_shape || (is_linear(old.extent, &[]) && is_linear(new.extent, &[]))
}

/// Checks that a step may become another, apart from its inner graphs.
fn check_change(old: &Kind, new: &Kind) -> std::result::Result<(), UpdateFailure> {
    if old.number() != new.number() {
        return Err(UpdateFailure::NodeTypeChanged);
    }
    let fits = match (old, new) {
        (Kind::Operation(Operation::Copy(old)), Kind::Operation(Operation::Copy(new))) => {
            may_copy_change(old, new)
        }
        (Kind::Operation(Operation::Fill(old)), Kind::Operation(Operation::Fill(new))) => {
            may_fill_change(old, new)
        }
        (
            Kind::Operation(Operation::MemoryOperations(old)),
            Kind::Operation(Operation::MemoryOperations(new)),
        ) => old.parameters().len() == new.parameters().len(),
        (Kind::Allocate(old), Kind::Allocate(new)) => old.address == new.address,
        (Kind::Free(old), Kind::Free(new)) => old == new,
        (Kind::Conditional(old), Kind::Conditional(new)) => {
            old.form == new.form && old.bodies.len() == new.bodies.len()
        }
        _ => true,
    };
    match (fits, old.is_memory()) {
        (true, _) => Ok(()),
        (false, true) => Err(UpdateFailure::NotSupported),
        (false, false) => Err(UpdateFailure::ParametersChanged),
    }
}

/// Compares the steps; `changes` collects new kinds by node of the executable graph.
fn compare(
    (old_plans, old): (&Plans, &[Step]),
    (new_plans, new): (&Plans, &[Step]),
    changes: &mut Vec<(NodeHandle, Kind)>,
) -> std::result::Result<(), Refusal> {
    if old.len() != new.len() {
        return Err((UpdateFailure::TopologyChanged, NodeHandle(0)));
    }
    for (old, new) in old.iter().zip(new) {
        let places = |step: &Step| {
            let mut places = step.after.clone();
            places.sort_unstable();
            places
        };
        check_change(&old.kind, &new.kind).map_err(|failure| (failure, new.node))?;
        if places(old) != places(new) {
            return Err((UpdateFailure::TopologyChanged, new.node));
        }
        let kind = match (&old.kind, &new.kind) {
            (Kind::Child(old), Kind::Child(new)) => {
                compare((old_plans, old_plans.plan(*old)), (new_plans, new_plans.plan(*new)), changes)?;
                continue;
            }
            (Kind::Conditional(old), Kind::Conditional(new)) => {
                for (old, new) in old.bodies.iter().zip(&*new.bodies) {
                    compare((old_plans, old_plans.plan(*old)), (new_plans, new_plans.plan(*new)), changes)?;
                }
                Kind::Conditional(Conditional { bodies: Arc::clone(&old.bodies), ..new.clone() })
            }
            (_, new) => new.clone(),
        };
        changes.push((old.node, kind));
    }
    Ok(())
}

fn apply(plans: &mut Plans, changes: Vec<(NodeHandle, Kind)>) {
    for (node, kind) in changes {
        if let Some(step) = plans.step_mut(node) {
            step.kind = kind;
        }
    }
}

impl GraphDevice {
    /// Kind of an executable graph's step.
    pub(crate) fn executable_kind(&self, handle: ExecutableHandle, node: NodeHandle) -> Result<Kind> {
        let executable = self.graphs.lock().executable(handle)?;
        let state = executable.state.lock();
        state.plans.step(node).map(|step| step.kind.clone()).ok_or(Error::InvalidValue)
    }

    /// Changes the parameters of an executable graph's step for later launches.
    pub(crate) fn set_executable_node(
        &self,
        handle: ExecutableHandle,
        node: NodeHandle,
        kind: Kind,
    ) -> Result<()> {
        let executable = self.graphs.lock().executable(handle)?;
        let mut state = executable.state.lock();
        let step = state.plans.step(node).ok_or(Error::InvalidValue)?;
        check_change(&step.kind, &kind).map_err(|_| Error::InvalidValue)?;
        apply(Arc::make_mut(&mut state.plans), vec![(node, kind)]);
        Ok(())
    }

    /// Updates a child graph's steps from a graph of the same topology.
    pub(crate) fn set_executable_child(
        &self,
        handle: ExecutableHandle,
        node: NodeHandle,
        graph: GraphHandle,
    ) -> Result<()> {
        let graphs = self.graphs.lock();
        let executable = graphs.executable(handle)?;
        let new = Plans::of(&graphs, graph).map_err(|failure| failure.error)?;
        drop(graphs);
        let mut state = executable.state.lock();
        let step = state.plans.step(node).ok_or(Error::InvalidValue)?;
        let Kind::Child(child) = step.kind else { return Err(Error::InvalidValue) };
        let mut changes = Vec::new();
        compare((&state.plans, state.plans.plan(child)), (&new, new.root()), &mut changes)
            .map_err(|_| Error::InvalidValue)?;
        apply(Arc::make_mut(&mut state.plans), changes);
        Ok(())
    }

    /// Updates all steps from a graph of the same topology with the same order of insertion.
    pub(crate) fn update_executable(
        &self,
        handle: ExecutableHandle,
        graph: GraphHandle,
    ) -> Result<std::result::Result<(), UpdateResultInfo>> {
        let info = |(failure, error_node)| UpdateResultInfo {
            result: failure as i32,
            error_node,
            error_from_node: NodeHandle(0),
        };
        let graphs = self.graphs.lock();
        let executable = graphs.executable(handle)?;
        graphs.graph(graph)?;
        let new = match Plans::of(&graphs, graph) {
            Ok(new) => new,
            Err(failure) => return Ok(Err(info((UpdateFailure::Error, failure.node)))),
        };
        drop(graphs);
        let mut state = executable.state.lock();
        let mut changes = Vec::new();
        if let Err(refusal) = compare((&state.plans, state.plans.root()), (&new, new.root()), &mut changes) {
            return Ok(Err(info(refusal)));
        }
        let plans = Arc::make_mut(&mut state.plans);
        apply(plans, changes);
        plans.defaults = new.defaults;
        Ok(Ok(()))
    }
}

//! Groups of calls of a thread: nothing starts before the outermost `ncclGroupEnd`.

use crate::communicator::Communicator;
use crate::driver::Stream;
use crate::operation::Operation;
use crate::status::{Answer, Failure};
use std::cell::RefCell;
use std::sync::Arc;

/// Calls of a group.
#[derive(Default)]
struct Group {
    depth: usize,
    /// Communicators whose ranks have joined and do not yet know of all others.
    joined: Vec<Arc<Communicator>>,
    calls: Vec<(Arc<Communicator>, Stream, Operation)>,
    failure: Option<Failure>,
}

thread_local! {
    static GROUP: RefCell<Group> = RefCell::default();
}

/// Begins a group.
pub fn start() {
    GROUP.with_borrow_mut(|group| group.depth += 1);
}

/// Ends a group; the outermost one makes its calls.
pub fn end() -> Answer {
    let group = GROUP.with_borrow_mut(|group| {
        group.depth = group.depth.checked_sub(1).ok_or(Failure::InvalidUsage)?;
        Ok(if group.depth == 0 { std::mem::take(group) } else { Group::default() })
    })?;
    if let Some(failure) = group.failure {
        return Err(failure);
    }
    group.joined.iter().try_for_each(|communicator| communicator.clique.await_all())?;
    // One host function for each communicator and stream, so that sends and receives meet.
    let mut launches: Vec<(Arc<Communicator>, Stream, Vec<Operation>)> = Vec::new();
    for (communicator, stream, operation) in group.calls {
        let same =
            launches.iter_mut().find(|(other, at, _)| Arc::ptr_eq(other, &communicator) && *at == stream);
        match same {
            Some((_, _, operations)) => operations.push(operation),
            None => launches.push((communicator, stream, vec![operation])),
        }
    }
    let mut launches = launches.into_iter();
    launches.try_for_each(|(communicator, stream, operations)| communicator.enqueue(stream, operations))
}

/// Makes a call, at once or at the end of the group.
pub fn call(communicator: &Arc<Communicator>, stream: Stream, operation: Operation) -> Answer {
    let is_in_group = GROUP.with_borrow_mut(|group| {
        if group.depth > 0 {
            group.calls.push((Arc::clone(communicator), stream, operation));
        }
        group.depth > 0
    });
    if is_in_group { Ok(()) } else { communicator.enqueue(stream, vec![operation]) }
}

/// Waits for all ranks of a communicator, at once or at the end of the group.
pub fn await_all(communicator: &Arc<Communicator>) -> Answer {
    let is_in_group = GROUP.with_borrow_mut(|group| {
        if group.depth > 0 {
            group.joined.push(Arc::clone(communicator));
        }
        group.depth > 0
    });
    if is_in_group { Ok(()) } else { communicator.clique.await_all() }
}

/// Notes a failed call, with which the group fails.
pub fn note(failure: Failure) {
    GROUP.with_borrow_mut(|group| {
        if group.depth > 0 {
            group.failure.get_or_insert(failure);
        }
    });
}

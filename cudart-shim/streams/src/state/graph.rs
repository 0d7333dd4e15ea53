//! Graphs: items with an internal order that form one unit in their stream (CUDA C++ programming
//! guide, "CUDA Graphs").
//!
//! A graph starts with an item that waits like any work of the stream. The last item follows all
//! nodes and precedes later work. Inner nodes have no place in the stream's queue, so independent
//! ones overlap.

use super::{Effects, Operation, Place, State};
use crate::clock::Timestamp;
use crate::error::Error;
use crate::handles::{EventId, ItemId, StreamId};
use crate::lanes::Lane;

/// Action of a graph node.
#[derive(Debug)]
pub enum Step<W> {
    /// Runs work in a lane.
    Work(W, Lane),
    /// Records an event.
    Record(EventId),
    /// Waits for the event's latest record at submission; a record by an earlier node counts.
    Wait(EventId),
    /// No action; joins dependencies.
    Empty,
}

/// A node of a submitted graph.
#[derive(Debug)]
pub struct Node<W> {
    /// Action.
    pub step: Step<W>,
    /// Priority, if it differs from the stream's; a smaller number is more urgent.
    pub priority: Option<i32>,
    /// Indices of preceding nodes, all smaller than its own; others are ignored.
    pub after: Vec<usize>,
}

impl<W, F: Clone> State<W, F> {
    /// Adds a graph at the end of a stream, optionally after another item, and returns its end
    /// item.
    pub fn submit_graph(
        &mut self,
        stream: StreamId,
        after: Option<ItemId>,
        nodes: Vec<Node<W>>,
        now: Timestamp,
    ) -> Result<(ItemId, Effects<W>), Error<F>> {
        self.check_open()?;
        let usual = self.live_stream(stream)?.info.priority;
        for node in &nodes {
            if let Step::Record(event) | Step::Wait(event) = node.step {
                self.event(event)?;
            }
        }
        let (begin, mut effects) = self.enqueue(stream, Operation::Wait, after, now)?;
        let mut items = Vec::with_capacity(nodes.len());
        for Node { step, priority, after } in nodes {
            let mut predecessors: Vec<_> =
                after.iter().filter_map(|&place| items.get(place).copied()).chain([begin]).collect();
            let operation = match step {
                Step::Work(work, lane) => Operation::Work { work: Some(work), lane, runs_after_fault: false },
                Step::Record(event) => {
                    self.announce_record(event, stream);
                    Operation::Record(event)
                }
                Step::Wait(event) => {
                    predecessors.extend(self.event(event)?.record.map(|record| record.item));
                    Operation::Wait
                }
                Step::Empty => Operation::Wait,
            };
            let place = Place { stream, queued: false, priority: priority.unwrap_or(usual) };
            items.push(self.add_item(place, operation, predecessors, now, &mut effects));
        }
        let (end, last) = self.enqueue(stream, Operation::Wait, items, now)?;
        effects.retired.extend(last.retired);
        effects.callable.extend(last.callable);
        effects.discarded.extend(last.discarded);
        Ok((end, effects))
    }
}

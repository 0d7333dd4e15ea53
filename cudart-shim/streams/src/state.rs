//! The ordering rules, as functions over plain data.
//!
//! Every submission becomes an item with a set of predecessors, fixed when it is submitted:
//!
//! - the item before it in its stream;
//! - in the legacy default stream, the last item of every blocking stream;
//! - in a blocking stream, the last item of the legacy default stream;
//! - for a wait on an event, the event's latest record at the time of the call.
//!
//! An item is ready when its predecessors have retired. Records and waits retire at that moment;
//! the driver of the state starts and completes work. After a fault, work is discarded instead of
//! becoming ready, so every item retires and no waiter remains.
//!
//! Sources: CUDA C++ programming guide, "Streams", "Default Stream", "Events"; CUDA runtime API
//! manual, "Stream synchronization behavior", `cudaStreamWaitEvent`, `cudaEventRecord`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rustc_hash::FxHashMap;

use crate::clock::Timestamp;
use crate::error::Error;
use crate::handles::{EventFlags, EventId, ItemId, StreamId, StreamInfo, StreamKind};
use crate::lanes::{Lane, PerLane};

mod graph;
mod queries;

pub use graph::{Node, Step};

/// Streams covered by a query or synchronisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One stream. The legacy default stream includes every blocking stream, since it is ordered
    /// after them.
    Stream(StreamId),
    /// Every stream of the context.
    Context,
}

/// Consequences of a change of the state.
#[derive(Debug)]
pub struct Effects<W> {
    /// Retired items: executed, discarded, or records and waits that were reached.
    pub retired: Vec<ItemId>,
    /// Items of [`Lane::Caller`] that may start now.
    pub callable: Vec<ItemId>,
    /// Work that will not run, to be dropped outside the lock.
    pub discarded: Vec<W>,
}

impl<W> Default for Effects<W> {
    fn default() -> Self {
        Self { retired: Vec::new(), callable: Vec::new(), discarded: Vec::new() }
    }
}

/// Work handed out for execution.
#[derive(Debug)]
pub struct Started<W> {
    /// Stream of the submission.
    pub stream: StreamId,
    /// A smaller number is more urgent.
    pub priority: i32,
    /// Lane occupied until completion.
    pub lane: Lane,
    /// The submission.
    pub work: W,
}

#[derive(Debug)]
enum Operation<W> {
    /// `None` once started.
    Work {
        work: Option<W>,
        lane: Lane,
        runs_after_fault: bool,
    },
    Record(EventId),
    Wait,
}

/// Stream position and urgency of an item.
#[derive(Clone, Copy, Debug)]
struct Place {
    stream: StreamId,
    /// False for inner nodes of a graph, which have no place in the stream's queue.
    queued: bool,
    /// A smaller number is more urgent.
    priority: i32,
}

#[derive(Debug)]
struct Item<W> {
    place: Place,
    operation: Operation<W>,
    /// Predecessors not yet retired.
    pending: usize,
    successors: Vec<ItemId>,
}

#[derive(Debug)]
struct Stream {
    info: StreamInfo,
    destroyed: bool,
    /// Items not yet retired, oldest first.
    queue: VecDeque<ItemId>,
}

#[derive(Debug)]
struct Event {
    flags: EventFlags,
    /// The latest record.
    record: Option<Record>,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    item: ItemId,
    stream: StreamId,
    reached: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// No submissions; pending work still runs.
    Draining,
    /// No submissions, and no more starts.
    Closed,
}

/// All streams, events and unfinished items of a context. `W` is the body of a work item, `F` a
/// fault.
#[derive(Debug)]
pub struct State<W, F> {
    streams: BTreeMap<StreamId, Stream>,
    events: FxHashMap<EventId, Event>,
    items: FxHashMap<ItemId, Item<W>>,
    /// Ready work by urgency, then age.
    ready: PerLane<BTreeSet<(i32, ItemId)>>,
    running: PerLane<usize>,
    /// Blocking streams with unfinished items.
    busy_blocking: BTreeSet<StreamId>,
    fault: Option<F>,
    phase: Phase,
    /// Time of the latest record reached.
    last_record: Option<Timestamp>,
    next_handle: u64,
}

impl<W, F: Clone> Default for State<W, F> {
    fn default() -> Self {
        Self {
            streams: BTreeMap::from([(StreamId::LEGACY, Stream::new(StreamKind::Legacy, 0))]),
            events: FxHashMap::default(),
            items: FxHashMap::default(),
            ready: PerLane::default(),
            running: PerLane::default(),
            busy_blocking: BTreeSet::new(),
            fault: None,
            phase: Phase::Open,
            last_record: None,
            next_handle: 1,
        }
    }
}

impl Stream {
    fn new(kind: StreamKind, priority: i32) -> Self {
        Self { info: StreamInfo { kind, priority }, destroyed: false, queue: VecDeque::new() }
    }
}

/// Streams and events.
impl<W, F: Clone> State<W, F> {
    /// Adds a stream; a smaller `priority` is more urgent. For the legacy kind, returns the
    /// existing stream.
    pub fn create_stream(&mut self, kind: StreamKind, priority: i32) -> StreamId {
        if kind == StreamKind::Legacy {
            return StreamId::LEGACY;
        }
        let id = StreamId(self.fresh_handle());
        self.streams.insert(id, Stream::new(kind, priority));
        id
    }

    /// Removes a stream. Unfinished items of it still run, in their order.
    pub fn destroy_stream(&mut self, id: StreamId) -> Result<(), Error<F>> {
        if id == StreamId::LEGACY {
            return Err(Error::DefaultStream(id));
        }
        let stream = self.live_stream_mut(id)?;
        stream.destroyed = true;
        if stream.queue.is_empty() {
            self.streams.remove(&id);
        }
        Ok(())
    }

    /// Properties of a stream.
    pub fn stream_info(&self, id: StreamId) -> Result<StreamInfo, Error<F>> {
        Ok(self.live_stream(id)?.info)
    }

    /// The oldest unfinished item of a stream that has at least `depth` of them.
    pub fn oldest_of_full(&self, id: StreamId, depth: usize) -> Result<Option<ItemId>, Error<F>> {
        let queue = &self.live_stream(id)?.queue;
        Ok(queue.front().copied().filter(|_| queue.len() >= depth))
    }

    /// Adds an event.
    pub fn create_event(&mut self, flags: EventFlags) -> EventId {
        let id = EventId(self.fresh_handle());
        self.events.insert(id, Event { flags, record: None });
        id
    }

    /// Removes an event. A pending record and waits on it keep their place in the order.
    pub fn destroy_event(&mut self, id: EventId) -> Result<(), Error<F>> {
        self.events.remove(&id).map(drop).ok_or(Error::UnknownEvent(id))
    }

    /// Properties of an event.
    pub fn event_flags(&self, id: EventId) -> Result<EventFlags, Error<F>> {
        Ok(self.event(id)?.flags)
    }

    /// Latest record of an event and its stream, until the device reaches the record.
    pub fn pending_record(&self, id: EventId) -> Result<Option<(ItemId, StreamId)>, Error<F>> {
        let record = self.event(id)?.record;
        Ok(record.filter(|record| self.is_pending(record.item)).map(|record| (record.item, record.stream)))
    }

    /// Time at which the device reached the event's latest record.
    pub fn event_time(&self, id: EventId) -> Result<Timestamp, Error<F>> {
        let event = self.event(id)?;
        if event.flags.disable_timing {
            return Err(Error::TimingDisabled(id));
        }
        event.record.ok_or(Error::NotRecorded(id))?.reached.ok_or(Error::NotReady(id))
    }

    fn live_stream(&self, id: StreamId) -> Result<&Stream, Error<F>> {
        self.streams.get(&id).filter(|stream| !stream.destroyed).ok_or(Error::UnknownStream(id))
    }

    fn live_stream_mut(&mut self, id: StreamId) -> Result<&mut Stream, Error<F>> {
        self.streams.get_mut(&id).filter(|stream| !stream.destroyed).ok_or(Error::UnknownStream(id))
    }

    fn event(&self, id: EventId) -> Result<&Event, Error<F>> {
        self.events.get(&id).ok_or(Error::UnknownEvent(id))
    }

    fn fresh_handle(&mut self) -> u64 {
        let handle = self.next_handle;
        self.next_handle = self.next_handle.wrapping_add(1);
        handle
    }
}

/// Submissions.
impl<W, F: Clone> State<W, F> {
    /// Adds work at the end of a stream.
    pub fn submit(
        &mut self,
        stream: StreamId,
        lane: Lane,
        runs_after_fault: bool,
        work: W,
        now: Timestamp,
    ) -> Result<(ItemId, Effects<W>), Error<F>> {
        self.check_open()?;
        self.enqueue(stream, Operation::Work { work: Some(work), lane, runs_after_fault }, [], now)
    }

    /// Records the event at the stream's present position; earlier records no longer count.
    pub fn record_event(
        &mut self,
        event: EventId,
        stream: StreamId,
        now: Timestamp,
    ) -> Result<(ItemId, Effects<W>), Error<F>> {
        self.check_open()?;
        self.event(event)?;
        self.live_stream(stream)?;
        self.announce_record(event, stream);
        self.enqueue(stream, Operation::Record(event), [], now)
    }

    /// Makes the next item the event's latest record before it is added, since it may be reached at
    /// once.
    fn announce_record(&mut self, event: EventId, stream: StreamId) {
        let item = ItemId(self.next_handle);
        if let Some(event) = self.events.get_mut(&event) {
            event.record = Some(Record { item, stream, reached: None });
        }
    }

    /// Records the event at the end of all present work.
    pub fn record_event_behind_all(
        &mut self,
        event: EventId,
        now: Timestamp,
    ) -> Result<Effects<W>, Error<F>> {
        self.check_open()?;
        self.event(event)?;
        let before = self.last_items(Scope::Context)?;
        // A separate stream keeps later work from waiting for the record.
        let stream = self.create_stream(StreamKind::NonBlocking, 0);
        self.announce_record(event, stream);
        let effects = self.enqueue(stream, Operation::Record(event), before, now)?.1;
        self.destroy_stream(stream)?;
        Ok(effects)
    }

    /// Existing streams.
    pub fn live_streams(&self) -> Vec<StreamId> {
        self.streams.iter().filter(|(_, stream)| !stream.destroyed).map(|(id, _)| *id).collect()
    }

    /// Makes later items of `stream` wait for the event's latest record. Adds nothing without a
    /// record.
    pub fn wait_event(
        &mut self,
        stream: StreamId,
        event: EventId,
        now: Timestamp,
    ) -> Result<Effects<W>, Error<F>> {
        self.check_open()?;
        self.live_stream(stream)?;
        match self.event(event)?.record {
            None => Ok(Effects::default()),
            Some(record) => Ok(self.enqueue(stream, Operation::Wait, [record.item], now)?.1),
        }
    }

    fn check_open(&self) -> Result<(), Error<F>> {
        if self.phase != Phase::Open {
            return Err(Error::ShutDown);
        }
        self.check_fault()
    }

    /// First fault of the context.
    pub fn fault(&self) -> Option<&F> {
        self.fault.as_ref()
    }

    /// Returns the context's fault as an error.
    pub fn check_fault(&self) -> Result<(), Error<F>> {
        self.fault.clone().map_or(Ok(()), |fault| Err(Error::Fault(fault)))
    }

    fn enqueue(
        &mut self,
        stream: StreamId,
        operation: Operation<W>,
        others: impl IntoIterator<Item = ItemId>,
        now: Timestamp,
    ) -> Result<(ItemId, Effects<W>), Error<F>> {
        let StreamInfo { kind, priority } = self.live_stream(stream)?.info;
        let mut predecessors = self.last_items_before(stream, kind);
        predecessors.extend(others);
        let id = ItemId(self.next_handle);
        self.live_stream_mut(stream)?.queue.push_back(id);
        if kind.is_blocking() {
            self.busy_blocking.insert(stream);
        }
        let mut effects = Effects::default();
        let place = Place { stream, queued: true, priority };
        self.add_item(place, operation, predecessors, now, &mut effects);
        Ok((id, effects))
    }

    /// Adds an item behind its unretired predecessors.
    fn add_item(
        &mut self,
        place: Place,
        operation: Operation<W>,
        predecessors: impl IntoIterator<Item = ItemId>,
        now: Timestamp,
        effects: &mut Effects<W>,
    ) -> ItemId {
        let id = ItemId(self.fresh_handle());
        let mut pending = 0;
        for predecessor in predecessors {
            if let Some(item) = self.items.get_mut(&predecessor) {
                item.successors.push(id);
                pending += 1;
            }
        }
        self.items.insert(id, Item { place, operation, pending, successors: Vec::new() });
        if pending == 0 && self.settle(id, effects) {
            self.retire(id, now, effects);
        }
        id
    }

    /// Unfinished items that a new item of `stream` must follow.
    fn last_items_before(&self, stream: StreamId, kind: StreamKind) -> Vec<ItemId> {
        match kind {
            StreamKind::Legacy => self.last_of_legacy_and_blocking(),
            StreamKind::PerThread | StreamKind::Blocking => {
                [stream, StreamId::LEGACY].iter().filter_map(|id| self.last_item(id)).collect()
            }
            StreamKind::NonBlocking => self.last_item(&stream).into_iter().collect(),
        }
    }
}

/// Execution.
impl<W, F: Clone> State<W, F> {
    /// True if the item has not retired.
    pub fn is_pending(&self, item: ItemId) -> bool {
        self.items.contains_key(&item)
    }

    /// True if every item has retired.
    pub fn is_idle(&self) -> bool {
        self.items.is_empty()
    }

    /// Items not yet retired.
    pub fn pending_items(&self) -> usize {
        self.items.len()
    }

    /// Ready item of a lane that starts first.
    pub fn first_ready(&self, lane: Lane) -> Option<ItemId> {
        self.first_ready_by_priority(lane).map(|(_, item)| item)
    }

    pub(crate) fn first_ready_by_priority(&self, lane: Lane) -> Option<(i32, ItemId)> {
        self.ready.get(lane).first().copied()
    }

    /// True if the item is ready in this lane.
    pub fn is_ready(&self, item: ItemId, lane: Lane) -> bool {
        let priority = self.items.get(&item).map(|item| item.place.priority);
        priority.is_some_and(|priority| self.ready.get(lane).contains(&(priority, item)))
    }

    /// Ready items of a lane, in starting order.
    pub fn ready(&self, lane: Lane) -> impl Iterator<Item = ItemId> + '_ {
        self.ready.get(lane).iter().map(|(_, item)| *item)
    }

    /// Started and uncompleted items of a lane.
    pub fn running(&self, lane: Lane) -> usize {
        *self.running.get(lane)
    }

    /// Stream of an unfinished item.
    pub fn stream_of(&self, item: ItemId) -> Option<StreamId> {
        self.items.get(&item).map(|item| item.place.stream)
    }

    /// Hands out a ready item's work; `None` if the item is not ready.
    pub fn start(&mut self, id: ItemId) -> Option<Started<W>> {
        let item = self.items.get_mut(&id)?;
        let Place { stream, priority, .. } = item.place;
        let Operation::Work { work, lane, .. } = &mut item.operation else { return None };
        let lane = *lane;
        if !self.ready.get_mut(lane).remove(&(priority, id)) {
            return None;
        }
        *self.running.get_mut(lane) += 1;
        Some(Started { stream, priority, lane, work: work.take()? })
    }

    /// Retires a started item. The first fault stays; later work is discarded instead of started.
    pub fn complete(&mut self, id: ItemId, outcome: Result<(), F>, now: Timestamp) -> Effects<W> {
        let mut effects = Effects::default();
        let Some(Item { operation: Operation::Work { work: None, lane, .. }, .. }) = self.items.get(&id)
        else {
            return effects;
        };
        let running = self.running.get_mut(*lane);
        *running = running.saturating_sub(1);
        if let Err(fault) = outcome {
            self.fault.get_or_insert(fault);
            self.discard_ready(now, &mut effects);
        }
        self.retire(id, now, &mut effects);
        effects
    }

    /// Stops submissions; pending work still runs.
    pub fn drain(&mut self) {
        if self.phase == Phase::Open {
            self.phase = Phase::Draining;
        }
    }

    /// Stops submissions and starts.
    pub fn close(&mut self, now: Timestamp) -> Effects<W> {
        let mut effects = Effects::default();
        self.phase = Phase::Closed;
        self.discard_ready(now, &mut effects);
        effects
    }

    /// True after [`close`](Self::close).
    pub fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    /// Removes all streams and events but the legacy default stream, and the fault, and reopens a
    /// drained state. Only an idle state can be cleared; true if it was.
    pub fn clear(&mut self) -> bool {
        if !self.is_idle() || self.is_closed() {
            return false;
        }
        *self = Self { next_handle: self.next_handle, last_record: self.last_record, ..Self::default() };
        true
    }

    /// Advances an item without unfinished predecessors: work becomes ready. True if nothing is to
    /// execute, so the item retires at once.
    fn settle(&mut self, id: ItemId, effects: &mut Effects<W>) -> bool {
        let Some(item) = self.items.get_mut(&id) else { return false };
        let Operation::Work { work, lane, runs_after_fault } = &mut item.operation else { return true };
        let runs = self.phase != Phase::Closed && (self.fault.is_none() || *runs_after_fault);
        if !runs {
            effects.discarded.extend(work.take());
            return true;
        }
        self.ready.get_mut(*lane).insert((item.place.priority, id));
        if *lane == Lane::Caller {
            effects.callable.push(id);
        }
        false
    }

    /// Retires an item and all successors without work.
    fn retire(&mut self, id: ItemId, now: Timestamp, effects: &mut Effects<W>) {
        let mut over = VecDeque::from([id]);
        while let Some(id) = over.pop_front() {
            let Some(item) = self.items.remove(&id) else { continue };
            if item.place.queued {
                self.leave_stream(item.place.stream);
            }
            if let Operation::Record(event) = item.operation {
                self.reach_record(event, id, now);
            }
            effects.retired.push(id);
            for successor in item.successors {
                let Some(next) = self.items.get_mut(&successor) else { continue };
                next.pending = next.pending.saturating_sub(1);
                if next.pending == 0 && self.settle(successor, effects) {
                    over.push_back(successor);
                }
            }
        }
    }

    /// Removes a stream's oldest item, the only one that can retire.
    fn leave_stream(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.queue.pop_front();
        if stream.queue.is_empty() {
            self.busy_blocking.remove(&id);
            if stream.destroyed {
                self.streams.remove(&id);
            }
        }
    }

    /// Stamps an event, unless it was recorded again or destroyed. Distinct records get distinct
    /// times.
    fn reach_record(&mut self, event: EventId, item: ItemId, now: Timestamp) {
        let earliest = self.last_record.map_or(0, |last| last.0.saturating_add(1));
        let time = now.max(Timestamp(earliest));
        self.last_record = Some(time);
        if let Some(record) = self.events.get_mut(&event).and_then(|event| event.record.as_mut())
            && record.item == item
        {
            record.reached = Some(time);
        }
    }

    /// After a fault or close: retires ready work that must not run.
    fn discard_ready(&mut self, now: Timestamp, effects: &mut Effects<W>) {
        for lane in Lane::ALL {
            for (_, id) in std::mem::take(self.ready.get_mut(lane)) {
                if self.settle(id, effects) {
                    self.retire(id, now, effects);
                }
            }
        }
    }
}

//! Brute-force model of the programming guide's ordering rules, which compares every pair of
//! submissions.

use std::collections::BTreeSet;

use proptest::prelude::*;
use stream_engine::{StreamKind, WorkKind};

/// An API call. Streams and events are positions in [`Program`].
#[derive(Clone, Debug)]
pub(crate) enum Call {
    Work { stream: usize, kind: WorkKind, runs_after_fault: bool },
    Record { event: usize, stream: usize },
    Wait { stream: usize, event: usize },
    Destroy { stream: usize },
}

/// Calls over some streams; the first is the legacy default stream.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) streams: Vec<(StreamKind, i32)>,
    pub(crate) events: usize,
    pub(crate) calls: Vec<Call>,
}

const EVENTS: usize = 3;

/// Programs of up to `calls` calls.
pub(crate) fn programs(calls: usize) -> impl Strategy<Value = Program> {
    let kind =
        prop_oneof![Just(StreamKind::PerThread), Just(StreamKind::Blocking), Just(StreamKind::NonBlocking)];
    prop::collection::vec((kind, -2..=0), 1..6).prop_flat_map(move |others| {
        let mut streams = vec![(StreamKind::Legacy, 0)];
        streams.extend(others);
        let count = streams.len();
        prop::collection::vec(call(count), 0..calls).prop_map(move |calls| Program {
            streams: streams.clone(),
            events: EVENTS,
            calls,
        })
    })
}

fn call(streams: usize) -> impl Strategy<Value = Call> {
    let kind = prop_oneof![Just(WorkKind::Kernel), Just(WorkKind::Transfer), Just(WorkKind::HostFunction)];
    prop_oneof![
        10 => (0..streams, kind, prop::bool::weighted(0.2))
            .prop_map(|(stream, kind, runs_after_fault)| Call::Work { stream, kind, runs_after_fault }),
        4 => (0..EVENTS, 0..streams).prop_map(|(event, stream)| Call::Record { event, stream }),
        4 => (0..streams, 0..EVENTS).prop_map(|(stream, event)| Call::Wait { stream, event }),
        1 => (1..streams).prop_map(|stream| Call::Destroy { stream }),
    ]
}

/// A submission in the model.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) stream: usize,
    pub(crate) what: What,
    /// Earlier submissions that must complete first.
    pub(crate) after: BTreeSet<usize>,
    pub(crate) started: bool,
    pub(crate) over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Work { kind: WorkKind, runs_after_fault: bool },
    Record { event: usize },
    Wait,
}

/// All submissions so far, completed or not.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) streams: Vec<(StreamKind, i32)>,
    pub(crate) destroyed: BTreeSet<usize>,
    pub(crate) entries: Vec<Entry>,
    /// The latest record of each event.
    pub(crate) records: Vec<Option<usize>>,
    pub(crate) faulted: bool,
}

/// Effect of a call on the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// A submission of this number.
    Entry(usize),
    /// No ordered submission.
    Nothing,
    /// The call names a destroyed stream.
    Refused,
}

impl Model {
    pub(crate) fn new(program: &Program) -> Self {
        Self {
            streams: program.streams.clone(),
            destroyed: BTreeSet::new(),
            entries: Vec::new(),
            records: vec![None; program.events],
            faulted: false,
        }
    }

    pub(crate) fn submit(&mut self, call: &Call) -> Effect {
        let (Call::Work { stream, .. }
        | Call::Record { stream, .. }
        | Call::Wait { stream, .. }
        | Call::Destroy { stream }) = *call;
        if self.destroyed.contains(&stream) {
            return Effect::Refused;
        }
        let (what, recorded) = match *call {
            Call::Work { kind, runs_after_fault, .. } => (What::Work { kind, runs_after_fault }, None),
            Call::Record { event, .. } => (What::Record { event }, None),
            Call::Wait { event, .. } => match self.records[event] {
                None => return Effect::Nothing,
                record => (What::Wait, record),
            },
            Call::Destroy { .. } => {
                self.destroyed.insert(stream);
                return Effect::Nothing;
            }
        };
        let index = self.entries.len();
        let mut after: BTreeSet<usize> =
            (0..index).filter(|earlier| self.ordered(self.entries[*earlier].stream, stream)).collect();
        after.extend(recorded);
        for direct in after.clone() {
            after.extend(&self.entries[direct].after);
        }
        self.entries.push(Entry { stream, what, after, started: false, over: false });
        if let What::Record { event } = what {
            self.records[event] = Some(index);
        }
        self.settle();
        Effect::Entry(index)
    }

    /// True if two submissions are ordered by their streams alone.
    fn ordered(&self, a: usize, b: usize) -> bool {
        let blocking =
            |stream: usize| matches!(self.streams[stream].0, StreamKind::Blocking | StreamKind::PerThread);
        let legacy = |stream: usize| self.streams[stream].0 == StreamKind::Legacy;
        a == b || legacy(a) && blocking(b) || blocking(a) && legacy(b)
    }

    /// Completes submissions without work whose predecessors have completed.
    pub(crate) fn settle(&mut self) {
        loop {
            let next = (0..self.entries.len()).find(|index| {
                let entry = &self.entries[*index];
                let executes = match entry.what {
                    What::Work { runs_after_fault, .. } => !self.faulted || runs_after_fault,
                    What::Record { .. } | What::Wait => false,
                };
                !entry.over && !entry.started && !executes && self.predecessors_are_over(*index)
            });
            match next {
                Some(index) => self.entries[index].over = true,
                None => break,
            }
        }
    }

    fn predecessors_are_over(&self, index: usize) -> bool {
        self.entries[index].after.iter().all(|earlier| self.entries[*earlier].over)
    }

    /// Work that may start now.
    pub(crate) fn ready(&self) -> BTreeSet<usize> {
        (0..self.entries.len())
            .filter(|index| {
                let entry = &self.entries[*index];
                matches!(entry.what, What::Work { .. })
                    && !entry.started
                    && !entry.over
                    && self.predecessors_are_over(*index)
            })
            .collect()
    }

    /// Work in progress.
    pub(crate) fn running(&self) -> Vec<usize> {
        (0..self.entries.len())
            .filter(|index| self.entries[*index].started && !self.entries[*index].over)
            .collect()
    }

    /// True if a synchronisation with the stream has nothing to wait for.
    pub(crate) fn stream_is_idle(&self, stream: usize) -> bool {
        let kind = self.streams[stream].0;
        self.entries.iter().all(|entry| {
            let covered = if kind == StreamKind::Legacy {
                self.streams[entry.stream].0 != StreamKind::NonBlocking
            } else {
                entry.stream == stream
            };
            entry.over || !covered
        })
    }
}

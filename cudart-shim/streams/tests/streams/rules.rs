//! Random programs under the bare ordering rules, executed in a random legal order, against the
//! brute-force model.

use std::collections::BTreeSet;

use crate::model::{Call, Effect, Model, Program, What, programs};
use proptest::prelude::*;
use proptest::sample::Index;
use stream_engine::state::{Effects, State};
use stream_engine::{Error, EventFlags, EventId, ItemId, Lane, Scope, StreamId, Timestamp, WorkKind};

/// The tested state and the model, driven in step.
struct Pair {
    state: State<usize, usize>,
    model: Model,
    streams: Vec<StreamId>,
    events: Vec<EventId>,
    /// Item of each model entry; waits have none.
    items: Vec<Option<ItemId>>,
    /// First failed entry.
    first_fault: Option<usize>,
    now: u64,
}

impl Pair {
    fn new(program: &Program) -> Self {
        let mut state = State::default();
        let streams =
            program.streams.iter().map(|(kind, priority)| state.create_stream(*kind, *priority)).collect();
        let events = (0..program.events).map(|_| state.create_event(EventFlags::default())).collect();
        Self {
            state,
            model: Model::new(program),
            streams,
            events,
            items: Vec::new(),
            first_fault: None,
            now: 0,
        }
    }

    fn submit(&mut self, call: &Call) {
        let entry = self.items.len();
        let now = Timestamp(self.now);
        let answer = match *call {
            Call::Work { stream, kind, runs_after_fault } => self
                .state
                .submit(self.streams[stream], kind.into(), runs_after_fault, entry, now)
                .map(|(item, _)| Some(item)),
            Call::Record { event, stream } => self
                .state
                .record_event(self.events[event], self.streams[stream], now)
                .map(|(item, _)| Some(item)),
            Call::Wait { stream, event } => {
                self.state.wait_event(self.streams[stream], self.events[event], now).map(|_| None)
            }
            Call::Destroy { stream } => self.state.destroy_stream(self.streams[stream]).map(|()| None),
        };
        if let Some(fault) = self.first_fault
            && !matches!(call, Call::Destroy { .. })
        {
            assert!(matches!(answer, Err(Error::Fault(kept)) if kept == fault));
            return;
        }
        match (self.model.submit(call), answer) {
            (Effect::Entry(_), Ok(item)) => self.items.push(item),
            (Effect::Nothing, Ok(None)) => {}
            (Effect::Refused, Err(Error::UnknownStream(_))) => {}
            (effect, answer) => panic!("the model says {effect:?}, the state {answer:?}"),
        }
    }

    fn start(&mut self, entry: usize) {
        let started = self.state.start(self.items[entry].unwrap()).expect("ready work starts");
        assert_eq!(started.work, entry);
        self.model.entries[entry].started = true;
    }

    fn complete(&mut self, entry: usize, fails: bool) -> Effects<usize> {
        self.model.faulted |= fails;
        let outcome = if fails { Err(entry) } else { Ok(()) };
        self.first_fault = self.first_fault.or(outcome.err());
        self.model.entries[entry].over = true;
        self.model.settle();
        self.state.complete(self.items[entry].unwrap(), outcome, Timestamp(self.now))
    }

    fn check(&self) {
        self.check_ready();
        for (entry, item) in self.model.entries.iter().zip(&self.items) {
            assert!(item.is_none_or(|item| self.state.is_pending(item) != entry.over));
        }
        for (index, stream) in self.streams.iter().enumerate() {
            match self.state.last_items(Scope::Stream(*stream)) {
                Ok(last) => assert_eq!(last.is_empty(), self.model.stream_is_idle(index)),
                Err(error) => {
                    assert_eq!(error, Error::UnknownStream(*stream));
                    assert!(self.model.destroyed.contains(&index));
                }
            }
        }
        let idle = self.model.entries.iter().all(|entry| entry.over);
        assert_eq!(self.state.last_items(Scope::Context).unwrap().is_empty(), idle);
        assert_eq!(self.state.is_idle(), idle);
        for (event, record) in self.events.iter().zip(&self.model.records) {
            let pending = record.is_some_and(|record| !self.model.entries[record].over);
            assert_eq!(self.state.pending_record(*event).unwrap().is_some(), pending);
        }
    }

    /// Checks that exactly the items allowed by the rules are ready, most urgent first, then
    /// oldest.
    fn check_ready(&self) {
        let mut ready = BTreeSet::new();
        for lane in Lane::EXECUTORS {
            let in_lane: Vec<usize> = self.state.ready(lane).map(|item| self.entry(item)).collect();
            let urgency = |entry: &usize| (self.model.streams[self.model.entries[*entry].stream].1, *entry);
            assert_eq!(in_lane.iter().copied().min_by_key(urgency), in_lane.first().copied());
            ready.extend(in_lane);
        }
        assert_eq!(ready, self.model.ready());
    }

    fn entry(&self, item: ItemId) -> usize {
        self.items.iter().position(|known| *known == Some(item)).unwrap()
    }

    /// Checks that events' times follow their order.
    fn check_times(&self) {
        for (early, early_record) in self.events.iter().zip(&self.model.records) {
            for (late, late_record) in self.events.iter().zip(&self.model.records) {
                let (Some(early_record), Some(late_record)) = (early_record, late_record) else { continue };
                if self.model.entries[*late_record].after.contains(early_record) {
                    assert!(self.state.event_time(*early).unwrap() < self.state.event_time(*late).unwrap());
                }
            }
        }
    }

    /// A random step: submit the next call, start ready work or complete running work. False when
    /// nothing is left.
    fn step(&mut self, calls: &mut std::slice::Iter<'_, Call>, choice: Index, faults: bool) -> bool {
        let ready: Vec<usize> = self.model.ready().into_iter().collect();
        let running = self.model.running();
        let submissions = usize::from(calls.len() > 0) * 2;
        let options = submissions + ready.len() + running.len();
        if options == 0 {
            return false;
        }
        let choice = choice.index(options);
        if choice < submissions {
            self.submit(calls.next().unwrap());
        } else if let Some(entry) = ready.get(choice - submissions) {
            self.start(*entry);
        } else {
            let entry = running[choice - submissions - ready.len()];
            self.complete(entry, faults && entry % 7 == 3);
        }
        true
    }
}

fn execute(program: &Program, choices: &[Index], faults: bool) -> Pair {
    let mut pair = Pair::new(program);
    let mut calls = program.calls.iter();
    let mut choices = choices.iter().cycle();
    while pair.step(&mut calls, *choices.next().unwrap(), faults) {
        pair.check();
        // Time often stands still between steps.
        pair.now += u64::from(pair.items.len().is_multiple_of(3));
    }
    pair
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn state_keeps_exactly_the_guides_partial_order(
        program in programs(40),
        choices in prop::collection::vec(any::<Index>(), 1..200),
    ) {
        let pair = execute(&program, &choices, false);
        prop_assert!(pair.state.is_idle());
        pair.check_times();
    }

    #[test]
    fn fault_retires_all_items_and_runs_only_callbacks(
        program in programs(40),
        choices in prop::collection::vec(any::<Index>(), 1..200),
    ) {
        let pair = execute(&program, &choices, true);
        prop_assert!(pair.state.is_idle());
        prop_assert_eq!(pair.state.fault().copied(), pair.first_fault);
    }

    #[test]
    fn closed_state_starts_nothing(
        program in programs(40),
        choices in prop::collection::vec(any::<Index>(), 1..60),
    ) {
        let mut pair = Pair::new(&program);
        let mut calls = program.calls.iter();
        for choice in &choices {
            pair.step(&mut calls, *choice, false);
        }
        let now = Timestamp(pair.now);
        let mut discarded = pair.state.close(now).discarded;
        prop_assert!(Lane::EXECUTORS.iter().all(|lane| pair.state.first_ready(*lane).is_none()));
        for entry in pair.model.running() {
            discarded.extend(pair.complete(entry, false).discarded);
        }
        prop_assert!(pair.state.is_idle());
        let unstarted = pair.model.entries.iter().enumerate()
            .filter(|(_, entry)| matches!(entry.what, What::Work { .. }) && !entry.started)
            .map(|(index, _)| index);
        prop_assert_eq!(discarded.into_iter().collect::<BTreeSet<_>>(), unstarted.collect::<BTreeSet<_>>());
        prop_assert!(matches!(
            pair.state.submit(StreamId::LEGACY, WorkKind::Kernel.into(), false, 0, now),
            Err(Error::ShutDown)
        ));
    }
}

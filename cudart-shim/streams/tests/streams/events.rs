//! Events: position, generations, waits and times.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use stream_engine::{
    Clock, Config, Engine, Error, EventFlags, Scope, StreamId, StreamKind, Submission, Timestamp,
};

use crate::gate::{Gate, TestEngine, TestFault, slow};

#[test]
fn unrecorded_event_is_complete_and_blocks_nothing() {
    let engine = TestEngine::default();
    let event = engine.create_event(EventFlags::default()).unwrap();
    assert_eq!(engine.is_event_complete(event), Ok(true));
    engine.synchronize_event(event).unwrap();
    engine.wait_event(StreamId::LEGACY, event).unwrap();
    assert_eq!(engine.is_complete(Scope::Context), Ok(true));
}

#[test]
fn event_synchronize_waits_for_work_before_the_record() {
    let engine = TestEngine::default();
    let (before, gate) = (Gate::default(), Gate::default());
    let stream = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    let event = engine.create_event(EventFlags::default()).unwrap();
    engine.submit(stream, Submission::kernel(slow(&before))).unwrap();
    engine.record_event(event, stream).unwrap();
    let waiting = gate.clone();
    engine.submit(stream, Submission::host_function(move || waiting.pass())).unwrap();
    assert_eq!(engine.is_event_complete(event), Ok(false));
    engine.synchronize_event(event).unwrap();
    assert!(before.is_open() && !gate.is_open());
    assert_eq!(engine.is_event_complete(event), Ok(true));
    gate.open();
}

#[test]
fn wait_uses_the_latest_record_at_submission() {
    let engine = TestEngine::default();
    let (first, second, done) = (Gate::default(), Gate::default(), Gate::default());
    let [producer, consumer] = [(); 2].map(|()| engine.create_stream(StreamKind::NonBlocking, 0).unwrap());
    let event = engine.create_event(EventFlags::default()).unwrap();
    engine.submit(producer, Submission::kernel(first.wait())).unwrap();
    engine.record_event(event, producer).unwrap();
    engine.wait_event(consumer, event).unwrap();
    engine.submit(consumer, Submission::transfer(done.opener())).unwrap();
    engine.submit(producer, Submission::kernel(second.wait())).unwrap();
    engine.record_event(event, producer).unwrap();
    assert!(!done.is_open());
    first.open();
    engine.synchronize(Scope::Stream(consumer)).unwrap();
    assert!(done.is_open());
    assert_eq!(engine.is_event_complete(event), Ok(false));
    second.open();
    engine.synchronize_event(event).unwrap();
}

#[test]
fn wait_outlives_its_event() {
    let engine = TestEngine::default();
    let (gate, done) = (Gate::default(), Gate::default());
    let [producer, consumer] = [(); 2].map(|()| engine.create_stream(StreamKind::NonBlocking, 0).unwrap());
    let event = engine.create_event(EventFlags::default()).unwrap();
    engine.submit(producer, Submission::kernel(gate.wait())).unwrap();
    engine.record_event(event, producer).unwrap();
    engine.wait_event(consumer, event).unwrap();
    engine.destroy_event(event).unwrap();
    engine.submit(consumer, Submission::transfer(done.opener())).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert!(!done.is_open());
    gate.open();
    engine.synchronize(Scope::Stream(consumer)).unwrap();
    assert!(done.is_open());
    assert_eq!(engine.synchronize_event(event), Err(Error::UnknownEvent(event)));
}

/// A clock set by the work itself, as a timing model would.
#[derive(Debug, Default)]
struct SimulatedClock(AtomicU64);

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

#[test]
fn elapsed_time_follows_the_supplied_clock() {
    let clock = Arc::new(SimulatedClock::default());
    let engine: TestEngine = Engine::new(Config::default(), clock.clone());
    let [start, end] = [(); 2].map(|()| engine.create_event(EventFlags::default()).unwrap());
    engine.record_event(start, StreamId::LEGACY).unwrap();
    let work = move |_: &_| {
        clock.0.fetch_add(2_500_000, Ordering::SeqCst);
        Ok(())
    };
    engine.submit(StreamId::LEGACY, Submission::kernel(work)).unwrap();
    engine.record_event(end, StreamId::LEGACY).unwrap();
    engine.synchronize_event(end).unwrap();
    assert_eq!(engine.elapsed_milliseconds(start, end), Ok(2.5));
    assert_eq!(engine.elapsed_milliseconds(end, start), Ok(-2.5));
}

#[test]
fn elapsed_time_between_distinct_records_is_never_zero() {
    let engine: TestEngine = Engine::new(Config::default(), Arc::new(SimulatedClock::default()));
    let [start, end] = [(); 2].map(|()| engine.create_event(EventFlags::default()).unwrap());
    engine.record_event(start, StreamId::LEGACY).unwrap();
    engine.record_event(end, StreamId::LEGACY).unwrap();
    assert!(engine.elapsed_milliseconds(start, end).unwrap() > 0.0);
    assert_eq!(engine.elapsed_milliseconds(start, start), Ok(0.0));
}

#[test]
fn elapsed_time_error_names_the_reason() {
    let engine = TestEngine::default();
    let gate = Gate::default();
    let [start, end] = [(); 2].map(|()| engine.create_event(EventFlags::default()).unwrap());
    let untimed = engine.create_event(EventFlags { disable_timing: true, ..EventFlags::default() }).unwrap();
    engine.record_event(start, StreamId::LEGACY).unwrap();
    engine.record_event(untimed, StreamId::LEGACY).unwrap();
    assert_eq!(engine.elapsed_milliseconds(start, end), Err(Error::NotRecorded(end)));
    assert_eq!(engine.elapsed_milliseconds(start, untimed), Err(Error::TimingDisabled(untimed)));
    engine.submit(StreamId::LEGACY, Submission::kernel(gate.wait())).unwrap();
    engine.record_event(end, StreamId::LEGACY).unwrap();
    assert_eq!(engine.elapsed_milliseconds(start, end), Err(Error::<TestFault>::NotReady(end)));
    gate.open();
}

//! Waits for conditions outside the engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use stream_engine::{Error, Scope, StreamKind, Submission};

use crate::gate::{Gate, TestEngine, fault};

fn wait_for(engine: &TestEngine, stream: stream_engine::StreamId, gate: &Gate) {
    let gate = gate.clone();
    engine.submit_condition(stream, move || gate.is_open()).unwrap();
}

#[test]
fn condition_blocks_only_its_stream() {
    let engine = TestEngine::default();
    let gate = Gate::default();
    let held = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    let free = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    wait_for(&engine, held, &gate);
    let passed = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&passed);
    let set = move || flag.store(true, Ordering::Relaxed);
    engine.submit(held, Submission::host_function(set)).unwrap();
    engine.submit(free, Submission::kernel(|_| Ok(()))).unwrap();
    engine.synchronize(Scope::Stream(free)).unwrap();
    assert_eq!(engine.is_complete(Scope::Stream(held)), Ok(false));
    assert!(!passed.load(Ordering::Relaxed));
    gate.open();
    engine.synchronize(Scope::Stream(held)).unwrap();
    assert!(passed.load(Ordering::Relaxed));
}

#[test]
fn conditions_occupy_no_executors() {
    let engine = TestEngine::default();
    let gate = Gate::default();
    let held: Vec<_> = (0..500).map(|_| engine.create_stream(StreamKind::NonBlocking, 0).unwrap()).collect();
    let passed = Arc::new(AtomicUsize::new(0));
    for stream in &held {
        wait_for(&engine, *stream, &gate);
        let passed = Arc::clone(&passed);
        let count = move |_: &_| {
            passed.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        engine.submit(*stream, Submission::kernel(count)).unwrap();
    }
    gate.open();
    engine.synchronize(Scope::Context).unwrap();
    assert_eq!(passed.load(Ordering::Relaxed), held.len());
}

#[test]
fn condition_is_polled_only_in_its_turn() {
    let engine = TestEngine::default();
    let (first, looked) = (Gate::default(), Gate::default());
    let stream = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    wait_for(&engine, stream, &first);
    let seen = looked.clone();
    engine
        .submit_condition(stream, move || {
            seen.open();
            true
        })
        .unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert!(!looked.is_open());
    first.open();
    engine.synchronize(Scope::Stream(stream)).unwrap();
    assert!(looked.is_open());
}

#[test]
fn fault_ends_an_endless_wait() {
    let engine = TestEngine::default();
    let held = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    let failing = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    engine.submit_condition(held, || false).unwrap();
    engine.submit(failing, Submission::kernel(|_| Err(fault("broken")))).unwrap();
    assert_eq!(engine.synchronize(Scope::Context), Err(Error::Fault(fault("broken"))));
}

#[test]
fn shutdown_does_not_wait_for_conditions() {
    let engine = TestEngine::default();
    let stream = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    engine.submit_condition(stream, || false).unwrap();
    assert_eq!(engine.shutdown(Duration::from_millis(10)).unwrap().abandoned, 1);
}

#[test]
fn event_behind_all_work_blocks_no_stream() {
    let engine = TestEngine::default();
    let gate = Gate::default();
    let held = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    let free = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    wait_for(&engine, held, &gate);
    let event = engine.create_event(Default::default()).unwrap();
    engine.record_event_behind_all(event).unwrap();
    engine.submit(free, Submission::kernel(|_| Ok(()))).unwrap();
    engine.synchronize(Scope::Stream(free)).unwrap();
    assert_eq!(engine.is_event_complete(event), Ok(false));
    gate.open();
    engine.synchronize_event(event).unwrap();
}

#[test]
fn wait_everywhere_blocks_all_streams() {
    let engine = TestEngine::default();
    let gate = Gate::default();
    let held = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    let other = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    let event = engine.create_event(Default::default()).unwrap();
    wait_for(&engine, held, &gate);
    engine.record_event(event, held).unwrap();
    engine.wait_event_everywhere(event).unwrap();
    assert_eq!(engine.is_complete(Scope::Stream(other)), Ok(false));
    gate.open();
    engine.synchronize(Scope::Context).unwrap();
}

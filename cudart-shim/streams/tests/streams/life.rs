//! Fork, shutdown and the end of an engine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stream_engine::{Error, EventFlags, Scope, Shutdown, StreamId, StreamKind, Submission};

use crate::gate::{FOREVER, Gate, TestEngine};

#[test]
fn forked_child_rejects_every_call() {
    let engine = TestEngine::default();
    let stream = engine.create_stream(StreamKind::Blocking, 0).unwrap();
    let event = engine.create_event(EventFlags::default()).unwrap();
    let gate = Gate::default();
    engine.submit(stream, Submission::kernel(gate.wait())).unwrap();
    engine.after_fork_in_child();
    assert_eq!(engine.synchronize(Scope::Stream(stream)), Err(Error::Forked));
    assert_eq!(engine.submit(stream, Submission::kernel(|_| Ok(()))), Err(Error::Forked));
    assert_eq!(engine.run_now(stream, |_| Ok(())), Err(Error::Forked));
    assert_eq!(engine.record_event(event, stream), Err(Error::Forked));
    assert_eq!(engine.per_thread_stream(), Err(Error::Forked));
    assert_eq!(engine.reset(), Err(Error::Forked));
    assert_eq!(engine.shutdown(FOREVER), Err(Error::Forked));
    gate.open();
}

#[test]
fn shutdown_lets_pending_work_finish() {
    let engine = TestEngine::default();
    let done = Gate::default();
    engine.submit(StreamId::LEGACY, Submission::kernel(|_| Ok(()))).unwrap();
    engine.submit(StreamId::LEGACY, Submission::kernel(crate::gate::slow(&done))).unwrap();
    assert_eq!(engine.shutdown(FOREVER), Ok(Shutdown { abandoned: 0 }));
    assert!(done.is_open());
    assert_eq!(engine.submit(StreamId::LEGACY, Submission::kernel(|_| Ok(()))), Err(Error::ShutDown));
}

#[test]
fn shutdown_does_not_wait_for_stuck_work() {
    let engine = TestEngine::default();
    let (gate, never) = (Gate::default(), Gate::default());
    engine.submit(StreamId::LEGACY, Submission::kernel(gate.wait())).unwrap();
    engine.submit(StreamId::LEGACY, Submission::kernel(never.opener())).unwrap();
    let start = Instant::now();
    assert_eq!(engine.shutdown(Duration::from_millis(50)), Ok(Shutdown { abandoned: 2 }));
    assert!(start.elapsed() < FOREVER / 2);
    gate.open();
    assert!(!never.is_open());
}

#[test]
fn shutdown_releases_waiting_threads() {
    let engine = TestEngine::default();
    let gate = Gate::default();
    let waiting = gate.clone();
    engine.submit(StreamId::LEGACY, Submission::host_function(move || waiting.pass())).unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| engine.synchronize(Scope::Context));
        std::thread::sleep(Duration::from_millis(20));
        engine.shutdown(Duration::ZERO).unwrap();
        assert_eq!(waiter.join().unwrap(), Err(Error::ShutDown));
    });
    gate.open();
}

#[test]
fn a_host_function_can_shut_the_engine_down() {
    let engine = Arc::new(TestEngine::default());
    let (inner, done) = (Arc::clone(&engine), Gate::default());
    let opener = done.clone();
    let function = move || {
        assert_eq!(inner.shutdown(FOREVER), Ok(Shutdown { abandoned: 1 }));
        opener.open();
    };
    engine.submit(StreamId::LEGACY, Submission::host_function(function)).unwrap();
    done.pass();
}

#[test]
fn drop_of_the_engine_drops_unstarted_work() {
    let (gate, resource) = (Gate::default(), Arc::new(()));
    let engine = TestEngine::default();
    let held = Arc::clone(&resource);
    engine.submit(StreamId::LEGACY, Submission::kernel(gate.wait())).unwrap();
    let work = move |_: &_| {
        drop(held);
        Ok(())
    };
    engine.submit(StreamId::LEGACY, Submission::kernel(work)).unwrap();
    drop(engine);
    gate.open();
    let start = Instant::now();
    while Arc::strong_count(&resource) > 1 {
        assert!(start.elapsed() < FOREVER, "the work was never dropped");
        std::thread::sleep(Duration::from_millis(1));
    }
}

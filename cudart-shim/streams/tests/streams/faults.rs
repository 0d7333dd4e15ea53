//! Failed work items: stopped work, affected calls, and recovery.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use stream_engine::{Config, Context, Error, EventFlags, HostClock, Scope, StreamId, StreamKind, Submission};

use crate::gate::{Gate, TestEngine, TestFault, fault};

fn failing(message: &'static str) -> Submission<TestFault> {
    Submission::kernel(move |_| Err(fault(message)))
}

#[test]
fn every_later_call_returns_the_first_fault() {
    let engine = TestEngine::default();
    let other = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    let event = engine.create_event(EventFlags::default()).unwrap();
    engine.submit(StreamId::LEGACY, failing("bad address")).unwrap();
    let first = Err(Error::Fault(fault("bad address")));
    assert_eq!(engine.synchronize(Scope::Stream(StreamId::LEGACY)), first);
    assert_eq!(engine.synchronize(Scope::Stream(other)), first);
    assert_eq!(engine.synchronize(Scope::Context), first);
    assert_eq!(engine.is_complete(Scope::Stream(other)).map(drop), first);
    assert_eq!(engine.submit(other, failing("another")).map(drop), first);
    assert_eq!(engine.run_now(other, |_| Ok(())), first);
    assert_eq!(engine.record_event(event, other), first);
    assert_eq!(engine.wait_event(other, event), first);
    assert_eq!(engine.is_event_complete(event).map(drop), first);
    assert_eq!(engine.synchronize_event(event), first);
    assert_eq!(engine.elapsed_milliseconds(event, event).map(drop), first);
}

#[test]
fn work_after_a_fault_is_not_executed_in_any_stream() {
    let engine = TestEngine::default();
    let (gate, executed) = (Gate::default(), Gate::default());
    let other = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    let event = engine.create_event(EventFlags::default()).unwrap();
    let waiting = gate.clone();
    let failing = move |_: &Context<TestFault>| {
        waiting.pass();
        Err(fault("bad address"))
    };
    engine.submit(StreamId::LEGACY, Submission::kernel(failing)).unwrap();
    engine.submit(StreamId::LEGACY, Submission::kernel(executed.opener())).unwrap();
    engine.record_event(event, StreamId::LEGACY).unwrap();
    engine.wait_event(other, event).unwrap();
    engine.submit(other, Submission::transfer(executed.opener())).unwrap();
    let function = executed.clone();
    engine.submit(other, Submission::host_function(move || function.open())).unwrap();
    gate.open();
    assert_eq!(engine.synchronize(Scope::Context), Err(Error::Fault(fault("bad address"))));
    assert!(!executed.is_open());
}

#[test]
fn callbacks_receive_the_fault() {
    let engine = TestEngine::default();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let callback = |seen: &Arc<Mutex<Vec<Option<TestFault>>>>| {
        let seen = Arc::clone(seen);
        Submission::callback(move |fault| seen.lock().unwrap().push(fault.cloned()))
    };
    let gate = Gate::default();
    engine.submit(StreamId::LEGACY, Submission::kernel(gate.wait())).unwrap();
    engine.submit(StreamId::LEGACY, callback(&seen)).unwrap();
    engine.submit(StreamId::LEGACY, failing("bad address")).unwrap();
    engine.submit(StreamId::LEGACY, callback(&seen)).unwrap();
    gate.open();
    assert!(engine.synchronize(Scope::Context).is_err());
    assert_eq!(*seen.lock().unwrap(), [None, Some(fault("bad address"))]);
}

#[test]
fn fault_cancels_work_that_waits_for_discarded_work() {
    let engine = TestEngine::default();
    let kernels = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    let copies = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    let started = Gate::default();
    let opener = started.clone();
    let spinning = move |context: &Context<TestFault>| {
        opener.open();
        while !context.is_cancelled() {
            std::thread::yield_now();
        }
        Ok(())
    };
    engine.submit(kernels, Submission::kernel(spinning)).unwrap();
    started.pass();
    engine.submit(copies, Submission::transfer(|_| Err(fault("bad address")))).unwrap();
    assert_eq!(engine.synchronize(Scope::Context), Err(Error::Fault(fault("bad address"))));
}

#[test]
fn fault_of_synchronous_work_faults_the_context() {
    let engine = TestEngine::default();
    let answer: Result<(), _> = engine.run_now(StreamId::LEGACY, |_| Err(fault("bad address")));
    assert_eq!(answer, Err(Error::Fault(fault("bad address"))));
    assert_eq!(engine.synchronize(Scope::Context), answer);
}

#[test]
fn waiting_synchronous_work_does_not_run_after_a_fault() {
    let engine = TestEngine::default();
    let gate = Gate::default();
    let waiting = gate.clone();
    let failing = move |_: &Context<TestFault>| {
        waiting.pass();
        Err(fault("bad address"))
    };
    let blocking = engine.create_stream(StreamKind::Blocking, 0).unwrap();
    engine.submit(blocking, Submission::kernel(failing)).unwrap();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| engine.run_now(StreamId::LEGACY, |_| Ok(())));
        std::thread::sleep(Duration::from_millis(20));
        gate.open();
        assert_eq!(call.join().unwrap(), Err(Error::Fault(fault("bad address"))));
    });
}

#[test]
fn panic_in_work_is_a_fault_of_its_engine() {
    let engine = TestEngine::new(Config { number: 3, ..Config::default() }, Arc::new(HostClock::default()));
    engine.submit(StreamId::LEGACY, Submission::host_function(|| panic!("a defect"))).unwrap();
    assert_eq!(engine.synchronize(Scope::Context), Err(Error::Fault(fault("a defect in engine 3"))));
}

#[test]
fn reset_clears_the_fault_and_forgets_streams_and_events() {
    let engine = TestEngine::default();
    let stream = engine.create_stream(StreamKind::Blocking, 0).unwrap();
    let event = engine.create_event(EventFlags::default()).unwrap();
    let own = engine.per_thread_stream().unwrap();
    engine.submit(stream, failing("bad address")).unwrap();
    engine.reset().unwrap();
    assert_eq!(engine.synchronize(Scope::Context), Ok(()));
    assert_eq!(engine.stream_info(stream), Err(Error::UnknownStream(stream)));
    assert_eq!(engine.event_flags(event), Err(Error::UnknownEvent(event)));
    assert_ne!(engine.per_thread_stream(), Ok(own));
    assert_eq!(engine.run_now(StreamId::LEGACY, |context| Ok(context.is_cancelled())), Ok(false));
}

#[test]
fn reset_waits_for_pending_work() {
    let engine = TestEngine::default();
    let done = Gate::default();
    let stream = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    engine.submit(stream, Submission::kernel(crate::gate::slow(&done))).unwrap();
    engine.reset().unwrap();
    assert!(done.is_open());
}

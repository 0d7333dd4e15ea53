//! Order and overlap of work on real threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use stream_engine::{
    Config, EventFlags, EventId, Limits, Scope, Start, StreamId, StreamKind, Submission, WorkKind,
};

use crate::gate::{Gate, TestEngine, TestFault, engine_with};
use crate::model::{Call, Effect, Model, Program, What, programs};

/// Start and end of each piece of work, in ticks of a shared counter.
type Spans = Arc<Mutex<Vec<Option<(usize, usize)>>>>;

fn traced(entry: usize, ticks: &Arc<AtomicUsize>, spans: &Spans, kind: WorkKind) -> Submission<TestFault> {
    let (ticks, spans) = (Arc::clone(ticks), Arc::clone(spans));
    let work = move |_: &_| {
        let start = ticks.fetch_add(1, Ordering::SeqCst);
        if entry.is_multiple_of(3) {
            std::thread::sleep(Duration::from_micros(200));
        }
        let end = ticks.fetch_add(1, Ordering::SeqCst);
        spans.lock().unwrap()[entry] = Some((start, end));
        Ok(())
    };
    Submission { kind, runs_after_fault: false, work: Box::new(work) }
}

/// Makes the calls on an engine and the model; returns the model and the spans of all work.
fn execute(program: &Program, config: Config) -> (Model, Vec<Option<(usize, usize)>>) {
    let engine = engine_with(config);
    let streams: Vec<StreamId> = program
        .streams
        .iter()
        .map(|(kind, priority)| engine.create_stream(*kind, *priority).unwrap())
        .collect();
    let events: Vec<EventId> =
        (0..program.events).map(|_| engine.create_event(EventFlags::default()).unwrap()).collect();
    let mut model = Model::new(program);
    let ticks = Arc::default();
    let spans = Spans::new(Mutex::new(vec![None; program.calls.len()]));
    for call in &program.calls {
        let effect = model.submit(call);
        let answer = match *call {
            Call::Work { stream, kind, .. } => {
                let entry = model.entries.len().saturating_sub(1);
                engine.submit(streams[stream], traced(entry, &ticks, &spans, kind)).map(drop)
            }
            Call::Record { event, stream } => engine.record_event(events[event], streams[stream]),
            Call::Wait { stream, event } => engine.wait_event(streams[stream], events[event]),
            Call::Destroy { stream } => engine.destroy_stream(streams[stream]),
        };
        assert_eq!(answer.is_err(), effect == Effect::Refused);
    }
    engine.synchronize(Scope::Context).unwrap();
    let spans = spans.lock().unwrap().clone();
    (model, spans)
}

fn is_work(model: &Model, entry: usize) -> bool {
    matches!(model.entries[entry].what, What::Work { .. })
}

/// Executes a program and checks that work starts only after all its predecessors.
fn check_order(program: &Program, config: Config) -> Result<(), TestCaseError> {
    let (model, spans) = execute(program, config);
    for (late, entry) in model.entries.iter().enumerate().filter(|(late, _)| is_work(&model, *late)) {
        let (start, _) = spans[late].expect("all work was executed");
        for early in entry.after.iter().filter(|early| is_work(&model, **early)) {
            let (_, end) = spans[*early].expect("all work was executed");
            prop_assert!(end < start, "{} ran before {} was over", late, early);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn work_on_threads_keeps_the_guides_order(program in programs(40), limit in 1..5_usize) {
        let limits = Limits { kernels: limit, transfers: limit, host_functions: limit };
        let config = Config { limits, queue_depth: 4, ..Config::default() };
        check_order(&program, config)?;
    }
}

#[test]
fn kernel_may_wait_for_a_later_copy_in_another_stream() {
    let engine = TestEngine::default();
    let flag = Gate::default();
    let kernels = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    let copies = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    engine.submit(kernels, Submission::kernel(flag.wait())).unwrap();
    engine.submit(copies, Submission::transfer(flag.opener())).unwrap();
    engine.synchronize(Scope::Context).unwrap();
}

#[test]
fn kernels_may_wait_for_kernels_of_many_other_streams() {
    let engine = TestEngine::default();
    let gates: Vec<Gate> = (0..20).map(|_| Gate::default()).collect();
    for (index, gate) in gates.iter().enumerate() {
        let stream = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
        let (own, next) = (gate.clone(), gates.get(index + 1).cloned());
        let work = move |_: &_| {
            if let Some(next) = next {
                next.pass();
            }
            own.open();
            Ok(())
        };
        engine.submit(stream, Submission::kernel(work)).unwrap();
    }
    engine.synchronize(Scope::Context).unwrap();
    assert!(gates.iter().all(Gate::is_open));
}

#[test]
fn a_host_function_may_wait_for_another_streams_work() {
    let engine = TestEngine::default();
    let first = engine.create_stream(StreamKind::Blocking, 0).unwrap();
    let second = engine.create_stream(StreamKind::Blocking, 0).unwrap();
    for submission in [Submission::kernel, Submission::transfer] {
        let gate = Gate::default();
        let waiting = gate.clone();
        engine.submit(first, Submission::host_function(move || waiting.pass())).unwrap();
        engine.submit(second, submission(gate.opener())).unwrap();
        engine.synchronize(Scope::Context).unwrap();
    }
}

#[test]
fn slow_host_function_blocks_only_its_stream() {
    let engine = TestEngine::default();
    let (gate, after) = (Gate::default(), Gate::default());
    let slow = engine.create_stream(StreamKind::Blocking, 0).unwrap();
    let other = engine.create_stream(StreamKind::Blocking, 0).unwrap();
    let waiting = gate.clone();
    engine.submit(slow, Submission::host_function(move || waiting.pass())).unwrap();
    engine.submit(slow, Submission::kernel(after.opener())).unwrap();
    let other_function = Gate::default();
    let opener = other_function.clone();
    engine.submit(other, Submission::host_function(move || opener.open())).unwrap();
    engine.synchronize(Scope::Stream(other)).unwrap();
    assert!(other_function.is_open() && !after.is_open());
    gate.open();
    engine.synchronize(Scope::Stream(slow)).unwrap();
    assert!(after.is_open());
}

#[test]
fn kernels_do_not_overlap_when_the_limit_is_strict() {
    let engine = engine_with(Config { overlap_after: None, ..Config::default() });
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    for _ in 0..8 {
        let stream = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
        let (running, most) = (Arc::clone(&running), Arc::clone(&most));
        let work = move |_: &_| {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(5));
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        };
        engine.submit(stream, Submission::kernel(work)).unwrap();
    }
    engine.synchronize(Scope::Context).unwrap();
    assert_eq!(most.load(Ordering::SeqCst), 1);
}

#[test]
fn urgent_ready_work_is_picked_first() {
    let engine = engine_with(Config { overlap_after: None, ..Config::default() });
    let (gate, order) = (Gate::default(), Arc::new(Mutex::new(Vec::new())));
    let busy = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    engine.submit(busy, Submission::kernel(gate.wait())).unwrap();
    for priority in [0, -2, -1] {
        let stream = engine.create_stream(StreamKind::NonBlocking, priority).unwrap();
        let order = Arc::clone(&order);
        let work = move |_: &_| {
            order.lock().unwrap().push(priority);
            Ok(())
        };
        engine.submit(stream, Submission::kernel(work)).unwrap();
    }
    gate.open();
    engine.synchronize(Scope::Context).unwrap();
    assert_eq!(*order.lock().unwrap(), [-2, -1, 0]);
}

fn one_at_a_time() -> Config {
    Config { start: Start::OneAtATime, overlap_after: None, ..Config::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn serial_work_keeps_the_guides_order(program in programs(40)) {
        check_order(&program, one_at_a_time())?;
    }
}

#[test]
fn serial_submission_returns_after_its_work() {
    let engine = engine_with(one_at_a_time());
    for submission in [Submission::kernel, Submission::transfer] {
        let stream = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
        let gate = Gate::default();
        engine.submit(stream, submission(gate.opener())).unwrap();
        assert!(gate.is_open());
    }
}

#[test]
fn serial_submissions_of_many_threads_return() {
    let engine = engine_with(one_at_a_time());
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                let stream = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
                for submission in [Submission::kernel, Submission::transfer].repeat(8) {
                    let gate = Gate::default();
                    engine.submit(stream, submission(gate.opener())).unwrap();
                    assert!(gate.is_open());
                    engine.submit(stream, Submission::host_function(|| ())).unwrap();
                }
                engine.synchronize(Scope::Stream(stream)).unwrap();
            });
        }
    });
}

#[test]
fn serial_submissions_return_once_the_device_is_idle() {
    let engine = Arc::new(engine_with(one_at_a_time()));
    let [begun, busy, met] = [(); 3].map(|()| Gate::default());
    let stream = || engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    let submit = |stream, submission| {
        let (engine, returned) = (Arc::clone(&engine), Gate::default());
        let told = returned.clone();
        std::thread::spawn(move || {
            engine.submit(stream, submission).unwrap();
            told.open();
        });
        returned
    };
    let (begins, goes_on) = (begun.clone(), busy.clone());
    let first = submit(
        stream(),
        Submission::kernel(move |_: &_| {
            begins.open();
            goes_on.pass();
            Ok(())
        }),
    );
    begun.pass();
    // No held item can run, so no completion wakes another submission.
    let held = [(); 8].map(|()| {
        let (stream, is_met) = (stream(), met.clone());
        engine.submit_condition(stream, move || is_met.is_open()).unwrap();
        submit(stream, Submission::kernel(|_: &_| Ok(())))
    });
    std::thread::sleep(Duration::from_millis(50));
    assert!(!first.is_open() && held.iter().all(|returned| !returned.is_open()));
    busy.open();
    held.iter().for_each(Gate::pass);
    first.pass();
    met.open();
    engine.synchronize(Scope::Context).unwrap();
}

#[test]
fn condition_blocks_no_serial_submission() {
    let engine = engine_with(one_at_a_time());
    let (held, free) = (Gate::default(), Gate::default());
    let streams: [_; 2] = std::array::from_fn(|_| engine.create_stream(StreamKind::NonBlocking, 0).unwrap());
    let condition = Gate::default();
    let is_met = condition.clone();
    engine.submit_condition(streams[0], move || is_met.is_open()).unwrap();
    engine.submit(streams[0], Submission::kernel(held.opener())).unwrap();
    engine.submit(streams[1], Submission::kernel(free.opener())).unwrap();
    assert!(free.is_open() && !held.is_open());
    condition.open();
    engine.synchronize(Scope::Context).unwrap();
    assert!(held.is_open());
}

#[test]
fn serial_host_function_may_wait_for_the_caller() {
    let engine = engine_with(one_at_a_time());
    let (gate, after) = (Gate::default(), Gate::default());
    let waiting = gate.clone();
    let stream = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    engine.submit(stream, Submission::host_function(move || waiting.pass())).unwrap();
    engine.submit(stream, Submission::kernel(after.opener())).unwrap();
    gate.open();
    engine.synchronize(Scope::Context).unwrap();
    assert!(after.is_open());
}

fn on_demand() -> Config {
    let limits = Limits { kernels: 128, transfers: 128, host_functions: 1 };
    Config { start: Start::OnDemand, limits, ..Config::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn work_on_demand_keeps_the_guides_order(program in programs(40)) {
        check_order(&program, on_demand())?;
    }
}

#[test]
fn work_on_demand_starts_when_a_call_waits() {
    let engine = engine_with(on_demand());
    let gate = Gate::default();
    engine.submit(StreamId::LEGACY, Submission::kernel(gate.opener())).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert!(!gate.is_open());
    engine.synchronize(Scope::Context).unwrap();
    assert!(gate.is_open());
}

#[test]
fn completion_query_runs_some_work_on_demand() {
    let engine = engine_with(on_demand());
    let gates: [Gate; 2] = Default::default();
    for gate in &gates {
        engine.submit(StreamId::LEGACY, Submission::kernel(gate.opener())).unwrap();
    }
    engine.step().unwrap();
    assert!(gates[0].is_open() && !gates[1].is_open());
    engine.step().unwrap();
    assert!(gates[1].is_open());
}

#[test]
fn work_on_demand_runs_after_an_idle_second() {
    let engine = engine_with(on_demand());
    let gate = Gate::default();
    engine.submit(StreamId::LEGACY, Submission::kernel(gate.opener())).unwrap();
    gate.pass();
}

#[test]
fn concurrent_items_on_demand_are_gathered() {
    let engine = Arc::new(engine_with(on_demand()));
    let gathered = Arc::new(AtomicUsize::new(0));
    let released = Gate::default();
    for _ in 0..3 {
        let stream = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
        let (items, gathered, released) = (Arc::clone(&engine), Arc::clone(&gathered), released.clone());
        let work = move |_: &_| {
            gathered.fetch_add(1, Ordering::Relaxed);
            items.gather().unwrap();
            released.pass();
            Ok(())
        };
        engine.submit(stream, Submission::kernel(work)).unwrap();
    }
    let seen = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            engine.wait_until_gathered().unwrap();
            let seen = gathered.load(Ordering::Relaxed);
            for _ in 0..seen {
                engine.release().unwrap();
            }
            released.open();
            seen
        });
        engine.synchronize(Scope::Context).unwrap();
        watcher.join().unwrap()
    });
    assert_eq!(seen, 3);
}

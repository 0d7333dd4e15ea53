//! Extent of synchronisation, and the threads that run work.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use stream_engine::{Config, Error, Scope, StreamId, StreamKind, Submission, is_engine_thread};

use crate::gate::{FOREVER, Gate, TestEngine, engine_with, slow};

#[test]
fn submission_returns_before_its_work() {
    let engine = TestEngine::default();
    let gate = Gate::default();
    engine.submit(StreamId::LEGACY, Submission::kernel(gate.wait())).unwrap();
    assert_eq!(engine.is_complete(Scope::Stream(StreamId::LEGACY)), Ok(false));
    gate.open();
    engine.synchronize(Scope::Context).unwrap();
    assert_eq!(engine.is_complete(Scope::Context), Ok(true));
}

#[test]
fn stream_synchronize_returns_only_after_the_streams_last_work() {
    for kind in [StreamKind::Blocking, StreamKind::NonBlocking] {
        let engine = TestEngine::default();
        let stream = engine.create_stream(kind, 0).unwrap();
        let submissions: [fn(&Gate) -> Submission<_>; 3] = [
            |done| Submission::kernel(slow(done)),
            |done| Submission::transfer(slow(done)),
            |done| {
                let done = done.clone();
                Submission::host_function(move || {
                    thread::sleep(Duration::from_millis(30));
                    done.open();
                })
            },
        ];
        for submission in submissions {
            let done = Gate::default();
            engine.submit(stream, Submission::kernel(|_| Ok(()))).unwrap();
            engine.submit(stream, submission(&done)).unwrap();
            engine.synchronize(Scope::Stream(stream)).unwrap();
            assert!(done.is_open());
        }
    }
}

#[test]
fn stream_synchronize_does_not_wait_for_other_streams() {
    let engine = TestEngine::default();
    let gate = Gate::default();
    let stuck = engine.create_stream(StreamKind::Blocking, 0).unwrap();
    let free = engine.create_stream(StreamKind::Blocking, 0).unwrap();
    engine.submit(stuck, Submission::kernel(gate.wait())).unwrap();
    engine.submit(free, Submission::kernel(|_| Ok(()))).unwrap();
    engine.synchronize(Scope::Stream(free)).unwrap();
    assert!(!gate.is_open());
    gate.open();
}

#[test]
fn legacy_synchronize_waits_for_blocking_streams_only() {
    let engine = TestEngine::default();
    let (gate, done) = (Gate::default(), Gate::default());
    let apart = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    let blocking = engine.create_stream(StreamKind::Blocking, 0).unwrap();
    engine.submit(apart, Submission::kernel(gate.wait())).unwrap();
    engine.submit(blocking, Submission::kernel(slow(&done))).unwrap();
    engine.synchronize(Scope::Stream(StreamId::LEGACY)).unwrap();
    assert!(done.is_open());
    assert_eq!(engine.is_complete(Scope::Context), Ok(false));
    gate.open();
}

#[test]
fn context_synchronize_waits_for_every_stream() {
    let engine = TestEngine::default();
    let finished = Arc::new(AtomicUsize::new(0));
    let kinds = [StreamKind::Blocking, StreamKind::NonBlocking, StreamKind::PerThread];
    let mut streams: Vec<StreamId> =
        kinds.iter().map(|kind| engine.create_stream(*kind, 0).unwrap()).collect();
    streams.push(StreamId::LEGACY);
    for stream in &streams {
        let finished = Arc::clone(&finished);
        let work = move || {
            thread::sleep(Duration::from_millis(10));
            finished.fetch_add(1, Ordering::SeqCst);
        };
        engine.submit(*stream, Submission::host_function(work)).unwrap();
    }
    engine.synchronize(Scope::Context).unwrap();
    assert_eq!(finished.load(Ordering::SeqCst), streams.len());
}

#[test]
fn context_synchronize_waits_for_the_work_of_destroyed_streams() {
    let engine = TestEngine::default();
    let done = Gate::default();
    let stream = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    engine.submit(stream, Submission::kernel(slow(&done))).unwrap();
    engine.destroy_stream(stream).unwrap();
    assert_eq!(engine.is_complete(Scope::Stream(stream)), Err(Error::UnknownStream(stream)));
    engine.synchronize(Scope::Context).unwrap();
    assert!(done.is_open());
}

#[test]
fn synchronous_work_on_an_idle_stream_runs_on_the_caller() {
    let engine = TestEngine::default();
    let caller = thread::current().id();
    let ran_on = engine.run_now(StreamId::LEGACY, |_| Ok(thread::current().id())).unwrap();
    assert_eq!(ran_on, caller);
}

#[test]
fn synchronous_work_comes_after_the_streams_pending_work() {
    let engine = TestEngine::default();
    let done = Gate::default();
    let blocking = engine.create_stream(StreamKind::Blocking, 0).unwrap();
    engine.submit(blocking, Submission::kernel(slow(&done))).unwrap();
    assert!(engine.run_now(StreamId::LEGACY, |_| Ok(done.is_open())).unwrap());
}

#[test]
fn synchronous_work_does_not_wait_for_unordered_streams() {
    let engine = TestEngine::default();
    let gate = Gate::default();
    let apart = engine.create_stream(StreamKind::NonBlocking, 0).unwrap();
    engine.submit(apart, Submission::kernel(gate.wait())).unwrap();
    engine.run_now(StreamId::LEGACY, |_| Ok(())).unwrap();
    assert!(!gate.is_open());
    gate.open();
}

#[test]
fn later_work_waits_for_synchronous_work_of_another_thread() {
    let engine = TestEngine::default();
    let (inside, gate, done) = (Gate::default(), Gate::default(), Gate::default());
    thread::scope(|scope| {
        scope.spawn(|| {
            engine.run_now(StreamId::LEGACY, |_| {
                inside.open();
                gate.pass();
                Ok(())
            })
        });
        inside.pass();
        engine.submit(StreamId::LEGACY, Submission::kernel(done.opener())).unwrap();
        thread::sleep(Duration::from_millis(20));
        assert!(!done.is_open());
        gate.open();
        engine.synchronize(Scope::Context).unwrap();
        assert!(done.is_open());
    });
}

#[test]
fn synchronize_waits_for_pending_work_of_other_threads() {
    let engine = Arc::new(TestEngine::default());
    let (gate, done, synchronized) = (Gate::default(), Gate::default(), Gate::default());
    engine.submit(StreamId::LEGACY, Submission::kernel(gate.wait())).unwrap();
    let (owner, opener) = (Arc::clone(&engine), done.clone());
    thread::spawn(move || owner.run_now(StreamId::LEGACY, slow(&opener)));
    thread::sleep(Duration::from_millis(10));
    let (waited, done) = (synchronized.clone(), done.clone());
    let waiter = thread::spawn(move || {
        engine.synchronize(Scope::Context).unwrap();
        waited.open();
        assert!(done.is_open());
    });
    thread::sleep(Duration::from_millis(10));
    gate.open();
    synchronized.pass();
    waiter.join().unwrap();
}

/// `cudaFree` concurrent with another thread's `cudaMemcpy`.
#[test]
fn threads_with_mutual_synchronous_work_all_finish() {
    const THREADS: usize = 4;
    const ROUNDS: usize = 2000;
    let engine = Arc::new(TestEngine::default());
    let (sender, finished) = std::sync::mpsc::channel();
    for _ in 0..THREADS {
        let (engine, sender) = (Arc::clone(&engine), sender.clone());
        thread::spawn(move || {
            let stream = engine.per_thread_stream().unwrap();
            for _ in 0..ROUNDS {
                engine.submit(stream, Submission::kernel(|_| Ok(()))).unwrap();
                engine.run_now(StreamId::LEGACY, |_| Ok(())).unwrap();
                engine.synchronize(Scope::Context).unwrap();
            }
            sender.send(()).unwrap();
        });
    }
    for _ in 0..THREADS {
        finished.recv_timeout(FOREVER).expect("a thread waits for ever");
    }
}

#[test]
fn host_functions_always_run_on_engine_threads() {
    let engine = TestEngine::default();
    let on_engine_thread = Arc::new(AtomicUsize::new(0));
    for _ in 0..50 {
        let count = Arc::clone(&on_engine_thread);
        let function = move || {
            count.fetch_add(usize::from(is_engine_thread()), Ordering::SeqCst);
        };
        engine.submit(StreamId::LEGACY, Submission::host_function(function)).unwrap();
        engine.synchronize(Scope::Stream(StreamId::LEGACY)).unwrap();
    }
    assert_eq!(on_engine_thread.load(Ordering::SeqCst), 50);
    assert!(!is_engine_thread());
}

#[test]
fn full_queue_blocks_the_submitter() {
    let engine = engine_with(Config { queue_depth: 8, ..Config::default() });
    let (gate, submitted) = (Gate::default(), Arc::new(AtomicUsize::new(0)));
    thread::scope(|scope| {
        engine.submit(StreamId::LEGACY, Submission::kernel(gate.wait())).unwrap();
        scope.spawn(|| {
            for _ in 0..100 {
                engine.submit(StreamId::LEGACY, Submission::kernel(|_| Ok(()))).unwrap();
                submitted.fetch_add(1, Ordering::SeqCst);
            }
        });
        thread::sleep(Duration::from_millis(50));
        assert_eq!(submitted.load(Ordering::SeqCst), 7);
        gate.open();
    });
    assert_eq!(submitted.load(Ordering::SeqCst), 100);
}

#[test]
fn a_thousand_threads_use_their_own_default_streams() {
    const THREADS: usize = 1000;
    const LAUNCHES: usize = 5;
    let engine = TestEngine::default();
    let total = Arc::new(AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            let spawned = thread::Builder::new().stack_size(128 << 10).spawn_scoped(scope, || {
                let own = Arc::new(AtomicUsize::new(0));
                let stream = engine.per_thread_stream().unwrap();
                assert_eq!(engine.per_thread_stream(), Ok(stream));
                for _ in 0..LAUNCHES {
                    let (own, total) = (Arc::clone(&own), Arc::clone(&total));
                    let work = move |_: &_| {
                        own.fetch_add(1, Ordering::SeqCst);
                        total.fetch_add(1, Ordering::SeqCst);
                        Ok(())
                    };
                    engine.submit(stream, Submission::kernel(work)).unwrap();
                }
                engine.synchronize(Scope::Stream(stream)).unwrap();
                assert_eq!(own.load(Ordering::SeqCst), LAUNCHES);
            });
            spawned.unwrap();
        }
    });
    assert_eq!(total.load(Ordering::SeqCst), THREADS * LAUNCHES);
}

#[test]
fn per_thread_stream_dies_with_its_thread() {
    let engine = TestEngine::default();
    let stream = thread::scope(|scope| scope.spawn(|| engine.per_thread_stream().unwrap()).join().unwrap());
    assert_eq!(engine.stream_info(stream), Err(Error::UnknownStream(stream)));
    assert_eq!(engine.stream_info(engine.per_thread_stream().unwrap()).unwrap().kind, StreamKind::PerThread);
}

//! Measures the engine's own overhead of calls: `cargo run --release -p stream-engine --example
//! latency`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use stream_engine::{Engine, EventFlags, Fault, Scope, StreamId, Submission};

#[derive(Clone, Debug)]
struct NoFault;

impl Fault for NoFault {
    fn work_panicked(_: usize, _: String) -> Self {
        Self
    }
}

/// Calls `call` repeatedly and prints median and 99th percentile to stderr.
fn measure(name: &str, mut call: impl FnMut()) {
    let mut times: Vec<Duration> = (0..20_000)
        .map(|_| {
            let start = Instant::now();
            call();
            start.elapsed()
        })
        .collect();
    times.sort();
    eprintln!(
        "{name:40} median {:>10.2?}   99 % {:>10.2?}",
        times[times.len() / 2],
        times[times.len() * 99 / 100]
    );
}

fn main() {
    let engine: Engine<NoFault> = Engine::default();
    let legacy = Scope::Stream(StreamId::LEGACY);
    let kernel = || Submission::kernel(|_| Ok(()));
    let synchronize = || engine.synchronize(legacy).unwrap_or_else(|error| eprintln!("{error}"));

    measure("synchronous call on an idle stream", || {
        black_box(engine.run_now(StreamId::LEGACY, |_| Ok(())).is_ok());
    });
    measure("launch and synchronize", || {
        black_box(engine.submit(StreamId::LEGACY, kernel()).is_ok());
        synchronize();
    });
    measure("host function and synchronize", || {
        black_box(engine.submit(StreamId::LEGACY, Submission::host_function(|| {})).is_ok());
        synchronize();
    });
    measure("launch, then a synchronous call", || {
        black_box(engine.submit(StreamId::LEGACY, kernel()).is_ok());
        black_box(engine.run_now(StreamId::LEGACY, |_| Ok(())).is_ok());
    });
    measure("launch alone", || {
        black_box(engine.submit(StreamId::LEGACY, kernel()).is_ok());
    });
    synchronize();
    if let Ok(event) = engine.create_event(EventFlags::default()) {
        measure("event record on an idle stream", || {
            black_box(engine.record_event(event, StreamId::LEGACY).is_ok());
        });
    }
}

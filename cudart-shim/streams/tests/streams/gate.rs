//! Shared by threaded tests: work that waits at a gate, and engines.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use stream_engine::{Config, Context, Engine, Fault, HostClock};

/// Long enough that only a hang reaches it.
pub(crate) const FOREVER: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestFault(pub(crate) String);

impl Fault for TestFault {
    fn work_panicked(engine: usize, message: String) -> Self {
        Self(format!("{message} in engine {engine}"))
    }
}

pub(crate) type TestEngine = Engine<TestFault>;

pub(crate) fn fault(message: &str) -> TestFault {
    TestFault(message.to_owned())
}

pub(crate) fn engine_with(config: Config) -> TestEngine {
    Engine::new(config, Arc::new(HostClock::default()))
}

/// Opens once; work passes when it is open.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub(crate) fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    pub(crate) fn is_open(&self) -> bool {
        *self.0.0.lock().unwrap()
    }

    /// Passes the gate; fails the test if it stays shut.
    pub(crate) fn pass(&self) {
        let guard = self.0.0.lock().unwrap();
        let waited = self.0.1.wait_timeout_while(guard, FOREVER, |open| !*open).unwrap();
        assert!(!waited.1.timed_out(), "a gate was never opened");
    }

    /// Work that ends when the gate is open.
    pub(crate) fn wait(&self) -> impl FnOnce(&Context<TestFault>) -> Result<(), TestFault> + Send + 'static {
        let gate = self.clone();
        move |_| {
            gate.pass();
            Ok(())
        }
    }

    /// Work that opens the gate.
    pub(crate) fn opener(
        &self,
    ) -> impl FnOnce(&Context<TestFault>) -> Result<(), TestFault> + Send + 'static {
        let gate = self.clone();
        move |_| {
            gate.open();
            Ok(())
        }
    }
}

/// Work that takes a while, then opens the gate.
pub(crate) fn slow(
    gate: &Gate,
) -> impl FnOnce(&Context<TestFault>) -> Result<(), TestFault> + Send + 'static {
    let gate = gate.clone();
    move |_| {
        std::thread::sleep(Duration::from_millis(30));
        gate.open();
        Ok(())
    }
}

//! Order of API calls across threads. A saved run serialises the calls, and a resumed run repeats
//! their order, because addresses and step numbers depend on it.
//!
//! `libvoltsim_threads.so` names the threads. Without that library, and on unnamed threads, calls
//! run unordered.
//!
//! Three kinds of calls are always unordered. Calls of the first thread before the shared state
//! exists: creating that state earlier would move later heap allocations. Polling calls, whose
//! number differs between runs. The lazy lookup of a kernel, which any thread may do first while
//! the others wait for its result.

use crate::host::log;
use parking_lot::{Condvar, Mutex};
use saved_run::{Run, Turns};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Time limits for waiting threads.
#[derive(Clone, Copy)]
struct Limits {
    /// A longer call may be waiting for another thread. The next call then runs concurrently.
    call: Duration,
    /// A thread that makes no call for this long loses its turn.
    turn: Duration,
}

const LIMITS: Limits = Limits { call: Duration::from_secs(1), turn: Duration::from_secs(60) };

/// Name parts of unordered calls, and of functions that reveal nothing about the program.
const AS_THEY_COME: [&str; 6] = ["Query", "Synchronize", "LastError", "GetError", "nvml", "__cudaGetKernel"];

/// Name of the process's first thread.
pub(super) const FIRST: u64 = 1;

/// The calling thread's name, if any.
pub(super) fn own_name() -> Option<u64> {
    type Name = unsafe extern "C" fn() -> u64;
    static NAME: OnceLock<Option<Name>> = OnceLock::new();
    let name = (*NAME.get_or_init(|| {
        // SAFETY: a C string. The library was loaded at program start.
        let name = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"voltsim_thread_name".as_ptr()) };
        // SAFETY: the function has this type in the only library that exports it.
        (!name.is_null()).then(|| unsafe { std::mem::transmute::<*mut libc::c_void, Name>(name) })
    }))?;
    // SAFETY: the function has no precondition.
    Some(unsafe { name() }).filter(|name| *name != 0)
}

/// Turn order of the threads.
pub(super) struct Order(Mutex<State>);

struct State {
    limits: Limits,
    /// Rest of the saved order.
    saved: VecDeque<Run>,
    /// Order of this run, if it is being saved.
    taken: Option<Turns>,
    /// The call in progress.
    holder: Option<Holder>,
    /// Number of calls so far.
    calls: u64,
    /// Time at which the last call began or ended.
    moved: Instant,
    waiting: VecDeque<Waiting>,
}

struct Holder {
    thread: u64,
    /// Number of the call.
    call: u64,
    since: Instant,
}

struct Waiting {
    thread: u64,
    turn: Arc<Condvar>,
}

/// A call in progress that holds the turn.
pub(crate) struct Turn<'o> {
    order: &'o Order,
    call: u64,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.order.0.lock();
        if state.holder.as_ref().is_some_and(|holder| holder.call == self.call) {
            state.holder = None;
            state.moved = Instant::now();
            state.wake_next();
        }
    }
}

impl Order {
    /// The order for a run that resumes `saved`. With `is_saved`, the run is also saved.
    pub(super) fn new(saved: Turns, is_saved: bool) -> Order {
        Order(Mutex::new(State::new(saved, is_saved, LIMITS)))
    }

    /// Waits for this thread's turn. Returns `None` for an unordered call.
    pub(super) fn turn(&self, call: &str, thread: u64) -> Option<Turn<'_>> {
        if AS_THEY_COME.iter().any(|part| call.contains(part)) {
            return None;
        }
        let mut state = self.0.lock();
        // A nested call.
        if state.holder.as_ref().is_some_and(|holder| holder.thread == thread) {
            return None;
        }
        let turn = Arc::new(Condvar::new());
        while !state.is_turn_of(thread) {
            state.waiting.push_back(Waiting { thread, turn: Arc::clone(&turn) });
            let limit = state.limits.call;
            turn.wait_for(&mut state, limit);
            state.waiting.retain(|waiting| !Arc::ptr_eq(&waiting.turn, &turn));
            state.give_up_if_stuck();
        }
        Some(Turn { order: self, call: state.begin(thread) })
    }

    /// The order so far.
    pub(super) fn taken(&self) -> Turns {
        self.0.lock().taken.clone().unwrap_or_default()
    }

    /// Drops the saved order: the run reached its checkpoint or diverged.
    pub(super) fn forget_saved(&self) {
        let mut state = self.0.lock();
        state.saved.clear();
        state.wake_next();
    }
}

impl State {
    fn new(saved: Turns, is_saved: bool, limits: Limits) -> State {
        State {
            limits,
            saved: saved.runs.into(),
            taken: is_saved.then(Turns::default),
            holder: None,
            calls: 0,
            moved: Instant::now(),
            waiting: VecDeque::new(),
        }
    }

    fn is_turn_of(&self, thread: u64) -> bool {
        let is_held = self.holder.as_ref().is_some_and(|holder| holder.since.elapsed() < self.limits.call);
        !is_held && self.saved.front().is_none_or(|run| run.thread == thread)
    }

    /// Begins a call of a thread and returns its number.
    fn begin(&mut self, thread: u64) -> u64 {
        let since = Instant::now();
        self.calls += 1;
        self.moved = since;
        self.holder = Some(Holder { thread, call: self.calls, since });
        if let Some(taken) = &mut self.taken {
            taken.add(thread);
        }
        if let Some(run) = self.saved.front_mut() {
            run.calls = run.calls.saturating_sub(1);
            if run.calls == 0 {
                self.saved.pop_front();
            }
        }
        self.calls
    }

    /// Wakes the next waiting thread that may run.
    fn wake_next(&self) {
        let next = self.waiting.iter().find(|waiting| self.is_turn_of(waiting.thread));
        next.map(|waiting| waiting.turn.notify_one());
    }

    fn give_up_if_stuck(&mut self) {
        if !self.saved.is_empty() && self.moved.elapsed() > self.limits.turn {
            self.saved.clear();
            log::report(|| {
                "the program's threads do not make the calls that they made when it was saved; from here on they are not kept in \
                 that order"
                    .to_owned()
            });
            self.wake_next();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const SHORT: Limits = Limits { call: Duration::from_millis(20), turn: Duration::from_millis(100) };

    /// The order of a saved run that resumes one with calls from these threads.
    fn order(saved: &[u64], limits: Limits) -> Order {
        let mut turns = Turns::default();
        saved.iter().for_each(|thread| turns.add(*thread));
        Order(Mutex::new(State::new(turns, true, limits)))
    }

    /// Makes `count` calls as a thread.
    fn calls(order: &Order, thread: u64, count: usize) {
        (0..count).for_each(|_| drop(order.turn("cudaMalloc", thread)));
    }

    fn taken(order: &Order) -> Vec<u64> {
        let runs = order.taken().runs;
        runs.iter().flat_map(|run| std::iter::repeat_n(run.thread, run.calls as usize)).collect()
    }

    #[test]
    fn calls_follow_the_saved_order() {
        let saved = [2, 1, 3, 3, 2, 1, 2, 3, 1, 1];
        let order = &order(&saved, LIMITS);
        thread::scope(|scope| {
            for thread in 1..=3 {
                let count = saved.iter().filter(|saved| **saved == thread).count();
                scope.spawn(move || calls(order, thread, count));
            }
        });
        assert_eq!(taken(order), saved);
    }

    #[test]
    fn unknown_thread_waits_for_the_end_of_the_order() {
        let order = order(&[1, 2, 1], LIMITS);
        thread::scope(|scope| {
            scope.spawn(|| calls(&order, 7, 2));
            scope.spawn(|| calls(&order, 2, 1));
            scope.spawn(|| calls(&order, 1, 2));
        });
        assert_eq!(taken(&order), [1, 2, 1, 7, 7]);
    }

    #[test]
    fn empty_run_of_calls_ends_at_the_next_call() {
        let turns = Turns { runs: vec![Run { thread: 1, calls: 0 }, Run { thread: 1, calls: 1 }] };
        let order = Order::new(turns, true);
        calls(&order, 1, 3);
        assert_eq!(taken(&order), [1, 1, 1]);
    }

    #[test]
    fn order_is_dropped_if_its_calls_are_missing() {
        let order = order(&[1, 2, 1], SHORT);
        calls(&order, 1, 3);
        assert_eq!(taken(&order), [1, 1, 1]);
    }

    #[test]
    fn blocked_call_delays_other_threads_for_a_limited_time() {
        let order = order(&[], SHORT);
        let held = order.turn("cudaFree", 1);
        thread::scope(|scope| drop(scope.spawn(|| calls(&order, 2, 1))));
        drop(held);
        calls(&order, 1, 1);
        assert_eq!(taken(&order), [1, 2, 1]);
    }

    #[test]
    fn nested_calls_and_queries_take_no_turn() {
        let order = order(&[], LIMITS);
        let turn = order.turn("cudaMalloc", 1);
        assert!(turn.is_some() && order.turn("cudaFree", 1).is_none());
        drop(turn);
        assert!(order.turn("cudaStreamQuery", 1).is_none() && order.turn("cudaGetLastError", 1).is_none());
    }

    #[test]
    fn lazy_kernel_lookup_takes_no_turn() {
        let order = order(&[2, 1], LIMITS);
        assert!(order.turn("__cudaGetKernel", 1).is_none());
        assert!(order.turn("cudaLibraryGetKernel", 2).is_some());
    }
}

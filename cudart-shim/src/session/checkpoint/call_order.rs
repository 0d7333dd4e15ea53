//! Threads of a program make calls one after the other in a run that is saved, and in the same order when it is resumed: addresses and
//! the numbers of steps depend on the order of calls.
//!
//! A thread is known by the name that `libvoltsim_threads.so` has given it. Without that library, and from threads that have no name,
//! calls are made as they come. So are those of the first thread before the process has what others share: made earlier, that would lie
//! on the heap where memory of the program's own lies else. And so are those of which there are more or fewer from run to run, as a
//! program makes them until something has happened, and the one that whichever thread launches a kernel first makes for all, while
//! the others wait for what it makes.

use crate::host::log;
use parking_lot::{Condvar, Mutex};
use saved_run::{Run, Turns};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How long threads wait for others.
#[derive(Clone, Copy)]
struct Limits {
    /// A call that takes longer may wait for something that another thread has to do: the next one is made beside it.
    call: Duration,
    /// When no call has been made for so long, the thread whose turn it is will make none.
    turn: Duration,
}

const LIMITS: Limits = Limits { call: Duration::from_secs(1), turn: Duration::from_secs(60) };

/// Parts of the names of calls that are made as they come, and of functions that tell nothing of the program's.
const AS_THEY_COME: [&str; 6] = ["Query", "Synchronize", "LastError", "GetError", "nvml", "__cudaGetKernel"];

/// The name of the process's first thread.
pub(super) const FIRST: u64 = 1;

/// The calling thread's name, if it has one.
pub(super) fn own_name() -> Option<u64> {
    type Name = unsafe extern "C" fn() -> u64;
    static NAME: OnceLock<Option<Name>> = OnceLock::new();
    let name = (*NAME.get_or_init(|| {
        // SAFETY: a C string; the library is one of those that the program began with.
        let name = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"voltsim_thread_name".as_ptr()) };
        // SAFETY: the library of ours that has this function has it with this type.
        (!name.is_null()).then(|| unsafe { std::mem::transmute::<*mut libc::c_void, Name>(name) })
    }))?;
    // SAFETY: it has no precondition.
    Some(unsafe { name() }).filter(|name| *name != 0)
}

/// Whose turn it is.
pub(super) struct Order(Mutex<State>);

struct State {
    limits: Limits,
    /// What is left of the order that was saved.
    saved: VecDeque<Run>,
    /// The order in this run, if it is saved.
    taken: Option<Turns>,
    /// The call that is being made.
    holder: Option<Holder>,
    /// Calls so far.
    calls: u64,
    /// When the last one began or ended.
    moved: Instant,
    waiting: VecDeque<Waiting>,
}

struct Holder {
    thread: u64,
    /// Its number.
    call: u64,
    since: Instant,
}

struct Waiting {
    thread: u64,
    turn: Arc<Condvar>,
}

/// A call that is being made in its turn.
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
    /// The order of a run that goes on from `saved`, and is saved itself if `is_saved`.
    pub(super) fn new(saved: Turns, is_saved: bool) -> Order {
        Order(Mutex::new(State::new(saved, is_saved, LIMITS)))
    }

    /// Waits until it is the turn of this thread to make a call; nothing if it makes it as it comes.
    pub(super) fn turn(&self, call: &str, thread: u64) -> Option<Turn<'_>> {
        if AS_THEY_COME.iter().any(|part| call.contains(part)) {
            return None;
        }
        let mut state = self.0.lock();
        // A call that another one is made of.
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

    /// From here on there is no order that was saved: the run has come to its point, or is another one.
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

    /// A thread makes a call now; gives its number.
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

    /// Wakes a thread that waits, and may go on.
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

    /// Of a run that is saved and goes on from one in which these threads have made calls.
    fn order(saved: &[u64], limits: Limits) -> Order {
        let mut turns = Turns::default();
        saved.iter().for_each(|thread| turns.add(*thread));
        Order(Mutex::new(State::new(turns, true, limits)))
    }

    /// A thread of this name makes so many calls.
    fn calls(order: &Order, thread: u64, count: usize) {
        (0..count).for_each(|_| drop(order.turn("cudaMalloc", thread)));
    }

    fn taken(order: &Order) -> Vec<u64> {
        let runs = order.taken().runs;
        runs.iter().flat_map(|run| std::iter::repeat_n(run.thread, run.calls as usize)).collect()
    }

    #[test]
    fn threads_make_calls_in_the_order_that_was_saved() {
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
    fn a_thread_that_was_not_there_waits_for_the_end_of_the_order() {
        let order = order(&[1, 2, 1], LIMITS);
        thread::scope(|scope| {
            scope.spawn(|| calls(&order, 7, 2));
            scope.spawn(|| calls(&order, 2, 1));
            scope.spawn(|| calls(&order, 1, 2));
        });
        assert_eq!(taken(&order), [1, 2, 1, 7, 7]);
    }

    #[test]
    fn a_run_of_no_calls_in_a_file_is_over_with_the_next_call() {
        let turns = Turns { runs: vec![Run { thread: 1, calls: 0 }, Run { thread: 1, calls: 1 }] };
        let order = Order::new(turns, true);
        calls(&order, 1, 3);
        assert_eq!(taken(&order), [1, 1, 1]);
    }

    #[test]
    fn an_order_whose_calls_are_not_made_is_given_up() {
        let order = order(&[1, 2, 1], SHORT);
        calls(&order, 1, 3);
        assert_eq!(taken(&order), [1, 1, 1]);
    }

    #[test]
    fn a_call_that_waits_for_another_thread_holds_it_up_for_a_while_only() {
        let order = order(&[], SHORT);
        let held = order.turn("cudaFree", 1);
        thread::scope(|scope| drop(scope.spawn(|| calls(&order, 2, 1))));
        drop(held);
        calls(&order, 1, 1);
        assert_eq!(taken(&order), [1, 2, 1]);
    }

    #[test]
    fn calls_within_calls_and_those_that_tell_what_has_happened_take_no_turn() {
        let order = order(&[], LIMITS);
        let turn = order.turn("cudaMalloc", 1);
        assert!(turn.is_some() && order.turn("cudaFree", 1).is_none());
        drop(turn);
        assert!(order.turn("cudaStreamQuery", 1).is_none() && order.turn("cudaGetLastError", 1).is_none());
    }

    #[test]
    fn the_call_that_one_thread_makes_for_all_takes_no_turn_of_another_threads() {
        let order = order(&[2, 1], LIMITS);
        assert!(order.turn("__cudaGetKernel", 1).is_none());
        assert!(order.turn("cudaLibraryGetKernel", 2).is_some());
    }
}

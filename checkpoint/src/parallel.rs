//! Parallel map over items.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{panic, thread};

/// Applies `work` to each item on up to `threads` threads, including the caller, and returns the results in
/// item order. Each thread has its own state. On failure, the error is that of the first failing item in
/// order, for any number of threads.
pub fn map<I: Send, O: Send, S, E: Send>(
    threads: usize,
    items: Vec<I>,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, I) -> Result<O, E> + Sync,
) -> Result<Vec<O>, E> {
    let threads = threads.min(items.len());
    let mut outputs: Vec<Option<Result<O, E>>> = items.iter().map(|_| None).collect();
    // Items are taken in order, so if one fails, all earlier items are done or in progress.
    let queue = Mutex::new(items.into_iter().zip(&mut outputs));
    let failed = AtomicBool::new(false);
    let run = || {
        let mut state = state();
        while !failed.load(Ordering::Relaxed) {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((item, output)) = next else { break };
            let result = work(&mut state, item);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            *output = Some(result);
        }
    };
    thread::scope(|scope| {
        // Other threads take over the share of a thread that fails to start.
        let helpers: Vec<_> =
            (1..threads).map_while(|_| thread::Builder::new().spawn_scoped(scope, run).ok()).collect();
        run();
        for helper in helpers {
            if let Err(payload) = helper.join() {
                panic::resume_unwind(payload);
            }
        }
    });
    drop(queue);
    // Items that were not begun follow the failed one.
    outputs.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::map;

    #[test]
    fn outputs_keep_item_order() {
        for threads in 0..4 {
            let doubled: Result<Vec<u32>, ()> =
                map(threads, (0..1000).collect(), || 2, |factor, item| Ok(item * *factor));
            assert_eq!(doubled.unwrap(), (0..2000).step_by(2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_failing_item_gives_the_error() {
        for threads in 1..4 {
            for _ in 0..50 {
                let failing = |(): &mut (), item: u32| if item % 100 == 99 { Err(item) } else { Ok(()) };
                assert_eq!(map(threads, (0..1000).collect(), || (), failing).unwrap_err(), 99);
            }
        }
    }
}

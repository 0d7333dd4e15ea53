//! Work that several threads share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{panic, thread};

/// What `work` makes of each item, in the items' order, on up to `threads` threads, the caller's among them. Each thread
/// makes itself a state for its work. Where work fails, the error is that of the first item in their order that fails,
/// whatever the number of threads.
pub fn map<I: Send, O: Send, S, E: Send>(
    threads: usize,
    items: Vec<I>,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, I) -> Result<O, E> + Sync,
) -> Result<Vec<O>, E> {
    let threads = threads.min(items.len());
    let mut outputs: Vec<Option<Result<O, E>>> = items.iter().map(|_| None).collect();
    // Items are handed out in order, so when one fails those before it are done or being done.
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
        // A thread that cannot be started leaves its share to the others.
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
    // Items that were not begun are behind the one that failed.
    outputs.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::map;

    #[test]
    fn outputs_are_in_the_order_of_the_items() {
        for threads in 0..4 {
            let doubled: Result<Vec<u32>, ()> =
                map(threads, (0..1000).collect(), || 2, |factor, item| Ok(item * *factor));
            assert_eq!(doubled.unwrap(), (0..2000).step_by(2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_error_is_that_of_the_first_item_that_fails() {
        for threads in 1..4 {
            for _ in 0..50 {
                let failing = |(): &mut (), item: u32| if item % 100 == 99 { Err(item) } else { Ok(()) };
                assert_eq!(map(threads, (0..1000).collect(), || (), failing).unwrap_err(), 99);
            }
        }
    }
}

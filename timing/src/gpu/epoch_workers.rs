//! Worker threads that process a list of units round by round, one round per epoch.
//!
//! Each thread owns the same part of the list in every round, so that units stay in its processor's
//! caches. A thread that finishes its part helps with the next. Tickets hand out units, so the
//! caller waits only for units in work, never for a late worker. Results do not depend on the
//! thread that processes a unit.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Polls before a worker yields its processor, and before it sleeps.
const SPINS: u32 = 1 << 12;
const YIELDS: u32 = SPINS + (1 << 8);

/// Locks a unit. A panic of its worker is propagated when workers are joined.
pub(super) fn lock<T>(thing: &Mutex<T>) -> MutexGuard<'_, T> {
    thing.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Round (32 bits), end of a part (16 bits), and its next position (16 bits).
#[derive(Clone, Copy, PartialEq, Eq)]
struct Ticket(u64);

impl Ticket {
    fn first(round: u64, places: Range<usize>) -> Ticket {
        Ticket(round << 32 | (places.end as u64) << 16 | places.start as u64)
    }

    /// Positions of the list not yet handed out.
    fn places(self) -> Range<usize> {
        let (end, next) = (self.0 >> 16 & 0xffff, self.0 & 0xffff);
        next as usize..end as usize
    }
}

/// State shared by the threads.
#[derive(Debug)]
pub(super) struct EpochWorkers {
    /// Tickets of each thread's part.
    tickets: Vec<AtomicU64>,
    /// Numbers of the round's units.
    list: Vec<AtomicU32>,
    /// Argument of the round.
    argument: AtomicU64,
    /// Units of the round not yet done.
    left: AtomicUsize,
    ended: AtomicBool,
}

impl EpochWorkers {
    /// Shared state for at most `things` units, below 65,000, and `threads` threads including the
    /// caller.
    pub(super) fn new(things: usize, threads: usize) -> EpochWorkers {
        EpochWorkers {
            tickets: (0..threads.max(1)).map(|_| AtomicU64::new(0)).collect(),
            list: (0..things).map(|_| AtomicU32::new(0)).collect(),
            argument: AtomicU64::new(0),
            left: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
        }
    }

    /// Processes the listed units together with the workers, and returns when all are done. Each
    /// part runs forward or `backward`.
    pub(super) fn round(
        &self,
        mut numbers: impl ExactSizeIterator<Item = u32>,
        backward: bool,
        argument: u64,
        work: &impl Fn(u32, u64),
    ) {
        let (count, threads) = (numbers.len(), self.tickets.len());
        let part = |thread: usize| thread * count / threads..(thread + 1) * count / threads;
        for part in (0..threads).map(part) {
            for (place, number) in part.clone().zip(&mut numbers) {
                let place = if backward { part.end - 1 - (place - part.start) } else { place };
                self.list[place].store(number, Ordering::Relaxed);
            }
        }
        self.argument.store(argument, Ordering::Relaxed);
        self.left.store(count, Ordering::Relaxed);
        for (thread, tickets) in self.tickets.iter().enumerate() {
            let round = (tickets.load(Ordering::Relaxed) >> 32).wrapping_add(1);
            tickets.store(Ticket::first(round, part(thread)).0, Ordering::Release);
        }
        self.take_part(0, work);
        let mut looks = 0;
        while self.left.load(Ordering::Acquire) > 0 {
            rest(&mut looks, SPINS, u32::MAX);
        }
    }

    /// Body of a worker; the caller is number 0. Takes part in rounds until the guard of
    /// [`EpochWorkers::end_on_drop`] is dropped.
    pub(super) fn work(&self, thread: usize, work: &impl Fn(u32, u64)) {
        let mut looks = 0;
        while !self.ended.load(Ordering::Acquire) {
            if self.tickets.iter().any(has_one) {
                self.take_part(thread, work);
                looks = 0;
            } else {
                rest(&mut looks, SPINS, YIELDS);
            }
        }
    }

    /// A guard whose drop ends the workers.
    pub(super) fn end_on_drop(&self) -> impl Drop {
        End(&self.ended)
    }

    /// Takes tickets until none is left, first of the thread's own part.
    fn take_part(&self, thread: usize, work: &impl Fn(u32, u64)) {
        for part in (thread..self.tickets.len()).chain(0..thread) {
            let tickets = &self.tickets[part];
            while has_one(tickets) {
                let Some(place) = Ticket(tickets.fetch_add(1, Ordering::AcqRel)).places().next() else {
                    break;
                };
                let _done = Done(&self.left);
                let number = self.list[place].load(Ordering::Relaxed);
                work(number, self.argument.load(Ordering::Relaxed));
            }
        }
    }
}

fn has_one(tickets: &AtomicU64) -> bool {
    !Ticket(tickets.load(Ordering::Acquire)).places().is_empty()
}

struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Counts a unit as done, even if its work panics.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Pauses, longer after more vain polls.
fn rest(looks: &mut u32, spins: u32, yields: u32) {
    *looks = looks.saturating_add(1);
    match *looks {
        n if n < spins => std::hint::spin_loop(),
        n if n < yields => std::thread::yield_now(),
        _ => std::thread::sleep(Duration::from_micros(50)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_runs_forward_or_backward() {
        let workers = EpochWorkers::new(8, 1);
        let told = Mutex::new(Vec::new());
        let round = |numbers: [u32; 4], backward| {
            workers.round(numbers.into_iter(), backward, 0, &|number, _| lock(&told).push(number));
            std::mem::take(&mut *lock(&told))
        };
        assert_eq!(round([3, 1, 7, 5], false), [3, 1, 7, 5]);
        assert_eq!(round([5, 7, 1, 3], true), [3, 1, 7, 5]);
    }

    #[test]
    fn round_processes_each_unit_exactly_once() {
        let workers = EpochWorkers::new(80, 4);
        let sums: Vec<Mutex<u64>> = (0..80).map(|_| Mutex::new(0)).collect();
        let work = |number: u32, argument: u64| *lock(&sums[number as usize]) += argument;
        std::thread::scope(|scope| {
            let _end = workers.end_on_drop();
            for thread in 1..4 {
                let (workers, work) = (&workers, &work);
                scope.spawn(move || workers.work(thread, work));
            }
            let odd: Vec<u32> = (0..80).filter(|number| number % 2 == 1).collect();
            for round in 1..=2000 {
                workers.round(odd.iter().copied(), round % 2 == 0, round, &work);
                let total: u64 = sums.iter().map(|sum| *lock(sum)).sum();
                assert_eq!(total, 40 * round * (round + 1) / 2);
            }
        });
        assert_eq!((*lock(&sums[0]), *lock(&sums[1])), (0, 2_001_000));
    }
}

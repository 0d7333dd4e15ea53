//! Worker threads that work through a list of things round by round, one round an epoch.
//!
//! Each thread has a part of the list, the same one round for round, so that things stay in its processor's caches; who has
//! done his part helps with the next one's. Things are handed out by tickets, so the caller never waits for a worker that is late,
//! only for those that work on something. What is done to a thing does not depend on who does it, so neither do results.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Looks for a new round before a worker gives its processor away, and before it sleeps.
const SPINS: u32 = 1 << 12;
const YIELDS: u32 = SPINS + (1 << 8);

/// The thing behind a lock. A worker that panicked leaves it as it is; its panic goes on when the workers are joined.
pub(super) fn lock<T>(thing: &Mutex<T>) -> MutexGuard<'_, T> {
    thing.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A round (32 bits), the place behind a part's last thing (16 bits), and that of its next one (16 bits).
#[derive(Clone, Copy, PartialEq, Eq)]
struct Ticket(u64);

impl Ticket {
    fn first(round: u64, places: Range<usize>) -> Ticket {
        Ticket(round << 32 | (places.end as u64) << 16 | places.start as u64)
    }

    /// The places in the round's list that are not given out.
    fn places(self) -> Range<usize> {
        let (end, next) = (self.0 >> 16 & 0xffff, self.0 & 0xffff);
        next as usize..end as usize
    }
}

/// What the threads share.
#[derive(Debug)]
pub(super) struct Crew {
    /// For each thread those of its part.
    tickets: Vec<AtomicU64>,
    /// Numbers of the round's things.
    list: Vec<AtomicU32>,
    /// What the round is told.
    argument: AtomicU64,
    /// Things of the round that are not done.
    left: AtomicUsize,
    ended: AtomicBool,
}

impl Crew {
    /// For at most so many things, fewer than 65,000, and so many threads with the caller's.
    pub(super) fn new(things: usize, threads: usize) -> Crew {
        Crew {
            tickets: (0..threads.max(1)).map(|_| AtomicU64::new(0)).collect(),
            list: (0..things).map(|_| AtomicU32::new(0)).collect(),
            argument: AtomicU64::new(0),
            left: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
        }
    }

    /// Does `work` with things of these numbers and the argument, together with the workers; all is done when it returns. Each
    /// part is worked through from its start, or `backward`.
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

    /// A worker, the caller being number 0: takes part in all rounds until [`Crew::end_on_drop`]'s end.
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

    /// The workers end when what this gives is dropped.
    pub(super) fn end_on_drop(&self) -> impl Drop {
        End(&self.ended)
    }

    /// Takes tickets until there are no more, first those of the thread's own part.
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

/// Counts a thing as done, also if the work on it panics.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Waits a little, longer as there were more looks in vain.
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
    fn a_part_is_worked_through_from_its_start_or_backward() {
        let crew = Crew::new(8, 1);
        let told = Mutex::new(Vec::new());
        let round = |numbers: [u32; 4], backward| {
            crew.round(numbers.into_iter(), backward, 0, &|number, _| lock(&told).push(number));
            std::mem::take(&mut *lock(&told))
        };
        assert_eq!(round([3, 1, 7, 5], false), [3, 1, 7, 5]);
        assert_eq!(round([5, 7, 1, 3], true), [3, 1, 7, 5]);
    }

    #[test]
    fn each_thing_of_a_round_is_worked_on_once_and_before_the_round_ends() {
        let crew = Crew::new(80, 4);
        let sums: Vec<Mutex<u64>> = (0..80).map(|_| Mutex::new(0)).collect();
        let work = |number: u32, argument: u64| *lock(&sums[number as usize]) += argument;
        std::thread::scope(|scope| {
            let _end = crew.end_on_drop();
            for thread in 1..4 {
                let (crew, work) = (&crew, &work);
                scope.spawn(move || crew.work(thread, work));
            }
            let odd: Vec<u32> = (0..80).filter(|number| number % 2 == 1).collect();
            for round in 1..=2000 {
                crew.round(odd.iter().copied(), round % 2 == 0, round, &work);
                let total: u64 = sums.iter().map(|sum| *lock(sum)).sum();
                assert_eq!(total, 40 * round * (round + 1) / 2);
            }
        });
        assert_eq!((*lock(&sums[0]), *lock(&sums[1])), (0, 2_001_000));
    }
}

//! Worker threads that work through a list of things round by round, one round an epoch.
//!
//! Things are handed out by tickets, so the caller never waits for a worker that is late, only for those that work on
//! something. What is done to a thing does not depend on who does it, so neither do results.

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

/// A round (32 bits), how many things it has (16 bits), and the next one of them (16 bits).
#[derive(Clone, Copy, PartialEq, Eq)]
struct Ticket(u64);

impl Ticket {
    fn first(round: u64, count: usize) -> Ticket {
        Ticket(round << 32 | (count as u64) << 16)
    }

    /// The place in the round's list; nothing if all are given out.
    fn place(self) -> Option<usize> {
        let (count, next) = (self.0 >> 16 & 0xffff, self.0 & 0xffff);
        (next < count).then_some(next as usize)
    }
}

/// What the threads share.
#[derive(Debug)]
pub(super) struct Crew {
    tickets: AtomicU64,
    /// Numbers of the round's things.
    list: Vec<AtomicU32>,
    /// What the round is told.
    argument: AtomicU64,
    /// Things of the round that are not done.
    left: AtomicUsize,
    ended: AtomicBool,
}

impl Crew {
    /// For at most so many things, fewer than 65,000.
    pub(super) fn new(things: usize) -> Crew {
        Crew {
            tickets: AtomicU64::new(0),
            list: (0..things).map(|_| AtomicU32::new(0)).collect(),
            argument: AtomicU64::new(0),
            left: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
        }
    }

    /// Does `work` with things of these numbers and the argument, together with the workers; all is done when it returns.
    pub(super) fn round(
        &self,
        numbers: impl ExactSizeIterator<Item = u32>,
        argument: u64,
        work: &impl Fn(u32, u64),
    ) {
        let count = numbers.len();
        for (place, number) in self.list.iter().zip(numbers) {
            place.store(number, Ordering::Relaxed);
        }
        self.argument.store(argument, Ordering::Relaxed);
        self.left.store(count, Ordering::Relaxed);
        let round = self.tickets.load(Ordering::Relaxed) >> 32;
        let first = Ticket::first(round.wrapping_add(1), count);
        self.tickets.store(first.0, Ordering::Release);
        self.take_part(work);
        let mut looks = 0;
        while self.left.load(Ordering::Acquire) > 0 {
            rest(&mut looks, SPINS, u32::MAX);
        }
    }

    /// A worker: takes part in all rounds until [`Crew::end_on_drop`]'s end.
    pub(super) fn work(&self, work: &impl Fn(u32, u64)) {
        let mut looks = 0;
        while !self.ended.load(Ordering::Acquire) {
            if Ticket(self.tickets.load(Ordering::Acquire)).place().is_some() {
                self.take_part(work);
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

    /// Takes tickets until there are no more.
    fn take_part(&self, work: &impl Fn(u32, u64)) {
        while let Some(place) = Ticket(self.tickets.fetch_add(1, Ordering::AcqRel)).place() {
            let _done = Done(&self.left);
            work(self.list[place].load(Ordering::Relaxed), self.argument.load(Ordering::Relaxed));
        }
    }
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
    fn each_thing_of_a_round_is_worked_on_once_and_before_the_round_ends() {
        let crew = Crew::new(80);
        let sums: Vec<Mutex<u64>> = (0..80).map(|_| Mutex::new(0)).collect();
        let work = |number: u32, argument: u64| *lock(&sums[number as usize]) += argument;
        std::thread::scope(|scope| {
            let _end = crew.end_on_drop();
            for _ in 0..3 {
                scope.spawn(|| crew.work(&work));
            }
            let odd: Vec<u32> = (0..80).filter(|number| number % 2 == 1).collect();
            for round in 1..=2000 {
                crew.round(odd.iter().copied(), round, &work);
                let total: u64 = sums.iter().map(|sum| *lock(sum)).sum();
                assert_eq!(total, 40 * round * (round + 1) / 2);
            }
        });
        assert_eq!((*lock(&sums[0]), *lock(&sums[1])), (0, 2_001_000));
    }
}

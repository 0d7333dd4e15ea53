//! DRAM schedulers: which banks of a channel may be commanded for their waiting accesses.
//!
//! A scheduler sees the accesses of the queue that is served through [`Waiting`] and names banks as masks, one bit a bank. The
//! channel then commands the oldest candidate that the timing rules allow. [`Scheduler::issued`] reports each column command.
//!
//! A new scheduler is one file beside this one and one line in [`schedulers!`] below.

#[cfg(test)]
mod conformance;
mod fcfs;
mod fr_fcfs;
mod fr_fcfs_cap;

use serde::{Deserialize, Serialize};

use self::fr_fcfs_cap::Passed;
use crate::restore::Fits;

/// Accesses that wait in the queue that is served. Masks have one bit a bank.
pub trait Waiting {
    /// Banks with accesses.
    fn occupied(&self) -> u64;

    /// Banks with an access to their open row.
    fn hits(&self) -> u64;

    /// The oldest access of an occupied bank is to the open row.
    fn oldest_hits(&self, bank: u8) -> bool;

    /// Age of the oldest access of an occupied bank; lower is older.
    fn oldest_age(&self, bank: u8) -> u64;

    /// Age of the first access of a bank that is no part of the bank's oldest request.
    fn second_request(&self, bank: u8) -> Option<u64>;
}

/// Parameters of all schedulers.
#[derive(Debug, Clone, Copy)]
pub struct Parameters {
    /// Accesses to an open row that may pass an older access to another row.
    pub cap: u32,
}

/// State of all schedulers for one (pseudo-)channel.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SchedulerState {
    passed: Passed,
}

impl SchedulerState {
    /// A saved state fits a channel of so many banks.
    pub(crate) fn check(&self, banks: u32) -> Fits {
        self.passed.check(banks)
    }
}

/// Behaviour of a scheduler.
trait Policy {
    /// Age from which on accesses wait, decided at the start of a cycle.
    fn limit(_waiting: &impl Waiting) -> u64 {
        u64::MAX
    }

    /// Banks that may have a column command for their oldest access to the open row.
    fn columns(parameters: &Parameters, state: &SchedulerState, waiting: &impl Waiting, limit: u64) -> u64;

    /// Banks whose row may be changed for their oldest access.
    fn rows(parameters: &Parameters, state: &SchedulerState, waiting: &impl Waiting, limit: u64) -> u64;

    /// A bank has had a column command, for its oldest access or for a younger one.
    fn issued(_state: &mut SchedulerState, _bank: u8, _oldest: bool) {}
}

/// Declares the schedulers: doc, variant, name in GPU files, type.
macro_rules! schedulers {
    ($($(#[doc = $meaning:literal])* $variant:ident = $word:literal in $policy:ty,)*) => {
        $crate::choice! {
            /// Which access a channel serves next.
            pub enum Scheduler {
                $($(#[doc = $meaning])* $variant = $word,)*
            }
        }

        impl Scheduler {
            /// Every scheduler.
            pub const ALL: &'static [Scheduler] = &[$(Scheduler::$variant),*];

            /// Age from which on accesses wait, decided at the start of a cycle.
            #[inline(always)]
            pub(crate) fn limit(self, waiting: &impl Waiting) -> u64 {
                match self {
                    $(Scheduler::$variant => <$policy>::limit(waiting),)*
                }
            }

            /// Banks that may have a column command for their oldest access to the open row.
            #[inline(always)]
            pub(crate) fn columns(
                self,
                parameters: &Parameters,
                state: &SchedulerState,
                waiting: &impl Waiting,
                limit: u64,
            ) -> u64 {
                match self {
                    $(Scheduler::$variant => <$policy>::columns(parameters, state, waiting, limit),)*
                }
            }

            /// Banks whose row may be changed for their oldest access.
            #[inline(always)]
            pub(crate) fn rows(
                self,
                parameters: &Parameters,
                state: &SchedulerState,
                waiting: &impl Waiting,
                limit: u64,
            ) -> u64 {
                match self {
                    $(Scheduler::$variant => <$policy>::rows(parameters, state, waiting, limit),)*
                }
            }

            /// A bank has had a column command, for its oldest access or for a younger one.
            #[inline(always)]
            pub(crate) fn issued(self, state: &mut SchedulerState, bank: u8, oldest: bool) {
                match self {
                    $(Scheduler::$variant => <$policy>::issued(state, bank, oldest),)*
                }
            }
        }
    };
}

schedulers! {
    /// Accesses to open rows before others, then the oldest.
    FrFcfs = "fr-fcfs" in fr_fcfs::FrFcfs,
    /// The order of arrival; only accesses to different banks overlap.
    Fcfs = "fcfs" in fcfs::Fcfs,
    /// As fr-fcfs, but only `dram.cap` accesses to an open row pass an older access to another row.
    FrFcfsCap = "fr-fcfs-cap" in fr_fcfs_cap::FrFcfsCap,
}

/// The banks of a mask.
fn banks(mut mask: u64) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let bank = (mask != 0).then(|| mask.trailing_zeros() as u8)?;
        mask &= mask - 1;
        Some(bank)
    })
}

/// Banks of a mask that satisfy a condition.
fn filtered(mask: u64, may: impl Fn(u8) -> bool) -> u64 {
    banks(mask).filter(|bank| may(*bank)).fold(0, |mask, bank| mask | 1 << bank)
}

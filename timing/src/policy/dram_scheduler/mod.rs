//! DRAM schedulers: which banks of a channel may be commanded for their waiting accesses.
//!
//! A scheduler sees the accesses of the queue that is served through [`Waiting`] and names banks as
//! masks, one bit a bank. The channel then commands the oldest candidate that the timing rules
//! allow. `issued` reports each column command.
//!
//! A new scheduler is one file beside this one and one line in [`schedulers!`] below. Its
//! parameters and its state are types of its file; the line makes them keys of GPU files and a part
//! of checkpoints.

mod bliss;
#[cfg(test)]
mod conformance;
mod fcfs;
mod fr_fcfs;
mod fr_fcfs_cap;

use serde::{Deserialize, Serialize};

use crate::restore::Validity;
use crate::specification::{Document, SpecificationError};

/// Source of accesses that no SM asks for: lines that L2 writes back.
pub const NO_SOURCE: u16 = u16::MAX;

/// An access that waits at a bank: sectors of a line that came together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The SM that asks, or [`NO_SOURCE`].
    pub source: u16,
    /// The next column command of the bank may be for it: its row is open, and its direction that
    /// of the oldest such access.
    pub hits: bool,
}

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

    /// The accesses of a bank, oldest first.
    fn requests(&self, bank: u8) -> impl Iterator<Item = Request>;
}

/// A cycle in which a channel may command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// DRAM cycle.
    pub cycle: u64,
    /// Age from which on accesses wait, as the scheduler has said at the start of the cycle.
    pub limit: u64,
}

/// A column command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Issued {
    /// DRAM cycle.
    pub cycle: u64,
    /// Bank.
    pub bank: u8,
    /// The command is for the bank's oldest access.
    pub oldest: bool,
    /// The SM that asked, or [`NO_SOURCE`].
    pub source: u16,
    /// Row, and column of the first sector of the access's line.
    pub line: (u64, u16),
}

/// Behaviour of a scheduler.
trait Policy {
    /// Parameters, declared with [`specification!`](crate::specification!), or `()`.
    type Spec;

    /// All that changes, for one (pseudo-)channel.
    type State;

    /// The parameters can be together.
    fn check_spec(_spec: &Self::Spec, _document: &Document) -> Result<(), SpecificationError> {
        Ok(())
    }

    /// A saved state fits a channel of so many banks.
    fn check(_spec: &Self::Spec, _state: &Self::State, _banks: u32) -> Validity {
        Ok(())
    }

    /// Age from which on accesses wait, decided at the start of a cycle.
    fn limit(_waiting: &impl Waiting) -> u64 {
        u64::MAX
    }

    /// Banks that may have a column command.
    fn columns(spec: &Self::Spec, state: &Self::State, waiting: &impl Waiting, turn: Turn) -> u64;

    /// Banks whose row may be changed; none of them may have a column command.
    fn rows(spec: &Self::Spec, state: &Self::State, waiting: &impl Waiting, turn: Turn) -> u64;

    /// Banks that go before the others, whatever the ages of their accesses.
    fn preferred(_spec: &Self::Spec, _state: &Self::State, _waiting: &impl Waiting, _turn: Turn) -> u64 {
        u64::MAX
    }

    /// Place of the access that the column command of a bank is for, among the bank's
    /// [requests](Waiting::requests); the oldest that hits where nothing is said.
    fn column_of(
        _spec: &Self::Spec,
        _state: &Self::State,
        _waiting: &impl Waiting,
        _bank: u8,
        _turn: Turn,
    ) -> Option<usize> {
        None
    }

    /// Place of the access whose row a bank opens; 0 is the oldest.
    fn row_of(
        _spec: &Self::Spec,
        _state: &Self::State,
        _waiting: &impl Waiting,
        _bank: u8,
        _turn: Turn,
    ) -> usize {
        0
    }

    /// The first cycle after another one at which what the scheduler says changes by time alone.
    fn next_change(_spec: &Self::Spec, _state: &Self::State, _cycle: u64) -> u64 {
        u64::MAX
    }

    /// A bank has had a column command.
    fn issued(_spec: &Self::Spec, _state: &mut Self::State, _issued: Issued) {}
}

/// Declares the schedulers: doc, name in the code, variant, name in GPU files, type.
macro_rules! schedulers {
    ($($(#[doc = $meaning:literal])* $field:ident: $variant:ident = $word:literal in $policy:ty,)*) => {
        $crate::choice! {
            /// Which access a channel serves next.
            pub enum Scheduler {
                $($(#[doc = $meaning])* $variant = $word,)*
            }
        }

        crate::policy::tables! { $($field: $policy,)* }

        impl SchedulerState {
            /// A saved state fits a channel of so many banks.
            pub(crate) fn check(&self, spec: &Parameters, banks: u32) -> Validity {
                $(<$policy>::check(&spec.$field, &self.0.$field, banks)?;)*
                Ok(())
            }

            /// A bank has had a column command.
            #[inline(always)]
            pub(crate) fn issued(&mut self, scheduler: Scheduler, spec: &Parameters, issued: Issued) {
                match scheduler {
                    $(Scheduler::$variant => <$policy>::issued(&spec.$field, &mut self.0.$field, issued),)*
                }
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
        }

        impl<W: Waiting> Look<'_, W> {
            /// Banks that may have a column command.
            #[inline(always)]
            pub(crate) fn columns(&self) -> u64 {
                let Look { scheduler, spec, state, waiting, turn } = *self;
                match scheduler {
                    $(Scheduler::$variant => <$policy>::columns(&spec.$field, &state.0.$field, waiting, turn),)*
                }
            }

            /// Banks whose row may be changed.
            #[inline(always)]
            pub(crate) fn rows(&self) -> u64 {
                let Look { scheduler, spec, state, waiting, turn } = *self;
                match scheduler {
                    $(Scheduler::$variant => <$policy>::rows(&spec.$field, &state.0.$field, waiting, turn),)*
                }
            }

            /// Banks that go before the others.
            #[inline(always)]
            pub(crate) fn preferred(&self) -> u64 {
                let Look { scheduler, spec, state, waiting, turn } = *self;
                match scheduler {
                    $(Scheduler::$variant => {
                        <$policy>::preferred(&spec.$field, &state.0.$field, waiting, turn)
                    })*
                }
            }

            /// The first later cycle at which what the scheduler says changes by time alone.
            #[inline(always)]
            pub(crate) fn next_change(&self) -> u64 {
                let Look { scheduler, spec, state, turn, .. } = *self;
                match scheduler {
                    $(Scheduler::$variant => {
                        <$policy>::next_change(&spec.$field, &state.0.$field, turn.cycle)
                    })*
                }
            }

            /// Place of the access that the column command of a bank is for; nothing for the oldest
            /// that hits.
            #[inline(always)]
            pub(crate) fn column_of(&self, bank: u8) -> Option<usize> {
                let Look { scheduler, spec, state, waiting, turn } = *self;
                match scheduler {
                    $(Scheduler::$variant => {
                        <$policy>::column_of(&spec.$field, &state.0.$field, waiting, bank, turn)
                    })*
                }
            }

            /// Place of the access whose row a bank opens.
            #[inline(always)]
            pub(crate) fn row_of(&self, bank: u8) -> usize {
                let Look { scheduler, spec, state, waiting, turn } = *self;
                match scheduler {
                    $(Scheduler::$variant => {
                        <$policy>::row_of(&spec.$field, &state.0.$field, waiting, bank, turn)
                    })*
                }
            }
        }
    };
}

schedulers! {
    /// Accesses to open rows before others, then the oldest.
    fr_fcfs: FrFcfs = "fr-fcfs" in fr_fcfs::FrFcfs,
    /// The order of arrival; only accesses to different banks overlap.
    fcfs: Fcfs = "fcfs" in fcfs::Fcfs,
    /// As fr-fcfs, but only `dram.cap` accesses to an open row pass an older access to another row.
    fr_fcfs_cap: FrFcfsCap = "fr-fcfs-cap" in fr_fcfs_cap::FrFcfsCap,
    /// As fr-fcfs, but accesses of SMs that were served `dram.bliss_streak` times in a row wait for
    /// those of others.
    bliss: Bliss = "bliss" in bliss::Bliss,
}

/// State of the schedulers for one (pseudo-)channel.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SchedulerState(States);

/// A scheduler that looks at the accesses of a channel.
pub(crate) struct Look<'l, W> {
    pub scheduler: Scheduler,
    pub spec: &'l Parameters,
    pub state: &'l SchedulerState,
    pub waiting: &'l W,
    pub turn: Turn,
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

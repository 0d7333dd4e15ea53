//! DRAM schedulers: selection of the banks that may receive a command.
//!
//! A scheduler sees the accesses of the queue being served through [`Waiting`] and returns masks of
//! banks. The channel then issues the oldest candidate command that the timing constraints permit.
//! `issued` reports each column command.
//!
//! A new scheduler is one file beside this one and one line in `schedulers!` below. The file
//! holds the types of parameters and state; the line makes them keys of GPU files and a part of
//! checkpoints.

mod bliss;
#[cfg(test)]
mod conformance;
mod fcfs;
mod fr_fcfs;
mod fr_fcfs_cap;

use serde::{Deserialize, Serialize};

use crate::gpu_file::{Document, SpecificationError};
use crate::restore::Validity;

/// Source of accesses without an SM: write-backs of L2.
pub const NO_SOURCE: u16 = u16::MAX;

/// A queued access of a bank: sectors of a line that arrived together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Requesting SM, or [`NO_SOURCE`].
    pub source: u16,
    /// Set if the bank's next column command may serve it: its row is open, and it has the
    /// direction of the oldest such access.
    pub hits: bool,
}

/// Accesses in the queue being served. Masks have one bit per bank.
pub trait Waiting {
    /// Banks with accesses.
    fn occupied(&self) -> u64;

    /// Banks with an access to their open row.
    fn hits(&self) -> u64;

    /// Tells whether the oldest access of an occupied bank is a row hit.
    fn oldest_hits(&self, bank: u8) -> bool;

    /// Age of the oldest access of an occupied bank; lower is older.
    fn oldest_age(&self, bank: u8) -> u64;

    /// Age of a bank's first access beyond its oldest request.
    fn second_request(&self, bank: u8) -> Option<u64>;

    /// Accesses of a bank, oldest first.
    fn requests(&self, bank: u8) -> impl Iterator<Item = Request>;
}

/// A cycle with a command slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// DRAM cycle.
    pub cycle: u64,
    /// Age from which accesses must wait, fixed by the scheduler at the start of the cycle.
    pub limit: u64,
}

/// An issued column command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Issued {
    /// DRAM cycle.
    pub cycle: u64,
    /// Bank.
    pub bank: u8,
    /// Set if the command served the bank's oldest access.
    pub oldest: bool,
    /// Requesting SM, or [`NO_SOURCE`].
    pub source: u16,
    /// Row, and column of the first sector of the line.
    pub line: (u64, u16),
}

/// Behaviour of a scheduler.
trait Policy {
    /// Parameters, declared with [`specification!`](crate::specification!), or `()`.
    type Spec;

    /// Mutable state of a (pseudo-)channel.
    type State;

    /// Checks the consistency of the parameters.
    fn check_spec(_spec: &Self::Spec, _document: &Document) -> Result<(), SpecificationError> {
        Ok(())
    }

    /// Checks a restored state for a channel with `banks` banks.
    fn check(_spec: &Self::Spec, _state: &Self::State, _banks: u32) -> Validity {
        Ok(())
    }

    /// Age from which accesses must wait, fixed at the start of a cycle.
    fn limit(_waiting: &impl Waiting) -> u64 {
        u64::MAX
    }

    /// Banks that may receive a column command.
    fn columns(spec: &Self::Spec, state: &Self::State, waiting: &impl Waiting, turn: Turn) -> u64;

    /// Banks that may receive a row command, disjoint from those for column commands.
    fn rows(spec: &Self::Spec, state: &Self::State, waiting: &impl Waiting, turn: Turn) -> u64;

    /// Banks that precede others regardless of age.
    fn preferred(_spec: &Self::Spec, _state: &Self::State, _waiting: &impl Waiting, _turn: Turn) -> u64 {
        u64::MAX
    }

    /// Index of the access served by a bank's column command, among the bank's
    /// [requests](Waiting::requests); the oldest row hit by default.
    fn column_of(
        _spec: &Self::Spec,
        _state: &Self::State,
        _waiting: &impl Waiting,
        _bank: u8,
        _turn: Turn,
    ) -> Option<usize> {
        None
    }

    /// Index of the access whose row a bank activates; 0 is the oldest.
    fn row_of(
        _spec: &Self::Spec,
        _state: &Self::State,
        _waiting: &impl Waiting,
        _bank: u8,
        _turn: Turn,
    ) -> usize {
        0
    }

    /// The next cycle at which the decisions change by time alone.
    fn next_change(_spec: &Self::Spec, _state: &Self::State, _cycle: u64) -> u64 {
        u64::MAX
    }

    /// Records a column command.
    fn issued(_spec: &Self::Spec, _state: &mut Self::State, _issued: Issued) {}
}

/// Declares the schedulers: doc, name in the code, variant, name in GPU files, type.
macro_rules! schedulers {
    ($($(#[doc = $meaning:literal])* $field:ident: $variant:ident = $word:literal in $policy:ty,)*) => {
        $crate::choice! {
            /// DRAM scheduling policy.
            pub enum Scheduler {
                $($(#[doc = $meaning])* $variant = $word,)*
            }
        }

        crate::policy::tables! { $($field: $policy,)* }

        impl SchedulerState {
            /// Checks a restored state for a channel with `banks` banks.
            pub(crate) fn check(&self, spec: &Parameters, banks: u32) -> Validity {
                $(<$policy>::check(&spec.$field, &self.0.$field, banks)?;)*
                Ok(())
            }

            /// Records a column command.
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

            /// Age from which accesses must wait, fixed at the start of a cycle.
            #[inline(always)]
            pub(crate) fn limit(self, waiting: &impl Waiting) -> u64 {
                match self {
                    $(Scheduler::$variant => <$policy>::limit(waiting),)*
                }
            }
        }

        impl<W: Waiting> Look<'_, W> {
            /// Banks that may receive a column command.
            #[inline(always)]
            pub(crate) fn columns(&self) -> u64 {
                let Look { scheduler, spec, state, waiting, turn } = *self;
                match scheduler {
                    $(Scheduler::$variant => <$policy>::columns(&spec.$field, &state.0.$field, waiting, turn),)*
                }
            }

            /// Banks that may receive a row command.
            #[inline(always)]
            pub(crate) fn rows(&self) -> u64 {
                let Look { scheduler, spec, state, waiting, turn } = *self;
                match scheduler {
                    $(Scheduler::$variant => <$policy>::rows(&spec.$field, &state.0.$field, waiting, turn),)*
                }
            }

            /// Banks that precede others.
            #[inline(always)]
            pub(crate) fn preferred(&self) -> u64 {
                let Look { scheduler, spec, state, waiting, turn } = *self;
                match scheduler {
                    $(Scheduler::$variant => {
                        <$policy>::preferred(&spec.$field, &state.0.$field, waiting, turn)
                    })*
                }
            }

            /// The next cycle at which the decisions change by time alone.
            #[inline(always)]
            pub(crate) fn next_change(&self) -> u64 {
                let Look { scheduler, spec, state, turn, .. } = *self;
                match scheduler {
                    $(Scheduler::$variant => {
                        <$policy>::next_change(&spec.$field, &state.0.$field, turn.cycle)
                    })*
                }
            }

            /// Index of the access served by a bank's column command; `None` for the oldest row
            /// hit.
            #[inline(always)]
            pub(crate) fn column_of(&self, bank: u8) -> Option<usize> {
                let Look { scheduler, spec, state, waiting, turn } = *self;
                match scheduler {
                    $(Scheduler::$variant => {
                        <$policy>::column_of(&spec.$field, &state.0.$field, waiting, bank, turn)
                    })*
                }
            }

            /// Index of the access whose row a bank activates.
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
    /// Row hits first, then the oldest access.
    fr_fcfs: FrFcfs = "fr-fcfs" in fr_fcfs::FrFcfs,
    /// Order of arrival; only accesses to different banks overlap.
    fcfs: Fcfs = "fcfs" in fcfs::Fcfs,
    /// Like fr-fcfs, but only `dram.cap` row hits precede an older access to another row.
    fr_fcfs_cap: FrFcfsCap = "fr-fcfs-cap" in fr_fcfs_cap::FrFcfsCap,
    /// Like fr-fcfs, but SMs with `dram.bliss_streak` consecutive requests yield to others.
    bliss: Bliss = "bliss" in bliss::Bliss,
}

/// State of the schedulers for one (pseudo-)channel.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SchedulerState(States);

/// A scheduler with its view of a channel.
pub(crate) struct Look<'l, W> {
    pub scheduler: Scheduler,
    pub spec: &'l Parameters,
    pub state: &'l SchedulerState,
    pub waiting: &'l W,
    pub turn: Turn,
}

/// Banks in a mask.
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

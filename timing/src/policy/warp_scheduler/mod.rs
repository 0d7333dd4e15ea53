//! Warp schedulers: selection of the eligible warp that issues next on a sub-core.
//!
//! A policy sees the sub-core through a [`View`]: the warps in age order, the eligible warps, and
//! the cycle. `pick` does not change state; events do. A warp `began`, was `issued` or `ended`. For
//! policies that observe L1, a load hit or missed, or a line was evicted. A policy may also hold
//! back loads ([`WarpScheduler::may_load`]).
//!
//! A new policy is one file beside this one and one line in `schedulers!` below. The file holds
//! the types of parameters and state; the line makes them keys of GPU files and a part of
//! checkpoints.

mod ccws;
#[cfg(test)]
mod conformance;
mod gto;
mod lrr;
mod oldest;
mod two_level;
mod warps;

use serde::{Deserialize, Serialize};

use self::warps::Warps;
use crate::gpu_file::{Document, SpecificationError};
use crate::restore::Validity;

/// View of a sub-core at the issue of an instruction.
#[derive(Debug, Clone, Copy)]
pub struct View<'w> {
    /// The warps of the sub-core.
    pub warps: &'w Warps,
    /// Eligible warps; at least one.
    pub eligible: u32,
    /// Warps that wait for memory.
    pub waits_for_memory: u32,
}

/// An event of the L1 data cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct L1Event {
    /// Kind of the event.
    pub kind: L1EventKind,
    /// Warp slot of the SM: the loading warp, or the warp that loaded the evicted line.
    pub warp: u8,
    /// Device address of the line.
    pub line: u64,
}

/// Kind of an event of the L1 data cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum L1EventKind {
    /// A load hit all its sectors of the line.
    Hit,
    /// A load missed and was not merged.
    Miss,
    /// A line was evicted.
    Evicted,
}

/// Behaviour of a warp scheduler. The defaults ignore the event.
trait Policy {
    /// Parameters, declared with [`specification!`](crate::specification!), or `()`.
    type Spec;

    /// Mutable state of a sub-core.
    type State;

    /// Set if the policy observes L1 events.
    const WATCHES_L1: bool = false;

    /// Set if the policy may hold back loads.
    const HOLDS_LOADS: bool = false;

    /// Checks the consistency of the parameters.
    fn check_spec(_spec: &Self::Spec, _document: &Document) -> Result<(), SpecificationError> {
        Ok(())
    }

    /// Checks a restored state against the present warps.
    fn check(_spec: &Self::Spec, _state: &Self::State, _warps: &Warps) -> Validity {
        Ok(())
    }

    /// The warp to issue, an eligible one.
    fn pick(spec: &Self::Spec, state: &Self::State, view: &View<'_>) -> u32;

    /// Warps that may issue loads to L1 at a cycle: at least one of those present.
    fn may_load(_spec: &Self::Spec, _state: &Self::State, _warps: &Warps, _cycle: u64) -> u32 {
        u32::MAX
    }

    /// Records that a warp was picked and issues.
    fn issued(_spec: &Self::Spec, _state: &mut Self::State, _view: &View<'_>, _warp: u32) {}

    /// Records the start of a warp; `warps` has the others.
    fn began(_spec: &Self::Spec, _state: &mut Self::State, _warps: &Warps, _warp: u32) {}

    /// Records the end of a warp.
    fn ended(_state: &mut Self::State, _warp: u32) {}

    /// Records an L1 hit of a warp's load.
    fn l1_hit(_spec: &Self::Spec, _state: &mut Self::State, _warp: u32, _line: u64) {}

    /// Records an L1 miss of a warp's load.
    fn l1_missed(
        _spec: &Self::Spec,
        _state: &mut Self::State,
        _warps: &Warps,
        _warp: u32,
        _line: u64,
        _cycle: u64,
    ) {
    }

    /// Records the eviction of a line loaded by a warp.
    fn l1_evicted(_spec: &Self::Spec, _state: &mut Self::State, _warp: u32, _line: u64) {}
}

/// Declares the schedulers: doc, name in the code, variant, name in GPU files, type.
macro_rules! schedulers {
    ($($(#[doc = $meaning:literal])* $field:ident: $variant:ident = $word:literal in $policy:ty,)*) => {
        $crate::choice! {
            /// Warp scheduling policy.
            pub enum Scheduling {
                $($(#[doc = $meaning])* $variant = $word,)*
            }
        }

        crate::policy::tables! { $($field: $policy,)* }

        impl Scheduling {
            /// Every policy.
            pub const ALL: &'static [Scheduling] = &[$(Scheduling::$variant),*];

            /// Tells whether the policy observes L1.
            #[inline(always)]
            pub fn watches_l1(self) -> bool {
                match self {
                    $(Scheduling::$variant => <$policy as Policy>::WATCHES_L1,)*
                }
            }

            /// Tells whether the policy may hold back loads.
            #[inline(always)]
            pub fn holds_loads(self) -> bool {
                match self {
                    $(Scheduling::$variant => <$policy as Policy>::HOLDS_LOADS,)*
                }
            }
        }

        impl WarpScheduler {
            /// Checks a restored scheduler against the present warps.
            pub(crate) fn check(&self, spec: &Parameters, present: u32) -> Validity {
                self.warps.check(present)?;
                $(<$policy>::check(&spec.$field, &self.states.$field, &self.warps)?;)*
                Ok(())
            }

            /// Starts a warp.
            pub fn begin(&mut self, scheduling: Scheduling, spec: &Parameters, warp: u32) {
                match scheduling {
                    $(Scheduling::$variant => {
                        <$policy>::began(&spec.$field, &mut self.states.$field, &self.warps, warp);
                    })*
                }
                self.warps.begin(warp);
            }

            /// Ends a warp.
            pub fn end(&mut self, warp: u32) {
                self.warps.end(warp);
                $(<$policy>::ended(&mut self.states.$field, warp);)*
            }

            /// Picks one of the eligible warps; there must be one.
            #[inline(always)]
            pub fn pick(
                &mut self,
                scheduling: Scheduling,
                spec: &Parameters,
                eligible: u32,
                waits_for_memory: u32,
            ) -> u32 {
                let view = View { warps: &self.warps, eligible, waits_for_memory };
                let warp = match scheduling {
                    $(Scheduling::$variant => {
                        let warp = <$policy>::pick(&spec.$field, &self.states.$field, &view);
                        <$policy>::issued(&spec.$field, &mut self.states.$field, &view, warp);
                        warp
                    })*
                };
                self.warps.issued(warp);
                warp
            }

            /// Warps that may issue loads to L1 at a cycle: at least one of those present.
            pub fn may_load(&self, scheduling: Scheduling, spec: &Parameters, cycle: u64) -> u32 {
                match scheduling {
                    $(Scheduling::$variant => {
                        <$policy>::may_load(&spec.$field, &self.states.$field, &self.warps, cycle)
                    })*
                }
            }

            /// Reports an L1 event of one of the sub-core's warps at a cycle.
            pub fn l1_event(
                &mut self,
                scheduling: Scheduling,
                spec: &Parameters,
                warp: u32,
                event: L1Event,
                cycle: u64,
            ) {
                let line = event.line;
                match scheduling {
                    $(Scheduling::$variant => {
                        let (spec, state) = (&spec.$field, &mut self.states.$field);
                        match event.kind {
                            L1EventKind::Hit => <$policy>::l1_hit(spec, state, warp, line),
                            L1EventKind::Miss => {
                                <$policy>::l1_missed(spec, state, &self.warps, warp, line, cycle);
                            }
                            L1EventKind::Evicted => <$policy>::l1_evicted(spec, state, warp, line),
                        }
                    })*
                }
            }
        }
    };
}

schedulers! {
    /// Greedy then oldest: the warp that issued last, then the oldest.
    gto: Gto = "gto" in gto::Gto,
    /// Loose round robin: the warp after the one that issued last.
    lrr: Lrr = "lrr" in lrr::Lrr,
    /// The oldest warp.
    oldest: Oldest = "oldest" in oldest::Oldest,
    /// Two-level: a few active warps in round robin; a warp that waits for memory leaves the
    /// active set.
    two_level: TwoLevel = "two-level" in two_level::TwoLevel,
    /// Cache-conscious: greedy then oldest, but warps hold back loads while others reload lines
    /// that L1 evicted.
    ccws: Ccws = "ccws" in ccws::Ccws,
}

/// The warp scheduler of a sub-core. Warps are numbers below 32, sets of warps masks.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct WarpScheduler {
    warps: Warps,
    states: States,
}

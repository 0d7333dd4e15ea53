//! Warp schedulers: which of a sub-core's eligible warps issues its next instruction.
//!
//! A policy sees the sub-core through a [`View`]: the warps in the order of their age, those that
//! can issue, and the cycle. `pick` only looks; events change the policy's state: a warp `began`,
//! was `issued` or `ended`, and, for policies that watch L1, a load hit or missed, or a line was
//! evicted. A policy may also hold back loads ([`WarpScheduler::may_load`]).
//!
//! A new policy is one file beside this one and one line in [`schedulers!`] below. Its parameters
//! and its state are types of its file; the line makes them keys of GPU files and a part of
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
use crate::restore::Validity;
use crate::specification::{Document, SpecificationError};

/// A sub-core at the issue of an instruction.
#[derive(Debug, Clone, Copy)]
pub struct View<'w> {
    /// The warps of the sub-core.
    pub warps: &'w Warps,
    /// Warps that can issue; at least one.
    pub eligible: u32,
    /// Warps that wait for memory.
    pub waits_for_memory: u32,
}

/// An event of the L1 data cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct L1Event {
    /// Kind of the event.
    pub kind: L1EventKind,
    /// The warp that loads the line, or that brought the evicted line in. A warp slot of the SM.
    pub warp: u8,
    /// Device address of the line.
    pub line: u64,
}

/// Kind of an event of the L1 data cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum L1EventKind {
    /// A load found all its sectors of the line.
    Hit,
    /// A load found neither the sectors nor their request.
    Miss,
    /// A line made room for another.
    Evicted,
}

/// Behaviour of a warp scheduler. The defaults ignore the event.
trait Policy {
    /// Parameters, declared with [`specification!`](crate::specification!), or `()`.
    type Spec;

    /// All that changes, for one sub-core.
    type State;

    /// L1 reports its events.
    const WATCHES_L1: bool = false;

    /// Some warps may have to wait with their loads.
    const HOLDS_LOADS: bool = false;

    /// The parameters can be together.
    fn check_spec(_spec: &Self::Spec, _document: &Document) -> Result<(), SpecificationError> {
        Ok(())
    }

    /// A saved state fits the warps that are there.
    fn check(_spec: &Self::Spec, _state: &Self::State, _warps: &Warps) -> Validity {
        Ok(())
    }

    /// The warp to issue, one of the eligible ones.
    fn pick(spec: &Self::Spec, state: &Self::State, view: &View<'_>) -> u32;

    /// Warps that may issue loads of L1 at a cycle: at least one of those present.
    fn may_load(_spec: &Self::Spec, _state: &Self::State, _warps: &Warps, _cycle: u64) -> u32 {
        u32::MAX
    }

    /// A warp was picked and issues.
    fn issued(_spec: &Self::Spec, _state: &mut Self::State, _view: &View<'_>, _warp: u32) {}

    /// A warp has begun; the others are in `warps`.
    fn began(_spec: &Self::Spec, _state: &mut Self::State, _warps: &Warps, _warp: u32) {}

    /// A warp has ended.
    fn ended(_state: &mut Self::State, _warp: u32) {}

    /// A warp's load of a line has hit in L1.
    fn l1_hit(_spec: &Self::Spec, _state: &mut Self::State, _warp: u32, _line: u64) {}

    /// A warp's load of a line has missed in L1.
    fn l1_missed(
        _spec: &Self::Spec,
        _state: &mut Self::State,
        _warps: &Warps,
        _warp: u32,
        _line: u64,
        _cycle: u64,
    ) {
    }

    /// L1 has evicted a line that a warp brought in.
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

            /// The policy watches L1.
            #[inline(always)]
            pub fn watches_l1(self) -> bool {
                match self {
                    $(Scheduling::$variant => <$policy as Policy>::WATCHES_L1,)*
                }
            }

            /// The policy may hold back loads.
            #[inline(always)]
            pub fn holds_loads(self) -> bool {
                match self {
                    $(Scheduling::$variant => <$policy as Policy>::HOLDS_LOADS,)*
                }
            }
        }

        impl WarpScheduler {
            /// A saved scheduler fits the warps that are present.
            pub(crate) fn check(&self, spec: &Parameters, present: u32) -> Validity {
                self.warps.check(present)?;
                $(<$policy>::check(&spec.$field, &self.states.$field, &self.warps)?;)*
                Ok(())
            }

            /// A warp begins.
            pub fn begin(&mut self, scheduling: Scheduling, spec: &Parameters, warp: u32) {
                match scheduling {
                    $(Scheduling::$variant => {
                        <$policy>::began(&spec.$field, &mut self.states.$field, &self.warps, warp);
                    })*
                }
                self.warps.begin(warp);
            }

            /// A warp ends.
            pub fn end(&mut self, warp: u32) {
                self.warps.end(warp);
                $(<$policy>::ended(&mut self.states.$field, warp);)*
            }

            /// Picks one of the warps that can issue; there is at least one.
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

            /// Warps that may issue loads of L1 at a cycle: at least one of those present.
            pub fn may_load(&self, scheduling: Scheduling, spec: &Parameters, cycle: u64) -> u32 {
                match scheduling {
                    $(Scheduling::$variant => {
                        <$policy>::may_load(&spec.$field, &self.states.$field, &self.warps, cycle)
                    })*
                }
            }

            /// L1 reports an event at a cycle, of one of the sub-core's warps.
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
    /// Cache-conscious: greedy then oldest, but warps wait with their loads while other warps
    /// reload lines that L1 has evicted.
    ccws: Ccws = "ccws" in ccws::Ccws,
}

/// The warp scheduler of a sub-core. Warps are numbers below 32, sets of warps masks.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct WarpScheduler {
    warps: Warps,
    states: States,
}

//! The blacklisting memory scheduler, BLISS (Subramanian et al., "The Blacklisting Memory
//! Scheduler", ICCD 2014, and "BLISS", TPDS 2016): a source whose requests are served several times
//! in a row is put on a list, and waits for the others.
//!
//! Sources are SMs. A request is a line's access, whose sectors count once. After
//! `dram.bliss_streak` requests of one SM in a row the SM is listed; each `dram.bliss_interval`
//! DRAM cycles the list is emptied. Requests are ranked by
//!
//! 1. the list: SMs that are not on it first;
//! 2. the row buffer: accesses to the open row first;
//! 3. age.
//!
//! Within a bank the ranking is exact. Among banks those with a request of an SM that is not listed
//! go first, and a channel with one command bus still commands columns before rows. Lines that L2
//! writes back have no source: they are never listed and interrupt no series.
//!
//! The list keeps an SM that streams from delaying the few requests of others without a rank for
//! each SM. The defaults are those of the papers: 4 requests, 10,000 cycles.

use serde::{Deserialize, Serialize};

use super::{Issued, NO_SOURCE, Policy, Request, Turn, Waiting, filtered};
use crate::restore::{Validity, ensure};
use crate::specification::{Document, SpecificationError};

crate::specification! {
    /// BLISS. Defaults: Subramanian et al., TPDS 2016, section 6.
    pub struct BlissSpec in "dram" {
        /// Requests of an SM in a row after which others go first, by the scheduler bliss.
        bliss_streak: u32 ["requests"] = 4,
        /// From one emptying of the list of such SMs to the next, by the scheduler bliss.
        bliss_interval: u32 ["DRAM cycles"] = 10_000,
    }
}

/// A channel's list, and the requests that were served last.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct State {
    /// SMs on the list, each once.
    listed: Vec<u16>,
    /// The interval of which the list is.
    interval: u64,
    /// The SM that was served last, and how many of its requests in a row.
    last: Option<(u16, u32)>,
    /// Bank and line of the request that was served last.
    line: Option<(u8, u64, u16)>,
}

impl State {
    /// The SM's requests wait for those of others at a cycle.
    fn is_listed(&self, spec: &BlissSpec, source: u16, cycle: u64) -> bool {
        self.interval == spec.interval(cycle) && self.listed.contains(&source)
    }

    /// Place of the first request of a bank that ranks highest.
    fn first(
        &self,
        spec: &BlissSpec,
        waiting: &impl Waiting,
        bank: u8,
        cycle: u64,
    ) -> Option<(usize, Request)> {
        let rank =
            |(_, request): &(usize, Request)| (self.is_listed(spec, request.source, cycle), !request.hits);
        waiting.requests(bank).enumerate().min_by_key(rank)
    }
}

impl BlissSpec {
    fn interval(&self, cycle: u64) -> u64 {
        cycle / u64::from(self.bliss_interval)
    }
}

pub(super) struct Bliss;

impl Policy for Bliss {
    type Spec = BlissSpec;
    type State = State;

    fn check_spec(spec: &BlissSpec, document: &Document) -> Result<(), SpecificationError> {
        match spec {
            BlissSpec { bliss_streak: 0, .. } => {
                Err(document.wrong("dram", "bliss_streak", "every SM would be on the list"))
            }
            BlissSpec { bliss_interval: 0, .. } => {
                Err(document.wrong("dram", "bliss_interval", "the list would be emptied all the time"))
            }
            _ => Ok(()),
        }
    }

    fn check(_: &BlissSpec, state: &State, _: u32) -> Validity {
        ensure(
            state.listed.len() <= usize::from(u16::MAX),
            "a DRAM scheduler lists more SMs than there can be",
        )
    }

    fn columns(spec: &BlissSpec, state: &State, waiting: &impl Waiting, turn: Turn) -> u64 {
        let hits = |bank| state.first(spec, waiting, bank, turn.cycle).is_some_and(|(_, first)| first.hits);
        filtered(waiting.hits(), hits)
    }

    fn rows(spec: &BlissSpec, state: &State, waiting: &impl Waiting, turn: Turn) -> u64 {
        waiting.occupied() & !Bliss::columns(spec, state, waiting, turn)
    }

    fn preferred(spec: &BlissSpec, state: &State, waiting: &impl Waiting, turn: Turn) -> u64 {
        let is_free = |request: Request| !state.is_listed(spec, request.source, turn.cycle);
        filtered(waiting.occupied(), |bank| waiting.requests(bank).any(is_free))
    }

    fn column_of(
        spec: &BlissSpec,
        state: &State,
        waiting: &impl Waiting,
        bank: u8,
        turn: Turn,
    ) -> Option<usize> {
        state.first(spec, waiting, bank, turn.cycle).map(|(place, _)| place)
    }

    fn row_of(spec: &BlissSpec, state: &State, waiting: &impl Waiting, bank: u8, turn: Turn) -> usize {
        state.first(spec, waiting, bank, turn.cycle).map_or(0, |(place, _)| place)
    }

    fn next_change(spec: &BlissSpec, state: &State, cycle: u64) -> u64 {
        let lists = state.interval == spec.interval(cycle) && !state.listed.is_empty();
        if lists { (state.interval + 1) * u64::from(spec.bliss_interval) } else { u64::MAX }
    }

    fn issued(spec: &BlissSpec, state: &mut State, issued: Issued) {
        let Issued { cycle, bank, source, line: (row, column), .. } = issued;
        if source == NO_SOURCE || state.line.replace((bank, row, column)) == Some((bank, row, column)) {
            return;
        }
        let streak = match state.last {
            Some((last, streak)) if last == source => streak + 1,
            _ => 1,
        };
        state.last = Some((source, streak));
        if streak < spec.bliss_streak {
            return;
        }
        state.last = None;
        if state.interval != spec.interval(cycle) {
            state.listed.clear();
            state.interval = spec.interval(cycle);
        }
        if !state.listed.contains(&source) {
            state.listed.push(source);
        }
    }
}

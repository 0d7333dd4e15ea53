//! BLISS, the blacklisting memory scheduler (Subramanian et al., "The Blacklisting Memory
//! Scheduler", ICCD 2014, and "BLISS", TPDS 2016). The scheduler blacklists a source after several
//! consecutive requests, and prefers other sources to blacklisted ones.
//!
//! Sources are SMs. A request is an access to a line, whatever the number of sectors. After
//! `dram.bliss_streak` consecutive requests an SM is blacklisted, and every `dram.bliss_interval`
//! DRAM cycles the blacklist is cleared. Requests are ranked by
//!
//! 1. the list: SMs that are not on it first;
//! 2. the row buffer: accesses to the open row first;
//! 3. age.
//!
//! Within a bank the ranking is exact. Among banks, those with a request of an SM that is not
//! blacklisted take precedence. A channel with a single command bus still issues column commands
//! before row commands. Write-backs of L2 have no source: they are never blacklisted and do not
//! interrupt a streak.
//!
//! The blacklist keeps a streaming SM from delaying the few requests of others, without a rank per
//! SM. The defaults are those of the papers: 4 requests, 10,000 cycles.

use serde::{Deserialize, Serialize};

use super::{Issued, NO_SOURCE, Policy, Request, Turn, Waiting, filtered};
use crate::gpu_file::{Document, SpecificationError};
use crate::restore::{Validity, ensure};

crate::specification! {
    /// BLISS. Defaults: Subramanian et al., TPDS 2016, section 6.
    pub struct BlissSpec in "dram" {
        /// Consecutive requests of an SM after which bliss blacklists it.
        bliss_streak: u32 ["requests"] = 4,
        /// Interval at which bliss clears its blacklist.
        bliss_interval: u32 ["DRAM cycles"] = 10_000,
    }
}

/// Blacklist of a channel, and the current streak.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct State {
    /// Blacklisted SMs, each once.
    listed: Vec<u16>,
    /// Interval that the blacklist belongs to.
    interval: u64,
    /// The last SM served, and its number of consecutive requests.
    last: Option<(u16, u32)>,
    /// Bank and line of the last request served.
    line: Option<(u8, u64, u16)>,
}

impl State {
    /// Tells whether an SM is blacklisted at a cycle.
    fn is_listed(&self, spec: &BlissSpec, source: u16, cycle: u64) -> bool {
        self.interval == spec.interval(cycle) && self.listed.contains(&source)
    }

    /// Index of the highest-ranked request of a bank.
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
                Err(document.wrong("dram", "bliss_streak", "must be at least 1"))
            }
            BlissSpec { bliss_interval: 0, .. } => {
                Err(document.wrong("dram", "bliss_interval", "must be at least 1"))
            }
            _ => Ok(()),
        }
    }

    fn check(_: &BlissSpec, state: &State, _: u32) -> Validity {
        ensure(state.listed.len() <= usize::from(u16::MAX), "a DRAM scheduler lists too many SMs")
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

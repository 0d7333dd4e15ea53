//! Cache-conscious wavefront scheduling (Rogers, O'Connor, Aamodt, MICRO 2012): while L1 thrashes,
//! fewer warps may load.
//!
//! Each warp has *victim tags*: lines that it loaded into L1 and that were evicted. A miss on a
//! victim tag is lost locality: with fewer warps the line would still be in L1. The warp's
//! *locality score* then rises from the base score to
//!
//! ```text
//! hits of victim tags / instructions issued × throttle × cutoff,      cutoff = base score × warps present
//! ```
//!
//! and decays by one point a cycle to the base score. Warps are sorted by score, the highest first
//! and the older one among equals. Warps beyond the point where the summed scores exceed the cutoff
//! may not load. A warp that loses locality thus pushes others out of the loading set until its
//! score decays. The warp with the highest score may always load. Among eligible warps the policy
//! is greedy-then-oldest, as in the paper.
//!
//! The paper has one scheduler for all warps of an SM. Here each sub-core has its own, with victim
//! tags, scores and cutoff for its own warps, although all sub-cores share L1. Totals restart when
//! a warp begins on an idle sub-core.
//!
//! The defaults are those of the paper (section 5): 16 victim tags per warp, 8 ways, base score
//! 100, throttle 8.

use serde::{Deserialize, Serialize};

use super::gto::Gto;
use super::warps::MOST_WARPS;
use super::{Policy, View, Warps};
use crate::gpu_file::{Document, SpecificationError};
use crate::message::LINE_BYTES;
use crate::restore::{LATEST, MOST_COUNTED, Validity, ensure};

crate::specification! {
    /// Cache-conscious wavefront scheduling. Defaults: Rogers et al., MICRO 2012, section 5.
    pub struct CcwsSpec in "issue" {
        /// Victim tags per warp in ccws: lines that the warp lost from L1.
        ccws_tags: u32 ["lines"] = 16,
        /// Associativity of the victim tags in ccws.
        ccws_ways: u32 ["lines"] = 8,
        /// Locality score of a warp without lost lines in ccws.
        ccws_base_score: u32 ["points"] = 100,
        /// Factor of locality scores in ccws; 0 throttles no loads.
        ccws_throttle: u32 ["times"] = 8,
    }
}

/// Most victim tags of a warp.
const MOST_TAGS: u32 = 1 << 10;

/// Most score points, and largest factor, so that their products do not overflow.
const MOST_POINTS: u32 = 1 << 16;

/// Lost locality of a warp.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Locality {
    /// Addresses of evicted lines by set, youngest last.
    victims: Vec<Vec<u64>>,
    /// Score above the base score at cycle `since`.
    points: u64,
    /// Core cycle of `points`.
    since: u64,
}

impl Locality {
    /// Score above the base score at a cycle.
    fn points_at(&self, cycle: u64) -> u64 {
        self.points.saturating_sub(cycle.saturating_sub(self.since))
    }
}

/// State of a sub-core.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct State {
    /// Lost locality by warp; missing entries have lost nothing.
    warps: Vec<Locality>,
    /// Misses that hit a victim tag.
    hits: u64,
    /// Instructions issued.
    issued: u64,
}

impl State {
    fn of(&mut self, warp: u32) -> &mut Locality {
        let place = warp as usize % MOST_WARPS;
        if self.warps.len() <= place {
            self.warps.resize_with(place + 1, Locality::default);
        }
        &mut self.warps[place]
    }
}

impl CcwsSpec {
    fn sets(&self) -> u64 {
        u64::from(self.ccws_tags / self.ccws_ways)
    }

    fn set(&self, line: u64) -> usize {
        (line / LINE_BYTES % self.sets()) as usize
    }

    /// Largest sum of scores of warps that may load.
    fn cutoff(&self, warps: &Warps) -> u64 {
        u64::from(self.ccws_base_score) * u64::from(warps.present().count_ones())
    }
}

pub(super) struct Ccws;

impl Policy for Ccws {
    type Spec = CcwsSpec;
    type State = State;

    const WATCHES_L1: bool = true;
    const HOLDS_LOADS: bool = true;

    fn check_spec(spec: &CcwsSpec, document: &Document) -> Result<(), SpecificationError> {
        let wrong = |name, reason| Err(document.wrong("issue", name, reason));
        let CcwsSpec { ccws_tags, ccws_ways, ccws_base_score, ccws_throttle } = *spec;
        if !(1..=MOST_TAGS).contains(&ccws_tags) {
            return wrong("ccws_tags", "must be 1 to 1,024");
        }
        if ccws_ways == 0 || !ccws_tags.is_multiple_of(ccws_ways) {
            let keys = [("issue", "ccws_ways"), ("issue", "ccws_tags")];
            return Err(document.disagree(&keys, "the victim tags must form a whole number of sets"));
        }
        if !(1..=MOST_POINTS).contains(&ccws_base_score) {
            return wrong("ccws_base_score", "must be 1 to 65,536");
        }
        match ccws_throttle > MOST_POINTS {
            true => wrong("ccws_throttle", "must be at most 65,536"),
            false => Ok(()),
        }
    }

    fn check(spec: &CcwsSpec, state: &State, _: &Warps) -> Validity {
        let of_set = |victims: &Vec<u64>| victims.len() <= spec.ccws_ways as usize;
        let of_warp = |warp: &Locality| {
            let shape = warp.victims.is_empty() || warp.victims.len() as u64 == spec.sets();
            shape && warp.victims.iter().all(of_set) && warp.points < MOST_COUNTED && warp.since < LATEST
        };
        let warps = state.warps.len() <= MOST_WARPS && state.warps.iter().all(of_warp);
        ensure(
            warps && state.hits < LATEST && state.issued < LATEST,
            "a warp's count of lost L1 lines is too large",
        )
    }

    fn pick(_: &CcwsSpec, _: &State, view: &View<'_>) -> u32 {
        Gto::pick(&(), &(), view)
    }

    fn may_load(spec: &CcwsSpec, state: &State, warps: &Warps, cycle: u64) -> u32 {
        let points = |warp: u32| state.warps.get(warp as usize).map_or(0, |warp| warp.points_at(cycle));
        let mut by_score: Vec<(u64, u32)> = warps.by_age().map(|warp| (points(warp), warp)).collect();
        // Stable sort: the older warp stays first among equals.
        by_score.sort_by_key(|(points, _)| std::cmp::Reverse(*points));
        let (mut sum, mut allowed) = (0, 0);
        for (points, warp) in by_score {
            sum += points + u64::from(spec.ccws_base_score);
            if allowed != 0 && sum > spec.cutoff(warps) {
                break;
            }
            allowed |= 1 << warp;
        }
        allowed
    }

    fn issued(_: &CcwsSpec, state: &mut State, _: &View<'_>, _: u32) {
        state.issued += 1;
    }

    fn began(_: &CcwsSpec, state: &mut State, warps: &Warps, warp: u32) {
        if warps.present() == 0 {
            *state = State::default();
        }
        *state.of(warp) = Locality::default();
    }

    fn l1_missed(spec: &CcwsSpec, state: &mut State, warps: &Warps, warp: u32, line: u64, cycle: u64) {
        let own = state.of(warp);
        let Some(victims) = own.victims.get_mut(spec.set(line)) else { return };
        let Some(place) = victims.iter().position(|victim| *victim == line) else { return };
        victims.remove(place);
        state.hits += 1;
        let factor = u128::from(spec.ccws_throttle) * u128::from(spec.cutoff(warps));
        let score = u128::from(state.hits) * factor / u128::from(state.issued.max(1));
        let score = u64::try_from(score).unwrap_or(u64::MAX).min(MOST_COUNTED - 1);
        let own = state.of(warp);
        own.points = own.points_at(cycle).max(score.saturating_sub(u64::from(spec.ccws_base_score)));
        own.since = cycle;
    }

    fn l1_evicted(spec: &CcwsSpec, state: &mut State, warp: u32, line: u64) {
        let victims = &mut state.of(warp).victims;
        victims.resize(spec.sets() as usize, Vec::new());
        let set = &mut victims[spec.set(line)];
        set.retain(|victim| *victim != line);
        if set.len() >= spec.ccws_ways as usize {
            set.remove(0);
        }
        set.push(line);
    }
}

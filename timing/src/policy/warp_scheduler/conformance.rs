//! Rules for every warp scheduler, and the behaviour of each.

use super::{L1Event, L1EventKind, Parameters, Scheduling, WarpScheduler};
use crate::message::LINE_BYTES;
use crate::specification::GpuSpec;

/// Parameters of a TITAN V with two active warps, and a cache-conscious scheduler that a single
/// lost line makes act.
fn parameters() -> Parameters {
    let changes = ["issue.active_warps=2", "issue.ccws_throttle=800"];
    GpuSpec::changed("titan-v", changes).unwrap().issue.scheduling
}

/// A scheduler and its parameters.
#[derive(Clone)]
struct Tested {
    scheduling: Scheduling,
    parameters: Parameters,
    scheduler: WarpScheduler,
}

/// With warps that have begun in this order.
fn tested(scheduling: Scheduling, warps: &[u32]) -> Tested {
    let mut tested = Tested { scheduling, parameters: parameters(), scheduler: WarpScheduler::default() };
    warps.iter().for_each(|warp| tested.scheduler.begin(scheduling, &tested.parameters, *warp));
    tested
}

impl Tested {
    fn pick(&mut self, eligible: u32, waits_for_memory: u32) -> u32 {
        self.scheduler.pick(self.scheduling, &self.parameters, eligible, waits_for_memory)
    }

    fn may_load(&self, cycle: u64) -> u32 {
        self.scheduler.may_load(self.scheduling, &self.parameters, cycle)
    }

    fn l1(&mut self, kind: L1EventKind, warp: u32, line: u64, cycle: u64) {
        let event = L1Event { kind, warp: warp as u8, line: line * LINE_BYTES };
        self.scheduler.l1_event(self.scheduling, &self.parameters, warp, event, cycle);
    }

    /// A warp loses lines and loads them again at a cycle.
    fn lose(&mut self, warp: u32, lines: u64, cycle: u64) {
        (0..lines).for_each(|line| self.l1(L1EventKind::Evicted, warp, line, cycle));
        (0..lines).for_each(|line| self.l1(L1EventKind::Miss, warp, line, cycle));
    }

    fn picks(&mut self, steps: &[(u32, u32)]) -> Vec<u32> {
        steps.iter().map(|&(eligible, memory)| self.pick(eligible, memory)).collect()
    }
}

/// Masks of eligible warps among 0 to 7, none of them empty.
fn masks() -> impl Iterator<Item = u32> {
    (1..200_u32).map(|turn| (turn.wrapping_mul(0x9e37_79b9) >> 24).max(1))
}

#[test]
fn picked_warp_is_eligible() {
    for &scheduling in Scheduling::ALL {
        let mut tested = tested(scheduling, &[3, 0, 1, 2, 7, 6, 5, 4]);
        for eligible in masks() {
            let warp = tested.pick(eligible, 0xff & !eligible);
            assert_eq!(eligible >> warp & 1, 1, "{scheduling:?} picks {warp} of {eligible:b}");
        }
    }
}

#[test]
fn every_instruction_of_every_warp_is_issued() {
    for &scheduling in Scheduling::ALL {
        let mut tested = tested(scheduling, &[3, 0, 1, 2]);
        let mut left = [5; 4];
        for _ in 0..20 {
            let eligible = (0..4).fold(0, |mask, warp| mask | u32::from(left[warp] > 0) << warp);
            let warp = tested.pick(eligible, 0);
            left[warp as usize] -= 1;
            if left[warp as usize] == 0 {
                tested.scheduler.end(warp);
            }
        }
        assert_eq!(left, [0; 4], "{scheduling:?}");
    }
}

#[test]
fn some_present_warp_may_always_load() {
    for &scheduling in Scheduling::ALL {
        let mut tested = tested(scheduling, &[0, 1, 2, 3]);
        for cycle in 0..50 {
            tested.lose(cycle as u32 % 4, 1 + cycle % 3, cycle);
            assert_ne!(tested.may_load(cycle) & 0b1111, 0, "{scheduling:?}");
        }
        assert_eq!(tested.may_load(1 << 40) & 0b1111, 0b1111, "{scheduling:?} never releases loads");
    }
}

#[test]
fn restored_scheduler_continues_identically() {
    for &scheduling in Scheduling::ALL {
        let mut tested = tested(scheduling, &[3, 0, 1, 2, 7, 6, 5, 4]);
        masks().take(7).for_each(|eligible| _ = tested.pick(eligible, 0));
        tested.lose(2, 3, 7);
        let written = serde_json::to_string(&tested.scheduler).unwrap();
        let read: WarpScheduler = serde_json::from_str(&written).unwrap();
        assert_eq!(read.check(&tested.parameters, 0xff), Ok(()), "{scheduling:?}");
        let mut other = Tested { scheduler: read, ..tested.clone() };
        assert_eq!(tested.may_load(9), other.may_load(9), "{scheduling:?}");
        for eligible in masks() {
            assert_eq!(tested.pick(eligible, 0), other.pick(eligible, 0), "{scheduling:?}");
        }
    }
}

#[test]
fn scheduler_saved_with_other_warps_is_rejected() {
    for &scheduling in Scheduling::ALL {
        let tested = tested(scheduling, &[3, 0]);
        assert!(tested.scheduler.check(&tested.parameters, 0b1).is_err(), "{scheduling:?}");
    }
}

#[test]
fn gto_stays_with_a_warp_and_then_takes_the_oldest() {
    let steps = [(0b0110, 0), (0b1111, 0), (0b1101, 0), (0b1111, 0)];
    assert_eq!(tested(Scheduling::Gto, &[3, 0, 1, 2]).picks(&steps), [1, 1, 3, 3]);
}

#[test]
fn lrr_serves_warps_round_robin() {
    let steps = [(0b1111, 0), (0b1111, 0), (0b0011, 0), (0b1001, 0)];
    assert_eq!(tested(Scheduling::Lrr, &[3, 0, 1, 2]).picks(&steps), [1, 2, 0, 3]);
}

#[test]
fn oldest_always_picks_the_oldest_warp() {
    let steps = [(0b0111, 0), (0b1111, 0), (0b0110, 0)];
    assert_eq!(tested(Scheduling::Oldest, &[3, 0, 1, 2]).picks(&steps), [0, 3, 1]);
}

#[test]
fn two_level_replaces_an_active_warp_on_a_memory_wait() {
    let steps = [(0b1111, 0), (0b1111, 0), (0b1111, 0), (0b0111, 0b1000), (0b0111, 0b1000)];
    let picked = tested(Scheduling::TwoLevel, &[3, 0, 1, 2]).picks(&steps);
    assert_eq!(picked[..3].iter().filter(|warp| ![0, 3].contains(*warp)).count(), 0, "{picked:?}");
    assert_eq!(picked[3..], [0, 1]);
}

#[test]
fn ccws_throttles_loads_after_lost_locality() {
    let mut tested = tested(Scheduling::Ccws, &[0, 1, 2, 3]);
    (0..1000).for_each(|_| _ = tested.pick(0b1111, 0));
    assert_eq!(tested.may_load(0), 0b1111);
    // One hit in 1,000 instructions, times 800, times the cutoff of 400: a score of 320. Warp 3
    // leaves room for none.
    tested.lose(3, 1, 0);
    assert_eq!(tested.may_load(0), 0b1000);
    // The score is 300 after 20 cycles, and 200 after 120.
    assert_eq!([19, 20, 120, 220].map(|cycle| tested.may_load(cycle)), [0b1000, 0b1001, 0b1011, 0b1111]);
}

#[test]
fn ccws_ignores_compulsory_misses() {
    let mut tested = tested(Scheduling::Ccws, &[0, 1, 2, 3]);
    tested.l1(L1EventKind::Evicted, 1, 7, 0);
    tested.l1(L1EventKind::Miss, 0, 7, 0);
    tested.l1(L1EventKind::Miss, 1, 8, 0);
    assert_eq!(tested.may_load(0), 0b1111);
    tested.l1(L1EventKind::Miss, 1, 7, 0);
    assert_eq!(tested.may_load(0), 0b0010);
}

#[test]
fn ccws_keeps_the_youngest_victims_of_a_set() {
    let mut tested = tested(Scheduling::Ccws, &[0, 1]);
    // Two sets of eight: nine even lines are one more than a set holds.
    (0..9).for_each(|line| tested.l1(L1EventKind::Evicted, 1, 2 * line, 0));
    tested.l1(L1EventKind::Miss, 1, 0, 0);
    assert_eq!(tested.may_load(0), 0b11);
    tested.l1(L1EventKind::Miss, 1, 16, 0);
    assert_eq!(tested.may_load(0), 0b10);
}

//! Warp scheduling and issue slots.

use warp_stream::{AccessKind, MemorySpace, OperationClass};

use crate::bench::{Bench, Script, access, control, load, operation};

/// Issue order of sub-core 0's warps, for instructions without dependences and with cached code.
fn order(policy: &str) -> Vec<u32> {
    let script = Script::new(&vec![control(OperationClass::Nothing); 24]).warps(16);
    let mut bench =
        Bench::new(&[&format!("issue.policy={policy}"), "front_end.width=8", "front_end.buffer=16"]);
    bench.run(script.clone(), 1);
    let run = bench.run(script, 1);
    let mut order: Vec<u32> =
        run.issued.iter().map(|issued| issued.warp).filter(|warp| warp % 4 == 0).collect();
    // The first instructions issue while others are fetched.
    order.drain(..8);
    order
}

/// Number of warp changes between consecutive instructions.
fn changes(order: &[u32]) -> usize {
    order.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

#[test]
fn gto_stays_with_a_warp_while_it_can_issue() {
    let order = order("gto");
    assert!(changes(&order) <= 4, "{order:?}");
}

#[test]
fn lrr_changes_the_warp_at_each_instruction() {
    let order = order("lrr");
    assert!(changes(&order) >= order.len() - 8, "{order:?}");
}

#[test]
fn oldest_issues_the_oldest_warp_until_it_ends() {
    let order = order("oldest");
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert!(order.iter().zip(&sorted).filter(|(a, b)| a != b).count() <= 4, "{order:?}");
}

#[test]
fn two_level_scheduler_completes_a_program_of_loads() {
    let body = [load(4), operation(OperationClass::Integer, 5, &[4])];
    let script = Script { address: |warp, step| 128 * (1000 * warp + u64::from(step)), ..Script::new(&body) };
    let mut bench = Bench::new(&["issue.policy=two-level", "issue.active_warps=2"]);
    let run = bench.run(script.repeat(20).warps(32), 2);
    assert_eq!(run.issued.len(), 64 * 41);
}

#[test]
fn every_issue_slot_is_counted_once() {
    let body = [
        load(4),
        operation(OperationClass::Fp32, 5, &[4]),
        control(OperationClass::Barrier),
        access(MemorySpace::Global, AccessKind::Store, 5),
    ];
    let mut bench = Bench::new(&[]);
    let run = bench.run(Script::new(&body).repeat(10).warps(7), 20);
    let counters = run.counters;
    assert_eq!(counters.issue.slots(), 4 * counters.activity.active_cycles);
    assert_eq!(counters.issue.issued, run.issued.len() as u64);
    assert_eq!(counters.instructions.lanes[32], counters.issue.issued);
}

#[test]
fn program_of_loads_waits_for_memory() {
    let body = [load(4), operation(OperationClass::Integer, 5, &[4])];
    let script = Script { address: |_, step| 128 * u64::from(step), ..Script::new(&body) };
    let issue = Bench::new(&[]).run(script.repeat(50), 1).counters.issue;
    // Three sub-cores have no warp.
    let waited = (issue.slots() - issue.idle) as f64;
    assert!(issue.long_scoreboard as f64 > 0.9 * waited, "{issue:?}");
}

#[test]
fn busy_unit_is_counted() {
    let body: Vec<_> = (0..8).map(|i| operation(OperationClass::SpecialFunction, 8 + i, &[])).collect();
    let issue = Bench::new(&[]).run(Script::new(&body).repeat(50).warps(32), 1).counters.issue;
    assert!(issue.unit_busy as f64 > 0.8 * issue.slots() as f64, "{issue:?}");
}

#[test]
fn full_memory_queue_is_counted() {
    // 32 lines per access.
    let body = [load(4), load(5), load(6), load(7)];
    let mut wide = body;
    for instruction in &mut wide {
        if let Some(memory) = &mut instruction.memory {
            memory.width = 32;
        }
    }
    let script = Script { address: |warp, step| 4096 * (64 * warp + u64::from(step)), ..Script::new(&wide) };
    let issue = Bench::new(&["issue.memory_queue=2"]).run(script.repeat(5).warps(32), 1).counters.issue;
    assert!(issue.memory_throttle > 100, "{issue:?}");
}

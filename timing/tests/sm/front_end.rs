//! Instruction caches and fetch.

use timing::message::{RequestKind, Requester};
use warp_stream::OperationClass;

use crate::bench::{Bench, FAR, Script, control, operation};

fn straight(length: usize) -> Script {
    let body: Vec<_> = (0..length)
        .map(|i| operation([OperationClass::Integer, OperationClass::Fp32][i % 2], 8 + (i % 64) as u16, &[]))
        .collect();
    Script::new(&body)
}

#[test]
fn first_instruction_comes_from_l2() {
    let run = Bench::new(&["cta.start=0", "constant.parameters=0"]).run(straight(1), 1);
    let first = run.cycle(0, 0);
    assert!((FAR..FAR + 20).contains(&first), "{first}");
    assert_eq!(run.sent[0].message.requester, Requester::Instruction);
    assert_eq!((run.sent[0].message.line, run.sent[0].message.kind), (0x7000_0000, RequestKind::Read));
}

#[test]
fn each_code_line_is_requested_from_l2_once() {
    // 801 instructions of 16 B.
    let run = Bench::new(&[]).run(straight(800).warps(32), 2);
    let lines: Vec<u64> = run.sent.iter().map(|sent| sent.message.line).collect();
    assert_eq!(lines.len(), 101);
    assert_eq!(run.counters.front_end.l2_lines, 101);
}

#[test]
fn code_that_fits_l0_is_not_requested_again() {
    let mut bench = Bench::new(&[]);
    bench.run(straight(64).repeat(3), 1);
    let before = bench.sm.counters().front_end;
    bench.run(straight(64).repeat(3), 1);
    let after = bench.sm.counters().front_end;
    assert_eq!((after.misses, after.l1_lines), (before.misses, before.l1_lines));
}

#[test]
fn code_beyond_l0_size_comes_from_l1() {
    let mut bench = Bench::new(&["front_end.l0_size=1024"]);
    bench.run(straight(256), 1);
    let before = bench.sm.counters().front_end;
    bench.run(straight(256), 1);
    let after = bench.sm.counters().front_end;
    assert_eq!(after.l2_lines, before.l2_lines);
    assert!(after.l1_hits - before.l1_hits >= 30, "{after:?}");
}

#[test]
fn taken_branch_waits_for_its_target() {
    // Instructions 0 and 3, with a branch at 1.
    let mut script = Script::new(&[
        operation(OperationClass::Integer, 4, &[]),
        control(OperationClass::Branch),
        control(OperationClass::Nothing),
        operation(OperationClass::Integer, 5, &[]),
    ]);
    script.path = vec![0, 1, 3, 4];
    let mut bench = Bench::new(&[]);
    bench.run(script.clone(), 1);
    let latency = bench.gpu.latency.branch + bench.gpu.front_end.latency;
    let run = bench.run(script, 1);
    assert_eq!(run.between(1, 3), u64::from(latency));
}

#[test]
fn untaken_branch_costs_only_its_latency() {
    let script = Script::new(&[control(OperationClass::Branch), operation(OperationClass::Integer, 5, &[])]);
    let mut bench = Bench::new(&[]);
    bench.run(script.clone(), 1);
    let latency = bench.gpu.latency.branch;
    assert_eq!(bench.run(script, 1).between(0, 1), u64::from(latency));
}

#[test]
fn shared_front_end_has_no_l0() {
    let mut bench = Bench::new(&["front_end.organisation=shared"]);
    let run = bench.run(straight(64).warps(32), 1);
    assert_eq!((run.counters.front_end.l1_lines, run.counters.front_end.prefetches), (0, 0));
    assert_eq!(run.counters.front_end.l2_lines, 9);
    assert_eq!(run.issued.len(), 32 * 65);
}

#[test]
fn no_line_is_requested_without_credits() {
    let mut bench = Bench::new(&["memory_pipeline.credits=1"]);
    bench.give_credits = false;
    let script = straight(64);
    let program = timing::sm::Program::new(&bench.gpu, &script.kernel(1));
    let source = crate::bench::Scripted::new(&std::sync::Arc::new(script), None);
    let mut sources = [Some(Box::new(source) as timing::sm::Source<'_>)];
    bench.sm.start_cta(0, 0, &program, 0, &mut sources, &mut bench.finished).unwrap();
    for _ in 0..100 {
        bench.epoch(&mut sources);
    }
    assert_eq!(bench.sent.len(), 1);
    bench.give_credits = true;
    bench.sm.give_credits(bench.cycle, 1);
    for _ in 0..100 {
        bench.epoch(&mut sources);
    }
    assert_eq!(bench.finished.len(), 1);
}

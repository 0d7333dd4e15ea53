//! CTAs: resources, barriers, completion.

use timing::message::RequestKind;
use timing::sm::Program;
use warp_stream::{AccessKind, MemorySpace, OperationClass};

use crate::bench::{Bench, Script, access, control, load, operation};

#[test]
fn barrier_releases_warps_after_the_last_arrival() {
    let code = [
        load(4),
        operation(OperationClass::Integer, 5, &[4]),
        control(OperationClass::Barrier),
        operation(OperationClass::Integer, 6, &[]),
    ];
    let mut bench = Bench::new(&[]);
    let script = Script { address: |warp, _| 0x1000 * warp, ..Script::new(&code).warps(8) };
    let run = bench.run(script, 1);
    let last = run.cycles_of(2).into_iter().max().unwrap();
    let first = run.cycles_of(3).into_iter().min().unwrap();
    assert_eq!(first, last + u64::from(bench.gpu.latency.barrier));
}

#[test]
fn source_is_not_polled_during_a_barrier() {
    let mut code = vec![control(OperationClass::Barrier)];
    code.splice(0..0, (0..16).map(|i| operation(OperationClass::SpecialFunction, 8 + i, &[7 + i])));
    let run = Bench::new(&[]).run(Script::new(&code).warps(32), 1);
    // Once after each instruction, once at the start, and once for each waiting warp.
    assert!(run.asked <= run.issued.len() as u64 + 32 + 32 + 32 * 32, "{}", run.asked);
    let barrier = run.asked - run.issued.len() as u64 - 32;
    assert!(barrier <= 31 + 32 * 32, "{barrier}");
}

#[test]
fn ended_warp_does_not_block_a_barrier() {
    let run = Bench::new(&[]).run(Script::new(&[control(OperationClass::Barrier)]).warps(4), 3);
    assert_eq!(run.finished.len(), 3);
}

#[test]
fn residency_is_limited_by_resources() {
    let script = Script { registers: 40, ..Script::new(&[load(4)]).warps(8) };
    let mut bench = Bench::new(&[]);
    let run = bench.run(script, 20);
    assert_eq!((run.finished.len(), bench.most_ctas), (20, 6));
    assert!(bench.sm.cta_count() == 0);
    assert_eq!(run.counters.activity.ctas, 20);
}

#[test]
fn l1_gets_the_rest_of_unified_memory() {
    let mut bench = Bench::new(&[]);
    bench.run(Script { shared_bytes: 48 << 10, ..Script::new(&[load(4)]) }, 1);
    let store = access(MemorySpace::Global, AccessKind::Store, 4);
    bench.run(Script::new(&[store]), 1);
    assert!(bench.sm.is_idle());
}

#[test]
fn cta_ends_when_its_stores_are_acknowledged() {
    let mut bench = Bench::new(&[]);
    let run = bench.run(Script::new(&[access(MemorySpace::Global, AccessKind::Store, 4)]), 1);
    let issued = run.cycle(0, 0);
    assert!(run.finished[0].cycle >= issued + crate::bench::FAR, "{:?}", run.finished);
}

#[test]
fn cta_slot_is_released_before_store_acknowledgement() {
    let script = Script::new(&[access(MemorySpace::Global, AccessKind::Store, 4)]);
    let mut bench = Bench::new(&["cta.start=0"]);
    let program = Program::new(&bench.gpu, &script.kernel(1));
    let source = crate::bench::Scripted::new(&std::sync::Arc::new(script), None);
    let mut sources = [Some(Box::new(source) as timing::sm::Source<'_>)];
    bench.sm.start_cta(0, 0, &program, 0, &mut sources, &mut bench.finished).unwrap();
    while bench.sent.iter().all(|sent| sent.message.kind != RequestKind::Write) {
        bench.epoch(&mut sources);
    }
    assert!(bench.sm.take_freed().count() == 1 && bench.sm.cta_count() == 0);
    assert!(bench.finished.is_empty() && !bench.sm.is_idle());
}

#[test]
fn stores_delay_the_release_of_a_cta_slot() {
    let freed = |code: &[warp_stream::MachineInstruction], store: &str| {
        let mut bench = Bench::new(&["cta.start=0", store]);
        // The first run fills the instruction caches.
        (0..2).map(|_| (bench.run(Script::new(code), 1), bench.sm.take_freed().last().unwrap()).1).last()
    };
    let store = [access(MemorySpace::Global, AccessKind::Store, 4)];
    let without = freed(&store, "cta.store=0").unwrap();
    let with = freed(&store, "cta.store=200").unwrap();
    assert!((195..=200).contains(&(with - without)), "{without} {with}");
    let other = [control(OperationClass::Branch)];
    assert_eq!(freed(&other, "cta.store=0"), freed(&other, "cta.store=200"));
}

#[test]
fn cta_start_takes_its_latency() {
    let first_issue = |start: &str| {
        let mut bench = Bench::new(&[start]);
        let script = Script::new(&[control(OperationClass::Branch)]);
        // The first run fills the instruction caches.
        bench.run(script.clone(), 1);
        let began = bench.cycle;
        bench.run(script, 1).cycle(0, 0) - began
    };
    assert_eq!(first_issue("cta.start=290"), first_issue("cta.start=0") + 290);
}

#[test]
fn only_the_first_cta_on_an_sm_waits_for_parameters() {
    let code = [operation(OperationClass::Integer, 4, &[2])];
    let mut bench = Bench::new(&["cta.start=20", "constant.parameters=300"]);
    bench.run(Script::new(&code), 1);
    let mut wait = |begins: bool| {
        if begins {
            bench.sm.invalidate();
        }
        let began = bench.cycle;
        bench.run(Script::new(&code), 1).cycle(0, 0) - began
    };
    let warm = wait(false);
    assert!((20..40).contains(&warm), "{warm}");
    assert_eq!([wait(true), wait(false)], [warm + 300, warm]);
}

#[test]
fn resident_warps_are_counted_per_cycle() {
    let script = Script::new(&[load(4), operation(OperationClass::Integer, 5, &[4])]).warps(4);
    let counters = Bench::new(&[]).run(script, 1).counters.activity;
    assert_eq!(counters.warp_cycles, 4 * counters.active_cycles);
}

#[test]
fn waiting_warps_are_reported_with_their_line() {
    let mut script = Script::new(&[load(4), operation(OperationClass::Integer, 5, &[4])]);
    script.code[1].line = 42;
    let mut bench = Bench::new(&["cta.start=0", "constant.parameters=0"]);
    let program = Program::new(&bench.gpu, &script.kernel(1));
    let source = crate::bench::Scripted::new(&std::sync::Arc::new(script), None);
    let mut sources = [Some(Box::new(source) as timing::sm::Source<'_>)];
    bench.sm.start_cta(0, 0, &program, 0, &mut sources, &mut bench.finished).unwrap();
    for _ in 0..18 {
        bench.epoch(&mut sources);
    }
    let waiting = bench.sm.waiting();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].to_string(), "launch 0, CTA 0, warp 0, line 42: waits for Global memory");
}

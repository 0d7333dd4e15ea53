//! Memory instructions within the SM.

use timing::message::{RequestKind, Requester};
use warp_stream::{AccessKind, MemorySpace, OperationClass};

use crate::bench::{Bench, FAR, Script, access, control, load, operation};

#[test]
fn global_atomic_takes_effect_once_before_its_reply() {
    let atomic = access(MemorySpace::Global, AccessKind::Atomic, 4);
    let script = Script {
        deferred: true,
        ..Script::new(&[atomic, operation(OperationClass::Integer, 5, &[4])]).warps(4)
    };
    let run = Bench::new(&[]).run(script, 2);
    assert_eq!(run.performed.len(), 8);
    for issued in run.issued.iter().filter(|issued| issued.position == 1) {
        let performed = run.performed.iter().filter(|(cycle, _)| *cycle <= issued.cycle).count();
        assert!(performed > 0);
    }
    assert_eq!(run.sent.iter().filter(|sent| sent.message.kind == RequestKind::Atomic).count(), 8);
}

#[test]
fn shared_atomic_takes_effect_in_the_sm() {
    let atomic = access(MemorySpace::Shared, AccessKind::Atomic, 4);
    let script = Script { deferred: true, ..Script::new(&[atomic]) };
    let run = Bench::new(&[]).run(script, 1);
    assert_eq!(run.performed.len(), 1);
    assert_eq!(run.sent.iter().filter(|sent| sent.message.kind == RequestKind::Atomic).count(), 0);
}

#[test]
fn memory_instructions_of_a_warp_overlap() {
    let code = [
        load(4),
        load(5),
        load(6),
        operation(OperationClass::Integer, 7, &[4, 5]),
        operation(OperationClass::Integer, 8, &[6, 7]),
    ];
    let script = Script { address: |_, step| 0x1000 * u64::from(step), ..Script::new(&code) };
    let run = Bench::new(&[]).run(script, 1);
    let cycles = run.between(0, 4);
    assert!(cycles < FAR + 80, "{cycles}");
}

#[test]
fn sub_cores_together_issue_a_line_load_a_cycle() {
    let code: Vec<_> = (0..16).map(|i| load(8 + i)).collect();
    let script = Script::new(&code).repeat(20).warps(32);
    let mut bench = Bench::new(&[]);
    bench.run(script.clone(), 2);
    let before = bench.sm.counters().activity.active_cycles;
    let run = bench.run(script, 2);
    let cycles = run.counters.activity.active_cycles - before;
    let loads = 64 * 16 * 20;
    assert!(cycles < loads + loads / 10, "{cycles} cycles for {loads} loads");
}

#[test]
fn program_without_active_lanes_ends() {
    let store = access(MemorySpace::Global, AccessKind::Store, 4);
    let script = Script { active: 0, ..Script::new(&[load(4), store, control(OperationClass::Fence)]) };
    let run = Bench::new(&[]).run(script, 1);
    assert_eq!(run.counters.instructions.lanes[0], 4);
}

#[test]
fn cycles_are_skipped_while_a_warp_waits_for_memory() {
    let mut bench = Bench::new(&[]);
    let script = Script::new(&[load(4), operation(OperationClass::Integer, 5, &[4])]);
    let program = timing::sm::Program::new(&bench.gpu, &script.kernel(1));
    let source = crate::bench::Scripted::new(&std::sync::Arc::new(script), None);
    let mut sources = [Some(Box::new(source) as timing::sm::Source<'_>)];
    bench.sm.start_cta(0, 0, &program, 0, &mut sources, &mut bench.finished).unwrap();
    while !bench.sent.iter().any(|sent| sent.message.tag != 0) {
        bench.epoch(&mut sources);
    }
    bench.epoch(&mut sources);
    assert_eq!(bench.sm.next_event(), None);
    assert!(bench.sm.cta_count() == 1);
}

/// Cycles between two reductions of a warp, with `lanes` lanes `stride` bytes apart.
fn between_reductions(lanes: u32, stride: fn(u32) -> u64) -> u64 {
    let code: Vec<_> = (0..4).map(|_| access(MemorySpace::Global, AccessKind::Reduction, 4)).collect();
    let active = u32::MAX >> (32 - lanes);
    let run = Bench::new(&[]).run(Script { active, stride, ..Script::new(&code) }, 1);
    run.between(2, 3)
}

#[test]
fn reduction_interval_follows_lanes_at_one_address() {
    for (lanes, cycles) in [(1, 31), (2, 32), (8, 41), (32, 76)] {
        assert_eq!(between_reductions(lanes, |_| 0), cycles, "{lanes} lanes");
    }
    assert_eq!(between_reductions(32, |_| 4), 31);
}

#[test]
fn reductions_of_other_warps_do_not_wait() {
    let code = [access(MemorySpace::Global, AccessKind::Reduction, 4)];
    let run = Bench::new(&[]).run(Script { stride: |_| 0, ..Script::new(&code).warps(8) }, 1);
    let cycles = run.cycles_of(0);
    assert!(cycles[7] - cycles[0] < 31, "{cycles:?}");
}

#[test]
fn constants_beyond_cache_size_come_from_l1_5() {
    let load = access(MemorySpace::Constant, AccessKind::Load, 4);
    let code: Vec<_> = (0..64).map(|_| load).collect();
    let script = Script { address: |_, step| 64 * u64::from(step % 64), stride: |_| 0, ..Script::new(&code) };
    let mut bench = Bench::new(&[]);
    let first = bench.run(script.clone(), 1);
    let constants = first.sent.iter().filter(|sent| sent.message.requester == Requester::Constant);
    assert_eq!(constants.count(), 32);
    let second = bench.run(script, 1).counters;
    assert_eq!((second.memory.constant.misses, second.front_end.constant_hits), (128, 64 + 32));
    assert_eq!(second.front_end.constant_l2_lines, 32);
}

/// Latency of a load from a page not used recently, with a given TLB miss latency.
fn load_of_another_page(miss: &str) -> u64 {
    let code = [load(4), operation(OperationClass::Integer, 5, &[4])];
    let mut bench = Bench::new(&[miss]);
    bench.run(Script { address: |_, _| 1 << 30, ..Script::new(&code) }, 1);
    bench.run(Script { address: |_, _| 5 << 21, ..Script::new(&code) }, 1).between(0, 1)
}

#[test]
fn tlb_miss_adds_its_latency() {
    assert_eq!(load_of_another_page("tlb.miss=9"), load_of_another_page("tlb.miss=0") + 9);
}

#[test]
fn cyclic_pages_hit_up_to_the_tlb_size() {
    let misses = |pages: usize, address: fn(u64, u32) -> u64| {
        let code: Vec<_> =
            (0..pages).map(|_| access(MemorySpace::Global, AccessKind::Reduction, 4)).collect();
        let script = Script { address, stride: |_| 4, ..Script::new(&code) };
        let mut bench = Bench::new(&["tlb.miss=9"]);
        bench.run(script.clone(), 1);
        let before = bench.sm.counters().memory.tlb;
        let after = bench.run(script, 1).counters.memory.tlb;
        (after.requests - before.requests, after.misses - before.misses)
    };
    let address: fn(u64, u32) -> u64 = |_, step| u64::from(step) << 21;
    assert_eq!([misses(16, address), misses(17, address)], [(16, 0), (17, 17)]);
}

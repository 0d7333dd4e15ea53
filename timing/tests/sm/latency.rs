//! Issue-to-dependent-issue latencies.

use warp_stream::{AccessKind, MemorySpace, OperationClass};

use crate::bench::{Bench, FAR, Script, access, control, load, operation};

/// Latency from an instruction of a class to its dependent, with the code in L0.
fn latency(class: OperationClass) -> u64 {
    let first = operation(class, 4, &[2]);
    let second = operation(OperationClass::Integer, 5, &[4]);
    warm(&[first, second])
}

/// Cycles between two instructions that were executed before.
fn warm(code: &[warp_stream::MachineInstruction]) -> u64 {
    warm_with(&[], code)
}

fn warm_with(changes: &[&str], code: &[warp_stream::MachineInstruction]) -> u64 {
    let mut bench = Bench::new(changes);
    bench.run(Script::new(code), 1);
    bench.run(Script::new(code), 1).between(0, 1)
}

#[test]
fn dependent_instructions_issue_after_the_measured_latencies() {
    use OperationClass::*;
    let measured = [
        (Integer, 4),
        (Move, 4),
        (Fp32, 4),
        (IntegerMultiply, 5),
        (Fp32Compare, 5),
        (Fp64Compare, 5),
        (Half, 6),
        (Fp64, 8),
        (PopulationCount, 10),
        (BitSearch, 14),
        (SpecialFunction, 14),
        (SpecialRegister, 8),
    ];
    for (class, cycles) in measured {
        assert_eq!(latency(class), cycles, "{class:?}");
    }
}

#[test]
fn load_that_hits_l1_takes_28_cycles() {
    assert_eq!(warm(&[load(4), operation(OperationClass::Integer, 5, &[4])]), 28);
}

#[test]
fn shared_load_takes_19_cycles() {
    let load = access(MemorySpace::Shared, AccessKind::Load, 4);
    assert_eq!(warm(&[load, operation(OperationClass::Integer, 5, &[4])]), 19);
}

/// Latency of a constant load with a lane stride of `stride` bytes: from L2, from the constant
/// cache, and from L1.5.
fn constants(stride: fn(u32) -> u64) -> [u64; 3] {
    let load = access(MemorySpace::Constant, AccessKind::Load, 4);
    let code = [load, operation(OperationClass::Integer, 5, &[4])];
    let script = Script { stride, ..Script::new(&code) };
    let mut bench = Bench::new(&[]);
    let mut run = |cold: bool| {
        if cold {
            bench.sm.invalidate();
        }
        bench.run(script.clone(), 1).between(0, 1)
    };
    [run(true), run(false), run(true)]
}

#[test]
fn constant_load_takes_27_cycles_and_89_from_l1_5() {
    // The lookup, the L1.5 lookup, the round trip, and the extra latency of a miss.
    assert_eq!(constants(|_| 0), [5 + 2 + FAR + (89 - 27), 27, 89]);
}

#[test]
fn each_distinct_constant_word_takes_a_cycle() {
    assert_eq!(constants(|_| 4)[1], 27 + 31);
}

#[test]
fn shuffle_takes_23_cycles() {
    assert_eq!(latency(OperationClass::Shuffle), 23);
}

#[test]
fn warp_barrier_takes_5_cycles() {
    let code = [control(OperationClass::WarpBarrier), operation(OperationClass::Integer, 5, &[4])];
    assert_eq!(warm(&code), 5);
}

#[test]
fn independent_instructions_issue_in_consecutive_cycles() {
    let code = [operation(OperationClass::Integer, 4, &[2]), operation(OperationClass::Fp32, 5, &[3])];
    assert_eq!(warm(&code), 1);
}

#[test]
fn guard_waits_longer_for_a_predicate_than_a_selection() {
    let mut first = control(OperationClass::Integer);
    first.predicates_written = 1 << 3;
    let reads = |class, predicate: u32| {
        let mut second = operation(class, 5, &[4]);
        second.predicates_read = 1 << predicate;
        warm(&[first, second])
    };
    assert_eq!(reads(OperationClass::Integer, 3), 4);
    assert_eq!(reads(OperationClass::Fp32, 3), 12);
    assert_eq!(reads(OperationClass::Fp32, 2), 1);
}

#[test]
fn arithmetic_result_is_available_later_as_an_address() {
    let first = |class| operation(class, 4, &[2]);
    let dependent = operation(OperationClass::Shuffle, 5, &[4]);
    assert_eq!(warm(&[first(OperationClass::Integer), dependent]), 8);
    assert_eq!(warm(&[first(OperationClass::IntegerMultiply), dependent]), 8);
    assert_eq!(warm(&[first(OperationClass::SpecialFunction), dependent]), 14);
    assert_eq!(warm(&[first(OperationClass::Shuffle), dependent]), 23);
}

#[test]
fn write_after_write_keeps_order() {
    let code =
        [operation(OperationClass::SpecialFunction, 4, &[2]), operation(OperationClass::Fp32, 4, &[3])];
    assert_eq!(warm(&code), 14);
}

#[test]
fn write_after_read_keeps_order() {
    // With one port, eight operands of each bank are read in cycles 1 to 8 after issue. The write
    // of the second instruction, which reads nothing, is in cycle 9, and its dependent issues in
    // cycle 10.
    let mut slow = operation(OperationClass::Fp32, 20, &[]);
    slow.sources = [0, 4, 8, 12].map(|first| crate::bench::registers(first, 4));
    let code = [slow, operation(OperationClass::Integer, 0, &[]), operation(OperationClass::Move, 6, &[0])];
    let changes = ["operands.ports=1", "result_bus.write_back=slot"];
    let mut bench = Bench::new(&changes);
    bench.run(Script::new(&code), 1);
    assert_eq!(bench.run(Script::new(&code), 1).between(0, 2), 10);
}

#[test]
fn three_operands_of_a_bank_take_an_extra_cycle() {
    let dependent = operation(OperationClass::Fp32, 5, &[4]);
    assert_eq!(warm(&[operation(OperationClass::Fp32, 4, &[0, 2, 6]), dependent]), 5);
    assert_eq!(warm(&[operation(OperationClass::Fp32, 4, &[0, 2, 7]), dependent]), 4);
}

#[test]
fn reused_operand_is_not_read_again() {
    let code = [
        operation(OperationClass::Fp32, 5, &[0, 2, 4]),
        operation(OperationClass::Fp32, 7, &[0, 2, 6]),
        operation(OperationClass::Fp32, 9, &[7]),
    ];
    let after = |changes: &[&str]| {
        let mut bench = Bench::new(changes);
        bench.run(Script::new(&code), 1);
        let run = bench.run(Script::new(&code), 1);
        (run.between(1, 2), run.counters.operands.reused)
    };
    assert_eq!(after(&["operands.reuse=true"]), (4, 4));
    assert!(after(&[]).0 > 4);
}

#[test]
fn simultaneous_results_take_a_bus_slot_each() {
    // Instructions with latencies 5 and 4, issued consecutively, end in one cycle.
    let code = [
        operation(OperationClass::IntegerMultiply, 4, &[0]),
        operation(OperationClass::Fp32, 5, &[1]),
        operation(OperationClass::Move, 7, &[5]),
    ];
    let after = |changes: &[&str]| {
        let mut bench = Bench::new(changes);
        bench.run(Script::new(&code), 1);
        bench.run(Script::new(&code), 1).between(1, 2)
    };
    assert_eq!(after(&[]), 4);
    assert_eq!(after(&["result_bus.slots=1"]), 5);
}

#[test]
fn results_for_one_bank_share_its_ports() {
    let code = [
        operation(OperationClass::IntegerMultiply, 4, &[1]),
        operation(OperationClass::Fp32, 6, &[3]),
        operation(OperationClass::Move, 7, &[6]),
    ];
    let after = |changes: &[&str]| {
        let mut bench = Bench::new(changes);
        bench.run(Script::new(&code), 1);
        bench.run(Script::new(&code), 1).between(1, 2)
    };
    assert_eq!(after(&["operands.ports=1"]), 5);
    assert_eq!(after(&["operands.ports=1", "result_bus.write_back=slot"]), 4);
}

#[test]
fn fence_waits_for_store_acknowledgements() {
    let store = access(MemorySpace::Global, AccessKind::Store, 4);
    let code = [store, control(OperationClass::Fence)];
    // Acceptance after 2 cycles, 2 stages, and the memory latency; replies arrive by epoch.
    let waited = warm(&code);
    assert!((204..204 + 17).contains(&waited), "{waited}");
}

#[test]
fn yielding_warp_sleeps() {
    let mut script =
        Script::new(&[control(OperationClass::WarpBarrier), operation(OperationClass::Integer, 4, &[])]);
    script.sleep = 1000;
    let run = Bench::new(&[]).run(script, 1);
    assert_eq!(run.between(0, 1), 1200);
    assert!(run.counters.issue.sleep > 1100);
}

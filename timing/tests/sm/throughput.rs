//! Unit throughput: many warps without conflicts.

use warp_stream::{MachineInstruction, OperationClass};

use crate::bench::{Bench, Script, operation, registers};

/// Issue interval of a two-register instruction on a sub-core, with 16 warps.
fn interval(class: OperationClass) -> f64 {
    let body: Vec<_> = (0..8).map(|i| operation(class, 8 + i, &[0, 1])).collect();
    interval_of(class, &body)
}

fn interval_of(class: OperationClass, body: &[MachineInstruction]) -> f64 {
    interval_with(&[], &[class], body)
}

/// Issue interval of instruction classes in a body, with 16 warps per sub-core.
fn interval_with(changes: &[&str], classes: &[OperationClass], body: &[MachineInstruction]) -> f64 {
    let script = Script::new(body).repeat(200).warps(32);
    let mut bench = Bench::new(changes);
    bench.run(script.clone(), 2);
    let before = bench.sm.counters();
    let run = bench.run(script, 2);
    let cycles = run.counters.activity.active_cycles - before.activity.active_cycles;
    let of = |class: &OperationClass| {
        run.counters.instructions.warp[*class as usize] - before.instructions.warp[*class as usize]
    };
    let instructions: u64 = classes.iter().map(of).sum();
    4.0 * cycles as f64 / instructions as f64
}

/// Alternating integer and single-precision instructions, with registers chosen by index.
fn alternating(
    destination: impl Fn(u16) -> u16,
    sources: impl Fn(u16) -> Vec<u16>,
) -> (Vec<MachineInstruction>, [OperationClass; 2]) {
    let classes = [OperationClass::Integer, OperationClass::Fp32];
    let body = (0..16).map(|i| operation(classes[usize::from(i % 2)], destination(i), &sources(i)));
    (body.collect(), classes)
}

#[test]
fn initiation_interval_follows_from_unit_lanes() {
    use OperationClass::*;
    for (class, cycles) in [(Integer, 2.0), (Fp32, 2.0), (Fp64, 4.0), (SpecialFunction, 8.0), (Tensor, 2.0)] {
        let measured = interval(class);
        assert!((cycles * 0.99..cycles * 1.03).contains(&measured), "{class:?}: {measured}");
    }
}

#[test]
fn fp64_fma_is_limited_only_by_its_unit() {
    let class = OperationClass::Fp64;
    let body: Vec<_> = (0..8)
        .map(|i| {
            let mut product = operation(class, 0, &[]);
            product.destination = registers(16 + 2 * i, 2);
            product.sources[..3].copy_from_slice(&[
                registers(16 + 2 * i, 2),
                registers(2, 2),
                registers(4, 2),
            ]);
            product
        })
        .collect();
    let measured = interval_of(class, &body);
    assert!((3.96..4.12).contains(&measured), "{measured}");
}

#[test]
fn parallel_units_issue_an_instruction_a_cycle() {
    let body: Vec<_> = (0..32)
        .map(|i| operation([OperationClass::Integer, OperationClass::Fp32][i % 2], 8 + i as u16, &[0, 1]))
        .collect();
    let mut bench = Bench::new(&[]);
    let run = bench.run(Script::new(&body).repeat(50).warps(32), 2);
    let slots = run.counters.issue.issued as f64 / run.counters.issue.slots() as f64;
    assert!(slots > 0.95, "{slots} {:?}", run.counters.issue);
}

#[test]
fn one_warp_of_straight_code_in_l0_issues_every_cycle() {
    let body: Vec<_> = (0..64)
        .map(|i| operation([OperationClass::Integer, OperationClass::Fp32][i % 2], 8 + i as u16, &[0, 1]))
        .collect();
    let mut bench = Bench::new(&[]);
    bench.run(Script::new(&body), 1);
    let run = bench.run(Script::new(&body), 1);
    assert_eq!(run.between(0, 63), 63);
}

#[test]
fn one_warp_of_straight_code_in_l1_issues_nearly_every_cycle() {
    let body: Vec<_> = (0..512)
        .map(|i| {
            operation([OperationClass::Integer, OperationClass::Fp32][i % 2], 8 + (i % 64) as u16, &[0, 1])
        })
        .collect();
    // The first run fills L1, and the code exceeds this L0.
    let mut bench = Bench::new(&["front_end.l0_size=1024"]);
    bench.run(Script::new(&body), 1);
    let cycles = bench.run(Script::new(&body), 1).between(0, 511);
    assert!(cycles < 600, "{cycles}");
}

#[test]
fn dual_issue_takes_two_warps_a_cycle() {
    let body: Vec<_> = (0..32)
        .map(|i| operation([OperationClass::Integer, OperationClass::Fp32][i % 2], 8 + i as u16, &[]))
        .collect();
    let script = Script::new(&body).repeat(20).warps(32);
    let cycles =
        |changes: &[&str]| Bench::new(changes).run(script.clone(), 1).counters.activity.active_cycles;
    let lanes = ["execution.integer=32", "execution.fp32=32", "front_end.width=4", "front_end.buffer=8"];
    let one = cycles(&lanes);
    let two = cycles(
        &[&lanes[..], &["issue.width=2", "result_bus.slots=4", "operands.ports=4", "operands.collectors=8"]]
            .concat(),
    );
    assert!((two as f64) < 0.6 * one as f64, "{one} {two}");
}

#[test]
fn operand_reads_are_limited_by_bank_ports() {
    // Four operands, on a unit with an interval of one cycle.
    let body: Vec<_> = (0..8).map(|i| operation(OperationClass::Fp32, 9 + 2 * i, &[0, 2, 4, 6])).collect();
    for (ports, cycles) in [(1, 4.0), (2, 2.0), (4, 1.0)] {
        let ports = format!("operands.ports={ports}");
        let changes = ["execution.fp32=32", "operands.collectors=8", &ports];
        let measured = interval_with(&changes, &[OperationClass::Fp32], &body);
        assert!((cycles * 0.99..cycles * 1.03).contains(&measured), "{ports}: {measured}");
    }
}

#[test]
fn second_collector_overlaps_bank_reads() {
    // Each instruction reads four operands of one bank, which takes two cycles.
    let (body, classes) = alternating(|i| 8 + i, |i| [0, 2, 4, 6].map(|source| source + i % 2).to_vec());
    for (collectors, cycles) in [(1, 2.0), (2, 1.0)] {
        let collectors = format!("operands.collectors={collectors}");
        let measured = interval_with(&[&collectors], &classes, &body);
        assert!((cycles * 0.99..cycles * 1.03).contains(&measured), "{collectors}: {measured}");
    }
}

/// Dual issue without other limits than results.
const WIDE: [&str; 8] = [
    "execution.integer=32",
    "execution.fp32=32",
    "front_end.width=4",
    "front_end.buffer=8",
    "issue.width=2",
    "operands.ports=8",
    "operands.collectors=8",
    "result_bus.slots=8",
];

#[test]
fn result_bus_slot_streams_a_result_a_cycle() {
    let (body, classes) = alternating(|i| 8 + i, |_| vec![0, 1, 2, 3]);
    for (slots, cycles) in [(1, 1.0), (2, 0.5)] {
        let slots = format!("result_bus.slots={slots}");
        let measured = interval_with(&[&WIDE[..], &[&slots]].concat(), &classes, &body);
        assert!((cycles * 0.99..cycles * 1.03).contains(&measured), "{slots}: {measured}");
    }
}

#[test]
fn results_for_one_bank_are_limited_by_write_ports() {
    for (banks, cycles) in [(1, 1.0), (2, 0.5)] {
        let (body, classes) = alternating(|i| 8 + 2 * i + i * (banks - 1) % 2, |_| Vec::new());
        let measured = interval_with(&[&WIDE[..], &["operands.ports=1"]].concat(), &classes, &body);
        assert!((cycles * 0.99..cycles * 1.03).contains(&measured), "{banks}: {measured}");
    }
}

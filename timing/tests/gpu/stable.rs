//! Launches that end early and are extrapolated.

use std::collections::BTreeSet;

use timing::gpu::{Gpu, Stability};
use timing::record::LaunchRecord;
use warp_stream::OperationClass;

use crate::script::{Script, Thread, count, launch, titan_v};

const STABILITY: Stability = Stability { windows: 8, deviation: 0.1 };

fn small() -> Gpu {
    titan_v(&["chip.sms=4", "l2.size=12288"])
}

fn until_stable(gpu: &mut Gpu, script: &Script) -> LaunchRecord {
    gpu.launch_until_stable(script, &STABILITY, &mut ()).unwrap_or_else(|error| panic!("{error}"))
}

/// Loads, additions and stores, at different addresses in each CTA.
fn stream(ctas: u32) -> Script {
    Script::new(ctas, 256)
        .load(8, &[], |thread: Thread| (1 << 30) + thread.number * 4)
        .load(9, &[], |thread| (1 << 31) + thread.number * 4)
        .operation(OperationClass::Fp32, 10, &[8, 9])
        .store(&[10], |thread| (1 << 31) + thread.number * 4)
        .exit()
}

/// A loop of additions; each CTA stores one word.
fn sums(ctas: u32) -> Script {
    Script::new(ctas, 256)
        .operation(OperationClass::Fp32, 8, &[9, 10])
        .operation(OperationClass::Fp32, 11, &[9, 10])
        .operation(OperationClass::Fp32, 9, &[8, 11])
        .repeat(0, 60)
        .store(&[9], |thread| (1 << 30) + thread.cta * 4)
        .exit()
}

/// Deviation of the cycles in per cent, and simulated part of the launch in per cent.
fn beside_the_whole(script: fn(u32) -> Script, ctas: u32, counters: &[&str]) -> (f64, f64, LaunchRecord) {
    let whole = launch(&mut small(), &script(ctas));
    let record = until_stable(&mut small(), &script(ctas));
    let of_whole = |cycles: u64| cycles as f64 / whole.cycles as f64 * 100.0;
    let (off, cost) = (of_whole(record.cycles) - 100.0, of_whole(record.simulated_cycles()));
    for name in counters {
        let (all, here) = (count(&whole, name), count(&record, name));
        assert!(all.abs_diff(here) as f64 <= 0.06 * all as f64, "{name}: {all}, {here}");
    }
    (off, cost, record)
}

/// Error bound of a record's cycles, in per cent.
fn unsure(record: &LaunchRecord) -> f64 {
    record.unsure_cycles() as f64 / record.cycles as f64 * 100.0
}

#[test]
fn extrapolated_energy_is_that_of_the_whole_launch() {
    beside_the_whole(sums, 650, &["power.energy", "power.core", "power.active_static", "power.constant"]);
}

#[test]
fn extrapolated_launch_reports_its_error_bound() {
    let (off, _, steady) = beside_the_whole(sums, 650, &[]);
    assert!(off.abs() <= unsure(&steady) && unsure(&steady) < 1.0, "{off} %, {} %", unsure(&steady));
    let (off, _, memory) = beside_the_whole(stream, 3000, &[]);
    assert!(off.abs() <= unsure(&memory) && unsure(&memory) < 5.0, "{off} %, {} %", unsure(&memory));
    assert!(unsure(&steady) < unsure(&memory));
    // Stability is checked only once a wave.
    let seldom = Stability { windows: 2, ..STABILITY };
    let record = small().launch_until_stable(&sums(650), &seldom, &mut ()).unwrap();
    assert!(record.simulated.is_some() && unsure(&record) < 2.0, "{} %", unsure(&record));
}

#[test]
fn arithmetic_is_extrapolated_within_two_per_cent() {
    let (off, cost, record) = beside_the_whole(sums, 650, &["sm.warp_instructions", "gpu.cycles"]);
    assert!(off.abs() < 2.0 && cost < 30.0, "{off} %, {cost} %");
    // Each of four SMs holds eight CTAs. The partial wave has as many CTAs as in the full launch.
    assert_eq!(record.simulated.unwrap().ctas % 32, 650 % 32);
}

#[test]
fn memory_stream_is_extrapolated_within_five_per_cent() {
    let (off, cost, _) = beside_the_whole(stream, 3000, &["l2.sectors_read", "dram.reads", "dram.writes"]);
    assert!(off.abs() < 5.0 && cost < 40.0, "{off} %, {cost} %");
}

/// A loop of additions that starts with a word never read before.
fn sums_of_new_words(ctas: u32) -> Script {
    Script::new(ctas, 256)
        .load(9, &[], |thread: Thread| (1 << 30) + thread.number * 4)
        .operation(OperationClass::Fp32, 8, &[9, 10])
        .operation(OperationClass::Fp32, 9, &[8, 10])
        .repeat(1, 120)
        .store(&[9], |thread| (1 << 31) + thread.cta * 4)
        .exit()
}

#[test]
fn extrapolation_ignores_filling_l2_if_dram_is_idle() {
    let large = || titan_v(&["chip.sms=4"]);
    let whole = launch(&mut large(), &sums_of_new_words(650));
    let record = until_stable(&mut large(), &sums_of_new_words(650));
    assert!(count(&whole, "l2.tag_misses") > 0 && count(&whole, "l2.evictions") == 0);
    let off = record.cycles as f64 / whole.cycles as f64 * 100.0 - 100.0;
    let cost = record.simulated_cycles() as f64 / whole.cycles as f64 * 100.0;
    assert!(off.abs() < 2.0 && cost < 40.0, "{off} %, {cost} %");
}

#[test]
fn short_unstable_or_cooperative_launch_is_run_whole() {
    let strict = Stability { windows: 8, deviation: 0.0 };
    let cooperative = || sums(32).with(|kernel| kernel.cooperative = true);
    for (script, stability) in [
        (sums(63), STABILITY),
        (stream(3000), strict),
        (cooperative(), Stability { windows: 1, deviation: 1e9 }),
    ] {
        let whole = launch(&mut small(), &script);
        let record = small().launch_until_stable(&script, &stability, &mut ()).unwrap();
        assert_eq!(record, whole);
        assert_eq!(record.simulated, None);
    }
}

#[test]
fn extrapolation_does_not_depend_on_threads() {
    let one = until_stable(&mut small(), &stream(2000));
    assert!(one.simulated.is_some());
    assert_eq!(until_stable(&mut small().with_threads(2), &stream(2000)), one);
}

#[test]
fn next_launch_begins_after_the_extrapolated_end() {
    let mut gpu = small();
    let first = until_stable(&mut gpu, &sums(650));
    assert_eq!(launch(&mut gpu, &sums(4)).start, first.start + first.cycles);
}

#[test]
fn skipped_ctas_can_be_executed_untimed() {
    let (mut gpu, script) = (small(), sums(650));
    let record = until_stable(&mut gpu, &script);
    let first = record.simulated.unwrap().ctas;
    assert_eq!(script.started().len() as u64, first);
    gpu.execute_from(&script, first, &mut ()).unwrap();
    let ctas: BTreeSet<u64> = script.started().into_iter().map(|(cta, _)| cta).collect();
    assert_eq!((ctas.len(), script.started().len()), (650, 650));
}

//! Hybrid modes and single fidelities against the detailed model.

use std::sync::Arc;

use launch_report::{Format, Report};
use timing::fidelity::rates::WHOLE;
use timing::fidelity::{LevelRates, LoadRates, Mode};
use timing::gpu::Gpu;
use timing::record::LaunchRecord;
use timing::statistics::value;
use warp_stream::{AccessKind, Kernel, MemorySpace, OperationClass};

use crate::bench::{sgemm_of, sum_of_vectors_by};
use crate::script::{Script, Thread, count, launch, titan_v, try_launch};

const MODES: [&str; 2] = ["hybrid-alu", "hybrid-memory"];

/// A TITAN V in a mode.
fn in_mode(mode: &str) -> Gpu {
    titan_v(Mode::named(mode).unwrap().changes)
}

/// Loads that hit and miss, shared memory, stores, atomics, barriers, arithmetic.
fn mixed() -> Script {
    Script::new(200, 128)
        .load(8, &[], |thread: Thread| (1 << 30) + thread.number * 4 + thread.iteration * 4096)
        .operation(OperationClass::Fp32, 9, &[8])
        .access(MemorySpace::Shared, AccessKind::Store, None, |thread| thread.number % 32 * 8)
        .load(10, &[], |thread| (1 << 30) + (thread.number * 7919 + thread.iteration * 104_729) % 65536 * 4)
        .operation(OperationClass::Fp64, 12, &[9, 10])
        .barrier()
        .atomic(11, &[12], |thread| (1 << 31) + thread.number % 97 * 4)
        .store(&[11, 12], |thread| (1 << 32) + thread.number * 4)
        .repeat(0, 3)
        .exit()
}

/// A chain of dependent arithmetic in one warp: its code fits the first cache line.
fn chain() -> Script {
    let script = (0..6).fold(Script::new(1, 32), |script, _| script.operation(OperationClass::Fp32, 8, &[8]));
    script.repeat(0, 500).exit()
}

fn cycles(gpu: &mut Gpu, script: &Script) -> f64 {
    launch(gpu, script).cycles as f64
}

fn json(launches: impl IntoIterator<Item = LaunchRecord>) -> String {
    let mut report = Report::new("titan-v");
    launches.into_iter().for_each(|record| report.add(record));
    report.text(Format::Json).unwrap()
}

#[test]
fn hybrid_statistics_do_not_depend_on_threads() {
    for mode in MODES {
        let statistics = |threads| {
            let mut gpu = in_mode(mode).with_threads(threads);
            json([(); 3].map(|()| launch(&mut gpu, &mixed())))
        };
        let one = statistics(1);
        assert_eq!(one, statistics(2), "{mode}");
        assert_eq!(one, statistics(5), "{mode}");
    }
}

#[test]
fn every_mode_issues_the_same_instructions() {
    let issued = |gpu: &mut Gpu| {
        let record = launch(gpu, &mixed());
        ["sm.warp_instructions", "sm.thread_instructions", "shared.stores", "coalescer.global_load_sectors"]
            .map(|name| value(&record.counters, name))
    };
    let detailed = issued(&mut titan_v(&[]));
    for mode in MODES {
        assert_eq!(issued(&mut in_mode(mode)), detailed, "{mode}");
    }
}

#[test]
fn hybrid_alu_equals_detailed_without_front_end_stalls() {
    // The detailed front end fetches the first instructions, and again after each jump.
    let difference = cycles(&mut titan_v(&[]), &chain()) - cycles(&mut in_mode("hybrid-alu"), &chain());
    assert!((0.0..=20.0 + 4.0 * 500.0).contains(&difference), "{difference}");
    let straight = |gpu: &mut Gpu| {
        let warm = launch(gpu, &chain().with(|kernel| kernel.launch = 1));
        let again = launch(gpu, &chain().with(|kernel| kernel.launch = 2));
        (warm.cycles, again.cycles)
    };
    let (first, second) = straight(&mut in_mode("hybrid-alu"));
    assert_eq!(first, second, "an ideal front end has no cold misses");
}

#[test]
fn modes_agree_on_launches_that_memory_bounds() {
    for (script, bound) in [(sum_of_vectors_by(2048), 0.15), (sgemm_of(128, 64), 0.25)] {
        let detailed = cycles(&mut titan_v(&[]), &script);
        for mode in MODES {
            let error = cycles(&mut in_mode(mode), &script) / detailed - 1.0;
            assert!(error.abs() < bound, "{mode}: {:.1} %", error * 100.0);
        }
    }
}

#[test]
fn dependent_loads_take_the_latency_of_their_level() {
    let chase = |bytes: u64| {
        Script::new(1, 1)
            .load(8, &[8], move |thread| (1 << 30) + thread.iteration * 128 % bytes)
            .repeat(0, 4000)
            .exit()
    };
    // 4 KiB stay in L1, 1 MiB in L2, 64 MiB in DRAM.
    for bytes in [4 << 10, 1 << 20, 64 << 20] {
        let detailed = cycles(&mut titan_v(&[]), &chase(bytes));
        let hybrid = cycles(&mut in_mode("hybrid-memory"), &chase(bytes));
        assert!((hybrid / detailed - 1.0).abs() < 0.1, "{bytes} B: {hybrid} against {detailed}");
    }
}

/// Changes that make memory analytical behind the SMs.
const QUEUES: [&str; 3] =
    ["fidelity.interconnect=analytical", "fidelity.l2=analytical", "fidelity.dram=analytical"];

#[test]
fn ideal_unit_is_no_slower_than_a_detailed_one() {
    let script = sum_of_vectors_by(2048);
    let detailed = cycles(&mut titan_v(&[]), &script);
    for unit in ["l1", "dram"] {
        let change = format!("fidelity.{unit}=ideal");
        let ideal = cycles(&mut titan_v(&[change.as_str()]), &script);
        assert!(ideal <= detailed, "{unit}: {ideal} against {detailed}");
    }
}

#[test]
fn ideal_queue_is_no_slower_than_an_analytical_one() {
    let script = sum_of_vectors_by(2048);
    let analytical = cycles(&mut titan_v(&QUEUES), &script);
    for unit in ["interconnect", "l2", "dram"] {
        let change = format!("fidelity.{unit}=ideal");
        let changes: Vec<&str> = QUEUES.into_iter().chain([change.as_str()]).collect();
        let ideal = cycles(&mut titan_v(&changes), &script);
        assert!(ideal <= analytical, "{unit}: {ideal} against {analytical}");
    }
}

#[test]
fn ideal_coalescer_leaves_the_sectors_of_neighbours() {
    let script = Script::new(40, 128).load(4, &[], |thread| (1 << 32) + 256 * thread.number).exit();
    let sectors = |changes: &[&str]| {
        let record = launch(&mut titan_v(changes), &script);
        count(&record, "coalescer.global_load_sectors")
    };
    assert_eq!(sectors(&[]), 32 * 160);
    assert_eq!(sectors(&["fidelity.coalescer=ideal"]), 4 * 160);
}

#[test]
fn ideal_banks_leave_one_pass_for_each_access() {
    let one_bank = |thread: Thread| 128 * (thread.number % 32);
    let script = Script::new(2, 32).access(MemorySpace::Shared, AccessKind::Load, Some(4), one_bank).exit();
    let counts = |changes: &[&str]| {
        let record = launch(&mut titan_v(changes), &script);
        (count(&record, "shared.passes"), count(&record, "shared.load_conflicts"))
    };
    assert_eq!(counts(&[]), (64, 62));
    assert_eq!(counts(&["fidelity.banks=ideal"]), (2, 0));
}

#[test]
fn queues_behind_detailed_sms_are_near_the_detailed_memory_side() {
    for script in [sum_of_vectors_by(2048), sgemm_of(128, 64)] {
        let detailed = cycles(&mut titan_v(&[]), &script);
        for changes in [&QUEUES[..], &QUEUES[2..]] {
            let error = cycles(&mut titan_v(changes), &script) / detailed - 1.0;
            assert!(error.abs() < 0.15, "{changes:?}: {:.1} %", error * 100.0);
        }
    }
}

#[test]
#[ignore = "prints the errors and the speed of the modes"]
fn bench_modes() {
    let scattered =
        |thread: Thread| (1 << 30) + (thread.number * 7919 + thread.iteration * 104_729) % (1 << 22) * 4;
    let kernels = [
        ("vectors", sum_of_vectors_by(8192)),
        ("sgemm 256", sgemm_of(256, 256)),
        ("scattered", Script::new(640, 256).load(8, &[], scattered).repeat(0, 20).exit()),
        ("mixed", mixed()),
        ("init", Script::new(8192, 256).store(&[8], |thread| (1 << 30) + 4 * thread.number).exit()),
    ];
    let mixes: [(&str, &[&str]); 6] = [
        ("detailed", &[]),
        ("front end ideal", &["fidelity.front_end=ideal"]),
        ("hybrid-alu", Mode::named("hybrid-alu").unwrap().changes),
        ("dram analytical", &["fidelity.dram=analytical"]),
        ("queues", &QUEUES),
        ("hybrid-memory", Mode::named("hybrid-memory").unwrap().changes),
    ];
    for (kernel, script) in &kernels {
        let mut first = None;
        for (mix, changes) in mixes {
            let start = std::time::Instant::now();
            let record = launch(&mut titan_v(changes), script);
            let seconds = start.elapsed().as_secs_f64();
            let (cycles, before) = *first.get_or_insert((record.cycles, seconds));
            println!(
                "{kernel:<10} {mix:<16} {:>8} cycles {:>+6.1} %  {:>7.3} M/s  {:>5.2} x",
                record.cycles,
                100.0 * (record.cycles as f64 / cycles as f64 - 1.0),
                count(&record, "sm.warp_instructions") as f64 / seconds / 1e6,
                before / seconds
            );
        }
    }
}

#[test]
fn counter_that_a_mode_does_not_model_is_null() {
    let text = json([launch(&mut in_mode("hybrid-memory"), &mixed())]);
    let null = |name: &str| text.contains(&format!("\"{name}\": null"));
    for name in ["front_end.fetches", "crossbar.request_packets", "tlb.hits", "dram.activates"] {
        assert!(null(name), "{name}");
    }
    assert!(!null("dram.reads") && !null("l1.load_sectors") && !null("l2.hits"));
}

#[test]
fn hybrid_state_between_launches_continues_equally() {
    for mode in MODES {
        let mut gpu = in_mode(mode);
        launch(&mut gpu, &mixed());
        let state = timing::gpu::GpuState::decode(&gpu.state().encode().unwrap()).unwrap();
        let mut restored = Gpu::restore(gpu.spec(), state).unwrap();
        assert_eq!(launch(&mut gpu, &mixed()), launch(&mut restored, &mixed()), "{mode}");
    }
}

/// Equal rates for every load.
#[derive(Debug)]
struct Equal(LevelRates);

impl LoadRates for Equal {
    fn rates(&self, _: &Kernel, _: u32) -> Option<LevelRates> {
        Some(self.0)
    }
}

#[test]
fn given_rates_decide_the_levels_of_loads() {
    let changes =
        [Mode::named("hybrid-memory").unwrap().changes, &["fidelity.rates=reuse-distance"]].concat();
    let script = sum_of_vectors_by(2048);
    assert!(try_launch(&mut titan_v(&changes), &script).is_err(), "no rates are given");
    let with = |l1, l2| {
        let rates = LevelRates { l1, l2 };
        launch(&mut titan_v(&changes).with_load_rates(Arc::new(Equal(rates))), &script)
    };
    let (near, far) = (with(WHOLE, 0), with(0, 0));
    let half = with(WHOLE / 2, WHOLE / 4);
    let sectors = count(&far, "l1.load_sectors");
    let parts = ["l1.load_sector_hits", "dram.reads"]
        .map(|name| [&near, &half, &far].map(|record| count(record, name)));
    assert_eq!(parts, [[sectors, sectors / 2, 0], [0, sectors / 4, sectors]]);
    assert!(near.cycles < half.cycles && half.cycles < far.cycles);
}

#[test]
fn sectors_are_conserved_from_l1_to_dram() {
    let record = launch(&mut in_mode("hybrid-memory"), &sum_of_vectors_by(2048));
    let sectors = 2048 * 256 * 4 / 32;
    assert_eq!(count(&record, "l1.load_sector_misses"), 2 * sectors);
    assert_eq!(count(&record, "l2.sectors_written"), sectors);
    assert_eq!(count(&record, "dram.reads"), 2 * sectors);
}

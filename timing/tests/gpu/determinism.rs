//! Cycles and counters do not depend on threads.

use launch_report::{Format, Report};
use warp_stream::OperationClass;

use crate::script::{Script, Thread, launch, titan_v};

/// Loads that hit and miss, stores, atomics, barriers, arithmetic.
fn mixed() -> Script {
    Script::new(200, 128)
        .load(8, &[], |thread: Thread| (1 << 30) + thread.number * 4 + thread.iteration * 4096)
        .operation(OperationClass::Fp32, 9, &[8])
        .load(10, &[], |thread| (1 << 30) + (thread.number * 7919 + thread.iteration * 104_729) % 65536 * 4)
        .operation(OperationClass::Fp64, 12, &[9, 10])
        .barrier()
        .atomic(11, &[12], |thread| (1 << 31) + thread.number % 97 * 4)
        .store(&[11, 12], |thread| (1 << 32) + thread.number * 4)
        .repeat(0, 3)
        .exit()
}

/// Statistics of three launches, as JSON.
fn statistics(threads: usize) -> String {
    let mut gpu = titan_v(&[]).with_threads(threads);
    let mut report = Report::new("titan-v");
    for _ in 0..3 {
        report.add(launch(&mut gpu, &mixed()));
    }
    report.text(Format::Json).unwrap()
}

#[test]
fn statistics_do_not_depend_on_threads() {
    let one = statistics(1);
    assert_eq!(one, statistics(2));
    assert_eq!(one, statistics(5));
}

/// Rounds of the stress test without `VOLTSIM_TEST_STRESS`.
const ROUNDS: u64 = 4;

#[test]
fn random_thread_counts_give_the_same_statistics() {
    let rounds =
        std::env::var("VOLTSIM_TEST_STRESS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    let one = statistics(1);
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for round in 0..rounds {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let threads = 2 + (random >> 33) as usize % 8;
        // Threads of the host disturb when the workers run.
        let stop = std::sync::atomic::AtomicBool::new(false);
        let same = std::thread::scope(|scope| {
            for _ in 0..round % 3 {
                scope.spawn(|| {
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                });
            }
            let same = one == statistics(threads);
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            same
        });
        assert!(same, "round {round}, {threads} threads");
    }
}

#[test]
fn repeated_launches_give_equal_statistics() {
    assert_eq!(statistics(2), statistics(2));
}

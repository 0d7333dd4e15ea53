//! The same cycles and the same counts, whoever runs the SMs.

use timing::report::{Format, Report};
use warp_stream::OperationClass;

use crate::script::{Script, Thread, launch, titan_v};

/// Loads that hit and miss, stores, atomics, barriers, sums.
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
fn one_and_more_threads_give_the_same_statistics() {
    let one = statistics(1);
    assert_eq!(one, statistics(2));
    assert_eq!(one, statistics(5));
}

#[test]
fn the_same_launches_give_the_same_statistics_again() {
    assert_eq!(statistics(2), statistics(2));
}

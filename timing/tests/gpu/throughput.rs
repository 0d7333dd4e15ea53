//! Measured bandwidths, with streaming kernels.

use warp_stream::OperationClass;

use crate::script::{Script, Thread, count, launch, titan_v};

/// Threads of a full wave.
const WAVE: u64 = 80 * 8 * 256;

/// A word of a vector for each thread, one wave after the other.
fn word(vector: u64) -> impl Fn(Thread) -> u64 {
    move |thread| (vector << 30) + 4 * (thread.number + thread.iteration * WAVE)
}

/// Fraction of DRAM's peak bandwidth reached by a kernel on `vectors` vectors.
fn share_of_peak(vectors: u64, script: fn(u64) -> Script) -> f64 {
    let cycles = |waves| launch(&mut titan_v(&[]), &script(waves)).cycles;
    let nanoseconds = (cycles(15) - cycles(5)) as f64 / 1.2;
    (vectors * 4 * 10 * WAVE) as f64 / nanoseconds / 652.8
}

/// A full wave of CTAs.
fn full() -> Script {
    Script::new(80 * 8, 256)
}

#[test]
fn vector_read_reaches_the_measured_bandwidth() {
    let share = share_of_peak(1, |waves| full().load(8, &[], word(1)).repeat(0, waves - 1).exit());
    // V100: 867 of 900 GB/s. The starts of the two launches differ by a few tens of the 12,000
    // cycles between their ends.
    assert!((0.963 * 0.92..=1.005).contains(&share), "{share}");
}

#[test]
fn triad_reaches_the_measured_bandwidth() {
    let share = share_of_peak(3, |waves| {
        let sum =
            full().load(8, &[], word(1)).load(9, &[], word(2)).operation(OperationClass::Fp32, 10, &[8, 9]);
        sum.store(&[10], word(3)).repeat(0, waves - 1).exit()
    });
    // V100: 788 of 900 GB/s.
    assert!((0.876 * 0.92..=0.876 * 1.08).contains(&share), "{share}");
}

#[test]
fn vector_sum_moves_each_sector_once() {
    let vector = |number: u64| move |thread: Thread| (number << 30) + 4 * thread.number;
    let script = Script::new(256, 256)
        .load(8, &[], vector(1))
        .load(9, &[], vector(2))
        .store(&[8, 9], vector(3))
        .exit();
    let record = launch(&mut titan_v(&[]), &script);
    let sectors = 256 * 256 * 4 / 32;
    let counted = |name| count(&record, name);
    assert_eq!(counted("coalescer.global_load_sectors"), 2 * sectors);
    assert_eq!(counted("coalescer.global_store_sectors"), sectors);
    assert_eq!(counted("l2.sectors_global"), 3 * sectors);
    // Plus one instruction line.
    assert_eq!(counted("l2.fetches"), 2 * sectors + 4);
    assert_eq!(counted("sm.warp_instructions"), 256 * 8 * 4);
    assert_eq!(counted("sm.thread_instructions"), 256 * 256 * 4);
}

//! Speed of the model: `cargo test --release -p timing --test gpu -- --ignored --nocapture bench`.

use std::time::Instant;

use timing::gpu::{Gpu, GpuState};
use warp_stream::OperationClass;

use crate::script::{Script, Thread, count, launch, titan_v};

/// Prints the simulation speed of a launch. Returns cycles and instructions per second, in
/// millions.
fn measure(name: &str, gpu: &mut Gpu, script: &Script) -> [f64; 2] {
    let start = Instant::now();
    let record = launch(gpu, script);
    let seconds = start.elapsed().as_secs_f64();
    let [cycles, instructions] =
        [record.cycles, count(&record, "sm.warp_instructions")].map(|count| count as f64 / seconds / 1e6);
    println!(
        "{name}: {} cycles, {seconds:.3} s, {instructions:.3} M warp instructions/s, {cycles:.3} M cycles/s",
        record.cycles
    );
    [cycles, instructions]
}

/// Inner loop of a naive matrix product: two loads, a multiply-add, a counter.
fn sgemm(size: u64) -> Script {
    sgemm_of(size, size)
}

/// The matrix product with a limited number of steps.
pub fn sgemm_of(size: u64, steps: u64) -> Script {
    let a = move |thread: Thread| (1 << 30) + (thread.number / size * size + thread.iteration) * 4;
    let b = move |thread: Thread| (1 << 31) + (thread.iteration * size + thread.number % size) * 4;
    Script::new((size * size / 256) as u32, 256)
        .load(8, &[], a)
        .load(9, &[], b)
        .operation(OperationClass::Integer, 11, &[11])
        .operation(OperationClass::Integer, 12, &[12])
        .operation(OperationClass::Fp32, 10, &[8, 9, 10])
        .operation(OperationClass::Integer, 13, &[13])
        .repeat(0, steps - 1)
        .store(&[10], |thread| (3 << 30) + thread.number * 4)
        .exit()
}

/// Reads two vectors and writes one.
fn sum_of_vectors() -> Script {
    sum_of_vectors_by(8192)
}

/// The vector sum with `ctas` CTAs.
pub fn sum_of_vectors_by(ctas: u32) -> Script {
    let vector = |number: u64| move |thread: Thread| (number << 30) + 4 * thread.number;
    Script::new(ctas, 256).load(8, &[], vector(1)).load(9, &[], vector(2)).store(&[8, 9], vector(3)).exit()
}

#[test]
#[ignore = "measures time"]
fn bench_idle_cycles() {
    let chase = Script::new(1, 1)
        .load(8, &[8], |thread| (1 << 30) + thread.iteration * 128 * 1023)
        .repeat(0, 100_000)
        .exit();
    let [cycles, _] = measure("one thread waits for DRAM", &mut titan_v(&[]), &chase);
    assert!(cycles >= 20.0);
}

#[test]
#[ignore = "measures time"]
fn bench_launches() {
    let (mut gpu, script) = (titan_v(&[]), Script::new(1, 32).exit());
    let start = Instant::now();
    for _ in 0..1000 {
        launch(&mut gpu, &script);
    }
    println!("an empty launch takes {} us", start.elapsed().as_micros() / 1000);
}

#[test]
#[ignore = "measures time"]
fn bench_threads() {
    for (name, script) in [("SGEMM 256", sgemm(256)), ("sum of vectors", sum_of_vectors())] {
        let [_, one] = measure(&format!("{name}, 1 thread"), &mut titan_v(&[]), &script);
        let [_, two] = measure(&format!("{name}, 2 threads"), &mut titan_v(&[]).with_threads(2), &script);
        println!("2 threads are {:.2} times as fast as one", two / one);
    }
}

#[test]
#[ignore = "measures time"]
fn bench_vectors() {
    measure("sum of vectors", &mut titan_v(&[]), &sum_of_vectors());
}

#[test]
#[ignore = "measures time"]
fn bench_scattered() {
    let scattered =
        |thread: Thread| (1 << 30) + (thread.number * 7919 + thread.iteration * 104_729) % (1 << 22) * 4;
    let script = Script::new(640, 256).load(8, &[], scattered).repeat(0, 20).exit();
    measure("scattered loads", &mut titan_v(&[]), &script);
}

#[test]
#[ignore = "measures time"]
fn bench_state() {
    let mut gpu = titan_v(&[]);
    launch(&mut gpu, &sum_of_vectors());
    let mut start = Instant::now();
    let mut took = || std::mem::replace(&mut start, Instant::now()).elapsed().as_millis();
    let bytes = gpu.state().encode().unwrap();
    let written = took();
    let state = GpuState::decode(&bytes).unwrap();
    let read = took();
    Gpu::restore(gpu.spec(), state).unwrap();
    println!(
        "{} KiB written in {written} ms, read in {read} ms, restored in {} ms",
        bytes.len() / 1024,
        took()
    );
}

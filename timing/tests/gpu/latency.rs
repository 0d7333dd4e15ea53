//! Measured latencies, with one thread and its loads.

use warp_stream::OperationClass;

use crate::script::{Script, launch, titan_v};

/// A pointer chase: each load depends on the previous one.
fn chase(loads: u64, address: impl Fn(u64) -> u64 + Send + Sync + 'static) -> Script {
    Script::new(1, 1)
        .load(8, &[8], move |thread| (1 << 30) + address(thread.iteration))
        .repeat(0, loads - 1)
        .exit()
}

/// Core cycles per load over many loads; `warm` executes all of them once before.
fn cycles_of_load(warm: bool, address: fn(u64) -> u64) -> u64 {
    let cycles = |loads: u64| {
        let mut gpu = titan_v(&["tlb.walk=0"]);
        if warm {
            launch(&mut gpu, &chase(loads, address));
        }
        launch(&mut gpu, &chase(loads, address)).cycles
    };
    (cycles(400) - cycles(200)) / 200
}

#[test]
fn empty_kernel_takes_the_measured_minimum() {
    let cycles = launch(&mut titan_v(&[]), &Script::new(1, 32).exit()).cycles;
    assert!((2300..=2700).contains(&cycles), "{cycles}");
}

#[test]
fn l1_hit_takes_28_cycles() {
    let cycles = cycles_of_load(false, |_| 0);
    assert!((27..=30).contains(&cycles), "{cycles}");
}

#[test]
fn l2_hit_takes_193_to_215_cycles() {
    let cycles = cycles_of_load(true, |step| step * 128);
    assert!((193..=215).contains(&cycles), "{cycles}");
}

#[test]
fn dram_load_takes_375_to_434_cycles() {
    let cycles = cycles_of_load(false, |step| step * 128 * 1023);
    assert!((375..=434).contains(&cycles), "{cycles}");
}

#[test]
fn first_load_of_a_page_takes_1029_cycles_instead_of_375() {
    let mut gpu = titan_v(&[]);
    let mut load = |address: u64| launch(&mut gpu, &chase(1, move |_| address)).cycles;
    // The last load opens a row of DRAM, as the one before does.
    let page = 32 << 20;
    let [_, walked, there] = [0, page, page + (1 << 20)].map(&mut load);
    assert!((650..=660).contains(&(walked - there)), "{walked} and {there} of the launch");
}

#[test]
fn dependent_add_takes_4_cycles() {
    let cycles = |sums: u64| {
        let chain = |script: Script| {
            (0..sums).fold(script, |script, _| script.operation(OperationClass::Fp32, 8, &[8]))
        };
        let mut gpu = titan_v(&[]);
        // The second launch finds its instructions cached.
        launch(&mut gpu, &chain(Script::new(1, 32)).exit());
        launch(&mut gpu, &chain(Script::new(1, 32)).exit()).cycles
    };
    assert_eq!((cycles(300) - cycles(200)) / 100, 4);
}

//! Column copy on the GeForce GTX 470: Nugteren et al., Fig. 3.

#![allow(clippy::expect_used, reason = "helpers of tests, where a panic is the report")]

use cache_model::column_copy::{MEASURED, accesses};
use cache_model::model::{Group, ModelSpec, run};
use timing::specification::GpuSpec;

fn miss_rate(threads: u32, change: impl Fn(&mut ModelSpec)) -> f64 {
    let gpu = GpuSpec::built_in("gtx470").expect("a GPU");
    let accesses = accesses(threads);
    let mut spec = ModelSpec::of_gpu(&gpu, &accesses.launch);
    change(&mut spec);
    run(&accesses, &Group::of_one(spec), None).counts[0].miss_rate()
}

#[test]
fn column_copy_misses_as_on_a_gtx_470() {
    for (threads, measured) in MEASURED {
        let found = miss_rate(threads, |_| ());
        assert!((found - measured).abs() < 0.08, "{threads} threads: {found:.4}, measured {measured}");
    }
}

#[test]
fn round_robin_misses_always_from_256_threads_on() {
    let round_robin = |spec: &mut ModelSpec| {
        (spec.latency.minimum, spec.misses, spec.geometry.sets) = (0, u32::MAX, 1);
        spec.order.has_stores = false;
    };
    for (threads, expected) in
        [(32, 1.0 / 32.0), (64, 1.0 / 32.0), (128, 1.0 / 32.0), (256, 1.0), (1024, 1.0)]
    {
        let found = miss_rate(threads, round_robin);
        assert!((found - expected).abs() < 1e-9, "{threads} threads: {found}");
    }
}

#[test]
fn equal_seeds_give_equal_results() {
    let of =
        |seed| miss_rate(256, |spec| (spec.latency.deviation, spec.latency.seed) = (100.0, seed)).to_bits();
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

//! Hybrid modes and fidelities on the command line.

use serde_json::Value;

use super::Workplace;
use super::launches::{Captured, SUM};

/// Statistics of the test program in a mode.
fn statistics(captured: &Captured, options: &[&str]) -> Value {
    let place = &captured.place;
    let run = ["run", "--gpu", "tiny", "--statistics", "run.json"];
    let outcome = place.voltsim(&[&run[..], options, &["--", "./launches", "2"]].concat());
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, SUM), "{}", outcome.stderr);
    serde_json::from_str(&place.read("run.json")).unwrap()
}

#[test]
fn hybrid_modes_time_the_launches_of_detailed_mode() {
    let captured = Captured::program();
    let instructions = |mode: &str| {
        let all = statistics(&captured, &["--mode", mode]);
        let launches = all["launches"].as_array().unwrap().clone();
        assert!(launches.iter().all(|launch| launch["cycles"].as_u64() > Some(0)), "{mode}");
        launches.iter().map(|launch| launch["warp_instructions"].clone()).collect::<Vec<_>>()
    };
    let detailed = instructions("detailed");
    assert_eq!(instructions("hybrid-alu"), detailed);
    assert_eq!(instructions("hybrid-memory"), detailed);
}

#[test]
fn counter_without_a_model_is_null_in_statistics() {
    let captured = Captured::program();
    let counters = |options: &[&str]| statistics(&captured, options)["total"]["counters"].clone();
    assert!(counters(&["--mode", "detailed"])["front_end.fetches"].is_u64());
    let hybrid = counters(&["--mode", "hybrid-alu"]);
    assert!(hybrid["front_end.fetches"].is_null() && hybrid["crossbar.request_packets"].is_u64());
    let mixed = counters(&["--mode", "detailed", "--set", "fidelity.dram=analytical"]);
    assert!(mixed["dram.activates"].is_null() && mixed["dram.reads"].is_u64());
}

#[test]
fn senseless_mix_is_refused_before_the_program_starts() {
    super::launches::libraries();
    let place = Workplace::new();
    let outcome =
        place.voltsim(&["run", "--mode", "detailed", "--set", "fidelity.l2=ideal", "--", "touch", "started"]);
    assert_eq!(outcome.status, 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("fidelity.interconnect=analytical"), "{}", outcome.stderr);
    assert!(!place.path("started").exists());
}

#[test]
fn explain_names_the_modes_that_model_a_counter() {
    let place = Workplace::new();
    let said = place.voltsim(&["explain", "crossbar.request_flits"]).stdout;
    assert!(said.contains("modes with a value: detailed, hybrid-alu\n"), "{said}");
    let said = place.voltsim(&["explain", "fidelity.dram"]).stdout;
    assert!(said.contains("analytical: ") && said.contains("ideal: "), "{said}");
}

//! `voltsim trace`.

use serde_json::Value;

use super::launches::Captured;

/// Kernels that the program launches.
const LAUNCHES: usize = 7;

fn events(captured: &Captured) -> Vec<Value> {
    let outcome = captured.place.voltsim(&["trace", "-o", "trace.json", "--", "./launches", "2"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
    serde_json::from_str(&captured.place.read("trace.json")).unwrap()
}

#[test]
fn timeline_has_thread_duration_and_result_of_each_call() {
    let captured = Captured::program();
    let events = events(&captured);
    let launches: Vec<_> = events.iter().filter(|event| event["name"] == "cuLaunchKernel").collect();
    assert_eq!(launches.len(), LAUNCHES);
    for launch in launches {
        assert!(launch["dur"].as_f64().unwrap() > 0.0 && launch["tid"].as_u64().unwrap() > 0);
        assert_eq!(launch["args"]["result"], "CUDA_SUCCESS");
        assert!(launch["args"]["gridX"].is_string());
    }
    let allocation = events.iter().find(|event| event["name"] == "cuMemAlloc_v2").unwrap();
    assert!(allocation["args"]["dptr"].as_str().unwrap().contains(" -> 0x"), "{allocation}");
}

/// Launches that statistics have, with the microseconds at which they begin and that they take.
fn timed_launches(captured: &Captured) -> Vec<(f64, f64)> {
    let statistics: Value = serde_json::from_str(&captured.place.read("run.json")).unwrap();
    // `tiny` has the TITAN V's clock.
    let microseconds = |cycles: &Value| cycles.as_f64().unwrap() / 1200.0;
    let launches = statistics["launches"].as_array().unwrap().iter();
    launches.map(|launch| (microseconds(&launch["start"]), microseconds(&launch["cycles"]))).collect()
}

#[test]
fn timed_timeline_has_simulated_kernels_and_host_calls() {
    let captured = Captured::program();
    let timed = ["--mode", "detailed", "--gpu", "tiny", "--statistics", "run.json"];
    let arguments = [&["trace", "-o", "trace.json"], &timed[..], &["--", "./launches", "2"]].concat();
    let outcome = captured.place.voltsim(&arguments);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
    let events: Vec<Value> = serde_json::from_str(&captured.place.read("trace.json")).unwrap();
    let of = |category: &'static str| events.iter().filter(move |event| event["cat"] == category);
    let kernels: Vec<(f64, f64)> = of("kernel")
        .map(|kernel| (kernel["ts"].as_f64().unwrap(), kernel["dur"].as_f64().unwrap()))
        .collect();
    let expected = timed_launches(&captured);
    assert_eq!((kernels.len(), expected.len()), (LAUNCHES, LAUNCHES));
    for ((start, duration), (cycle, cycles)) in kernels.iter().zip(&expected) {
        assert!(
            (start - cycle).abs() < 0.001 && (duration - cycles).abs() < 0.002,
            "{kernels:?} {expected:?}"
        );
    }
    // Processes stand for the host and the device.
    let process = |event: &Value| event["pid"].as_u64().unwrap();
    let device = process(of("kernel").next().unwrap());
    assert!(of("kernel").chain(of("copy")).all(|event| process(event) == device));
    assert!(of("api").all(|event| process(event) != device));
    let named = |pid: u64, part: &str| {
        let name = events.iter().find(|event| event["name"] == "process_name" && process(event) == pid);
        assert!(name.unwrap()["args"]["name"].as_str().unwrap().contains(part));
    };
    named(device, "simulated time");
    named(process(of("api").next().unwrap()), "host time");
    assert!(of("api").all(|event| event["ts"].as_f64().unwrap() >= 0.0));
}

#[test]
fn times_of_a_run_without_a_model_begin_at_0() {
    let events = events(&Captured::program());
    let times: Vec<f64> = events.iter().filter_map(|event| event["ts"].as_f64()).collect();
    let first = times.iter().copied().fold(f64::INFINITY, f64::min);
    assert!((0.0..1e6).contains(&first), "{first}");
    assert!(times.iter().all(|time| *time < 1e9));
}

#[test]
fn kernels_stand_on_the_tracks_of_their_streams() {
    let captured = Captured::program();
    let events = events(&captured);
    let kernels: Vec<_> = events.iter().filter(|event| event["cat"] == "kernel").collect();
    assert_eq!(kernels.len(), LAUNCHES);
    for kernel in kernels {
        let named = |event: &&Value| event["name"] == "thread_name" && event["tid"] == kernel["tid"];
        assert_eq!(events.iter().filter(named).count(), 1, "a track has one name");
        assert!(kernel["args"]["grid"].is_string());
    }
}

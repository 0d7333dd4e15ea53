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
fn a_timeline_has_each_call_with_its_thread_duration_arguments_and_result() {
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

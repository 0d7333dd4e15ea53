//! Machine code of timed kernels by the generation of the GPU.

use serde_json::Value;

use super::launches::{Captured, SUM};

/// Launch of `remainder` in a detailed run on a GPU.
fn remainder(captured: &Captured, gpu: &str) -> Value {
    let run =
        ["run", "--mode", "detailed", "--gpu", gpu, "--statistics", "run.json", "--", "./launches", "2"];
    let outcome = captured.place.voltsim(&run);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, SUM), "{gpu}: {}", outcome.stderr);
    let statistics: Value = serde_json::from_str(&captured.place.read("run.json")).unwrap();
    let launches = statistics["launches"].as_array().unwrap();
    launches.iter().find(|launch| launch["kernel"] == "remainder").unwrap().clone()
}

#[test]
fn each_generation_executes_its_own_machine_code() {
    let captured = Captured::program();
    let [fermi, pascal, volta, turing] = ["gtx470", "gtx1080ti", "v100", "rtx2080ti"].map(|gpu| {
        let launch = remainder(&captured, gpu);
        launch["warp_instructions"].as_u64().unwrap()
    });
    // The kernel divides words, which Pascal does with products of 16 bits.
    assert!(pascal > volta && pascal > fermi, "{pascal} {volta} {fermi}");
    assert!(turing < volta, "{turing} {volta}");
}

#[test]
fn a_launch_ends_on_every_timed_gpu() {
    let captured = Captured::program();
    for gpu in ["tiny", "gtx1050", "gtx1080ti", "gtx470", "rtx2070s", "rtx3060", "rtx3090", "titan-v-old"] {
        let launch = remainder(&captured, gpu);
        assert!(launch["cycles"].as_u64().is_some_and(|cycles| cycles > 0), "{gpu}: {launch}");
    }
}

//! `voltsim cache-model`.

use super::launches::Captured;

#[test]
fn cache_model_has_a_row_per_launch() {
    let captured = Captured::program();
    let outcome = captured.place.voltsim(&["cache-model", "--gpu", "gtx470", "--", "./launches", "2"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
    assert!(outcome.stdout.contains("compulsory %"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("launch 1: distances"), "{}", outcome.stdout);
}

#[test]
fn recorded_accesses_give_the_report_of_the_program() {
    let place = Captured::program().place;
    let arguments = ["--sweep", "l1.size=16..64KiB, l1.misses=2..4", "-o"];
    let run = |output: &str, rest: &[&str]| {
        let outcome = place.voltsim(&[&["cache-model"], &arguments[..], &[output], rest].concat());
        assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
        place.read(output)
    };
    let live = run("live.json", &["--record", "accesses", "--threads", "2", "--", "./launches", "2"]);
    let again = run("again.json", &["--threads", "1", "accesses"]);
    assert_eq!(live, again);
    assert!(live.contains("\"l1.size\": 16384"), "{live}");
    let table = run("table.csv", &["accesses"]);
    assert!(table.starts_with("launch,kernel,configuration,"), "{table}");
    assert!(table.contains("l1.size=65536 l1.misses=4"), "{table}");
}

#[test]
fn kernel_stream_gives_the_report_of_the_program() {
    let place = Captured::program().place;
    let outcome = place.voltsim(&["run", "--image", "launches.vks", "--", "./launches", "2"]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let table = |arguments: &[&str]| {
        let outcome = place.voltsim(&[&["cache-model", "--gpu", "v100"], arguments].concat());
        assert_eq!(outcome.status, 0, "{}", outcome.stderr);
        outcome.stdout.lines().filter(|line| line.contains(" %")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(table(&["launches.vks"]), table(&["--", "./launches", "2"]));
}

#[test]
fn recorded_accesses_give_rates_to_hybrid_memory() {
    let place = Captured::program().place;
    let recorded = ["cache-model", "--gpu", "v100", "--record", "accesses", "--", "./launches", "2"];
    assert_eq!(place.voltsim(&recorded).status, 0);
    let run = |options: &[&str], runs: &str| {
        let mode = ["run", "--gpu", "v100", "--mode", "hybrid-memory"];
        let rates = ["--set", "fidelity.rates=reuse-distance", "--statistics", "run.json"];
        place.voltsim(&[&mode, &rates[..], options, &["--", "./launches", runs]].concat())
    };
    let outcome = run(&["--rates", "accesses"], "2");
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
    let run_json: serde_json::Value = serde_json::from_str(&place.read("run.json")).unwrap();
    assert!(run_json["launches"][0]["cycles"].as_u64().unwrap() > 0);
    // A launch that was not recorded has no rates, and a file must be a recording.
    for (options, runs) in [(&[][..], "2"), (&["--rates", "accesses"], "3"), (&["--rates", "run.json"], "2")]
    {
        let outcome = run(options, runs);
        assert_ne!(outcome.status, 0, "{options:?} {runs}");
        assert!(outcome.stderr.contains("cache-model --record"), "{}", outcome.stderr);
    }
}

//! Options of `voltsim run` and `voltsim trace` that concern the timing model: which values the
//! command accepts. Tests of the libraries hold the behaviour of the model.

use serde_json::Value;

use super::Workplace;
use super::launches::{Captured, SUM};

/// The message by which `voltsim run` refuses these options before the program starts.
fn refused(options: &[&str]) -> String {
    super::launches::libraries();
    let place = Workplace::new();
    let outcome = place.voltsim(&[&["run"], options, &["--", "touch", "started"]].concat());
    assert_eq!(outcome.status, 2, "{}", outcome.stderr);
    assert!(!place.path("started").exists(), "the program was started");
    outcome.stderr
}

/// The program's output: 32 threads times 1 to 8 turns, doubled by eight launches.
const NESTED_SUM: &str = "294912\n";

#[test]
fn what_a_kernel_asks_for_takes_its_time_behind_it() {
    let captured = Captured::nested();
    let place = &captured.place;
    let run = |threads: &str, file: &str| {
        let detailed = ["run", "--mode", "detailed", "--threads", threads, "--statistics", file];
        let outcome = place.voltsim(&[&detailed[..], &["--", "./launches"]].concat());
        assert_eq!((outcome.status, outcome.stdout.as_str()), (0, NESTED_SUM), "{}", outcome.stderr);
        place.read(file)
    };
    let text = run("1", "one.json");
    let statistics: Value = serde_json::from_str(&text).unwrap();
    let launches = statistics["launches"].as_array().unwrap();
    let kernels: Vec<_> = launches.iter().map(|launch| launch["kernel"].as_str().unwrap()).collect();
    assert_eq!(kernels, [&["parent"][..], &["child"; 8], &["last"; 8]].concat());
    assert!(launches.iter().all(|launch| launch["launch"] == 1), "{text}");
    let number = |launch: &Value, key: &str| launch[key].as_u64().unwrap();
    let follows =
        |pair: &[Value]| number(&pair[1], "start") >= number(&pair[0], "start") + number(&pair[0], "cycles");
    assert!(launches.windows(2).all(follows), "{text}");
    let fills = statistics["transfers"].as_array().unwrap();
    assert!(fills.len() == 8 && fills.iter().all(|fill| number(fill, "cycles") > 0), "{text}");
    // The child of the last CTA has eight times the turns of that of the first.
    assert!(number(&launches[8], "warp_instructions") > 2 * number(&launches[1], "warp_instructions"));
    assert_eq!(run("2", "two.json"), text);
}

#[test]
fn option_of_the_model_in_functional_mode_is_refused() {
    for option in [
        ["--only", "launch=1"],
        ["--set", "l1.sets=4"],
        ["--statistics", "s.json"],
        ["--warm-up", "launches=1"],
    ] {
        let said = refused(&[&["--mode", "functional"], &option[..]].concat());
        assert!(said.contains(option[0]) && said.contains("--mode detailed"), "{said}");
    }
}

/// The options that the program is handed when the command has these.
fn handed(options: &[&str]) -> String {
    super::launches::libraries();
    let place = Workplace::new();
    let outcome = place.voltsim(&[&["run"], options, &["--", "sh", "-c", "echo $VOLTSIM_RUN"]].concat());
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    outcome.stdout
}

#[test]
fn option_of_the_model_implies_detailed_mode() {
    for option in ["--gpu=tiny", "--only=launch=1", "--set=l1.latency=30", "--until-stable"] {
        let options = handed(&[option]);
        assert!(options.contains(";mode=detailed;gpu="), "{option}: {options}");
    }
    for options in [&[][..], &["--device", "v100"], &["--mode", "functional", "--gpu", "tiny"]] {
        assert!(!handed(options).contains("mode=detailed"), "{options:?}");
    }
    assert!(handed(&["--mode", "functional", "--gpu", "tiny"]).contains(";mode=functional;gpu=tiny;"));
}

#[test]
fn gpu_without_timing_is_refused_with_its_device() {
    for options in [&["--gpu", "h100"][..], &["--mode", "detailed", "--gpu", "h100"]] {
        let said = refused(options);
        assert!(said.contains("h100") && said.contains("--device h100"), "{said}");
    }
}

#[test]
fn option_takes_the_place_of_its_variable() {
    super::launches::libraries();
    let place = Workplace::new();
    let script = "echo $VOLTSIM_THREADS, $VOLTSIM_WATCHDOG, $VOLTSIM_RUN";
    let arguments = ["run", "--threads", "2", "--", "sh", "-c", script];
    let set = [("VOLTSIM_THREADS", "4".into()), ("VOLTSIM_WATCHDOG", "9".into())];
    let set = [&set[..], &[("VOLTSIM_RUN", "1;strict=1".into())]].concat();
    let outcome = place.run_with(std::path::Path::new(env!("CARGO_BIN_EXE_voltsim")), &arguments, &set);
    assert!(outcome.stdout.starts_with(", 9, 1;threads=2;"), "{}{}", outcome.stdout, outcome.stderr);
    assert!(!outcome.stdout.contains("strict"), "options of an outer run: {}", outcome.stdout);
}

#[test]
fn unknown_gpu_is_refused_with_the_command_that_lists_gpus() {
    let said = refused(&["--mode", "detailed", "--gpu", "titan-x"]);
    assert!(said.contains("titan-x") && said.contains("voltsim gpus"), "{said}");
}

#[test]
fn wrong_key_unit_or_value_is_refused_by_key() {
    for (change, named) in [
        ("l1.setz=4", "l1.setz"),
        ("l1.sets", "l1.sets"),
        ("l1.sets=many", "l1.sets"),
        ("crossbar.latency=0", "latency"),
    ] {
        let said = refused(&["--mode", "detailed", "--set", change]);
        assert!(said.contains(named), "{change}: {said}");
    }
}

#[test]
fn a_selection_that_cannot_be_read_is_refused() {
    let said = refused(&["--mode", "detailed", "--only", "launch=5..x"]);
    assert!(said.contains("--only") && said.contains("5..x"), "{said}");
    let said = refused(&["--mode", "detailed", "--only", "profiler=off"]);
    assert!(said.contains("profiler=off") && said.contains("profiler=on"), "{said}");
}

#[test]
fn a_warm_up_that_cannot_be_read_is_refused() {
    let said = refused(&["--mode", "detailed", "--warm-up", "kernels=3"]);
    assert!(said.contains("--warm-up") && said.contains("launches=N"), "{said}");
}

#[test]
fn unwritable_statistics_are_refused_before_the_program_runs() {
    let said = refused(&["--mode", "detailed", "--statistics", "none/run.json"]);
    assert!(said.contains("none/run.json"), "{said}");
}

#[test]
fn a_gpu_file_of_ones_own_is_found_from_another_folder() {
    let place = Workplace::new();
    super::launches::libraries();
    place.write("mine.toml", "base = \"tiny\"\n");
    std::fs::create_dir(place.path("folder")).unwrap();
    let arguments = ["run", "--mode", "detailed", "--gpu", "mine.toml", "--", "sh", "-c"];
    let script = format!("cd folder && cat {}", super::handed_over("gpu"));
    let outcome = place.voltsim(&[&arguments[..], &[script.as_str()]].concat());
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, "base = \"tiny\"\n"), "{}", outcome.stderr);
}

/// A run's launches in a file of statistics: kernel, instructions and cycles of each.
fn launches(place: &Workplace, file: &str) -> Vec<(String, u64, u64)> {
    let all: serde_json::Value = serde_json::from_str(&place.read(file)).unwrap();
    let number = |launch: &serde_json::Value, name: &str| launch[name].as_u64().unwrap();
    let launch = |launch: &serde_json::Value| {
        let kernel = launch["kernel"].as_str().unwrap().to_owned();
        (kernel, number(launch, "warp_instructions"), number(launch, "cycles"))
    };
    all["launches"].as_array().unwrap().iter().map(launch).collect()
}

#[test]
fn without_a_statistics_file_a_summary_goes_to_standard_error() {
    let captured = Captured::program();
    let arguments = ["run", "--mode", "detailed", "--gpu", "tiny", "--", "./launches", "2"];
    let outcome = captured.place.voltsim(&arguments);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, SUM), "{}", outcome.stderr);
    assert!(outcome.stderr.starts_with("voltsim: tiny: "), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("remainder"), "{}", outcome.stderr);
}

#[test]
fn a_recorded_launch_takes_as_long_as_the_live_one() {
    let captured = Captured::program();
    let place = &captured.place;
    let live = place.voltsim(&[
        "run",
        "--mode",
        "detailed",
        "--gpu",
        "tiny",
        "--statistics",
        "live.json",
        "--",
        "./launches",
        "2",
    ]);
    let recorded = place.voltsim(&["record", "-o", "recorded", "--", "./launches", "2"]);
    assert_eq!((live.status, recorded.status), (0, 0), "{}{}", live.stderr, recorded.stderr);
    assert_eq!((recorded.stdout.as_str(), recorded.stderr.as_str()), (SUM, ""));
    let timed = place.voltsim(&["time", "recorded", "--gpu", "tiny", "--statistics", "timed.json"]);
    assert_eq!(timed.status, 0, "{}", timed.stderr);
    assert!(timed.stdout.starts_with("tiny: "), "{}", timed.stdout);
    let (live, timed) = (launches(place, "live.json"), launches(place, "timed.json"));
    assert!(!live.is_empty());
    // Copies back to the host are in no list, so what L2 holds differs from the second launch on.
    assert_eq!(live[0], timed[0]);
    let names = |launches: &[(String, u64, u64)]| {
        launches.iter().map(|(kernel, issued, _)| (kernel.clone(), *issued)).collect::<Vec<_>>()
    };
    assert_eq!(names(&live), names(&timed));
}

#[test]
fn launches_recorded_for_accel_sim_are_timed_too() {
    let captured = Captured::program();
    let place = &captured.place;
    let options = ["--format", "accelsim", "--only", "launch=1"];
    let arguments = [&["record", "-o", "traces"], &options[..], &["--", "./launches", "2"]].concat();
    assert_eq!(place.voltsim(&arguments).stdout, SUM);
    assert!(place.read("traces/kernel-1.traceg").contains("-kernel name = "));
    let timed = place.voltsim(&["time", "traces/kernelslist.g", "--gpu", "tiny"]);
    assert_eq!(timed.status, 0, "{}", timed.stderr);
    assert!(timed.stdout.starts_with("tiny: 1 launches, "), "{}", timed.stdout);
}

#[test]
fn unwritable_statistics_are_refused_before_timing_starts() {
    let place = Workplace::new();
    place.write("kernel-1.vrec", "damaged");
    let arguments = ["time", "kernel-1.vrec", "--gpu", "tiny", "--statistics", "none/run.json"];
    let outcome = place.voltsim(&arguments);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("none/run.json"), "{}", outcome.stderr);
}

#[test]
fn damaged_or_missing_recording_is_refused_by_name() {
    let place = Workplace::new();
    place.write("kernel-1.vrec", "none");
    place.write("empty.g", "MemcpyHtoD,0x1000,64\n");
    place.write("absent.g", "kernel-7.vrec\n");
    for (given, named) in [
        ("kernel-1.vrec", "kernel-1.vrec"),
        ("empty.g", "names no kernel"),
        ("absent.g", "kernel-7.vrec"),
        (".", "kernelslist.g"),
        ("none.traceg", "none.traceg"),
    ] {
        let outcome = place.voltsim(&["time", given, "--gpu", "tiny"]);
        assert_eq!(outcome.status, 2, "{given}: {}", outcome.stdout);
        assert!(outcome.stderr.contains(named), "{given}: {}", outcome.stderr);
    }
}

/// Pages that launches have walked to, by launch.
fn page_walks(place: &Workplace, file: &str) -> Vec<u64> {
    let statistics: serde_json::Value = serde_json::from_str(&place.read(file)).unwrap();
    let launches = statistics["launches"].as_array().unwrap().iter();
    launches.map(|launch| launch["counters"]["memory.page_walks"].as_u64().unwrap()).collect()
}

#[test]
fn launches_that_are_not_timed_have_used_all_pages() {
    let captured = Captured::program();
    let place = &captured.place;
    let timed = |arguments: &[&str], file: &str| {
        let options = ["--mode", "detailed", "--statistics", file];
        let outcome =
            place.voltsim(&[&arguments[..1], &options, &arguments[1..], &["--", "./launches", "2"]].concat());
        assert_eq!(outcome.status, 0, "{}", outcome.stderr);
        page_walks(place, file)
    };
    let all = timed(&["run"], "all.json");
    assert!(all.len() == 7 && all[0] > 0, "{all:?}");
    assert_eq!(timed(&["run", "--only", "launch=4"], "one.json"), [0]);
    let saved =
        place.voltsim(&["run", "--checkpoint", "kernel=4", "-o", "here.vck", "--", "./launches", "2"]);
    assert_eq!(saved.status, 0, "{}", saved.stderr);
    assert_eq!(timed(&["resume", "here.vck"], "rest.json"), [0; 4]);
}

#[test]
fn registered_memory_has_equal_addresses_in_all_timed_runs() {
    let captured = Captured::bounds();
    let address = || {
        let outcome =
            captured.place.voltsim(&["run", "--mode", "detailed", "--", "./launches", "registered"]);
        assert!(outcome.stdout.starts_with("0x"), "{}", outcome.stderr);
        outcome.stdout
    };
    assert_eq!([address(), address()], [address(), address()]);
}

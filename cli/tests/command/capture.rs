//! `voltsim capture` and `voltsim replay`.

use super::launches::{Captured, SUM, libraries};

#[test]
fn each_launch_becomes_a_folder_and_the_program_runs_as_ever() {
    let captured = Captured::program();
    let outcome = captured.capture(&[]);
    assert_eq!((outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str()), (0, SUM, ""));
    let folders = captured.folders();
    assert_eq!(
        folders,
        [
            "0001-sum_list",
            "0002-remainder",
            "0003-walk",
            "0004-sum_list",
            "0005-remainder",
            "0006-walk",
            "0007-scale"
        ]
    );
}

#[test]
fn only_the_launches_asked_for_are_saved() {
    let captured = Captured::with(&["--only", "kernel=*ma*,launch=3.."]);
    assert_eq!(captured.folders(), ["0005-remainder"]);
}

#[test]
fn a_replay_gives_the_captured_results() {
    let captured = Captured::with(&["--results"]);
    for folder in captured.folders() {
        let outcome = captured.place.voltsim(&["replay", &format!("captured/{folder}")]);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{folder}: {}", outcome.stdout);
        assert!(outcome.stdout.ends_with("the results are the captured ones\n"), "{}", outcome.stdout);
    }
}

#[test]
fn a_replayed_launch_frees_what_a_kernel_has_allocated() {
    let captured = Captured::heap();
    let outcome = captured.capture(&["--results"]);
    assert_eq!((outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str()), (0, "14\n", ""));
    for folder in captured.folders() {
        let outcome = captured.place.voltsim(&["replay", &format!("captured/{folder}")]);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{folder}: {}", outcome.stdout);
    }
}

#[test]
fn indirect_buffers_are_saved_and_variables_keep_names() {
    let captured = Captured::with(&["--only", "launch=4"]);
    let manifest = captured.place.read("captured/0004-sum_list/launch.toml");
    assert_eq!(manifest.matches("[[buffers]]").count(), 5, "{manifest}");
    assert_eq!(manifest.matches("variable = \"launches\"").count(), 1, "{manifest}");
    // The second and third node, and the two pointers among the parameters.
    assert_eq!(manifest.matches("pointers = [\"0\"]").count(), 4, "{manifest}");
}

#[test]
fn a_replay_whose_results_differ_says_where_and_exits_with_1() {
    let captured = Captured::with(&["--results", "--only", "launch=2"]);
    captured.edit("captured/0002-remainder/module.ptx", "rem.s32", "rem.u32");
    let outcome = captured.place.voltsim(&["replay", "captured/0002-remainder"]);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    // numbers[8] = -1: the signed remainder by 5 is -1, the unsigned one 0; numbers[9] is even.
    let line =
        "bytes differ, first at byte 32: captured ff ff ff ff fe ff ff ff, now 00 00 00 00 fe ff ff ff";
    assert!(outcome.stdout.contains(line), "{}", outcome.stdout);
}

#[test]
fn a_launch_that_fails_is_captured_and_fails_again() {
    let captured = Captured::with(&["--results", "--only", "launch=3"]);
    captured.edit("captured/0003-walk/module.ptx", "setp.lt.u64", "setp.le.u64");
    let outcome = captured.place.voltsim(&["replay", "captured/0003-walk"]);
    assert_eq!(outcome.status, 1);
    assert!(
        outcome.stdout.contains("captured CUDA_SUCCESS, now CUDA_ERROR_ILLEGAL_ADDRESS"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn a_folder_in_use_is_refused_before_the_program_starts() {
    let captured = Captured::with(&["--only", "launch=1"]);
    let outcome = captured.capture(&[]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""));
    assert!(outcome.stderr.contains("captured: the folder is not empty\n  remedy: "), "{}", outcome.stderr);
}

#[test]
fn a_selection_that_cannot_be_read_is_refused() {
    let outcome = Captured::program().capture(&["--only", "kernel"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""));
    assert!(outcome.stderr.contains("`kernel` is not a selection of launches"), "{}", outcome.stderr);
    let outcome = Captured::program().capture(&["--only", "ctas=1"]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("`ctas` selects timed CTAs"), "{}", outcome.stderr);
}

#[test]
fn failed_capture_prints_one_message_and_the_program_continues() {
    let captured = Captured::program();
    std::fs::create_dir_all(captured.place.path("captured/0001-sum_list")).unwrap();
    let settings =
        [("VOLTSIM_CAPTURE", captured.place.path("captured")), ("LD_LIBRARY_PATH", libraries().to_owned())];
    let outcome = captured.place.run_with(&captured.place.path("launches"), &["2"], &settings);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, SUM));
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("0001-sum_list exists already; captures no further launches"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_damaged_folder_is_refused_with_the_file_and_a_remedy() {
    let captured = Captured::with(&["--results"]);
    let refused = |status: i32, folder: &str, file: &str| {
        let outcome = captured.place.voltsim(&["replay", folder]);
        assert_eq!((outcome.status, outcome.stdout.contains("ended")), (status, false), "{}", outcome.stdout);
        assert!(outcome.stderr.contains(file) && outcome.stderr.contains("remedy: "), "{}", outcome.stderr);
    };
    refused(2, "captured/none", "captured/none/launch.toml");
    refused(2, "captured", "launch.toml");
    std::fs::remove_file(captured.place.path("captured/0001-sum_list/buffers/1.zst")).unwrap();
    refused(2, "captured/0001-sum_list", "buffers/1.zst");
    captured.place.write("captured/0002-remainder/buffers/0.zst", "garbage");
    refused(2, "captured/0002-remainder", "buffers/0.zst");
    captured.edit("captured/0003-walk/launch.toml", "format = 2", "format = 1");
    refused(2, "captured/0003-walk", "0003-walk/launch.toml has format 1");
    captured.edit("captured/0004-sum_list/module.ptx", "ld.param", "ld.parameter");
    refused(88, "captured/0004-sum_list", "0004-sum_list");
}

#[test]
fn a_library_that_is_no_driver_is_refused() {
    let captured = Captured::with(&["--only", "launch=1"]);
    let outcome = captured.place.voltsim(&["replay", "captured/0001-sum_list", "--library", "./launches"]);
    assert_eq!(outcome.status, 2);
    assert!(
        outcome.stderr.contains("./launches: ") && outcome.stderr.contains("remedy: Name a CUDA driver"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn textures_and_surfaces_are_captured_and_made_anew() {
    let captured = Captured::images();
    assert_eq!(captured.folders(), ["0001-paint", "0002-sample"]);
    let manifest = captured.place.read("captured/0002-sample/launch.toml");
    let count = |text: &str| manifest.matches(text).count();
    // The array of the first texture has one level, that of the second two; the third has no array.
    let counts = (count("[[textures]]"), count("[[images]]"), count("[[images.levels]]"), count("omitted"));
    assert_eq!(counts, (3, 2, 3, 0), "{manifest}");
    assert_eq!(count("objects = [\"0..24\"]"), 1, "{manifest}");
    for folder in captured.folders() {
        let outcome = captured.place.voltsim(&["replay", &format!("captured/{folder}")]);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{folder}: {}", outcome.stdout);
        assert!(outcome.stdout.ends_with("the results are the captured ones\n"), "{}", outcome.stdout);
    }
}

#[test]
fn what_references_are_bound_to_is_bound_again() {
    let captured = Captured::references();
    let outcome = captured.capture(&["--results"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
    for folder in captured.folders() {
        let outcome = captured.place.voltsim(&["replay", &format!("captured/{folder}")]);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{folder}: {}", outcome.stdout);
        assert!(outcome.stdout.ends_with("the results are the captured ones\n"), "{}", outcome.stdout);
    }
    // Without what is bound, nothing is as it was.
    captured.edit("captured/0002-sample/launch.toml", "reference = \"line\"", "reference = \"picture\"");
    let outcome = captured.place.voltsim(&["replay", "captured/0002-sample"]);
    assert_ne!(outcome.status, 0, "{}", outcome.stdout);
}

#[test]
fn what_a_surface_or_a_sampler_changes_is_found_by_a_replay() {
    let captured = Captured::images();
    captured.edit("captured/0001-paint/module.ptx", "shl.b32 %r4, %r1, 1", "shl.b32 %r4, %r1, 2");
    let outcome = captured.place.voltsim(&["replay", "captured/0001-paint"]);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("(array at"), "{}", outcome.stdout);
    captured.edit("captured/0002-sample/launch.toml", "level_filter = 1", "level_filter = 0");
    let outcome = captured.place.voltsim(&["replay", "captured/0002-sample"]);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
}

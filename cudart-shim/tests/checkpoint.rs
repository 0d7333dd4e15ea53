//! Saving and resuming runs with the built libraries.

#![allow(clippy::expect_used, clippy::panic)]

mod common;

use common::steps::{LAUNCHES, Place, command, compiled, steps, text};
use saved_run::{About, Digest, SavedRun, State, StepWriter, Turns, differences};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Output;
use voltsim_checkpoint::atomic_file::Durability;
use voltsim_checkpoint::frame::{FileWriter, Schema};

/// Runs `steps` with arguments and settings.
fn run(arguments: &[&str], settings: &[(&str, &str)]) -> Output {
    let mut command = command(steps());
    command.args(arguments).envs(settings.iter().copied());
    command.output().expect("the program starts")
}

/// Output of a successful run without messages.
fn printed(settings: &[(&str, &str)]) -> String {
    let output = run(&[], settings);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    text(&output.stdout)
}

impl Place {
    /// Runs `steps` and saves it before a launch. Returns the file and the output.
    fn save(&self, launch: u64, settings: &[(&str, &str)]) -> (String, String) {
        self.save_at(&format!("kernel={launch}"), settings)
    }

    /// [`Place::save`] for any point.
    fn save_at(&self, point: &str, settings: &[(&str, &str)]) -> (String, String) {
        let file = self.path(&format!("{point}.vck"));
        let wanted = [("VOLTSIM_CHECKPOINT", point), ("VOLTSIM_CHECKPOINT_FILE", file.as_str())];
        let printed = printed(&[&wanted, settings].concat());
        (file, printed)
    }

    /// Messages of a run of `steps` that cannot resume.
    fn refusal(&self, file: &str, arguments: &[&str], settings: &[(&str, &str)]) -> String {
        let output = run(arguments, &[&[("VOLTSIM_RESUME", file)], settings].concat());
        assert_ne!(output.status.code(), Some(0), "{}", text(&output.stdout));
        text(&output.stderr)
    }
}

#[test]
fn run_resumed_at_any_launch_has_equal_output() {
    let place = Place::new();
    let undisturbed = printed(&[]);
    assert_eq!(undisturbed.lines().last().map(|line| line.split(' ').next()), Some(Some("14")));
    for threads in ["1", "2"] {
        for launch in 1..=LAUNCHES {
            let settings = [("VOLTSIM_THREADS", threads)];
            let (file, saved) = place.save(launch, &settings);
            assert_eq!(saved, undisturbed, "saved at {launch}");
            let resumed = printed(&[settings[0], ("VOLTSIM_RESUME", &file)]);
            assert_eq!(resumed, undisturbed, "resumed at {launch}");
        }
    }
}

/// Saves a run at each point, resumes it, and saves it again before its last launch. The result
/// must equal the checkpoint of the uninterrupted run.
fn same_at_the_last_launch(points: &[&str], settings: &[(&str, &str)]) {
    let place = Place::new();
    let (undisturbed, _) = place.save(LAUNCHES, settings);
    for point in points {
        let (early, _) = place.save_at(point, settings);
        let (late, last) = (place.path("late.vck"), format!("kernel={LAUNCHES}"));
        let wanted = [
            ("VOLTSIM_RESUME", early.as_str()),
            ("VOLTSIM_CHECKPOINT", &last),
            ("VOLTSIM_CHECKPOINT_FILE", &late),
        ];
        printed(&[&wanted, settings].concat());
        let open = |file: &str| SavedRun::open(Path::new(file)).expect("a checkpoint");
        let found = differences(&open(&undisturbed), &open(&late)).expect("both can be read");
        assert_eq!(found, Vec::<String>::new(), "resumed at {point}");
    }
}

#[test]
fn memory_after_resumption_is_identical() {
    same_at_the_last_launch(&["kernel=1", "kernel=5", "kernel=8", "kernel=12"], &[]);
}

#[test]
fn two_runs_give_identical_checkpoints() {
    let place = Place::new();
    let (file, _) = place.save(9, &[]);
    let first = std::fs::read(&file).expect("a checkpoint");
    place.save(9, &[]);
    assert!(std::fs::read(&file).expect("a checkpoint") == first);
}

#[test]
fn execution_counts_include_launches_before_the_point() {
    let place = Place::new();
    let counts = |settings: &[(&str, &str)]| {
        let file = place.path("summary.json");
        printed(&[settings, &[("VOLTSIM_SUMMARY", file.as_str())]].concat());
        let summary: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&file).expect("a summary")).expect("JSON");
        let kernels = summary["kernels"].as_array().expect("kernels").clone();
        kernels
            .iter()
            .map(|kernel| {
                (kernel["name"].clone(), kernel["launches"].clone(), kernel["warp_instructions"].clone())
            })
            .collect::<Vec<_>>()
    };
    let (file, _) = place.save(8, &[]);
    assert_eq!(counts(&[("VOLTSIM_RESUME", &file)]), counts(&[]));
}

#[test]
fn differing_argument_stops_the_run_at_the_launch() {
    let place = Place::new();
    let (file, _) = place.save(8, &[]);
    let said = place.refusal(&file, &["2"], &[]);
    assert!(
        said.contains("launch 2, kernel add") && said.contains(&file) && said.contains("remedy"),
        "{said}"
    );
    let said = place.refusal(&file, &["8"], &[]);
    assert!(said.contains("launch 8, kernel add"), "{said}");
}

#[test]
fn differing_arguments_can_be_allowed_with_a_warning() {
    let place = Place::new();
    let (file, _) = place.save(8, &[]);
    let output = run(&["2"], &[("VOLTSIM_RESUME", &file), ("VOLTSIM_RESUME_ANY_ARGUMENTS", "1")]);
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(0) && said.contains("launch 2, kernel add"), "{said}");
    assert_eq!(text(&output.stdout), text(&run(&[], &[]).stdout), "what was saved counts");
}

#[test]
fn differing_copy_or_allocation_stops_the_run() {
    let place = Place::new();
    let (file, _) = place.save(8, &[]);
    let said = place.refusal(&file, &["2", "copy"], &[]);
    assert!(said.contains("copy of [4, 1, 1]"), "{said}");
    let said = place.refusal(&file, &["3", "allocate"], &[]);
    assert!(said.contains("diverged from the saved run"), "{said}");
}

#[test]
fn differing_wait_stops_all_execution() {
    let place = Place::new();
    let (file, _) = place.save(9, &[]);
    let said = place.refusal(&file, &["7", "wait"], &[]);
    assert!(said.contains("wait for the word at"), "{said}");
}

#[test]
fn host_address_in_arguments_may_differ() {
    let place = Place::new();
    let (file, _) = place.save(8, &[]);
    let output = run(&["2", "elsewhere"], &[("VOLTSIM_RESUME", &file)]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), text(&run(&[], &[]).stdout));
}

#[test]
fn launch_failure_before_the_point_is_repeated() {
    let place = Place::new();
    let (program, file) = (compiled("trap"), place.path("here.vck"));
    let printed = |settings: &[(&str, &str)]| {
        let output = command(&program).envs(settings.iter().copied()).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    for point in ["kernel=3", "kernel=4"] {
        let saved = printed(&[("VOLTSIM_CHECKPOINT", point), ("VOLTSIM_CHECKPOINT_FILE", &file)]);
        assert_eq!(saved, "0 0 2\n719 719 7\n0 0 4\n0 0 5\n");
        assert_eq!(printed(&[("VOLTSIM_RESUME", &file)]), saved, "{point}");
    }
}

#[test]
fn program_may_differ_after_the_point() {
    let place = Place::new();
    let (file, _) = place.save(7, &[]);
    let output = run(&["8"], &[("VOLTSIM_RESUME", &file)]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), text(&run(&["8"], &[]).stdout));
}

#[test]
fn checkpoint_of_another_program_device_or_setting_is_rejected() {
    let place = Place::new();
    let (file, _) = place.save(3, &[]);
    let said = place.refusal(&file, &[], &[("VOLTSIM_FMAD", "0")]);
    assert!(said.contains("VOLTSIM_FMAD"), "{said}");
    let said = place.refusal(&file, &[], &[("VOLTSIM_DEVICES", "2")]);
    assert!(said.contains("2 x"), "{said}");
    let said = place.refusal(&file, &[], &[("VOLTSIM_DEVICE", "h100")]);
    assert!(said.contains("H100"), "{said}");
    let mut other = command(&compiled("timed"));
    let output = other.env("VOLTSIM_RESUME", &file).output().expect("the program starts");
    let said = text(&output.stderr);
    assert!(output.status.code() != Some(0) && said.contains("steps") && said.contains("timed"), "{said}");
}

/// A copy of a file with an extra byte at the end, which affects no program or library.
fn lengthened(place: &Place, file: &Path) -> PathBuf {
    let folder = place.folder.path().join("other");
    std::fs::create_dir_all(&folder).expect("a folder");
    let longer = folder.join(file.file_name().expect("a name"));
    std::fs::copy(file, &longer).expect("a copy");
    let mut end = std::fs::OpenOptions::new().append(true).open(&longer).expect("it can be written");
    end.write_all(b"x").expect("it is written");
    longer
}

#[test]
fn checkpoint_of_another_library_needs_any_program() {
    let place = Place::new();
    let (program, library) = (compiled("plugin"), common::library("adder").expect("it compiles"));
    let file = place.path("here.vck");
    let run = |library: &Path, settings: &[(&str, &str)]| {
        let output = command(&program).arg(library).envs(settings.iter().copied()).output();
        let output = output.expect("the program starts");
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let save = [("VOLTSIM_CHECKPOINT", "kernel=3"), ("VOLTSIM_CHECKPOINT_FILE", &file)];
    let undisturbed = (Some(0), "9 3\n".to_owned(), String::new());
    assert_eq!(run(&library, &save), undisturbed);
    let resume = [("VOLTSIM_RESUME", file.as_str())];
    assert_eq!(run(&library, &resume), undisturbed);

    let other = lengthened(&place, &library);
    let (status, _, said) = run(&other, &resume);
    assert_ne!(status, Some(0), "{said}");
    let digests = [&library, &other].map(|file| Digest::of_file(file).expect("readable").to_string());
    for told in
        [library.to_str(), other.to_str(), Some(&digests[0]), Some(&digests[1]), Some("--any-program")]
    {
        assert!(said.contains(told.expect("a name in UTF-8")), "{told:?}: {said}");
    }
    let (status, printed, said) = run(&other, &[resume[0], ("VOLTSIM_RESUME_ANY_PROGRAM", "1")]);
    assert_eq!((status, printed), (Some(0), "9 3\n".to_owned()));
    assert_eq!(said.matches(other.to_str().expect("a name in UTF-8")).count(), 1, "{said}");
}

#[test]
fn checkpoint_of_another_program_needs_any_program() {
    let place = Place::new();
    let (file, undisturbed) = place.save(3, &[]);
    let other = lengthened(&place, steps());
    let resume = |arguments: &[&str], any: &str| {
        let mut command = command(&other);
        let command =
            command.args(arguments).env("VOLTSIM_RESUME", &file).env("VOLTSIM_RESUME_ANY_PROGRAM", any);
        command.output().expect("the program starts")
    };
    let refused = resume(&[], "0");
    let said = text(&refused.stderr);
    assert!(refused.status.code() != Some(0) && said.contains(other.to_str().expect("UTF-8")), "{said}");
    let output = resume(&[], "1");
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), undisturbed), "{said}");
    assert!(said.contains("resuming nevertheless"), "{said}");
    let output = resume(&["2"], "1");
    assert!(output.status.code() != Some(0) && text(&output.stderr).contains("launch 2"));
}

#[test]
fn checkpoint_of_an_older_version_is_rejected() {
    let place = Place::new();
    let file = place.path("old.vck");
    let mut writer = FileWriter::create(Path::new(&file), 1).expect("a file");
    writer.begin("about", Schema::of("saved run, about, version 2")).expect("a section");
    writer.finish(Durability::Synced).expect("it is written");
    let said = place.refusal(&file, &[], &[]);
    assert!(said.contains("old.vck") && said.contains("section about has version 2"), "{said}");
    assert!(said.contains("voltsim checkpoint convert"), "{said}");
}

#[test]
fn checkpoint_of_another_build_is_rejected() {
    let place = Place::new();
    let (file, _) = place.save(3, &[]);
    let saved = SavedRun::open(Path::new(&file)).expect("a checkpoint");
    let about = saved.about().expect("whose it is");
    let other = About { engine: Digest::of(b"another build"), ..about.clone() };
    let (models, kernels, turns) = (&BTreeMap::new(), &BTreeMap::new(), &Turns::default());
    let (devices, memories, requests) = (&[], &[], &BTreeMap::new());
    let state = State { about: &other, devices, memories, models, kernels, launch: None, turns, requests };
    let mut steps = StepWriter::in_folder(place.folder.path()).expect("a folder");
    saved_run::write(Path::new(&file), &mut steps, state, None).expect("it is written");
    let said = place.refusal(&file, &[], &[]);
    let builds = [other.engine, about.engine].map(|engine| engine.to_string());
    assert!(said.contains("another build of Voltsim"), "{said}");
    assert!(said.contains("voltsim checkpoint convert"), "{said}");
    assert!(builds.iter().all(|build| said.contains(build.as_str())), "{said}");
}

#[test]
fn run_saved_inside_a_launch_resumes_there() {
    let place = Place::new();
    let undisturbed = printed(&[]);
    for point in [
        "kernel=2,cta=10",
        "kernel=2,cta=10,ctas=5,instructions=20",
        "kernel=4,instructions=9",
        "kernel=7,cta=0,ctas=64,instructions=30",
        "kernel=10,instructions=5",
        "kernel=13,cta=63,ctas=9,instructions=1000",
    ] {
        for threads in ["1", "2"] {
            let settings = [("VOLTSIM_THREADS", threads)];
            let (file, saved) = place.save_at(point, &settings);
            assert_eq!(saved, undisturbed, "saved at {point}");
            let resumed = printed(&[settings[0], ("VOLTSIM_RESUME", &file)]);
            assert_eq!(resumed, undisturbed, "resumed at {point}");
        }
    }
}

#[test]
fn resuming_inside_a_launch_keeps_later_checkpoints() {
    let points = ["kernel=4,instructions=9", "kernel=6,instructions=7", "kernel=10,instructions=5"];
    same_at_the_last_launch(&points, &[]);
}

#[test]
fn each_checkpoint_of_a_series_resumes() {
    let place = Place::new();
    let undisturbed = printed(&[]);
    let folder = place.path("series");
    std::fs::create_dir(&folder).expect("a folder");
    let settings = [("VOLTSIM_CHECKPOINT_EVERY", "4"), ("VOLTSIM_CHECKPOINT_FILE", folder.as_str())];
    assert_eq!(printed(&settings), undisturbed);
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).expect("the folder").map(|file| file.expect("a file").path()).collect();
    files.sort();
    let names: Vec<_> = files.iter().filter_map(|file| file.file_name()?.to_str()).collect();
    assert_eq!(names, ["000005.vck", "000009.vck", "000013.vck"]);
    for file in &files {
        let resumed = printed(&[("VOLTSIM_RESUME", file.to_str().expect("a name in UTF-8"))]);
        assert_eq!(resumed, undisturbed, "{}", file.display());
    }
    let last = SavedRun::open(&files[2]).expect("a checkpoint");
    last.verify().expect("it is whole");
    assert!(!last.bases().expect("its bases").is_empty());
    std::fs::remove_file(&files[0]).expect("the first can be removed");
    let said = place.refusal(files[2].to_str().expect("a name in UTF-8"), &[], &[]);
    assert!(said.contains("000005.vck"), "{said}");
}

#[test]
fn point_past_the_last_cta_is_reported() {
    let place = Place::new();
    let file = place.path("run.vck");
    let point = [("VOLTSIM_CHECKPOINT", "kernel=2,cta=64"), ("VOLTSIM_CHECKPOINT_FILE", &file)];
    let output = run(&[], &point);
    let said = text(&output.stderr);
    assert!(said.contains(&file) && said.contains("CTA 64") && said.contains("has 64"), "{said}");
    assert_eq!(text(&output.stdout), printed(&[]));
    assert!(!Path::new(&file).exists());
}

/// A timing model that writes statistics to a file.
fn modelled(file: &str) -> [(&str, &str); 3] {
    [("VOLTSIM_MODE", "detailed"), ("VOLTSIM_GPU", "tiny"), ("VOLTSIM_STATISTICS", file)]
}

#[test]
fn resumed_timed_run_has_identical_statistics() {
    let place = Place::new();
    let file = place.path("run.json");
    let statistics = |settings: &[(&str, &str)]| {
        let printed = printed(&[&modelled(&file)[..], settings].concat());
        (printed, std::fs::read_to_string(&file).expect("statistics"))
    };
    let undisturbed = statistics(&[("VOLTSIM_THREADS", "1")]);
    for (launch, threads) in [(2, "1"), (7, "2"), (LAUNCHES, "1")] {
        let (saved, _) = place.save(launch, &modelled(&file));
        let resumed = statistics(&[("VOLTSIM_RESUME", &saved), ("VOLTSIM_THREADS", threads)]);
        assert!(resumed == undisturbed, "resumed at {launch}");
    }
}

/// Cycles of each launch of a timed run, from its statistics.
fn cycles(statistics: &str) -> Vec<u64> {
    let all: serde_json::Value = serde_json::from_str(statistics).expect("JSON");
    let launches = all["launches"].as_array().expect("launches");
    launches.iter().map(|launch| launch["cycles"].as_u64().expect("cycles")).collect()
}

#[test]
fn timed_run_saved_inside_a_launch_has_identical_statistics() {
    let place = Place::new();
    let file = place.path("run.json");
    let statistics = || std::fs::read_to_string(&file).expect("statistics");
    let settings = |threads| [&modelled(&file)[..], &[("VOLTSIM_THREADS", threads)]].concat();
    let undisturbed = (printed(&settings("1")), statistics());
    let cycles = cycles(&undisturbed.1);
    let mut points: Vec<String> =
        ["kernel=1,cycle=0", "kernel=8,cta=20", "kernel=13,cta=0"].map(String::from).into();
    // Arbitrary cycles in each launch.
    points.extend((1..).zip(&cycles).map(|(launch, cycles)| {
        let cycle = cycles * (launch * 37 % 97) / 97;
        format!("kernel={launch},cycle={}", cycle.min(cycles.saturating_sub(1100)))
    }));
    for (point, threads) in points.iter().zip(["1", "2"].into_iter().cycle()) {
        let (saved, printed_when_saved) = place.save_at(point, &settings(threads));
        assert!((printed_when_saved, statistics()) == undisturbed, "saved at {point}");
        let other = if threads == "1" { "2" } else { "1" };
        let resumed = printed(&[&settings(other)[..], &[("VOLTSIM_RESUME", &saved)]].concat());
        assert!((resumed, statistics()) == undisturbed, "resumed at {point}");
    }
}

#[test]
fn resuming_inside_a_timed_launch_restores_memory_and_model() {
    let place = Place::new();
    let file = place.path("run.json");
    same_at_the_last_launch(&["kernel=2,cycle=1200", "kernel=8,cta=9"], &modelled(&file));
}

#[test]
fn timed_checkpoint_needs_equal_mode_selection_and_gpu() {
    let place = Place::new();
    let statistics = place.path("run.json");
    let settings = modelled(&statistics);
    let (saved, _) = place.save_at("kernel=2,cycle=1200", &settings);
    let others: [(&[(&str, &str)], &str); 4] = [
        (&[("VOLTSIM_MODE", "functional")], "mode functional"),
        (&[("VOLTSIM_RESUME_COLD", "1")], "--cold"),
        (&[("VOLTSIM_ONLY", "launch=3")], "none or only part of it"),
        (&[("VOLTSIM_SET", "l1.sets=8")], "l1.sets"),
    ];
    for (other, named) in others {
        let said = place.refusal(&saved, &[], &[&settings[..], other].concat());
        assert!(said.contains(named) && said.contains("remedy"), "{named}: {said}");
    }
}

#[test]
fn unreachable_timed_point_is_reported() {
    let place = Place::new();
    let (statistics, file) = (place.path("run.json"), place.path("run.vck"));
    let undisturbed = printed(&[]);
    let cases = [
        ("kernel=2,cycle=100000000", None, "completed before that cycle"),
        ("kernel=2,cta=64", None, "all 64 CTAs completed"),
        ("kernel=2,cycle=10", Some(("VOLTSIM_ONLY", "launch=3")), "not timed"),
    ];
    for (point, more, named) in cases {
        let wanted = [("VOLTSIM_CHECKPOINT", point), ("VOLTSIM_CHECKPOINT_FILE", file.as_str())];
        let output = run(&[], &[&modelled(&statistics)[..], &wanted, more.as_slice()].concat());
        let said = text(&output.stderr);
        assert!(said.contains(&file) && said.contains(named), "{point}: {said}");
        assert_eq!(text(&output.stdout), undisturbed);
        assert!(!Path::new(&file).exists());
    }
}

#[test]
fn point_of_the_wrong_mode_is_reported_with_a_remedy() {
    let place = Place::new();
    let (statistics, file) = (place.path("run.json"), place.path("run.vck"));
    let cases: [(&str, &[(&str, &str)]); 2] =
        [("kernel=2,cycle=10", &[]), ("kernel=2,ctas=3,instructions=4", &modelled(&statistics))];
    for (point, settings) in cases {
        let wanted = [("VOLTSIM_CHECKPOINT", point), ("VOLTSIM_CHECKPOINT_FILE", file.as_str())];
        let output = run(&[], &[&wanted, settings].concat());
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()));
        assert!(said.contains("timed") && said.contains("remedy"), "{said}");
    }
}

#[test]
fn functional_checkpoint_resumes_with_timing() {
    let place = Place::new();
    let undisturbed = printed(&[]);
    for (point, first, ctas) in [("kernel=7", 7, 64), ("kernel=7,cta=60,ctas=2,instructions=9", 7, 4)] {
        let (saved, _) = place.save_at(point, &[]);
        let file = place.path("run.json");
        // The GPU has as many SMs as the program's device in the saved run.
        let settings =
            [&modelled(&file)[..], &[("VOLTSIM_GPU", "titan-v"), ("VOLTSIM_RESUME", &saved)]].concat();
        assert_eq!(printed(&settings), undisturbed);
        let bytes = std::fs::read(&file).expect("statistics");
        let all: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
        let launches = all["launches"].as_array().expect("launches");
        let numbers: Vec<_> = launches.iter().filter_map(|launch| launch["launch"].as_u64()).collect();
        assert_eq!(numbers, (first..=LAUNCHES).collect::<Vec<_>>());
        // Each CTA of `add` has eight warps of about twenty instructions.
        let issued = launches[0]["warp_instructions"].as_u64().expect("a number");
        assert!(issued <= ctas * 8 * 24 && issued >= ctas * 8 * 8, "{point}: {issued}");
    }
}

#[test]
fn checkpoint_of_another_gpu_is_rejected_by_key() {
    let place = Place::new();
    let statistics = place.path("run.json");
    let (saved, _) = place.save(3, &modelled(&statistics));
    let other = [&modelled(&statistics)[..], &[("VOLTSIM_SET", "l1.sets=8")]].concat();
    let said = place.refusal(&saved, &[], &other);
    assert!(said.contains("l1.sets"), "{said}");
}

#[test]
fn invalid_point_and_unwritable_file_are_reported() {
    let place = Place::new();
    let (nowhere, folder) = (place.path("none/run.vck"), place.path("none"));
    for (point, file, named) in
        [("kernel=x", "x.vck", "kernel=x"), ("kernel=2", nowhere.as_str(), folder.as_str())]
    {
        let output = run(&[], &[("VOLTSIM_CHECKPOINT", point), ("VOLTSIM_CHECKPOINT_FILE", file)]);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()));
        assert!(text(&output.stderr).contains(named), "{}", text(&output.stderr));
    }
}

#[test]
fn program_can_be_ended_at_the_point() {
    let place = Place::new();
    let file = place.path("run.vck");
    let output = run(
        &[],
        &[
            ("VOLTSIM_CHECKPOINT", "kernel=3"),
            ("VOLTSIM_CHECKPOINT_FILE", &file),
            ("VOLTSIM_CHECKPOINT_STOP", "1"),
        ],
    );
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout).lines().count(), 2);
    assert!(text(&output.stderr).contains("ending the program"));
    assert_eq!(printed(&[("VOLTSIM_RESUME", &file)]), printed(&[]));
}

#[test]
fn truncation_and_bit_flips_are_detected() {
    let place = Place::new();
    let (file, _) = place.save(6, &[]);
    let bytes = std::fs::read(&file).expect("a checkpoint");
    let damaged = place.path("damaged.vck");
    let verify = |bytes: &[u8]| {
        std::fs::write(&damaged, bytes).expect("a file");
        SavedRun::open(Path::new(&damaged)).and_then(|saved| saved.verify())
    };
    verify(&bytes).expect("it is whole");
    for length in (0..bytes.len()).step_by(bytes.len() / 400 + 1) {
        assert!(verify(&bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
    }
    for index in (0..bytes.len()).step_by(bytes.len() / 800 + 1) {
        let mut flipped = bytes.clone();
        flipped[index] ^= 1 << (index % 8);
        assert!(verify(&flipped).is_err(), "bit {} of byte {index}", index % 8);
    }
}

#[test]
fn damaged_checkpoint_is_not_resumed() {
    let place = Place::new();
    for point in ["kernel=6", "kernel=7,cta=0,ctas=64,instructions=30"] {
        let (file, _) = place.save_at(point, &[]);
        let bytes = std::fs::read(&file).expect("a checkpoint");
        let damaged = place.path("damaged.vck");
        for _ in 0..8 {
            // Different positions in each test run.
            let drawn = RandomState::new().build_hasher().finish() as usize;
            let (index, bit) = (drawn / 16 % bytes.len(), drawn % 8);
            let mut flipped = bytes.clone();
            flipped[index] ^= 1 << bit;
            for (what, contents) in [("before", &bytes[..index]), ("with another bit at", &flipped[..])] {
                std::fs::write(&damaged, contents).expect("a file");
                let output = run(&[], &[("VOLTSIM_RESUME", &damaged)]);
                let said = text(&output.stderr);
                let refused = output.status.code().is_some_and(|status| (1..100).contains(&status));
                assert!(
                    refused && said.contains("damaged.vck"),
                    "{point}, {what} byte {index}, bit {bit}: {said}"
                );
            }
        }
    }
}

//! Saved and resumed runs of a program whose kernels receive uninitialised arguments by value.

#![allow(clippy::expect_used, clippy::panic)]

mod common;

use saved_run::{SavedRun, differences};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;
use tempfile::TempDir;

/// Contents of the unwritten part of the list, in two runs.
const NOISE: [&str; 2] = ["17", "99"];

/// A timing model that writes its statistics to a file.
const MODELLED: [(&str, &str); 3] = [
    ("VOLTSIM_MODE", "detailed"),
    ("VOLTSIM_GPU", "tiny"),
    ("VOLTSIM_STATISTICS", concat!(env!("CARGO_TARGET_TMPDIR"), "/arguments.json")),
];

/// Runs `lists`.
fn run(arguments: &[&str], settings: &[(&str, &str)]) -> Output {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings/lists.c");
        common::compile(&source).expect("the program compiles")
    });
    let mut command = common::command(program);
    command.args(arguments).envs(settings.iter().copied());
    command.output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Output of a successful run without messages.
fn printed(arguments: &[&str], settings: &[(&str, &str)]) -> String {
    let output = run(arguments, settings);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    text(&output.stdout)
}

/// A run saved with the first noise.
struct Saved {
    folder: TempDir,
    file: String,
}

impl Saved {
    fn at(point: &str, settings: &[(&str, &str)]) -> Saved {
        let folder = tempfile::tempdir().expect("a folder");
        let saved = Saved { file: path(&folder, "run.vck"), folder };
        let wanted = [("VOLTSIM_CHECKPOINT", point), ("VOLTSIM_CHECKPOINT_FILE", &saved.file)];
        printed(&[NOISE[0]], &[&wanted, settings].concat());
        saved
    }

    /// Messages of a run that cannot resume.
    fn refusal(&self, arguments: &[&str]) -> String {
        let output = run(arguments, &[("VOLTSIM_RESUME", &self.file)]);
        assert_ne!(output.status.code(), Some(0), "{}", text(&output.stdout));
        text(&output.stderr)
    }
}

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_str().expect("a name in UTF-8").to_owned()
}

#[test]
fn unread_bytes_may_differ() {
    for settings in [&[][..], &MODELLED] {
        for point in ["kernel=1", "kernel=2", "kernel=5", "kernel=6"] {
            let saved = Saved::at(point, settings);
            let resumed = printed(&[NOISE[1]], &[settings, &[("VOLTSIM_RESUME", &saved.file)]].concat());
            assert_eq!(resumed, printed(&[NOISE[1]], &[]), "saved at {point}");
        }
    }
}

#[test]
fn differing_read_byte_stops_the_run_at_the_launch() {
    for settings in [&[][..], &MODELLED] {
        let saved = Saved::at("kernel=5", settings);
        for launch in ["1", "3", "4"] {
            let output = run(&[NOISE[0], launch], &[settings, &[("VOLTSIM_RESUME", &saved.file)]].concat());
            let said = text(&output.stderr);
            assert!(output.status.code() != Some(0), "{}", text(&output.stdout));
            assert!(said.contains(&format!("launch {launch}, kernel scale")), "{said}");
        }
    }
}

#[test]
fn arguments_of_the_launch_at_the_point_may_differ() {
    let saved = Saved::at("kernel=5", &[]);
    let arguments = [NOISE[1], "5"];
    assert_eq!(printed(&arguments, &[("VOLTSIM_RESUME", &saved.file)]), printed(&arguments, &[]));
}

#[test]
fn all_bytes_count_for_a_launch_saved_inside() {
    let saved = Saved::at("kernel=3,cta=1", &[]);
    let said = saved.refusal(&[NOISE[1]]);
    assert!(said.contains("launch 3, kernel scale") && said.contains("--any-arguments"), "{said}");
    let resumed = printed(&[NOISE[0]], &[("VOLTSIM_RESUME", &saved.file)]);
    assert_eq!(resumed, printed(&[NOISE[0]], &[]));
}

#[test]
fn noise_does_not_change_a_second_checkpoint() {
    let (early, undisturbed) = (Saved::at("kernel=3", &[]), Saved::at("kernel=6", &[]));
    let late = path(&early.folder, "late.vck");
    let wanted = [
        ("VOLTSIM_RESUME", early.file.as_str()),
        ("VOLTSIM_CHECKPOINT", "kernel=6"),
        ("VOLTSIM_CHECKPOINT_FILE", &late),
    ];
    printed(&[NOISE[1]], &wanted);
    let open = |file: &str| SavedRun::open(Path::new(file)).expect("a checkpoint");
    let mut found = differences(&open(&undisturbed.file), &open(&late)).expect("both can be read");
    // The noise is an argument of the program.
    found.retain(|difference| !difference.starts_with("first:  program"));
    assert_eq!(found, Vec::<String>::new());
}

//! Outputs of all commands: old or new but whole, and an exit status where one could not be written.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use super::launches::{Captured, SUM};
use super::{Outcome, Workplace};

/// Exit status of a run that succeeded but for an output.
const UNWRITTEN: i32 = 89;

impl Workplace {
    /// Runs the command where no file may grow beyond some blocks of 512 bytes, as if the disk were full.
    fn voltsim_in(&self, blocks: u32, arguments: &[&str]) -> Outcome {
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let shell = ["-c", &script, "sh", env!("CARGO_BIN_EXE_voltsim")];
        self.run(Path::new("sh"), &[&shell, arguments].concat())
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Options of `run` with a file, and what the file has to be named.
const FILES: [(&[&str], &str); 6] = [
    (&["--mode", "detailed", "--statistics"], "s.json"),
    (&["--mode", "detailed", "--statistics"], "s.parquet"),
    (&["--summary"], "sum.json"),
    (&["--checksums"], "sums"),
    (&["--image"], "all.vks"),
    (&["--check", "memory", "--check-report"], "report"),
];

#[test]
fn a_full_disk_leaves_the_old_file_and_gives_status_89() {
    let place = Captured::program().place;
    for (options, file) in &FILES[..5] {
        place.write(file, "old");
        let arguments = [&["run"], *options, &[file, "--", "./launches", "2"]].concat();
        let outcome = place.voltsim_in(0, &arguments);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (UNWRITTEN, SUM), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(file) && outcome.stderr.contains("89"), "{}", outcome.stderr);
        assert_eq!(place.read(file), "old");
        let outcome = place.voltsim(&arguments);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (0, SUM), "{}", outcome.stderr);
        assert_ne!(place.read_bytes(file), b"old");
    }
    assert!(place.names(".").iter().all(|name| !name.starts_with(".voltsim")), "{:?}", place.names("."));
}

#[test]
fn folders_and_logs_that_cannot_be_written_give_status_89() {
    let place = Captured::program().place;
    let program = ["--", "./launches", "2"];
    for (number, options) in [
        &["run", "--checkpoint-every", "1", "-o"][..],
        &["run", "--checkpoint", "kernel=2", "-o"],
        &["capture", "-o"],
        &["record", "-o"],
        &["run", "--log"],
    ]
    .into_iter()
    .enumerate()
    {
        let output = format!("output-{number}");
        let outcome = place.voltsim_in(0, &[options, &[&output], &program].concat());
        assert_eq!((outcome.status, outcome.stdout.as_str()), (UNWRITTEN, SUM), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(&output), "{}", outcome.stderr);
    }
}

#[test]
fn unwritable_output_is_refused_before_the_program_starts() {
    super::launches::libraries();
    let place = Workplace::new();
    for (options, _) in FILES.into_iter().chain([(&["--log"][..], "")]) {
        for file in ["none/s.json", ".", "/proc/s.json"] {
            let outcome = place.voltsim(&[&["run"], options, &[file, "--", "touch", "started"]].concat());
            assert_eq!(outcome.status, 2, "{options:?} {file}: {}", outcome.stderr);
            assert!(outcome.stderr.contains(file), "{}", outcome.stderr);
        }
    }
    assert!(!place.path("started").exists());
}

#[test]
fn an_ending_without_a_form_is_refused_with_those_that_have_one() {
    super::launches::libraries();
    let place = Workplace::new();
    let run = ["run", "--mode", "detailed", "--statistics", "s.html", "--", "touch", "started"];
    for arguments in [&run[..], &["time", "--statistics", "s.html", "kernel.vrec"]] {
        let outcome = place.voltsim(arguments);
        assert_eq!(outcome.status, 2);
        assert!(
            outcome.stderr.contains("s.html") || outcome.stderr.contains("kernel.vrec"),
            "{}",
            outcome.stderr
        );
    }
    assert!(place.voltsim(&run).stderr.contains(".ncu.csv"));
    assert!(!place.path("started").exists() && !place.path("s.html").exists());
}

#[test]
fn a_program_that_writes_no_output_is_told_with_status_89() {
    super::launches::libraries();
    let place = Workplace::new();
    let outcome = place.voltsim(&["run", "--summary", "sum.json", "--", "true"]);
    assert_eq!(outcome.status, UNWRITTEN);
    assert!(outcome.stderr.contains("sum.json was not written"), "{}", outcome.stderr);
    let outcome = place.voltsim(&["run", "--summary", "sum.json", "--", "false"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (1, ""));
}

#[test]
fn commands_of_their_own_leave_the_old_file_on_a_full_disk() {
    let place = Captured::program().place;
    assert_eq!(place.voltsim(&["record", "-o", "recorded", "--", "./launches"]).status, 0);
    place.write("module.ptx", super::launches::KERNELS);
    for arguments in [
        &["time", "--statistics", "out.json", "recorded"][..],
        &["instrument", "--kernel", "scale", "-o", "out.json", "module.ptx"],
    ] {
        place.write("out.json", "old");
        let outcome = place.voltsim_in(0, arguments);
        assert_eq!(outcome.status, UNWRITTEN, "{arguments:?}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains("out.json") && outcome.stderr.contains("remedy"),
            "{}",
            outcome.stderr
        );
        assert_eq!(place.read("out.json"), "old");
    }
}

#[test]
fn a_signal_to_the_command_ends_both_and_leaves_statistics() {
    let place = Captured::program().place;
    let mut child = Command::new(env!("CARGO_BIN_EXE_voltsim"))
        .args(["run", "--mode", "detailed", "--statistics", "s.json", "--", "./launches", "100000"])
        .current_dir(place.folder.path())
        .env("VOLTSIM_CACHE", "off")
        .spawn()
        .unwrap();
    sleep(Duration::from_secs(3));
    assert!(child.try_wait().unwrap().is_none(), "the program has ended by itself");
    let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    let statistics: serde_json::Value = serde_json::from_str(&place.read("s.json")).unwrap();
    assert_eq!(statistics["partial"], "ended by SIGTERM");
    let launches = statistics["launches"].as_array().unwrap().len() as u64;
    assert_eq!(statistics["total"]["launches"], launches);
    assert!(launches > 0);
}

#[test]
fn statistics_survive_a_default_action_set_at_exit() {
    for argument in [&[][..], &["signal"]] {
        let place = Captured::interrupted().place;
        let run = ["run", "--mode", "detailed", "--statistics", "s.json", "--", "./launches"];
        let status = Command::new(env!("CARGO_BIN_EXE_voltsim"))
            .args(run.iter().chain(argument))
            .current_dir(place.folder.path())
            .env("VOLTSIM_CACHE", "off")
            .status()
            .unwrap();
        assert_eq!(status.signal(), Some(2), "{status}");
        let statistics: serde_json::Value = serde_json::from_str(&place.read("s.json")).unwrap();
        assert_eq!(statistics["partial"], "ended by SIGINT");
        assert_eq!(statistics["total"]["launches"], 1);
    }
}

#[test]
fn what_killed_runs_leave_in_a_folder_is_cleared_by_the_next() {
    let place = Captured::program().place;
    for options in [&["run", "--checkpoint-every", "1", "-o"][..], &["capture", "-o"], &["record", "-o"]] {
        let folder = format!("of-{}", options[0]);
        fs::create_dir_all(place.path(&folder)).unwrap();
        place.write(&format!("{folder}/.voltsim-0123-000002.vck"), "half");
        fs::create_dir(place.path(&format!("{folder}/.voltsim-0123-0001-k"))).unwrap();
        let outcome = place.voltsim(&[options, &[&folder, "--", "./launches", "2"]].concat());
        assert_eq!((outcome.status, outcome.stdout.as_str()), (0, SUM), "{}", outcome.stderr);
        assert!(place.names(&folder).iter().all(|name| !name.starts_with('.')), "{:?}", place.names(&folder));
        let again = place.voltsim(&[options, &[&folder, "--", "./launches", "2"]].concat());
        assert_eq!(again.status, 2, "whole files stay");
    }
    place.write("of-run/.voltsim-0123-000009.vck", "half");
    let outcome = place.voltsim(&["checkpoint", "convert", "of-run", "-o", "new"]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    assert!(place.names("new").iter().all(|name| !name.starts_with('.')));
}

//! Output files of the libraries: complete however the process ends, with write errors reported.

#![allow(clippy::expect_used)]

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;

use common::steps::{Place, compiled, text};
use saved_run::outputs::Outcome;
use serde_json::Value;

const SIGNALS: [(&str, i32); 3] = [("HUP", 1), ("INT", 2), ("TERM", 15)];

/// Statistics formats and their marks of an interrupted run.
const FORMS: [(&str, &str); 5] = [
    ("s.json", "\"partial\": \"ended by SIGTERM\""),
    ("s.csv", "all (partial: ended by SIGTERM)"),
    ("s.ncu.csv", "==WARNING== Partial: ended by SIGTERM"),
    ("s.gpgpusim", "partial: ended by SIGTERM"),
    ("s.txt", "partial: ended by SIGTERM after 3 launches"),
];

/// The program `waits`. All tests share one executable, since a checkpoint identifies it.
fn waits() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| compiled("waits"))
}

impl Place {
    /// A command for `waits` with these output variables set to files in this place.
    fn waits(&self, arguments: &str, outputs: &[(&str, &str)]) -> Command {
        // Resets signals that the parent may ignore, as under `nohup`.
        let mut command = common::command(Path::new("env"));
        command
            .arg("--default-signal=HUP,INT,TERM")
            .arg(waits())
            .args(arguments.split(' '))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (variable, file) in outputs {
            let value = if variable.ends_with("MODE") { (*file).to_owned() } else { self.path(file) };
            command.env(variable, value);
        }
        command
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).expect("the file")
    }

    fn json(&self, file: &str) -> Value {
        serde_json::from_str(&self.read(file)).expect("whole JSON")
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).expect("the folder");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }
}

/// Starts a program and waits until it reports that it is ready.
fn ready(command: &mut Command) -> Child {
    let mut child = command.spawn().expect("the program starts");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    child
}

fn ended_by(signal: &str, mut child: Child) -> ExitStatus {
    let kill = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
    assert!(kill.expect("kill starts").success());
    child.wait().expect("it ends")
}

#[test]
fn signal_leaves_complete_outputs_and_ends_the_process() {
    let outputs = [("VOLTSIM_SUMMARY", "sum.json"), ("VOLTSIM_COVERAGE", "cov")];
    for (name, number) in SIGNALS {
        let place = Place::new();
        let status = ended_by(name, ready(&mut place.waits("3 wait", &outputs)));
        assert_eq!(status.signal(), Some(number));
        let summary = place.json("sum.json");
        assert_eq!(summary["kernels"][0]["launches"], 3);
        assert_eq!(summary["partial"], format!("SIG{name}"));
        assert!(place.read("cov").ends_with(&format!("# partial: ended by SIG{name}\n")));
    }
}

#[test]
fn statistics_of_all_formats_are_complete_after_a_signal() {
    for (file, sign) in FORMS {
        let place = Place::new();
        let outputs = [("VOLTSIM_MODE", "detailed"), ("VOLTSIM_STATISTICS", file)];
        let status = ended_by("TERM", ready(&mut place.waits("3 wait", &outputs)));
        assert_eq!(status.signal(), Some(15));
        let partial = place.read(file);
        assert!(partial.contains(sign), "{partial}");
        assert_eq!(place.names(), [file]);
        let whole = place.waits("3", &outputs).output().expect("the program starts");
        assert_eq!(whole.status.code(), Some(0));
        assert!(!place.read(file).contains("ended by"));
    }
}

#[test]
fn program_signal_handlers_are_called() {
    for when in ["own", "late"] {
        for (name, _) in SIGNALS {
            let place = Place::new();
            let waiting = ready(&mut place.waits(&format!("2 {when}"), &[("VOLTSIM_SUMMARY", "sum.json")]));
            assert_eq!(ended_by(name, waiting).code(), Some(7));
            let summary = place.json("sum.json");
            assert_eq!((&summary["kernels"][0]["launches"], &summary["partial"]), (&2.into(), &Value::Null));
        }
    }
}

#[test]
fn sigkill_leaves_old_outputs() {
    let place = Place::new();
    let outputs = [
        ("VOLTSIM_SUMMARY", "sum.json"),
        ("VOLTSIM_MODE", "detailed"),
        ("VOLTSIM_STATISTICS", "s.json"),
        ("VOLTSIM_CHECKSUMS", "checksums"),
    ];
    for file in ["sum.json", "s.json", "checksums"] {
        fs::write(place.path(file), "old").expect("written");
    }
    let status = ended_by("KILL", ready(&mut place.waits("3 wait", &outputs)));
    assert_eq!(status.signal(), Some(9));
    for file in ["sum.json", "s.json", "checksums"] {
        assert_eq!(place.read(file), "old");
    }
}

#[test]
fn full_device_is_reported_for_each_output() {
    let place = Place::new();
    let status = place.path("status");
    let report = |variable: &str| {
        let _ = fs::remove_dir_all(&status);
        fs::create_dir(&status).expect("a folder");
        let mut command = place.waits("1", &[("VOLTSIM_MODE", "detailed")]);
        command.env(variable, "/dev/full").env("VOLTSIM_OUTPUT_STATUS", &status);
        let output = command.output().expect("the program starts");
        assert_eq!(output.status.code(), Some(0));
        let full = Path::new("/dev/full");
        assert!(saved_run::outputs::has(Path::new(&status), Outcome::Failed, full), "{variable}");
        text(&output.stderr)
    };
    for variable in
        ["VOLTSIM_STATISTICS", "VOLTSIM_SUMMARY", "VOLTSIM_COVERAGE", "VOLTSIM_CHECKSUMS", "VOLTSIM_LOG"]
    {
        let said = report(variable);
        assert_eq!(said.matches("No space left").count(), 1, "{variable}: {said}");
        assert!(said.contains(variable) && said.contains("/dev/full"), "{said}");
    }
}

#[test]
fn incomplete_log_line_is_removed_on_a_full_disk() {
    let place = Place::new();
    let program = waits();
    let mut shell = common::command(Path::new("sh"));
    shell.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" 20"]).arg(program);
    let output = shell.env("VOLTSIM_LOG", place.path("log")).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(0));
    let log = place.read("log");
    assert!(log.ends_with('\n') && log.len() > 300, "{} bytes: {log}", log.len());
    assert_eq!(text(&output.stderr).matches("VOLTSIM_LOG").count(), 1);
}

#[test]
fn program_without_exit_handlers_writes_nothing() {
    let place = Place::new();
    let output = place.waits("1 quit", &[("VOLTSIM_SUMMARY", "sum.json")]).output().expect("it starts");
    assert_eq!((output.status.code(), place.names().len()), (Some(0), 0));
}

/// Saves `waits 3 input` before its fourth launch.
fn saved(place: &Place) -> PathBuf {
    let file = place.path("run.vck");
    let mut command = aligned(place);
    command.env("VOLTSIM_CHECKPOINT", "kernel=4").env("VOLTSIM_CHECKPOINT_FILE", &file);
    assert_eq!(answer(ready(&mut command)), (Some(0), "16384\n".to_owned(), String::new()));
    PathBuf::from(file)
}

/// `waits 3 input` with reproducible addresses.
fn aligned(_: &Place) -> Command {
    let mut command = common::steps::command(waits());
    command.args(["3", "input"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Sends the line that the program waits for. Returns its status and messages.
fn answer(mut child: Child) -> (Option<i32>, String, String) {
    child.stdin.take().expect("a pipe").write_all(b"go\n").expect("it waits");
    let output = child.wait_with_output().expect("it ends");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn checkpoint_changed_during_a_resumed_run_is_an_error() {
    let place = Place::new();
    let file = saved(&place);
    let whole = fs::read(&file).expect("the file");
    let changes: [fn(&Path, &[u8]); 4] = [
        |file, _| fs::File::options().write(true).open(file).and_then(|file| file.set_len(0)).expect("cut"),
        |file, whole| {
            let file = fs::File::options().write(true).open(file).expect("the file");
            file.set_len(whole.len() as u64 / 2).expect("cut");
        },
        |file, whole| fs::write(file, vec![0; whole.len()]).expect("overwritten"),
        |file, whole| {
            fs::write(file, whole.iter().map(|byte| byte ^ 1).collect::<Vec<_>>()).expect("overwritten");
        },
    ];
    for change in changes {
        fs::write(&file, &whole).expect("written");
        let child = ready(aligned(&place).env("VOLTSIM_RESUME", &file));
        change(&file, &whole);
        let (status, printed, said) = answer(child);
        assert_ne!(status, Some(0), "{printed}");
        assert!(said.contains(&*file.to_string_lossy()) && said.contains("remedy"), "{said}");
    }
}

#[test]
fn checkpoint_replaced_by_renaming_stays_readable() {
    let place = Place::new();
    let file = saved(&place);
    let child = ready(aligned(&place).env("VOLTSIM_RESUME", &file));
    fs::write(place.path("other"), "other").expect("written");
    fs::rename(place.path("other"), &file).expect("renamed");
    assert_eq!(answer(child), (Some(0), "16384\n".to_owned(), String::new()));
}

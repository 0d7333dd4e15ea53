//! Programs run regardless of the state of the cache directory: missing, unusable, full, damaged or
//! shared.

#![allow(clippy::expect_used)]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A program whose kernel is large enough to be cached.
fn program() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings/long_kernel.c");
    common::compile(&source).expect("the program compiles")
}

/// The program with a cache in `folder` and its log on standard error.
fn command(folder: &Path) -> Command {
    let mut command = common::command(&program());
    command.env("VOLTSIM_CACHE", folder).env("VOLTSIM_LOG", "stderr");
    command
}

/// Checks that the program succeeded and returns its log.
fn log_of(output: Output) -> String {
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}: {log}", output.status);
    assert_eq!(output.stdout, b"256\n");
    log
}

fn files(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).expect("the cache").map(|entry| entry.expect("an entry").path()).collect()
}

#[test]
fn kernel_is_cached_and_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    for _ in 0..2 {
        log_of(command(folder.path()).output().expect("the program starts"));
        assert_eq!(files(folder.path()).len(), 1);
    }
}

#[test]
fn uncreatable_cache_directory_is_only_logged() {
    let log = log_of(command(Path::new("/proc/voltsim")).output().expect("the program starts"));
    assert_eq!(log.matches("caching is disabled in /proc/voltsim").count(), 1, "{log}");
}

#[test]
fn file_at_the_cache_path_is_only_logged() {
    let folder = tempfile::tempdir().expect("a folder");
    let in_the_way = folder.path().join("file");
    std::fs::write(&in_the_way, "as it was").expect("a file");
    let log = log_of(command(&in_the_way).output().expect("the program starts"));
    assert_eq!(log.matches("cache of decoded functions:").count(), 1, "{log}");
    assert_eq!(std::fs::read(&in_the_way).expect("the file"), b"as it was");
}

/// To the program, a limit on file length looks like a full disk: files can be created but not
/// filled.
#[test]
fn full_disk_is_logged_and_leaves_no_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\""]).arg(program());
    for (name, value) in command(folder.path()).get_envs() {
        value.map(|value| limited.env(name, value));
    }
    let log = log_of(limited.output().expect("the program starts"));
    assert!(log.contains("caching is disabled in"), "{log}");
    assert!(files(folder.path()).is_empty());
}

#[test]
fn damaged_cache_file_is_rewritten() {
    let folder = tempfile::tempdir().expect("a folder");
    log_of(command(folder.path()).output().expect("the program starts"));
    let kept = files(folder.path()).pop().expect("a file");
    let whole = std::fs::read(&kept).expect("the file");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for damaged in [&whole[..whole.len() / 2], &[], &flipped] {
        std::fs::write(&kept, damaged).expect("the damaged file");
        log_of(command(folder.path()).output().expect("the program starts"));
        assert_eq!(std::fs::read(&kept).expect("the file"), whole);
    }
}

#[test]
fn concurrent_processes_share_the_cache() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = command(folder.path());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let processes: Vec<_> = (0..8).map(|_| command.spawn().expect("the program starts")).collect();
    for process in processes {
        let log = log_of(process.wait_with_output().expect("the program ends"));
        assert!(!log.contains("caching is disabled"), "{log}");
    }
    assert_eq!(files(folder.path()).len(), 1);
}

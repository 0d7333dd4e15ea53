//! Output files of a user.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs::{self, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use common::{NO_ROOM, assert_succeeds, child, child_folder, names};
use voltsim_checkpoint::atomic_file::{self, Durability, Unfinished};
use voltsim_checkpoint::output::{self, Output};

#[test]
fn finished_outputs_replace_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let mut given_up = Output::create(&path).unwrap();
    given_up.write_all(&[1; 1 << 20]).unwrap();
    drop(given_up);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    let mut output = Output::create(&path).unwrap();
    output.write_all(b"new").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    output.finish().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn outputs_replace_the_target_of_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let [link, target] = ["link", "target"].map(|name| folder.path().join(name));
    symlink("target", &link).unwrap();
    for contents in ["first", "second"] {
        output::write(&link, contents.as_bytes()).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), contents);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}

#[test]
fn devices_receive_bytes_and_stay_devices() {
    output::write(Path::new("/dev/null"), b"contents").unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    let full = output::write(Path::new("/dev/full"), b"contents").unwrap_err();
    assert_eq!(full.kind(), ErrorKind::StorageFull);
}

#[test]
fn pipes_are_checked_without_a_reader_and_receive_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    output::check(&pipe).unwrap();
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || {
            let mut text = String::new();
            fs::File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
            text
        }
    });
    output::write(&pipe, b"contents").unwrap();
    assert_eq!(reader.join().unwrap(), "contents");
}

#[test]
fn checks_leave_only_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    output::check(&path).unwrap();
    assert_eq!(names(folder.path()), Vec::<String>::new());
    fs::write(&path, "old").unwrap();
    output::check(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(output::check(folder.path()).unwrap_err().kind(), ErrorKind::IsADirectory);
    assert_eq!(output::check(&path.join("inside")).unwrap_err().kind(), ErrorKind::NotADirectory);
    assert_eq!(output::check(&folder.path().join("none/file")).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_full_disk_leaves_the_old_output() {
    const NAME: &str = "a_full_disk_leaves_the_old_output";
    if let Some(folder) = child_folder() {
        assert!(output::write(&folder.join("file"), b"new").is_err());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "old").unwrap();
    assert_succeeds(child(NAME, folder.path(), NO_ROOM).output().unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn unused_unfinished_files_are_cleared() {
    let folder = tempfile::tempdir().unwrap();
    let left = folder.path().join(".voltsim-0123-left.vck");
    fs::write(&left, "half").unwrap();
    fs::create_dir(folder.path().join(".voltsim-0123-folder")).unwrap();
    fs::write(folder.path().join(".voltsim-0123-folder/part"), "half").unwrap();
    fs::write(folder.path().join("theirs"), "whole").unwrap();
    let writing = Unfinished::create(&folder.path().join("mine")).unwrap();
    atomic_file::clear(folder.path());
    assert!(!left.exists());
    assert_eq!(names(folder.path()).len(), 2);
    writing.finish(Durability::Unsynced).unwrap();
    assert_eq!(names(folder.path()), ["mine", "theirs"]);
}

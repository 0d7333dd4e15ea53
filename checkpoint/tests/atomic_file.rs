//! Atomic creation of files and folders.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use common::names;
use voltsim_checkpoint::atomic_file::{Durability, UnfinishedFolder, is_temporary, write};

#[test]
fn a_new_file_replaces_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for (contents, durability) in [("first", Durability::Synced), ("second", Durability::Unsynced)] {
        write(&path, contents.as_bytes(), durability).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), contents);
    }
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn a_failed_write_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("occupied");
    // A file cannot replace a nonempty folder.
    fs::create_dir_all(path.join("inside")).unwrap();
    assert!(write(&path, b"contents", Durability::Synced).is_err());
    assert_eq!(names(folder.path()), ["occupied"]);
    assert!(path.join("inside").is_dir());
}

#[test]
fn a_path_without_a_name_is_an_error() {
    assert!(write(Path::new("/"), b"contents", Durability::Synced).is_err());
}

#[test]
fn readers_see_either_the_old_or_the_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let versions = [vec![1_u8; 300_000], vec![2_u8; 200_000]];
    write(&path, &versions[0], Durability::Unsynced).unwrap();
    std::thread::scope(|scope| {
        for version in &versions {
            scope.spawn(|| (0..50).for_each(|_| write(&path, version, Durability::Unsynced).unwrap()));
        }
        for _ in 0..200 {
            assert!(versions.contains(&fs::read(&path).unwrap()));
        }
    });
    assert!(!names(folder.path()).iter().any(|name| is_temporary(name.as_ref())));
}

#[test]
fn folders_appear_complete_or_not_at_all() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("folder");
    let unfinished = UnfinishedFolder::create(&path).unwrap();
    fs::write(unfinished.here().join("file"), "contents").unwrap();
    assert!(!path.exists());
    drop(unfinished);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    let unfinished = UnfinishedFolder::create(&path).unwrap();
    fs::write(unfinished.here().join("file"), "contents").unwrap();
    fs::create_dir(&path).unwrap();
    unfinished.finish(Durability::Synced).unwrap();
    assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "contents");
    assert!(UnfinishedFolder::create(&path).unwrap().finish(Durability::Synced).is_err());
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn abandoned_files_of_killed_processes_are_removed() {
    let place = tempfile::tempdir().unwrap();
    let left_behind = |file_is_old: bool| {
        let folder = place.path().join(format!(".voltsim-0123456789abcdef-{file_is_old}"));
        let file = folder.join("file");
        fs::create_dir(&folder).unwrap();
        fs::write(&file, "contents").unwrap();
        let old = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
        let written = if file_is_old { old } else { SystemTime::now() };
        fs::File::open(file).unwrap().set_modified(written).unwrap();
        fs::File::open(&folder).unwrap().set_modified(old).unwrap();
        folder
    };
    let [abandoned, in_use] = [true, false].map(left_behind);
    UnfinishedFolder::create(&place.path().join("folder")).unwrap();
    assert!(!abandoned.exists() && in_use.join("file").exists());
}

//! Claims about files that appear whole or not at all.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::path::Path;

use common::names;
use voltsim_checkpoint::atomic_file::{Durability, is_temporary, write};

#[test]
fn a_file_replaces_the_one_before_it() {
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
    // A file cannot take the name of a folder that is not empty.
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
fn readers_see_the_old_file_or_the_new_one() {
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

//! Frames in files: streaming, atomic creation, and safe reading during changes.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use common::{NO_ROOM, assert_succeeds, child, child_folder, names};
use proptest::prelude::*;
use voltsim_checkpoint::atomic_file::{Durability, is_temporary};
use voltsim_checkpoint::frame::{self, File, FileError, FileWriter, FrameError, Reason, Schema, Section};

fn schema() -> Schema {
    Schema::of("test contents, version 1")
}

/// Writes a file with one section.
fn write(path: &Path, contents: &[u8]) -> Result<frame::Written, FileError> {
    let mut writer = FileWriter::create(path, 1)?;
    writer.begin("section", schema())?;
    writer.append(contents)?;
    writer.finish(Durability::Synced)
}

fn contents(path: &Path) -> Vec<u8> {
    File::open(path).unwrap().section("section", schema()).unwrap()
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    (folder, path)
}

proptest! {
    #[test]
    fn streamed_and_in_memory_files_are_identical(
        sections in prop::collection::vec(prop::collection::vec((any::<u8>(), 0..150_000_usize), 0..4), 0..4)
    ) {
        let (_folder, path) = place();
        let mut writer = FileWriter::create(&path, sections.len()).unwrap();
        let mut whole = Vec::new();
        for (index, pieces) in sections.iter().enumerate() {
            let name = format!("section {index}");
            writer.begin(&name, schema()).unwrap();
            let mut contents = Vec::new();
            for &(byte, length) in pieces {
                prop_assert_eq!(writer.section_length(), contents.len() as u64);
                writer.write_all(&vec![byte; length]).unwrap();
                contents.resize(contents.len() + length, byte);
            }
            whole.push((name, contents));
        }
        let written = writer.finish(Durability::Unsynced).unwrap();
        let section = |(name, contents)| Section { name, schema: schema(), contents };
        let sections: Vec<_> = whole.iter().map(|(name, contents)| section((name, contents))).collect();
        let file = File::open(&path).unwrap();
        let bytes = fs::read(&path).unwrap();
        prop_assert!(bytes == frame::write(&sections).unwrap());
        prop_assert_eq!(written.length, bytes.len() as u64);
        prop_assert_eq!(written.hash, file.hash());
        let copy = path.with_file_name("copy");
        file.copy_to(&copy, Durability::Unsynced).unwrap();
        prop_assert!(fs::read(&copy).unwrap() == bytes);
    }
}

#[test]
fn a_dropped_writer_leaves_only_the_old_file() {
    let (folder, path) = place();
    write(&path, b"old").unwrap();
    let mut writer = FileWriter::create(&path, 1).unwrap();
    writer.begin("section", schema()).unwrap();
    writer.write_all(&[1; 1 << 20]).unwrap();
    assert_eq!(names(folder.path()).len(), 2);
    drop(writer);
    assert_eq!(names(folder.path()), ["file"]);
    assert_eq!(contents(&path), b"old");
}

#[test]
fn a_full_disk_leaves_only_the_old_file() {
    const NAME: &str = "a_full_disk_leaves_only_the_old_file";
    if let Some(folder) = child_folder() {
        let path = folder.join("file");
        let error = write(&path, b"new").unwrap_err();
        assert!(error.to_string().starts_with(&format!("cannot write {}: ", path.display())), "{error}");
        assert!(error.remedy().unwrap().contains("the previous file is unchanged"));
        return;
    }
    let (folder, path) = place();
    write(&path, b"old").unwrap();
    assert_succeeds(child(NAME, folder.path(), NO_ROOM).output().unwrap());
    assert_eq!(names(folder.path()), ["file"]);
    assert_eq!(contents(&path), b"old");
}

#[test]
fn files_cannot_be_finished_after_a_failed_write() {
    const NAME: &str = "files_cannot_be_finished_after_a_failed_write";
    if let Some(folder) = child_folder() {
        let mut writer = FileWriter::create(&folder.join("file"), 1).unwrap();
        writer.begin("section", schema()).unwrap();
        assert!(writer.write_all(&[1; 1 << 20]).is_err());
        assert!(writer.write_all(b"more").is_ok(), "it is buffered");
        assert!(matches!(writer.finish(Durability::Unsynced), Err(FileError::Io { .. })));
        return;
    }
    let (folder, _) = place();
    assert_succeeds(child(NAME, folder.path(), NO_ROOM).output().unwrap());
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn a_killed_writer_leaves_the_old_file() {
    const NAME: &str = "a_killed_writer_leaves_the_old_file";
    if let Some(folder) = child_folder() {
        let mut writer = FileWriter::create(&folder.join("file"), 1).unwrap();
        writer.begin("section", schema()).unwrap();
        println!("written");
        loop {
            writer.write_all(&[1; 4096]).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let (folder, path) = place();
    write(&path, b"old").unwrap();
    let mut child = child(NAME, folder.path(), "").spawn().unwrap();
    let output = child.stdout.take().unwrap();
    let mut lines = io::BufRead::lines(io::BufReader::new(output));
    assert!(lines.any(|line| line.unwrap().contains("written")));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(contents(&path), b"old");
    let left: Vec<_> = names(folder.path()).into_iter().filter(|name| name != "file").collect();
    assert!(left.len() == 1 && is_temporary(left[0].as_ref()), "{left:?}");
    write(&path, b"new").unwrap();
    assert_eq!(contents(&path), b"new");
}

#[test]
fn writers_remove_abandoned_files() {
    let (folder, path) = place();
    let file = |name: &str| fs::File::create(folder.path().join(name)).unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(100_000);
    for name in [".voltsim-0123-old", "theirs"] {
        file(name).set_modified(long_ago).unwrap();
    }
    file(".voltsim-0123-new");
    write(&path, b"contents").unwrap();
    assert_eq!(names(folder.path()), [".voltsim-0123-new", "file", "theirs"]);
}

#[test]
fn open_files_survive_replacement() {
    let (_folder, path) = place();
    write(&path, b"old").unwrap();
    let file = File::open(&path).unwrap();
    write(&path, b"new").unwrap();
    assert_eq!(file.section("section", schema()).unwrap(), b"old");
    assert_eq!(contents(&path), b"new");
}

#[test]
fn truncation_of_an_open_file_is_a_named_error() {
    let (_folder, path) = place();
    write(&path, &[7; 100_000]).unwrap();
    let whole = fs::read(&path).unwrap().len() as u64;
    for length in [0, 100, 5000, whole - 1] {
        write(&path, &[7; 100_000]).unwrap();
        let file = File::open(&path).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
        let copy = path.with_file_name("copy");
        for error in [
            file.section("section", schema()).unwrap_err(),
            file.check().unwrap_err(),
            file.copy_to(&copy, Durability::Unsynced).unwrap_err(),
        ] {
            let place = format!("{}: at byte ", path.display());
            assert!(error.to_string().starts_with(&place), "{error}");
            assert!(error.remedy().unwrap().contains("changed in place"), "{error}");
        }
        assert!(!copy.exists());
    }
}

#[test]
fn overwriting_of_an_open_file_is_a_named_error() {
    let (_folder, path) = place();
    write(&path, &[8; 100_000]).unwrap();
    let other = fs::read(&path).unwrap();
    write(&path, &[7; 100_000]).unwrap();
    let file = File::open(&path).unwrap();
    fs::write(&path, other).unwrap();
    for error in [file.section("section", schema()).unwrap_err(), file.check().unwrap_err()] {
        assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
        assert!(error.to_string().ends_with("section section does not match its hash"), "{error}");
    }
}

#[test]
fn the_number_of_sections_must_match_the_announcement() {
    let (folder, path) = place();
    let announced = |announced, written| {
        let mut writer = FileWriter::create(&path, announced).unwrap();
        let begun = (0..written).try_for_each(|index| writer.begin(&format!("section {index}"), schema()));
        let finished = begun.and_then(|()| writer.finish(Durability::Unsynced).map(drop));
        let reason = Reason::Announced { announced, written };
        assert!(matches!(
            finished,
            Err(FileError::Frame { error: FrameError { reason: found, .. }, .. }) if found == reason
        ));
    };
    announced(2, 1);
    announced(0, 1);
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn invalid_section_names_are_refused() {
    let (_folder, path) = place();
    let mut writer = FileWriter::create(&path, 3).unwrap();
    writer.begin("a", schema()).unwrap();
    for name in ["a", "", "a\0b", "a name of thirty-three characters"] {
        assert!(matches!(writer.begin(name, schema()), Err(FileError::Frame { .. })), "{name}");
    }
}

#[test]
fn contents_outside_of_sections_are_refused() {
    let (_folder, path) = place();
    let mut writer = FileWriter::create(&path, 1).unwrap();
    assert_eq!(writer.write_all(b"contents").unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn a_check_of_all_sections_detects_any_damage() {
    let (_folder, path) = place();
    write(&path, b"contents").unwrap();
    let whole = fs::read(&path).unwrap();
    File::open(&path).unwrap().check().unwrap();
    for byte in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[byte] ^= 0x10;
        fs::write(&path, damaged).unwrap();
        assert!(File::open(&path).and_then(|file| file.check()).is_err());
    }
}

#[test]
fn errors_for_non_frames_name_the_file() {
    let (folder, path) = place();
    let error = File::open(&path).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot open {}: No such file or directory (os error 2)", path.display())
    );
    assert!(File::open(folder.path()).unwrap_err().to_string().ends_with("not a file"));
    for contents in [&b""[..], b"VOLT", b"another program's file, which is longer than a head"] {
        fs::write(&path, contents).unwrap();
        let error = File::open(&path).unwrap_err();
        assert!(error.to_string().starts_with(&format!("{}: at byte 0: ", path.display())), "{error}");
        assert!(error.remedy().is_some());
    }
}

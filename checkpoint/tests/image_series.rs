//! Images that refer to earlier files.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use common::memory::{Kept, Pages, noise, pages, pattern};
use proptest::prelude::*;
use voltsim_checkpoint::atomic_file::Durability;
use voltsim_checkpoint::frame::{File, FileWriter, Schema, TableHash};
use voltsim_checkpoint::image::{Image, ImageError, SECTIONS, Saved, Series, copy};

const NAME: &str = "memory";

/// Saves and adds the next file of a series.
fn write(series: &mut Series, path: &Path, memory: &Pages) -> Saved {
    let mut writer = FileWriter::create(path, SECTIONS).unwrap();
    let saved = series.save(&mut writer, &memory.regions(), memory, 2).unwrap();
    writer.finish(Durability::Unsynced).unwrap();
    series.add(&File::open(path).unwrap()).unwrap();
    saved
}

fn read(path: &Path) -> Result<Pages, ImageError> {
    let file = File::open(path)?;
    let sink = Kept::default();
    Image::read(&file, NAME)?.restore(&sink, 2)?;
    Ok(sink.into_pages())
}

fn bases(path: &Path) -> Vec<String> {
    let file = File::open(path).unwrap();
    Image::read(&file, NAME).unwrap().bases().iter().map(|base| base.file.clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn every_file_of_a_series_round_trips(
        changes in prop::collection::vec(prop::collection::vec((0..400_u64, 0..2000_u64), 1..200), 1..6)
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut series = Series::new(NAME);
        let mut memory = pages(1 << 20, (1..400).map(pattern));
        let mut states = Vec::new();
        for (index, change) in changes.iter().enumerate() {
            for &(page, seed) in change {
                memory.0.insert((1 << 20) + page * 4096, noise(seed));
            }
            let path = folder.path().join(index.to_string());
            write(&mut series, &path, &memory);
            states.push((path, memory.clone()));
        }
        for (path, memory) in states {
            prop_assert!(read(&path).unwrap() == memory);
        }
    }
}

#[test]
fn only_pages_absent_from_earlier_files_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = |index: u32| folder.path().join(format!("{index}.vck"));
    let mut series = Series::new(NAME);
    let memory = |changed: u64| {
        pages(1 << 20, (1..1001).map(|seed| noise(if seed <= changed { seed + 10_000 } else { seed })))
    };
    assert_eq!(write(&mut series, &path(0), &memory(0)).stored, 1000);
    assert_eq!(write(&mut series, &path(1), &memory(10)).stored, 10);
    assert_eq!(write(&mut series, &path(2), &memory(12)).stored, 2);
    // The first file holds the original memory.
    assert_eq!(write(&mut series, &path(3), &memory(0)).stored, 0);
    assert!(fs::metadata(path(1)).unwrap().len() < 60_000);
    assert_eq!(bases(&path(2)), ["0.vck", "1.vck"]);
    assert_eq!(bases(&path(3)), ["0.vck"]);
    assert!(read(&path(2)).unwrap() == memory(12));
    assert!(read(&path(3)).unwrap() == memory(0));
}

#[test]
fn another_process_can_continue_a_series() {
    let folder = tempfile::tempdir().unwrap();
    let path = |index: u32| folder.path().join(index.to_string());
    let memory = |count| pages(1 << 20, (1..count).map(noise));
    let mut series = Series::new(NAME);
    for index in 0..3 {
        write(&mut series, &path(index), &memory(100 + 10 * u64::from(index)));
    }
    let mut continued = Series::new(NAME);
    continued.add(&File::open(&path(2)).unwrap()).unwrap();
    assert_eq!(write(&mut continued, &path(3), &memory(140)).stored, 20);
    assert_eq!(bases(&path(3)), ["0", "1", "2"]);
    assert!(read(&path(3)).unwrap() == memory(140));
}

#[test]
fn a_series_can_be_moved_with_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (before, after) = (folder.path().join("before"), folder.path().join("after"));
    fs::create_dir(&before).unwrap();
    let mut series = Series::new(NAME);
    let memory = pages(1 << 20, (1..100).map(noise));
    for name in ["0", "1"] {
        write(&mut series, &before.join(name), &memory);
    }
    fs::rename(before, &after).unwrap();
    assert!(read(&after.join("1")).unwrap() == memory);
}

/// Writes a series of two files, whose second refers to the first.
fn two(folder: &Path) -> Pages {
    let mut series = Series::new(NAME);
    let memory = pages(1 << 20, (1..100).map(noise));
    for name in ["0", "1"] {
        write(&mut series, &folder.join(name), &memory);
    }
    memory
}

#[test]
fn errors_name_missing_bases() {
    let folder = tempfile::tempdir().unwrap();
    two(folder.path());
    fs::remove_file(folder.path().join("0")).unwrap();
    let error = read(&folder.path().join("1")).unwrap_err();
    assert!(
        matches!(&error, ImageError::BaseMissing { base, .. } if *base == folder.path().join("0")),
        "{error}"
    );
    assert!(error.remedy().unwrap().contains("one folder"));
}

#[test]
fn errors_name_replaced_bases() {
    let folder = tempfile::tempdir().unwrap();
    two(folder.path());
    write(&mut Series::new(NAME), &folder.path().join("0"), &pages(1 << 20, (2..101).map(noise)));
    let error = read(&folder.path().join("1")).unwrap_err();
    assert!(
        matches!(&error, ImageError::BaseReplaced { base, .. } if *base == folder.path().join("0")),
        "{error}"
    );
}

#[test]
fn errors_name_damaged_bases() {
    let folder = tempfile::tempdir().unwrap();
    two(folder.path());
    let base = folder.path().join("0");
    let whole = fs::read(&base).unwrap();
    for place in (0..whole.len()).step_by(whole.len() / 50) {
        let mut damaged = whole.clone();
        damaged[place] ^= 1;
        fs::write(&base, damaged).unwrap();
        let error = read(&folder.path().join("1")).unwrap_err();
        assert!(error.to_string().starts_with(&format!("{}", base.display())), "{error}");
    }
}

#[test]
fn unsuitable_files_of_a_series_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let memory = two(folder.path());
    let mut series = Series::new(NAME);
    series.add(&File::open(&folder.path().join("1")).unwrap()).unwrap();
    let refusal = |path: &Path| {
        let mut writer = FileWriter::create(path, SECTIONS).unwrap();
        series.save(&mut writer, &memory.regions(), &memory, 1).unwrap_err().to_string()
    };
    assert!(refusal(&folder.path().join("0")).ends_with("it would replace an earlier file"));
    let elsewhere = tempfile::tempdir().unwrap();
    assert!(refusal(&elsewhere.path().join("2")).ends_with("it is in another folder than earlier files"));
}

/// Copies an image after a section of a different length than in the old file. Returns the hashes of both
/// files.
fn copied(
    from: &Path,
    to: &Path,
    renewed: &HashMap<TableHash, TableHash>,
) -> Result<(TableHash, TableHash), ImageError> {
    let file = File::open(from)?;
    let mut writer = FileWriter::create(to, SECTIONS + 1)?;
    writer.begin("other", Schema::of("other"))?;
    writer.append(&[7; 4321])?;
    copy(&mut writer, &file, NAME, renewed)?;
    Ok((file.hash(), writer.finish(Durability::Unsynced)?.hash))
}

#[test]
fn copied_series_are_self_contained() {
    let folder = tempfile::tempdir().unwrap();
    let (before, after) = (folder.path().join("before"), folder.path().join("after"));
    for folder in [&before, &after] {
        fs::create_dir(folder).unwrap();
    }
    let mut series = Series::new(NAME);
    // Patterns are compressible, noise is not.
    let memory = |changed: u64| {
        pages(1 << 20, (1..701).map(|seed| if seed <= changed { noise(seed) } else { pattern(seed) }))
    };
    for index in 0..3 {
        write(&mut series, &before.join(index.to_string()), &memory(150 * index));
    }
    let mut renewed = HashMap::new();
    for name in ["0", "1", "2"] {
        let (old, new) = copied(&before.join(name), &after.join(name), &renewed).unwrap();
        renewed.insert(old, new);
    }
    copied(&before.join("2"), &after.join("alone"), &HashMap::new()).unwrap();
    fs::remove_dir_all(before).unwrap();
    for index in 0..3_u64 {
        assert!(read(&after.join(index.to_string())).unwrap() == memory(150 * index), "{index}");
    }
    assert_eq!(bases(&after.join("2")), ["0", "1"]);
    assert!(read(&after.join("alone")).unwrap() == memory(300));
    assert_eq!(bases(&after.join("alone")), [""; 0]);
    // A series can continue from the copy, so its page table is correct.
    let mut continued = Series::new(NAME);
    continued.add(&File::open(&after.join("alone")).unwrap()).unwrap();
    assert_eq!(write(&mut continued, &after.join("next"), &memory(310)).stored, 10);
}

#[test]
fn damaged_pages_are_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    two(folder.path());
    let path = folder.path().join("0");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    for name in ["0", "1"] {
        let error = copied(&folder.path().join(name), &folder.path().join("copy"), &HashMap::new());
        assert!(matches!(error.unwrap_err(), ImageError::Chunk { .. }), "{name}");
        assert!(!folder.path().join("copy").exists());
    }
}

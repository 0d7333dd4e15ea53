//! Claims about images that refer to files of before.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::path::Path;

use common::memory::{Kept, Pages, noise, pages, pattern};
use proptest::prelude::*;
use voltsim_checkpoint::atomic_file::Durability;
use voltsim_checkpoint::frame::{File, FileWriter};
use voltsim_checkpoint::image::{Image, ImageError, SECTIONS, Saved, Series};

const NAME: &str = "memory";

/// Saves the next file of a series and adds it.
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
    fn every_file_of_a_series_comes_back(
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
fn only_pages_that_no_file_before_holds_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = |index: u32| folder.path().join(format!("{index}.vck"));
    let mut series = Series::new(NAME);
    let memory = |changed: u64| {
        pages(1 << 20, (1..1001).map(|seed| noise(if seed <= changed { seed + 10_000 } else { seed })))
    };
    assert_eq!(write(&mut series, &path(0), &memory(0)).stored, 1000);
    assert_eq!(write(&mut series, &path(1), &memory(10)).stored, 10);
    assert_eq!(write(&mut series, &path(2), &memory(12)).stored, 2);
    // What the memory held before is in the first file.
    assert_eq!(write(&mut series, &path(3), &memory(0)).stored, 0);
    assert!(fs::metadata(path(1)).unwrap().len() < 60_000);
    assert_eq!(bases(&path(2)), ["0.vck", "1.vck"]);
    assert_eq!(bases(&path(3)), ["0.vck"]);
    assert!(read(&path(2)).unwrap() == memory(12));
    assert!(read(&path(3)).unwrap() == memory(0));
}

#[test]
fn a_series_goes_on_from_its_last_file_in_another_process() {
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
fn a_moved_folder_is_still_a_series() {
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

/// A series of two files, of which the second refers to the first.
fn two(folder: &Path) -> Pages {
    let mut series = Series::new(NAME);
    let memory = pages(1 << 20, (1..100).map(noise));
    for name in ["0", "1"] {
        write(&mut series, &folder.join(name), &memory);
    }
    memory
}

#[test]
fn a_missing_base_is_named() {
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
fn another_file_in_a_bases_place_is_named() {
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
fn a_damaged_base_is_named() {
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
fn files_that_cannot_be_in_the_series_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let memory = two(folder.path());
    let mut series = Series::new(NAME);
    series.add(&File::open(&folder.path().join("1")).unwrap()).unwrap();
    let refusal = |path: &Path| {
        let mut writer = FileWriter::create(path, SECTIONS).unwrap();
        series.save(&mut writer, &memory.regions(), &memory, 1).unwrap_err().to_string()
    };
    assert!(refusal(&folder.path().join("0")).ends_with("it would replace a file before it"));
    let elsewhere = tempfile::tempdir().unwrap();
    assert!(refusal(&elsewhere.path().join("2")).ends_with("it is in another folder than files before it"));
}

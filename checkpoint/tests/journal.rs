//! Journals.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{NO_ROOM, assert_succeeds, child, child_folder, names};
use proptest::prelude::*;
use voltsim_checkpoint::atomic_file::Durability;
use voltsim_checkpoint::frame::{File, FileWriter, Schema};
use voltsim_checkpoint::journal::{JournalError, JournalReader, JournalWriter, Reason};

const NAME: &str = "calls";

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    (folder, path)
}

fn write(path: &Path, journal: &mut JournalWriter) {
    let mut writer = FileWriter::create(path, 1).unwrap();
    journal.write_to(&mut writer, NAME).unwrap();
    writer.finish(Durability::Unsynced).unwrap();
}

fn journal(folder: &Path, records: &[Vec<u8>]) -> JournalWriter {
    let mut journal = JournalWriter::new(folder);
    records.iter().for_each(|record| journal.push(record).unwrap());
    journal
}

fn read(path: &Path) -> Result<Vec<Vec<u8>>, JournalError> {
    JournalReader::open(&File::open(path)?, NAME)?.collect()
}

fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

fn records() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let length = prop_oneof![8 => 0..100_usize, 1 => 0..3_000_000_usize];
    let record = (any::<u64>(), length, any::<bool>())
        .prop_map(|(seed, length, noisy)| if noisy { noise(seed, length) } else { vec![seed as u8; length] });
    prop::collection::vec(record, 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn records_round_trip_in_order(records in records()) {
        let (folder, path) = place();
        write(&path, &mut journal(folder.path(), &records));
        prop_assert!(read(&path).unwrap() == records);
    }

    #[test]
    fn every_truncation_is_an_error(records in records(), length in any::<prop::sample::Index>()) {
        let (folder, path) = place();
        write(&path, &mut journal(folder.path(), &records));
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..length.index(whole.len())]).unwrap();
        prop_assert!(read(&path).is_err());
    }

    #[test]
    fn every_flipped_bit_is_an_error(records in records(), bit in any::<prop::sample::Index>()) {
        let (folder, path) = place();
        write(&path, &mut journal(folder.path(), &records));
        let mut damaged = fs::read(&path).unwrap();
        let bit = bit.index(damaged.len() * 8);
        damaged[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, damaged).unwrap();
        prop_assert!(read(&path).is_err());
    }

    #[test]
    fn arbitrary_bytes_are_records_or_an_error(bytes in any::<Vec<u8>>(), length in any::<u32>(), stored in any::<u32>()) {
        let (_folder, path) = place();
        forge(&path, &[&bytes]);
        prop_assert!(read(&path).is_ok_and(|records| records.is_empty()) == bytes.is_empty());
        forge(&path, &[&block(0, length, stored, &bytes)]);
        prop_assert!(read(&path).is_err());
    }
}

/// Returns a block with a matching hash and arbitrary fields.
fn block(number: u64, length: u32, stored: u32, contents: &[u8]) -> Vec<u8> {
    let mut block = [&number.to_le_bytes()[..], &length.to_le_bytes(), &stored.to_le_bytes()].concat();
    let hash = blake3::Hasher::new().update(&block).update(contents).finalize();
    block.extend(hash.as_bytes());
    block.extend(contents);
    block
}

/// Writes a file whose journal consists of these blocks.
fn forge(path: &Path, blocks: &[&[u8]]) {
    let mut writer = FileWriter::create(path, 1).unwrap();
    writer.begin(NAME, Schema::of("journal: records in blocks, version 1")).unwrap();
    blocks.iter().for_each(|block| writer.append(block).unwrap());
    writer.finish(Durability::Unsynced).unwrap();
}

#[test]
fn inconsistent_blocks_with_matching_hashes_are_refused() {
    let (_folder, path) = place();
    let refusal = |blocks: &[&[u8]]| {
        forge(&path, blocks);
        match read(&path).unwrap_err() {
            JournalError::Damaged { offset, reason, .. } => (offset, reason),
            JournalError::File(error) => unreachable!("{error}"),
        }
    };
    const START: usize = 48 + 80;
    let record = [&3_u64.to_le_bytes()[..], b"abc"].concat();
    let good = block(0, 11, 11, &record);
    let behind = START + good.len();
    assert_eq!(refusal(&[&good, &good]), (behind, Reason::Order { found: 0, expected: 1 }));
    assert_eq!(refusal(&[&good, &good[..30]]), (behind, Reason::Truncated));
    assert_eq!(refusal(&[&block(0, 11, 12, &record), b"d"]), (START, Reason::Hash(0)));
    let length = |length, stored| (START, Reason::Length { length, stored });
    assert_eq!(refusal(&[&block(0, 10, 11, &record)]), length(10, 11));
    assert_eq!(refusal(&[&block(0, u32::MAX, 11, &record)]), length(u32::MAX, 11));
    assert_eq!(refusal(&[&block(0, 0, 0, b"")]), length(0, 0));
    assert!(matches!(refusal(&[&block(0, 12, 11, &record)]).1, Reason::Compression(_)));
    let endless = [&u64::MAX.to_le_bytes()[..], b"abc"].concat();
    assert_eq!(refusal(&[&block(0, 11, 11, &endless)]).1, Reason::Record);
    assert_eq!(refusal(&[&block(0, 7, 7, &record[..7])]).1, Reason::Record);
}

#[test]
fn records_before_damage_are_readable() {
    let (folder, path) = place();
    let records: Vec<_> = (0..10).map(|index| noise(index, 600_000)).collect();
    write(&path, &mut journal(folder.path(), &records));
    let mut damaged = fs::read(&path).unwrap();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    fs::write(&path, damaged).unwrap();
    let file = File::open(&path).unwrap();
    let mut reader = JournalReader::open(&file, NAME).unwrap();
    for record in &records[..8] {
        assert!(reader.next().unwrap().unwrap() == *record);
    }
    assert!(reader.by_ref().any(|record| record.is_err()));
    assert!(reader.next().is_none());
}

#[test]
fn journals_accept_records_after_being_written() {
    let (folder, path) = place();
    let mut journal = journal(folder.path(), &[noise(1, 100)]);
    write(&path, &mut journal);
    journal.push(b"later").unwrap();
    let later = folder.path().join("later");
    write(&later, &mut journal);
    assert_eq!(read(&path).unwrap(), [noise(1, 100)]);
    assert_eq!(read(&later).unwrap(), [noise(1, 100), b"later".to_vec()]);
    assert_eq!(journal.records(), 2);
}

#[test]
fn long_journals_use_an_unnamed_file() {
    let (folder, path) = place();
    let record = |index| noise(index, 100_000);
    let mut journal = JournalWriter::new(folder.path());
    (0..300).for_each(|index| journal.push(&record(index)).unwrap());
    assert!(journal.length() > 28_000_000);
    assert_eq!(names(folder.path()), Vec::<String>::new());
    write(&path, &mut journal);
    let file = File::open(&path).unwrap();
    let mut records = JournalReader::open(&file, NAME).unwrap();
    assert!((0..300).all(|index| records.next().unwrap().unwrap() == record(index)));
    assert!(records.next().is_none());
}

#[test]
fn a_full_disk_loses_no_records() {
    const TEST: &str = "a_full_disk_loses_no_records";
    if let Some(folder) = child_folder() {
        let mut journal = JournalWriter::new(&folder);
        let record = |index| noise(index, 100_000);
        let refused: Vec<_> = (0..200).filter_map(|index| journal.push(&record(index)).err()).collect();
        assert!(!refused.is_empty());
        for error in refused {
            assert!(error.to_string().starts_with("cannot write a temporary file in "), "{error}");
        }
        assert_eq!((journal.records(), journal.length() > 19_000_000), (200, true));
        return;
    }
    let (folder, _) = place();
    assert_succeeds(child(TEST, folder.path(), NO_ROOM).output().unwrap());
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn errors_name_missing_journals() {
    let (_folder, path) = place();
    forge(&path, &[]);
    let file = File::open(&path).unwrap();
    let error = JournalReader::open(&file, "kernels").err().unwrap();
    assert!(error.to_string().ends_with("section kernels does not exist"), "{error}");
    assert_eq!(read(&path).unwrap(), Vec::<Vec<u8>>::new());
}

#[test]
fn journals_are_readable_while_being_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = JournalWriter::new(folder.path());
    let records: Vec<_> = (0..60).map(|index| noise(index, 300_000)).collect();
    for (count, record) in (1..).zip(&records) {
        journal.push(record).unwrap();
        if [1, 3, 40, 60].contains(&count) {
            let read: Vec<_> = journal.read().map(Result::unwrap).collect();
            assert!(read == records[..count], "{count} records");
        }
    }
}

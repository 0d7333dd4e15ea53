//! Deduplicated contents.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use voltsim_checkpoint::atomic_file::Durability;
use voltsim_checkpoint::contents::{CHUNK, Content, ContentError, Contents, ContentsWriter, SECTIONS};
use voltsim_checkpoint::frame::{File, FileWriter};

const NAME: &str = "memory";

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    (folder, path)
}

fn write(path: &Path, contents: &[Vec<u8>]) -> Vec<Content> {
    let mut file = FileWriter::create(path, SECTIONS).unwrap();
    let mut writer = ContentsWriter::begin(&mut file, NAME).unwrap();
    let written = contents.iter().map(|bytes| writer.add(&mut file, bytes).unwrap()).collect();
    writer.finish(&mut file).unwrap();
    file.finish(Durability::Unsynced).unwrap();
    written
}

fn read(path: &Path, written: &[Content]) -> Result<Vec<Vec<u8>>, ContentError> {
    let file = File::open(path)?;
    let contents = Contents::open(&file, NAME)?;
    written.iter().map(|content| contents.read(&file, content)).collect()
}

fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

fn any_contents() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let length = prop_oneof![0..100_usize, Just(CHUNK), 0..400_000_usize];
    let content = (0..5_u64, length, any::<bool>())
        .prop_map(|(seed, length, noisy)| if noisy { noise(seed, length) } else { vec![seed as u8; length] });
    prop::collection::vec(content, 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn contents_round_trip_in_any_order(contents in any_contents()) {
        let (_folder, path) = place();
        let mut written = write(&path, &contents);
        written.reverse();
        let mut found = read(&path, &written).unwrap();
        found.reverse();
        prop_assert!(found == contents);
    }

    #[test]
    fn every_flipped_bit_is_an_error(contents in any_contents(), bit in any::<prop::sample::Index>()) {
        let (_folder, path) = place();
        let written = write(&path, &contents);
        let mut bytes = fs::read(&path).unwrap();
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, bytes).unwrap();
        prop_assert!(read(&path, &written).is_err());
    }

    #[test]
    fn every_prefix_is_an_error(contents in any_contents(), length in any::<prop::sample::Index>()) {
        let (_folder, path) = place();
        let written = write(&path, &contents);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..length.index(bytes.len())]).unwrap();
        prop_assert!(read(&path, &written).is_err());
    }
}

#[test]
fn repeated_contents_take_no_space() {
    let (_folder, path) = place();
    let once = noise(1, 10 * CHUNK + 5);
    write(&path, std::slice::from_ref(&once));
    let length = fs::metadata(&path).unwrap().len();
    let mut changed = once.clone();
    changed[3 * CHUNK] ^= 1;
    write(&path, &[once.clone(), once, changed]);
    let more = fs::metadata(&path).unwrap().len() - length;
    assert!((CHUNK as u64..CHUNK as u64 + 100).contains(&more), "{more}");
}

#[test]
fn contents_of_other_files_are_refused() {
    let (_folder, path) = place();
    let written = write(&path, &[noise(1, 3 * CHUNK)]);
    let longer = Content { length: written[0].length + 1, ..written[0].clone() };
    let beyond = Content { chunks: vec![0, 1, 3], ..written[0].clone() };
    for content in [longer, beyond] {
        assert!(matches!(read(&path, &[content]), Err(ContentError::Damaged { .. })));
    }
}

#[test]
fn flipped_bits_without_effect_on_the_content_are_errors() {
    let contents = [vec![7; 50], noise(1, 100), [noise(2, 20), vec![0; 60]].concat()];
    let (_folder, path) = place();
    let written = write(&path, &contents);
    let mut bytes = fs::read(&path).unwrap();
    for bit in 0..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &bytes).unwrap();
        assert!(read(&path, &written).is_err(), "bit {bit}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

//! File format of sections, mainly detection of damage.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use voltsim_checkpoint::frame::{FORMAT, Frame, FrameError, Reason, Schema, Section, write};

type Sections = Vec<(String, Vec<u8>)>;

fn schema() -> Schema {
    Schema::of("test contents, version 1")
}

fn file(sections: &Sections) -> Vec<u8> {
    let sections: Vec<Section<'_>> =
        sections.iter().map(|(name, contents)| Section { name, schema: schema(), contents }).collect();
    write(&sections).unwrap()
}

/// Returns all sections of a file after verification.
fn read(file: &[u8]) -> Result<Sections, FrameError> {
    let frame = Frame::read(file)?;
    frame.names().map(|name| Ok((name.to_owned(), frame.section(name, schema())?.to_vec()))).collect()
}

fn sections() -> impl Strategy<Value = Sections> {
    let contents = prop::collection::vec(any::<u8>(), 0..60);
    prop::collection::btree_map("[a-zä.]{1,16}", contents, 0..5).prop_map(|map| map.into_iter().collect())
}

fn sample() -> Vec<u8> {
    file(&vec![
        ("kernel".to_owned(), vec![7; 40]),
        ("empty".to_owned(), vec![]),
        ("notes".to_owned(), vec![1, 2]),
    ])
}

proptest! {
    #[test]
    fn sections_round_trip(sections in sections()) {
        prop_assert_eq!(read(&file(&sections)).unwrap(), sections);
    }

    #[test]
    fn every_truncation_is_an_error(sections in sections()) {
        let file = file(&sections);
        for length in 0..file.len() {
            prop_assert!(Frame::read(&file[..length]).is_err());
        }
    }

    #[test]
    fn every_flipped_bit_is_an_error(sections in sections(), position in any::<prop::sample::Index>()) {
        let mut file = file(&sections);
        let bit = position.index(file.len() * 8);
        file[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(read(&file).is_err());
    }

    #[test]
    fn bytes_after_the_last_section_are_errors(sections in sections(), rest in 1..100_usize) {
        let mut file = file(&sections);
        let end = file.len();
        file.resize(end + rest, 0);
        let expected = FrameError { offset: end, reason: Reason::TrailingBytes(rest) };
        prop_assert_eq!(Frame::read(&file).unwrap_err(), expected);
    }

    #[test]
    fn arbitrary_bytes_are_an_error(bytes in any::<Vec<u8>>(), count in any::<u32>()) {
        prop_assert!(Frame::read(&bytes).is_err());
        let mut plausible = sample()[..12].to_vec();
        plausible.extend(count.to_le_bytes());
        plausible.extend(bytes);
        prop_assert!(Frame::read(&plausible).is_err());
    }
}

#[test]
fn every_flipped_bit_of_a_sample_is_an_error() {
    let file = sample();
    for bit in 0..file.len() * 8 {
        let mut damaged = file.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&damaged).is_err(), "bit {bit}");
    }
}

#[test]
fn errors_name_offset_and_reason() {
    let file = sample();
    let damaged = |offset: usize| {
        let mut file = file.clone();
        file[offset] ^= 1;
        read(&file).unwrap_err()
    };
    assert_eq!(damaged(0), FrameError { offset: 0, reason: Reason::Magic });
    assert_eq!(damaged(8), FrameError { offset: 8, reason: Reason::Format(FORMAT ^ 1) });
    assert_eq!(damaged(16), FrameError { offset: 16, reason: Reason::TableHash });
    assert_eq!(damaged(100), FrameError { offset: 16, reason: Reason::TableHash });
    let contents = 48 + 3 * 80;
    assert_eq!(
        damaged(contents),
        FrameError { offset: contents, reason: Reason::SectionHash("kernel".into()) }
    );
    let short = Frame::read(&file[..20]).unwrap_err();
    assert_eq!(short, FrameError { offset: 16, reason: Reason::Truncated { needed: 32, available: 4 } });
    assert_eq!(short.to_string(), "at byte 16: the file ends after 4 of 32 bytes");
}

#[test]
fn sections_of_other_schemas_are_refused() {
    let file = sample();
    let other = Schema::of("test contents, version 2");
    let error = Frame::read(&file).unwrap().section("notes", other).unwrap_err();
    let reason = Reason::Schema { name: "notes".into(), expected: other, found: schema() };
    assert_eq!(error, FrameError { offset: 48 + 2 * 80 + 32, reason });
}

#[test]
fn missing_sections_are_errors() {
    let error = Frame::read(&sample()).unwrap().section("registers", schema()).unwrap_err();
    assert_eq!(error.reason, Reason::Missing("registers".into()));
}

#[test]
fn invalid_section_names_are_refused() {
    let section = |name| Section { name, schema: schema(), contents: b"" };
    for name in ["", "a\0b", "a name of thirty-three characters"] {
        assert_eq!(write(&[section(name)]).unwrap_err().reason, Reason::Name(name.to_owned()));
    }
    let twice = write(&[section("a"), section("a")]).unwrap_err();
    assert_eq!(twice, FrameError { offset: 48 + 80, reason: Reason::Duplicate("a".into()) });
}

/// Returns the sample with replaced bytes in the table and an updated hash.
fn forged(offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = sample();
    file[offset..offset + bytes.len()].copy_from_slice(bytes);
    let table = &file[48..48 + 3 * 80];
    let hash = blake3::Hasher::new().update(&file[..16]).update(table).finalize();
    file[16..48].copy_from_slice(hash.as_bytes());
    file
}

#[test]
fn inconsistent_tables_with_matching_hashes_are_refused() {
    let refusal = |offset, bytes: &[u8]| Frame::read(&forged(offset, bytes)).unwrap_err();
    assert_eq!(refusal(48, &[0; 32]), FrameError { offset: 48, reason: Reason::Name(String::new()) });
    assert!(matches!(refusal(48, b"a\0b").reason, Reason::Name(_)));
    assert!(matches!(refusal(48, &[0xff]).reason, Reason::Name(_)));
    let duplicate = FrameError { offset: 48 + 80, reason: Reason::Duplicate("kernel".into()) };
    assert_eq!(refusal(48 + 80, b"kernel"), duplicate);
    let contents = 48 + 3 * 80;
    let truncated = Reason::Truncated { needed: u64::MAX, available: 42 };
    assert_eq!(refusal(48 + 40, &[0xff; 8]), FrameError { offset: contents, reason: truncated });
    assert!(matches!(refusal(48 + 40, &[0; 8]).reason, Reason::TrailingBytes(40)));
}

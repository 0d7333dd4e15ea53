//! Headers of wrappers, containers and entries.

use ptx_frontend::container::fatbin::{CONTAINER_HEADER_SIZE, container_size};
use ptx_frontend::container::{
    Container, ContainerError, Containers, EntryKind, Location, Origin, Portability, Wrapper,
};

use super::builder::{EXACT, EntryBuilder, FAMILY, container};
use super::entries;

const ENTRY_HEADER: usize = CONTAINER_HEADER_SIZE;

fn one_ptx() -> Vec<u8> {
    container(&[EntryBuilder::ptx(75, ".version 9.5\n")])
}

/// Writes `value` at `offset`.
fn patched(mut bytes: Vec<u8>, offset: usize, value: &[u8]) -> Vec<u8> {
    bytes[offset..offset + value.len()].copy_from_slice(value);
    bytes
}

fn count(bytes: &[u8]) -> usize {
    Containers::new(bytes, Origin::RegisteredImage).map(Result::unwrap).count()
}

#[test]
fn header_fields_of_an_entry_are_read() {
    let entry = EntryBuilder::ptx(75, ".version 9.5").identifier("x.cu").options(" -maxrregcount=32 ");
    let bytes = container(&[entry]);
    let entry = entries(&bytes).unwrap().remove(0);
    assert_eq!(entry.kind, EntryKind::Ptx);
    assert_eq!(entry.version, (9, 5));
    assert_eq!(entry.architecture.to_string(), "sm_75");
    assert_eq!(entry.identifier.as_deref(), Some("x.cu"));
    assert_eq!(entry.options.as_deref(), Some("-maxrregcount=32"));
    assert_eq!(entry.place().offset, 16);
}

#[test]
fn an_entry_without_strings_has_none() {
    let bytes = one_ptx();
    let entry = entries(&bytes).unwrap().remove(0);
    assert_eq!((entry.identifier, entry.options), (None, None));
}

#[test]
fn architecture_suffixes_come_from_the_flags() {
    let bytes = container(&[
        EntryBuilder::ptx(90, "").flags(EXACT),
        EntryBuilder::ptx(100, "").flags(FAMILY),
        EntryBuilder::ptx(100, ""),
    ]);
    let names: Vec<_> = entries(&bytes).unwrap().iter().map(|entry| entry.architecture.to_string()).collect();
    assert_eq!(names, ["sm_90a", "sm_100f", "sm_100"]);
    assert_eq!(entries(&bytes).unwrap()[2].architecture.portability, Portability::Portable);
}

#[test]
fn an_unknown_kind_is_kept_with_its_number() {
    let bytes = container(&[EntryBuilder::new(77, 75, b"?"), EntryBuilder::ptx(75, "")]);
    let kinds: Vec<_> = entries(&bytes).unwrap().iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, [EntryKind::Unknown(77), EntryKind::Ptx]);
}

#[test]
fn an_empty_container_has_no_entries() {
    assert_eq!(entries(&container(&[])).unwrap().len(), 0);
}

#[test]
fn containers_follow_one_another_with_zero_bytes_between() {
    let bytes = [container(&[]), one_ptx(), vec![0; 24], one_ptx(), vec![0; 8]].concat();
    assert_eq!(count(&bytes), 3);
}

#[test]
fn a_parsed_container_ends_where_its_header_says() {
    let bytes = [one_ptx(), vec![0xff; 40]].concat();
    let container = Container::parse(&bytes, Origin::RegisteredImage).unwrap();
    assert_eq!(container.bytes(), one_ptx());
}

#[test]
fn the_size_of_a_container_is_known_from_its_first_bytes() {
    let bytes = one_ptx();
    let header = bytes.first_chunk().unwrap();
    assert_eq!(container_size(header, Origin::RegisteredImage).unwrap(), bytes.len() as u64);
}

#[test]
fn a_container_larger_than_the_address_space_is_an_error() {
    let bytes = patched(one_ptx(), 8, &u64::MAX.to_le_bytes());
    let header = bytes.first_chunk().unwrap();
    let error = container_size(header, Origin::RegisteredImage).unwrap_err();
    assert!(matches!(error, ContainerError::Field { what: "container size", .. }), "{error}");
}

#[test]
fn wrappers_of_both_versions_are_read() {
    let record = |version: u32, array: u64| {
        let fields = [
            &0x4662_43b1_u32.to_le_bytes()[..],
            &version.to_le_bytes(),
            &0x1000_u64.to_le_bytes(),
            &array.to_le_bytes(),
        ];
        let record: [u8; 24] = fields.concat().try_into().unwrap();
        Wrapper::parse(&record, Origin::RegisteredImage)
    };
    let wrapper = |version, relocatable| Wrapper { version, container: 0x1000, relocatable };
    assert_eq!(record(1, 0x2000).unwrap(), wrapper(1, None));
    assert_eq!(record(2, 0x2000).unwrap(), wrapper(2, Some(0x2000)));
    assert_eq!(record(2, 0).unwrap(), wrapper(2, None));
    let error = record(3, 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "registered image at offset 0x4: wrapper version is 0x3, but 1 and 2 are known"
    );
}

#[test]
fn errors_show_wrong_magic_numbers() {
    let error = entries(&patched(one_ptx(), 0, b"ABCD")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "registered image at offset 0x0: fat binary container starts with 0x44434241 instead of 0xba55ed50"
    );
}

#[test]
fn garbage_between_containers_is_an_error_at_its_offset() {
    let first = one_ptx();
    let bytes = [first.clone(), vec![1; 16]].concat();
    let results: Vec<_> = Containers::new(&bytes, Origin::RegisteredImage).collect();
    assert_eq!(results.len(), 2);
    match &results[1] {
        Err(ContainerError::Magic { place: Location { offset, .. }, .. }) => {
            assert_eq!(*offset, first.len() as u64);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn truncated_entry_headers_name_file_and_offset() {
    let bytes = patched(one_ptx(), 8, &40_u64.to_le_bytes());
    let container = Container::parse(&bytes, Origin::file("a.fatbin")).unwrap();
    let error = container.entries().next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "a.fatbin at offset 0x10: entry header needs 64 bytes, but only 40 follow");
}

#[test]
fn a_payload_beyond_its_container_is_an_error() {
    let bytes = patched(one_ptx(), ENTRY_HEADER + 8, &1024_u64.to_le_bytes());
    let error = entries(&bytes).unwrap_err();
    assert!(matches!(error, ContainerError::Truncated { what: "payload", needed: 1024, .. }), "{error}");
}

#[test]
fn errors_name_impossible_header_fields() {
    let cases: [(usize, &[u8], &str); 8] = [
        (4, &2_u16.to_le_bytes(), "container version"),
        (6, &8_u16.to_le_bytes(), "container header size"),
        (6, &17_u16.to_le_bytes(), "container header size"),
        (ENTRY_HEADER + 4, &0x38_u32.to_le_bytes(), "entry header size"),
        (ENTRY_HEADER + 4, &0x41_u32.to_le_bytes(), "entry header size"),
        (ENTRY_HEADER + 8, &9_u64.to_le_bytes(), "payload size"),
        (ENTRY_HEADER + 16, &0x100_u32.to_le_bytes(), "compressed size"),
        (ENTRY_HEADER + 8, &u64::MAX.to_le_bytes(), "payload size"),
    ];
    for (offset, value, field) in cases {
        match entries(&patched(one_ptx(), offset, value)) {
            Err(ContainerError::Field { what, .. }) => assert_eq!(what, field),
            other => panic!("{field}: {other:?}"),
        }
    }
}

#[test]
fn a_string_outside_of_the_entry_header_is_an_error() {
    let named = container(&[EntryBuilder::ptx(75, "").identifier("x.cu").options("-O1")]);
    let record = ENTRY_HEADER + 72;
    for (offset, value, string) in [
        (ENTRY_HEADER + 32, 0x1000_u32, "identifier"),
        (ENTRY_HEADER + 36, 0x1000, "identifier"),
        (ENTRY_HEADER + 20, 0x1000, "option record"),
        (record, u32::MAX, "option string"),
        (record + 4, u32::MAX, "option string"),
    ] {
        match entries(&patched(named.clone(), offset, &value.to_le_bytes())) {
            Err(ContainerError::Truncated { what, .. }) => assert_eq!(what, string),
            other => panic!("{string}: {other:?}"),
        }
    }
}

#[test]
fn entries_before_a_damaged_one_are_listed() {
    let first = EntryBuilder::ptx(75, "");
    let second = CONTAINER_HEADER_SIZE + first.bytes().len();
    let bytes = patched(container(&[first.clone(), first]), second + 4, &[0; 4]);
    let container = Container::parse(&bytes, Origin::RegisteredImage).unwrap();
    let results: Vec<_> = container.entries().map(|entry| entry.is_ok()).collect();
    assert_eq!(results, [true, false]);
}

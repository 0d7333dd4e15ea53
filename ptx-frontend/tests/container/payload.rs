//! Payloads and their decompression.

use ptx_frontend::container::{Compression, ContainerError, MAX_PAYLOAD_SIZE};

use super::builder::{EntryBuilder, LZ4, ZSTD, container, cubin, raw_zstd_frame, repeating_zstd_frame};
use super::entries;

/// Text that compresses well.
fn text() -> String {
    (0..200).map(|number| format!("add.s32 %r{number}, %r1, %r2;\n")).collect()
}

/// Returns the PTX text of a container with this single entry.
fn ptx(entry: EntryBuilder) -> Result<String, ContainerError> {
    let bytes = container(&[entry]);
    Ok(entries(&bytes)?.remove(0).ptx()?.into_owned())
}

#[test]
fn text_of_every_compression_is_the_same() {
    let plain = EntryBuilder::ptx(75, &text());
    let with_content_size = plain.clone().stored_as(ZSTD, raw_zstd_frame(text().as_bytes()));
    let expected = text().trim_end().to_owned();
    for entry in [plain.clone(), plain.clone().lz4(), plain.zstd(), with_content_size] {
        assert_eq!(ptx(entry).unwrap(), expected);
    }
}

#[test]
fn sizes_and_compression_are_known_before_decompression() {
    let plain = EntryBuilder::ptx(75, &text());
    let bytes = container(&[plain.clone(), plain.clone().lz4(), plain.zstd()]);
    let entries = entries(&bytes).unwrap();
    let methods: Vec<_> = entries.iter().map(|entry| entry.compression().unwrap()).collect();
    assert_eq!(methods, [Compression::None, Compression::Lz4, Compression::Zstd]);
    for compressed in &entries[1..] {
        assert_eq!(compressed.uncompressed_size(), text().len() as u64);
        assert!(compressed.stored_size() < compressed.uncompressed_size());
    }
}

#[test]
fn newlines_and_nuls_around_the_text_are_padding() {
    assert_eq!(ptx(EntryBuilder::ptx(75, "\n\n\n.version 9.5\n\n\0\0\0")).unwrap(), ".version 9.5");
}

#[test]
fn bytes_that_are_not_utf8_do_not_spoil_the_text() {
    let entry = EntryBuilder::new(1, 75, b"// Andr\xe9\n.version 9.5");
    assert_eq!(ptx(entry).unwrap(), "// Andr\u{fffd}\n.version 9.5");
}

#[test]
fn damaged_payloads_fail_at_decompression() {
    let damaged = EntryBuilder::ptx(75, &text()).stored_as(LZ4, vec![0xff; 64]);
    let bytes = container(&[damaged, EntryBuilder::ptx(80, "intact")]);
    let entries = entries(&bytes).unwrap();
    let error = entries[0].payload().unwrap_err();
    assert!(matches!(error, ContainerError::Damaged { compression: Compression::Lz4, .. }), "{error}");
    assert_eq!(entries[1].ptx().unwrap(), "intact");
}

#[test]
fn zstd_frames_with_wrong_checksums_are_damaged() {
    let entry = EntryBuilder::ptx(75, &text()).zstd();
    let mut bytes = container(std::slice::from_ref(&entry));
    let last_byte_of_frame = {
        let entry = entries(&bytes).unwrap().remove(0);
        16 + 0x48 + entry.stored_size() as usize - 1
    };
    bytes[last_byte_of_frame] ^= 1;
    let error = entries(&bytes).unwrap().remove(0).payload().unwrap_err();
    assert!(error.to_string().contains("checksum"), "{error}");
}

#[test]
fn wrong_uncompressed_sizes_are_errors() {
    let plain = EntryBuilder::ptx(75, &text());
    let size = text().len() as u64;
    for entry in [plain.clone().lz4(), plain.clone().zstd(), plain.stored_as(ZSTD, raw_zstd_frame(b"abc"))] {
        for claim in [0, 1, size - 1, size + 1] {
            let error = ptx(entry.clone().claiming(claim)).unwrap_err();
            let expected = matches!(
                error,
                ContainerError::SizeMismatch { .. }
                    | ContainerError::Damaged { compression: Compression::Lz4, .. }
            );
            assert!(expected, "{claim}: {error}");
        }
    }
}

#[test]
fn impossible_compression_ratios_are_refused() {
    let lz4 = EntryBuilder::ptx(75, &text()).stored_as(LZ4, vec![0; 16]);
    let zstd = EntryBuilder::ptx(75, &text()).stored_as(ZSTD, raw_zstd_frame(b"abc"));
    for (entry, possible) in [(lz4, 16 * 255 + 19), (zstd, 15 * 32_768)] {
        match ptx(entry.claiming(possible + 1)) {
            Err(ContainerError::TooLarge { claimed, limit, .. }) => {
                assert_eq!((claimed, limit), (possible + 1, possible));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn frames_above_one_gigabyte_are_refused() {
    let blocks = 8193;
    let entry = EntryBuilder::ptx(75, "")
        .stored_as(ZSTD, repeating_zstd_frame(blocks))
        .claiming(u64::from(blocks) * (128 << 10));
    let error = ptx(entry).unwrap_err();
    assert!(matches!(error, ContainerError::TooLarge { limit: MAX_PAYLOAD_SIZE, .. }), "{error}");
}

#[test]
fn decompression_stops_at_the_claimed_size() {
    let frame = repeating_zstd_frame(64);
    let error = ptx(EntryBuilder::ptx(75, "").stored_as(ZSTD, frame).claiming(1000)).unwrap_err();
    assert!(matches!(error, ContainerError::SizeMismatch { claimed: 1000, actual: 1001, .. }), "{error}");
}

#[test]
fn unflagged_compression_is_an_error() {
    for flags in [0, LZ4 | ZSTD, 0x1000] {
        let error = ptx(EntryBuilder::ptx(75, &text()).stored_as(flags, vec![1; 8])).unwrap_err();
        assert!(matches!(error, ContainerError::UnknownCompression { .. }), "{error}");
    }
}

#[test]
fn only_a_ptx_entry_has_ptx_text() {
    let error = ptx(EntryBuilder::new(2, 75, &cubin(&[]))).unwrap_err();
    assert_eq!(error.to_string(), "registered image at offset 0x10: the entry holds elf, not PTX");
}

//! Inconsistent images with matching hashes.

#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init)]

mod common;

use std::ops::Range;
use std::path::{Path, PathBuf};

use common::memory::{Kept, noise, pattern};
use proptest::prelude::*;
use voltsim_checkpoint::atomic_file::Durability;
use voltsim_checkpoint::codec::encode;
use voltsim_checkpoint::frame::{File, FileWriter, Schema};
use voltsim_checkpoint::image::{Image, ImageError};

const NAME: &str = "memory";
const PAGE: u64 = 4096;

/// Offset, length, pages, compression flag, hash.
type Chunk = (u64, u64, u32, bool, [u8; 32]);
/// Address, (file, chunk, slot), pages.
type Run = (u64, (u32, u64, u32), u32);
/// Name and hash.
type Base = (String, [u8; 32]);

/// Sections of an image.
#[derive(Clone, Debug)]
struct Sections {
    /// Pages section, which begins at a multiple of a page in the file.
    pages: Vec<u8>,
    hashes: Vec<u8>,
    chunks: Vec<Chunk>,
    regions: Vec<Range<u64>>,
    bases: Vec<Base>,
    runs: Vec<Run>,
}

impl Sections {
    /// Returns a valid image: two uncompressed pages and a compressed chunk of three, at addresses from
    /// page 16 on.
    fn valid() -> Self {
        let raw = [noise(1), noise(2)].concat();
        let packed = zstd::bulk::compress(&[pattern(1), pattern(2), pattern(3)].concat(), 1).unwrap();
        let hash = |bytes: &[u8]| *blake3::hash(bytes).as_bytes();
        Self {
            chunks: vec![
                (0, 2 * PAGE, 2, false, hash(&raw)),
                (2 * PAGE, packed.len() as u64, 3, true, hash(&packed)),
            ],
            pages: [raw, packed].concat(),
            hashes: vec![0; 5 * 16],
            regions: vec![0..8 * PAGE, 16 * PAGE..32 * PAGE],
            bases: vec![],
            runs: vec![(16 * PAGE, (0, 0, 0), 2), (20 * PAGE, (0, 1, 1), 2), (22 * PAGE, (0, 1, 0), 1)],
        }
    }

    fn write(&self, path: &Path) {
        let mut writer = FileWriter::create(path, 5).unwrap();
        let sections: [(_, _, Vec<u8>); 4] = [
            ("pages", "pages of memory in chunks, version 1", self.pages.clone()),
            ("hashes", "16 bytes of BLAKE3 for each page, version 1", self.hashes.clone()),
            (
                "chunks",
                "chunks: offset, length, pages, compressed, BLAKE3; version 1",
                encode(&self.chunks).unwrap(),
            ),
            (
                "map",
                "map of memory: regions, bases, runs of address, file, chunk, slot, pages; version 1",
                encode(&(&self.regions, &self.bases, &self.runs)).unwrap(),
            ),
        ];
        writer.begin("filler", Schema::of("")).unwrap();
        writer.append(&vec![0; PAGE as usize - writer.position() as usize]).unwrap();
        for (part, schema, contents) in sections {
            writer.begin(&format!("{NAME}.{part}"), Schema::of(schema)).unwrap();
            writer.append(&contents).unwrap();
        }
        writer.finish(Durability::Unsynced).unwrap();
    }
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    (folder, path)
}

fn read(path: &Path) -> Result<Vec<u64>, ImageError> {
    let file = File::open(path)?;
    let sink = Kept::default();
    Image::read(&file, NAME)?.restore(&sink, 2)?;
    Ok(sink.into_pages().0.into_keys().map(|address| address / PAGE).collect())
}

#[test]
fn consistent_images_are_read() {
    let (_folder, path) = place();
    Sections::valid().write(&path);
    assert_eq!(read(&path).unwrap(), [16, 17, 20, 21, 22]);
}

#[test]
fn inconsistent_images_are_refused_with_a_reason() {
    let (_folder, path) = place();
    let refused = |lie: &dyn Fn(&mut Sections), expected: &str| {
        let mut sections = Sections::valid();
        lie(&mut sections);
        sections.write(&path);
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}, not {expected}");
    };
    refused(&|image| image.chunks[0].2 = 0, "chunk 0: it has no pages, or too many");
    refused(&|image| image.chunks[1].2 = u32::MAX, "chunk 1: it has no pages, or too many");
    refused(&|image| image.chunks[0].2 = 3, "chunk 0: its length is not that of its pages");
    refused(&|image| image.chunks[1].1 = 3 * PAGE, "chunk 1: it is larger than its pages");
    refused(&|image| image.chunks[0].0 = 8, "chunk 0: it does not begin at a multiple of a page");
    refused(&|image| image.chunks[0].0 = PAGE, "chunk 0: other data precede it");
    refused(
        &|image| image.chunks[1].0 = u64::MAX,
        "chunk 1: it is outside of the pages or overlaps the previous chunk",
    );
    refused(
        &|image| image.chunks[1].0 = PAGE,
        "chunk 1: it is outside of the pages or overlaps the previous chunk",
    );
    refused(&|image| image.pages.truncate(5000), "chunk 0: it ends after the pages");
    refused(&|image| image.pages.push(0), "bytes instead of");
    refused(&|image| image.hashes.truncate(64), "64 bytes instead of 80");
    refused(
        &|image| {
            image.chunks[1].2 = 2;
            image.hashes.truncate(64);
            image.runs.remove(1);
        },
        "pages at byte 12288: Zstandard",
    );
    refused(
        &|image| {
            image.chunks[1].2 = 4;
            image.hashes.resize(96, 0);
        },
        "12288 bytes instead of 16384",
    );
    refused(&|image| image.chunks[1].4[0] ^= 1, "pages at byte 12288: they do not match their hash");
    refused(&|image| image.regions[0].end = 0, "region 0: it is empty");
    refused(&|image| image.regions[0].start = 1, "region 0: it does not consist of whole pages");
    refused(&|image| image.regions[1].start = PAGE, "region 1: it overlaps the previous one");
    refused(&|image| image.runs[0].0 = 15 * PAGE, "run 0: it is outside of all regions");
    refused(&|image| image.runs[2].0 = 32 * PAGE, "run 2: it is outside of all regions");
    refused(&|image| image.runs[1].0 = 17 * PAGE, "run 1: it is empty, misaligned, or not after");
    refused(&|image| image.runs[1].0 += 1, "run 1: it is empty, misaligned, or not after");
    refused(&|image| image.runs[1].2 = 0, "run 1: it is empty, misaligned, or not after");
    refused(&|image| image.runs[2].0 = u64::MAX - 4095, "run 2: it ends after the last address");
    refused(&|image| image.runs[1].1.0 = 1, "run 1: its chunk does not exist");
    refused(&|image| image.runs[1].1.1 = u64::MAX, "run 1: its chunk does not exist");
    refused(&|image| image.runs[1].1.2 = 2, "run 1: it exceeds its chunk");
    refused(&|image| image.runs[1].1.2 = u32::MAX, "run 1: it exceeds its chunk");
    for name in ["", ".", "..", "../image", "/etc/passwd", "a\0b"] {
        refused(&|image| image.bases.push((name.to_owned(), [0; 32])), "base 0: its name is not a file name");
    }
    refused(&|image| image.bases.push(("image".to_owned(), [0; 32])), "was replaced since");
}

#[test]
fn decompression_bombs_take_no_memory() {
    let (_folder, path) = place();
    let bomb = zstd::bulk::compress(&vec![0; 1 << 28], 1).unwrap();
    let mut image = Sections::valid();
    image.chunks = vec![(0, bomb.len() as u64, 128, true, *blake3::hash(&bomb).as_bytes())];
    image.pages = bomb;
    image.hashes = vec![0; 128 * 16];
    image.runs = vec![(16 * PAGE, (0, 0, 0), 1)];
    image.write(&path);
    assert!(read(&path).unwrap_err().to_string().contains("Zstandard"));
}

fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![0..6_u64, (0..40_u64).prop_map(|page| page * PAGE), any::<u64>()]
}

proptest! {
    #[test]
    fn arbitrary_fields_are_an_image_or_an_error(
        chunk in (0..2_usize, numbers(), numbers(), numbers(), any::<bool>()),
        run in (0..3_usize, numbers(), numbers(), numbers(), numbers(), numbers()),
        region in (0..2_usize, numbers(), numbers()),
        which in 0..8_u32,
    ) {
        let (_folder, path) = place();
        let mut image = Sections::valid();
        if which & 1 != 0 {
            let hash = image.chunks[chunk.0].4;
            image.chunks[chunk.0] = (chunk.1, chunk.2, chunk.3 as u32, chunk.4, hash);
        }
        if which & 2 != 0 {
            image.runs[run.0] = (run.1, (run.2 as u32, run.3, run.4 as u32), run.5 as u32);
        }
        if which & 4 != 0 {
            image.regions[region.0] = region.1..region.2;
        }
        image.write(&path);
        if let Ok(pages) = read(&path) {
            prop_assert!(pages.iter().all(|page| image.regions.iter().any(|region| region.contains(&(page * PAGE)))));
        }
    }

    #[test]
    fn arbitrary_sections_are_an_error(pages in any::<Vec<u8>>(), map in any::<Vec<u8>>()) {
        let (_folder, path) = place();
        let mut image = Sections::valid();
        image.pages = pages;
        image.write(&path);
        prop_assert!(read(&path).is_err());
        let mut writer = FileWriter::create(&path, 1).unwrap();
        writer.begin("memory.map", Schema::of("map of memory: regions, bases, runs of address, file, chunk, slot, pages; version 1")).unwrap();
        writer.append(&map).unwrap();
        writer.finish(Durability::Unsynced).unwrap();
        prop_assert!(read(&path).is_err());
    }
}

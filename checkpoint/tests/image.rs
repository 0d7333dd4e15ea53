//! Images of memory.

#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init)]

mod common;

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use common::memory::{Kept, Pages, noise, pages, pattern};
use proptest::prelude::*;
use voltsim_checkpoint::atomic_file::Durability;
use voltsim_checkpoint::frame::{File, FileWriter, Written};
use voltsim_checkpoint::image::{Image, ImageError, PAGE, ReadMemory, Region, SECTIONS, Saved, Sink, save};

const NAME: &str = "memory";

fn write(path: &Path, pages: &Pages, regions: &[Region], threads: usize) -> (Saved, Written) {
    let mut writer = FileWriter::create(path, SECTIONS).unwrap();
    let saved = save(&mut writer, NAME, regions, pages, threads).unwrap();
    (saved, writer.finish(Durability::Unsynced).unwrap())
}

fn read(path: &Path) -> Result<Pages, ImageError> {
    let file = File::open(path)?;
    let sink = Kept::default();
    Image::read(&file, NAME)?.restore(&sink, 2)?;
    Ok(sink.into_pages())
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    (folder, path)
}

fn any_pages() -> impl Strategy<Value = Pages> {
    let contents = prop_oneof![
        1 => Just(vec![0; PAGE]),
        2 => (0..20_u64).prop_map(pattern),
        2 => (0..1000_u64).prop_map(noise),
    ];
    prop::collection::btree_map((1..2000_u64).prop_map(|page| page * PAGE as u64), contents, 0..600)
        .prop_map(Pages)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn memory_images_round_trip(memory in any_pages()) {
        let (_folder, path) = place();
        write(&path, &memory, &memory.regions(), 2);
        let file = File::open(&path).unwrap();
        let image = Image::read(&file, NAME).unwrap();
        prop_assert_eq!(image.regions(), &[memory.regions()[0].addresses.clone()]);
        let sink = Kept::default();
        image.restore(&sink, 2).unwrap();
        prop_assert_eq!(sink.into_pages(), memory.without_zeros());
    }

    #[test]
    fn every_truncation_is_an_error(memory in any_pages(), length in any::<prop::sample::Index>()) {
        let (_folder, path) = place();
        write(&path, &memory, &memory.regions(), 2);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..length.index(whole.len())]).unwrap();
        prop_assert!(read(&path).is_err());
    }

    #[test]
    fn every_flipped_bit_is_an_error(memory in any_pages(), bit in any::<prop::sample::Index>()) {
        let (_folder, path) = place();
        write(&path, &memory, &memory.regions(), 2);
        let mut damaged = fs::read(&path).unwrap();
        let bit = bit.index(damaged.len() * 8);
        damaged[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, damaged).unwrap();
        prop_assert!(File::open(&path).and_then(|file| file.check()).is_err());
        prop_assert!(read(&path).is_err());
    }
}

#[test]
fn image_files_do_not_depend_on_the_number_of_threads() {
    let (_folder, path) = place();
    let memory =
        pages(1 << 20, (0..5000).map(|index| if index % 3 == 0 { noise(index) } else { pattern(index) }));
    let mut files = (1..5).map(|threads| {
        write(&path, &memory, &memory.regions(), threads);
        fs::read(&path).unwrap()
    });
    let first = files.next().unwrap();
    assert!(files.all(|file| file == first));
}

#[test]
fn zero_and_repeated_pages_take_no_space() {
    let (_folder, path) = place();
    let contents = (0..3000).map(|index| match index % 3 {
        0 => vec![0; PAGE],
        1 => noise(1),
        _ => noise(2),
    });
    let memory = pages(1 << 20, contents);
    let (saved, written) = write(&path, &memory, &memory.regions(), 2);
    let bytes = 2 * PAGE as u64;
    assert_eq!(saved, Saved { touched: 3000, zero: 1000, repeated: 1998, stored: 2, bytes });
    assert!(written.length < 40_000, "{} bytes", written.length);
    assert_eq!(read(&path).unwrap(), memory.without_zeros());
}

#[test]
fn compressible_pages_are_compressed() {
    let (_folder, path) = place();
    let memory = pages(1 << 20, (1..1001).map(pattern));
    let (saved, _) = write(&path, &memory, &memory.regions(), 2);
    assert!(saved.stored == 1000 && saved.bytes < 200_000, "{saved:?}");
}

#[test]
fn changes_to_open_images_are_errors_or_without_effect() {
    for kind in [noise, pattern] {
        let memory = pages(1 << 20, (1..1001).map(kind));
        let changes: [fn(&Path); 3] = [
            |path| fs::File::options().write(true).open(path).unwrap().set_len(5000).unwrap(),
            |path| fs::write(path, vec![0; fs::read(path).unwrap().len()]).unwrap(),
            |path| fs::rename(path, path.with_file_name("other")).unwrap(),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let (_folder, path) = place();
            write(&path, &memory, &memory.regions(), 2);
            let file = File::open(&path).unwrap();
            let image = Image::read(&file, NAME).unwrap();
            change(&path);
            let sink = Kept::default();
            match image.restore(&sink, 2) {
                Ok(1000) if number == 2 => assert_eq!(sink.into_pages(), memory),
                Err(error) if number < 2 => {
                    assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
                    assert!(error.remedy().is_some());
                }
                other => panic!("change {number}: {other:?}"),
            }
        }
    }
}

#[test]
fn untouched_addresses_are_not_read() {
    struct Touched(Range<u64>);
    impl ReadMemory for Touched {
        fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
            assert!(self.0.start <= address && address + bytes.len() as u64 <= self.0.end);
            bytes.fill(1);
            Ok(())
        }
    }
    let (_folder, path) = place();
    let touched = 1 << 30..(1 << 30) + 3_000_000 / PAGE as u64 * PAGE as u64;
    let regions = [Region { addresses: 0..1 << 40, touched: vec![touched.clone()] }];
    let mut writer = FileWriter::create(&path, SECTIONS).unwrap();
    save(&mut writer, NAME, &regions, &Touched(touched), 2).unwrap();
    writer.finish(Durability::Unsynced).unwrap();
    assert_eq!(
        Image::read(&File::open(&path).unwrap(), NAME).unwrap().regions(),
        &regions.map(|region| region.addresses)
    );
}

#[test]
fn invalid_regions_are_refused() {
    let (_folder, path) = place();
    let refusal = |regions: &[(Range<u64>, &[Range<u64>])]| {
        let region = |(addresses, touched): &(Range<u64>, &[_])| Region {
            addresses: addresses.clone(),
            touched: touched.to_vec(),
        };
        let regions: Vec<_> = regions.iter().map(region).collect();
        let mut writer = FileWriter::create(&path, SECTIONS).unwrap();
        save(&mut writer, NAME, &regions, &Pages::default(), 1).unwrap_err().to_string()
    };
    assert_eq!(refusal(&[(0..4096, &[]), (4096..4096, &[])]), "region 1: it is empty");
    assert_eq!(refusal(&[(0..4095, &[])]), "region 0: it does not consist of whole pages");
    assert_eq!(refusal(&[(0..8192, &[]), (4096..8192, &[])]), "region 1: it overlaps the previous one");
    assert_eq!(refusal(&[(0..4096, &[4096..8192])]), "region 0: touched addresses lie outside of it");
    assert_eq!(refusal(&[(0..4096, &[0..4096, 0..4096])]), "region 0: it overlaps the previous one");
}

#[test]
fn errors_name_unreadable_memory() {
    struct Unreadable;
    impl ReadMemory for Unreadable {
        fn read(&self, address: u64, _bytes: &mut [u8]) -> io::Result<()> {
            if address >= 4 << 20 { Err(io::Error::other("gone")) } else { Ok(()) }
        }
    }
    let (folder, path) = place();
    let regions = [Region { addresses: 0..1 << 30, touched: vec![0..1 << 30] }];
    let mut writer = FileWriter::create(&path, SECTIONS).unwrap();
    let error = save(&mut writer, NAME, &regions, &Unreadable, 2).unwrap_err();
    assert_eq!(error.to_string(), "cannot read memory at 0x400000: gone");
    drop(writer);
    assert_eq!(common::names(folder.path()), Vec::<String>::new());
}

#[test]
fn a_full_disk_is_an_error_and_leaves_no_files() {
    const TEST: &str = "a_full_disk_is_an_error_and_leaves_no_files";
    if let Some(folder) = common::child_folder() {
        let memory = pages(1 << 20, (0..2000).map(noise));
        let mut writer = FileWriter::create(&folder.join("image"), SECTIONS).unwrap();
        let error = save(&mut writer, NAME, &memory.regions(), &memory, 2).unwrap_err();
        assert!(matches!(error, ImageError::File(_)) && error.remedy().is_some(), "{error}");
        return;
    }
    let (folder, _) = place();
    common::assert_succeeds(common::child(TEST, folder.path(), common::NO_ROOM).output().unwrap());
    assert_eq!(common::names(folder.path()), Vec::<String>::new());
}

#[test]
fn a_failing_sink_ends_the_restore() {
    struct Full;
    impl Sink for Full {
        fn write(&self, _address: u64, _bytes: &[u8]) -> io::Result<()> {
            Err(io::Error::other("no room"))
        }
    }
    let (_folder, path) = place();
    let memory = pages(1 << 20, [noise(1)]);
    write(&path, &memory, &memory.regions(), 1);
    let file = File::open(&path).unwrap();
    let error = Image::read(&file, NAME).unwrap().restore(&Full, 2).unwrap_err();
    assert_eq!(error.to_string(), "cannot restore memory at 0x100000: no room");
}

//! Files of older versions, written with their structures.

use std::fs;
use std::path::{Path, PathBuf};

use functional::memory::{AllocationKind, Memory};
use tempfile::TempDir;
use voltsim_checkpoint::atomic_file::Durability;
use voltsim_checkpoint::frame::{FileWriter, Schema};
use voltsim_checkpoint::image;
use voltsim_checkpoint::journal::{self, JournalWriter};
use voltsim_checkpoint::layout;

use super::*;
use crate::about::About;
use crate::convert::{ConvertError, Converted, Target, convert};
use crate::file::{ModelState, SavedError, SavedRun};
use crate::point::Point;

/// Empty device memory.
struct Nothing;

impl image::ReadMemory for Nothing {
    fn read(&self, _address: u64, _bytes: &mut [u8]) -> std::io::Result<()> {
        Ok(())
    }
}

fn about() -> About {
    About {
        voltsim: "0.0.9".to_owned(),
        engine: Digest::of(b"another build"),
        program: "/bin/program".to_owned(),
        arguments: vec!["2".to_owned()],
        executable: Digest::of(b"program"),
        libraries: BTreeMap::new(),
        device: "NVIDIA TITAN V".to_owned(),
        profile: Digest::of(b"profile"),
        devices: 1,
        settings: BTreeMap::new(),
        model: BTreeMap::new(),
        point: Point { kernel: 2, inside: None },
        step: 5,
        launch: Asked::Choice,
    }
}

fn target(cold: bool) -> Target<'static> {
    let check_model =
        |bytes: &[u8]| codec::decode::<1000, String>(bytes).map(drop).map_err(|error| error.to_string());
    Target { voltsim: "0.1.0", engine: Digest::of(b"this build"), model: 9, check_model, cold }
}

/// A memory with allocations of the program and of a kernel.
fn memory() -> MemoryState {
    let memory = Memory::new(1 << 30).unwrap();
    memory.allocate(5000, 1, AllocationKind::Device).unwrap();
    memory.allocate(100, 1, AllocationKind::Heap).unwrap();
    memory.state()
}

fn device_7(model: Option<Vec<u8>>) -> Vec<u8> {
    let counters = DeviceCounters::default();
    codec::encode(&vec![Device7 { number: 0, memory: memory(), counters, model }]).unwrap()
}

fn device_9(model: Option<Vec<u8>>) -> Vec<u8> {
    bring(crate::section::DEVICES, 7..9, &device_7(model)).unwrap()
}

/// A folder with a file whose sections all have one version.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, version: u32, devices: &[u8], steps: &[Vec<u8>]) -> PathBuf {
        let path = self.path("old.vck");
        let mut writer = FileWriter::create(&path, 5 + image::SECTIONS).unwrap();
        let schema = |section: &str| Schema::of(&format!("saved run, {section}, version {version}"));
        let none = codec::encode(&None::<Launch7>).unwrap();
        let kernels = codec::encode(&BTreeMap::<String, crate::KernelCounts>::new()).unwrap();
        let about = codec::encode(&about()).unwrap();
        for (section, bytes) in
            [("about", &about[..]), ("devices", devices), ("kernels", &kernels), ("launch", &none)]
        {
            writer.begin(section, schema(section)).unwrap();
            writer.append(bytes).unwrap();
        }
        let mut records = JournalWriter::new(self.folder.path());
        steps.iter().for_each(|step| records.push(step).unwrap());
        records.write_as(&mut writer, "steps", journal::schema()).unwrap();
        image::save(&mut writer, "memory 0", &[], &Nothing, 1).unwrap();
        writer.finish(Durability::Unsynced).unwrap();
        path
    }

    fn convert(&self, cold: bool) -> Result<Converted, ConvertError> {
        convert(&self.path("old.vck"), &self.path("new.vck"), &target(cold))
    }

    /// The error of a conversion; no file is left behind.
    fn refusal(&self, cold: bool) -> ConvertError {
        let error = self.convert(cold).unwrap_err();
        assert_eq!(fs::read_dir(self.folder.path()).unwrap().count(), 1, "{error}");
        error
    }

    fn converted(&self) -> SavedRun {
        let saved = SavedRun::open(&self.path("new.vck")).unwrap();
        saved.verify().unwrap();
        saved
    }
}

fn steps(path: &Path) -> Vec<Step> {
    SavedRun::open(path).unwrap().steps().unwrap().map(Result::unwrap).collect()
}

/// Layouts of older versions, which never change. Shared structures of today must be copied before
/// they change. Version 10 removed the names of two run-ahead counts in a launch; the bytes are
/// equal. `Step8` has grid and block of a launch as a `LaunchShape` of equal bytes.
const LAYOUTS: [(&str, &str); 5] = [
    ("Device7", "4b534ed09940abade263a9aa40119bc3"),
    ("Device9", "350548086292c4df50a9ac741cef7c9f"),
    ("Launch7", "655e972880d0ad225eacb2c6a0655846"),
    ("Step7", "b5a56814537b04956188f4c9c46970ff"),
    ("Step8", "176677353e0cb08c69b25b77be1fc78f"),
];

#[test]
fn layouts_of_old_versions_never_change() {
    let layouts = [
        layout::of::<Device7>(),
        layout::of::<Device9>(),
        layout::of::<Launch7>(),
        layout::of::<Step7>(),
        layout::of::<Step8>(),
    ];
    let found = layouts.map(|layout| Digest::of(layout.unwrap().as_bytes()).to_string());
    let found = LAYOUTS.iter().zip(found).map(|((name, _), digest)| (*name, digest));
    let known = LAYOUTS.map(|(name, digest)| (name, digest.to_owned()));
    assert_eq!(found.collect::<Vec<_>>(), known);
}

#[test]
fn version_7_addresses_convert_to_fixed_ones() {
    let asked = [
        Asked7::Copy { to: End7::Device(0x500), from: End7::Host, extent: [4, 1, 1], sent: None },
        Asked7::Copy { to: End7::Host, from: End7::Device(0x500), extent: [4, 1, 1], sent: None },
        Asked7::Fill { address: 0x600, extent: [4, 1, 1], value: 1 },
        Asked7::Wait { address: 0x700 },
        Asked7::Kernel {
            launch: 1,
            name: "kernel".to_owned(),
            grid: [1; 3],
            block: [32, 1, 1],
            shared: 0,
            arguments: Arguments { read: None, digest: Digest::of(b"arguments") },
            code: Digest::of(b"code"),
        },
    ];
    let outcome = || Outcome7 {
        received: None,
        written: vec![(0x800, vec![1, 2])],
        printed: b"x".to_vec(),
        choice: Some(3),
        nanoseconds: 700,
    };
    let old = (1..).zip(asked).map(|(number, asked)| Step7 { number, asked, outcome: outcome() });
    let old: Vec<Vec<u8>> = old.map(|step| codec::encode(&step).unwrap()).collect();
    for version in [6, 7] {
        let place = Place::new();
        place.write(version, &device_7(None), &old);
        let converted = place.convert(false).unwrap();
        let expected = [("about", 9), ("steps", 10), ("devices", 10), ("kernels", 9), ("launch", 10)];
        assert_eq!(converted.sections, expected.map(|(section, now)| (section, version..now)));
        let saved = place.converted();
        let now = saved.about().unwrap();
        assert_eq!(now, About { voltsim: "0.1.0".to_owned(), engine: Digest::of(b"this build"), ..about() });
        let devices = saved.devices().unwrap();
        assert_eq!((devices[0].memory.clone(), devices[0].registered.len()), (memory(), 0));
        let steps = steps(&place.path("new.vck"));
        assert_eq!(steps.len(), 5);
        let to = End::Device(Address::Same(0x500));
        assert_eq!(steps[0].asked, Asked::Copy { to, from: End::Host, extent: [4, 1, 1], sent: None });
        assert_eq!(steps[3].asked, Asked::Wait { address: Address::Same(0x700) });
        assert!(matches!(&steps[4].asked, Asked::Kernel { name, .. } if name == "kernel"));
        for step in steps {
            let written = vec![(Address::Same(0x800), vec![1, 2])];
            let (printed, choice) = (b"x".to_vec(), Some(3));
            let nanoseconds = 700;
            let outcome = Outcome { written, printed, choice, nanoseconds, ..Outcome::default() };
            assert_eq!(step.outcome, outcome);
        }
    }
}

#[test]
fn version_8_steps_read_with_and_without_faults() {
    let now = |number, fault, nanoseconds| Step {
        number,
        asked: Asked::Choice,
        outcome: Outcome { fault, nanoseconds, ..Outcome::default() },
    };
    let without = |number, nanoseconds| {
        let outcome =
            Outcome8 { received: None, written: vec![], printed: vec![], choice: None, nanoseconds };
        codec::encode(&Step8 { number, asked: Asked::Choice, outcome }).unwrap()
    };
    let with: Vec<Step> = [(1, None, 0), (2, Some(719), 1), (3, None, 1 << 40)]
        .map(|(number, fault, nanoseconds)| now(number, fault, nanoseconds))
        .to_vec();
    let mut old: Vec<Vec<u8>> = with.iter().map(|step| codec::encode(step).unwrap()).collect();
    old.extend([without(4, 0), without(5, 1), without(6, 1 << 40)]);
    let place = Place::new();
    place.write(8, &device_9(None), &old);
    place.convert(false).unwrap();
    let expected = [with, vec![now(4, None, 0), now(5, None, 1), now(6, None, 1 << 40)]].concat();
    assert_eq!(steps(&place.path("new.vck")), expected);
}

#[test]
fn current_timing_state_is_kept() {
    let state = codec::encode("state").unwrap();
    let place = Place::new();
    place.write(9, &device_9(Some(state.clone())), &[]);
    for cold in [false, true] {
        let converted = place.convert(cold).unwrap();
        assert_eq!(converted.left_out, []);
        let model = place.converted().model(0).unwrap();
        assert_eq!(model, Some(ModelState { version: 9, bytes: state.clone() }));
    }
}

#[test]
fn other_timing_state_is_rejected_or_dropped() {
    let place = Place::new();
    place.write(8, &device_9(Some(b"state".to_vec())), &[]);
    let error = place.refusal(false);
    assert!(matches!(error, ConvertError::Model { device: 0, found: 8, wanted: 9 }), "{error}");
    assert!(error.remedy().contains("--cold"));
    assert_eq!(place.convert(true).unwrap().left_out, [(0, 8)]);
    assert_eq!(place.converted().model(0).unwrap(), None);
    // Current version, invalid bytes.
    let place = Place::new();
    place.write(9, &device_9(Some(vec![200])), &[]);
    let error = place.refusal(false).to_string();
    assert!(error.contains("timing-model state of device 0"), "{error}");
}

#[test]
fn too_old_or_newer_section_error_names_it() {
    let place = Place::new();
    place.write(5, &device_7(None), &[]);
    let error = place.refusal(false);
    assert!(matches!(error, ConvertError::TooOld { section: "about", found: 5, oldest: 6 }), "{error}");
    for (version, found) in [(12, Some(12)), (5000, None)] {
        place.write(version, &device_9(None), &[]);
        let error = place.refusal(false);
        assert!(
            matches!(&error, ConvertError::Saved(SavedError::Version { found: is, .. }) if *is == found),
            "{error}"
        );
        assert!(error.remedy().contains("Use the Voltsim"), "{}", error.remedy());
    }
}

#[test]
fn file_of_this_build_is_copied_byte_for_byte() {
    let place = Place::new();
    place.write(9, &device_9(None), &[]);
    assert!(!place.convert(false).unwrap().is_as_before());
    fs::rename(place.path("new.vck"), place.path("old.vck")).unwrap();
    assert!(place.convert(true).unwrap().is_as_before());
    assert_eq!(fs::read(place.path("new.vck")).unwrap(), fs::read(place.path("old.vck")).unwrap());
}

#[test]
fn conversion_never_overwrites_the_old_file() {
    let place = Place::new();
    let old = place.write(9, &device_9(None), &[]);
    let before = fs::read(&old).unwrap();
    let error = convert(&old, &place.folder.path().join("./old.vck"), &target(false)).unwrap_err();
    assert!(matches!(error, ConvertError::SameFile), "{error}");
    assert_eq!(fs::read(&old).unwrap(), before);
}

#[test]
fn flipped_or_truncated_file_is_rejected() {
    let place = Place::new();
    let step = Step { number: 1, asked: Asked::Choice, outcome: Outcome::default() };
    let model = codec::encode("state").unwrap();
    let path = place.write(9, &device_9(Some(model)), &[codec::encode(&step).unwrap()]);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        fs::write(&path, &damaged).unwrap();
        place.refusal(true);
    }
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        place.refusal(true);
    }
}

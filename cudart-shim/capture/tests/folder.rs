//! Folders of captured launches round-trip; damage is detected and named.

#![allow(clippy::unwrap_used)]

use launch_capture::{
    Address, Buffer, Capture, Error, FORMAT, Image, Launch, Level, Parameter, ResultsWriter, Surface, Words,
    Writer,
};
use std::fs;
use std::path::{Path, PathBuf};

fn launch() -> Launch {
    let mut pointers = Words::default();
    pointers.push(0);
    let parameter = Parameter {
        name: "p".to_owned(),
        offset: 8,
        bytes: 0x1000_u64.to_le_bytes().to_vec(),
        pointers,
        objects: Words::default(),
    };
    let level = Level { address: Address(0x1100), size: [10, 5, 1], pitch: 64, slice: 320 };
    let image = Image {
        format: 0x20,
        channels: 1,
        texel_bytes: 4,
        dimensions: 2,
        layers: 3,
        cube: false,
        levels: vec![level],
    };
    Launch {
        format: FORMAT,
        voltsim: "1".to_owned(),
        program: "/bin/program".to_owned(),
        launch: 3,
        api_call: 17,
        device: "titan-v".to_owned(),
        kernel: "k".to_owned(),
        modules: Vec::new(),
        grid: [1, 2, 3],
        block: [32, 1, 1],
        dynamic_shared: 0,
        cooperative: false,
        cluster: None,
        parameter_bytes: 16,
        heap_limit: Some(1 << 20),
        omitted: Vec::new(),
        parameters: vec![parameter],
        buffers: Vec::new(),
        images: vec![image],
        textures: Vec::new(),
        surfaces: vec![Surface { handle: Address(0x50), reference: None, image: 0 }],
    }
}

fn write(folder: &Path) -> Capture {
    let mut writer = Writer::new(folder).unwrap();
    writer.module(".version 7.0").unwrap();
    writer.buffer(Buffer::new(0x1000, "device"), &[7; 5000]).unwrap();
    writer
        .buffer(Buffer { variable: Some("v".to_owned()), ..Buffer::new(0x8000, "module") }, &[1, 2])
        .unwrap();
    writer.finish(launch()).unwrap()
}

fn captured() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("deep/0003-k");
    write(&folder);
    (place, folder)
}

fn replace(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

#[test]
fn written_folder_reads_back() {
    let (_place, folder) = captured();
    let capture = Capture::open(&folder).unwrap();
    assert_eq!(capture.modules().unwrap(), [".version 7.0"]);
    let launch = capture.launch();
    assert_eq!((launch.grid, launch.shape().thread_count()), ([1, 2, 3], 192));
    assert_eq!(launch.parameter_block()[8..], 0x1000_u64.to_le_bytes());
    assert_eq!(launch.parameters[0].pointers.offsets().collect::<Vec<_>>(), [0]);
    assert_eq!(capture.contents(0).unwrap(), [7; 5000]);
    assert_eq!(capture.contents(1).unwrap(), [1, 2]);
    assert_eq!(launch.buffers[1].variable.as_deref(), Some("v"));
    assert!(capture.results().unwrap().is_none());
}

#[test]
fn results_lie_beside_the_launch() {
    let (_place, folder) = captured();
    let mut writer = ResultsWriter::new(&folder.join("results")).unwrap();
    writer.buffer(0x1000, &[8; 5000]).unwrap();
    writer.finish("CUDA_SUCCESS").unwrap();
    let results = Capture::open(&folder).unwrap().results().unwrap().unwrap();
    assert_eq!(
        (results.list().outcome.as_str(), results.list().buffers[0].address),
        ("CUDA_SUCCESS", Address(0x1000))
    );
    assert_eq!(results.contents(&results.list().buffers[0]).unwrap(), [8; 5000]);
}

#[test]
fn existing_folder_is_not_overwritten() {
    let (_place, folder) = captured();
    assert!(matches!(Writer::new(&folder), Err(Error::Exists { path }) if path == folder));
}

#[test]
fn folder_without_manifest_is_no_capture() {
    let (_place, folder) = captured();
    fs::remove_file(folder.join("launch.toml")).unwrap();
    assert!(matches!(Capture::open(&folder), Err(Error::NotACapture { path }) if path == folder));
}

#[test]
fn other_format_is_rejected_before_its_fields_are_read() {
    let (_place, folder) = captured();
    let manifest = folder.join("launch.toml");
    replace(&manifest, "format = 2", "format = 9\nnovelty = true");
    assert!(matches!(Capture::open(&folder), Err(Error::Format { found: 9, path, .. }) if path == manifest));
}

#[test]
fn manifest_error_shows_its_line() {
    let (_place, folder) = captured();
    let manifest = folder.join("launch.toml");
    replace(&manifest, "0x1000", "1000");
    let message = Capture::open(&folder).unwrap_err().to_string();
    assert!(message.contains("launch.toml") && message.contains("address = \"1000\""), "{message}");
}

#[test]
fn offsets_and_paths_outside_are_rejected() {
    for (from, to) in [
        ("pointers = [\"0\"]", "pointers = [\"8\"]"),
        ("offset = 8", "offset = 9"),
        ("layers = 3", "layers = 15"),
        ("pitch = 64", "pitch = 0"),
        ("image = 0", "image = 1"),
    ] {
        let (_place, folder) = captured();
        replace(&folder.join("launch.toml"), from, to);
        assert!(matches!(Capture::open(&folder), Err(Error::Malformed { .. })), "{to}");
    }
    let (_place, folder) = captured();
    replace(&folder.join("launch.toml"), "buffers/0.zst", "../buffers/0.zst");
    let capture = Capture::open(&folder).unwrap();
    assert!(matches!(capture.contents(0), Err(Error::Malformed { .. })));
}

#[test]
fn damaged_or_missing_buffer_error_names_the_file() {
    let (_place, folder) = captured();
    let file = folder.join("buffers/0.zst");
    let capture = Capture::open(&folder).unwrap();
    let whole = fs::read(&file).unwrap();
    let message = |contents: Option<&[u8]>| {
        match contents {
            Some(contents) => fs::write(&file, contents).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        let error = capture.contents(0).unwrap_err();
        assert!(!error.remedy().is_empty());
        error.to_string()
    };
    for contents in [Some(&whole[..whole.len() / 2]), Some(b"garbage".as_slice()), Some(&[]), None] {
        assert!(message(contents).contains("buffers/0.zst"));
    }
    let other = fs::read(folder.join("buffers/1.zst")).unwrap();
    assert!(message(Some(&other)).contains("not 5000 bytes"));
}

//! Kernel streams round-trip; damage is detected.

#![allow(clippy::unwrap_used)]

use launch_capture::{
    About, Accessible, Buffer, Entry, FORMAT, HeldLaunch, Holder, KernelStream, Launch, Parameter, Sink,
    StreamWriter, Words,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use warp_stream::{Executed, Past, Trace, UsedPage};

fn about() -> About {
    About { voltsim: "1".to_owned(), command: vec!["./program".to_owned()], device: "titan-v".to_owned() }
}

fn manifest(number: u64) -> Launch {
    let bytes = number.to_le_bytes().to_vec();
    let (pointers, objects) = (Words::default(), Words::default());
    Launch {
        format: FORMAT,
        voltsim: "1".to_owned(),
        program: "/bin/program".to_owned(),
        launch: number,
        api_call: number,
        device: "titan-v".to_owned(),
        kernel: "k".to_owned(),
        modules: Vec::new(),
        grid: [1, 2, 3],
        block: [32, 1, 1],
        dynamic_shared: 0,
        cooperative: false,
        cluster: None,
        parameter_bytes: 8,
        heap_limit: None,
        omitted: Vec::new(),
        parameters: vec![Parameter { name: "p".to_owned(), offset: 0, bytes, pointers, objects }],
        buffers: Vec::new(),
        images: Vec::new(),
        textures: Vec::new(),
        surfaces: Vec::new(),
    }
}

fn memory(number: u64) -> Vec<u8> {
    let mut bytes = vec![7; 300_000];
    bytes[100_000] = number as u8;
    bytes
}

fn past() -> Past {
    let trace = Trace { line: 0x1000, read: 3, written: 4, bytes: 15 << 64, ..Trace::default() };
    Past {
        traces: vec![Trace { read_away: [0, 7, 0, 0], ..trace }],
        pages: vec![UsedPage { address: 0x20_0000, ctas: 3 }],
        code: vec![Executed { same: true, ctas: 5, bytes: 160 }],
    }
}

fn accessible() -> Accessible {
    Accessible { ranges: vec![(0x1000, 300_000), (0x50_0000, 7)], heap: vec![(0x70_0000, 16)] }
}

fn held(number: u64) -> HeldLaunch {
    let mut holder = Holder::default();
    holder.module(".version 7.0").unwrap();
    holder.buffer(Buffer::new(0x1000, "device"), memory(number)).unwrap();
    let mut held = holder.finish(manifest(number));
    held.past = (number == 2).then(past);
    held.accessible = (number == 2).then(accessible);
    held
}

fn write(path: &Path, launches: u64) {
    let mut writer = StreamWriter::create(path, &about()).unwrap();
    for number in 1..=launches {
        writer.copy(true, 0x1000, number).unwrap();
        writer.launch(&held(number)).unwrap();
    }
    assert_eq!(writer.launches(), launches);
    writer.finish().unwrap();
}

fn written(launches: u64) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.vks");
    write(&path, launches);
    (folder, path)
}

#[test]
fn launches_and_copies_round_trip_in_order() {
    let (_folder, path) = written(3);
    let stream = Arc::new(KernelStream::open(&path).unwrap());
    assert_eq!(stream.about(), &about());
    assert_eq!(stream.entries().len(), 6);
    assert_eq!(stream.entries()[2], Entry::Copy { to_device: true, address: 0x1000, bytes: 2 });
    let capture = stream.capture(3).unwrap().unwrap();
    assert_eq!(
        (capture.launch().launch, capture.launch().parameter_block()),
        (2, 2_u64.to_le_bytes().to_vec())
    );
    assert_eq!(capture.modules().unwrap(), [".version 7.0"]);
    assert_eq!(capture.contents(0).unwrap(), memory(2));
    assert!(stream.capture(2).unwrap().is_none(), "a copy is no launch");
    assert_eq!((stream.past(3).unwrap(), stream.past(1).unwrap()), (Some(past()), None));
    assert_eq!(capture.accessible().unwrap(), Some(accessible()));
    assert_eq!(stream.capture(1).unwrap().unwrap().accessible().unwrap(), None);
    stream.verify().unwrap();
}

#[test]
fn unchanged_memory_is_stored_once() {
    // One of each launch's 300,000 bytes is unique.
    let (_folder, few) = written(2);
    let (_other, many) = written(102);
    let more = fs::metadata(many).unwrap().len() - fs::metadata(few).unwrap().len();
    assert!(more < 100 * 3000, "{more}");
}

#[test]
fn identity_distinguishes_launches() {
    let (_folder, path) = written(3);
    let stream = KernelStream::open(&path).unwrap();
    let [one, two] = [1, 2].map(|number| stream.identity(number).unwrap());
    assert_ne!(one, two);
    assert!(stream.identity(4).is_none());
    let (_other, again) = written(1);
    assert_eq!(KernelStream::open(&again).unwrap().identity(1).unwrap(), one, "whatever else is in the file");
}

#[test]
fn identity_covers_allocated_memory() {
    let folder = tempfile::tempdir().unwrap();
    let identity_with = |name: &str, accessible| {
        let path = folder.path().join(name);
        let mut writer = StreamWriter::create(&path, &about()).unwrap();
        let mut held = held(1);
        held.accessible = accessible;
        writer.launch(&held).unwrap();
        writer.finish().unwrap();
        KernelStream::open(&path).unwrap().identity(1)
    };
    assert_ne!(identity_with("known.vks", Some(accessible())), identity_with("unknown.vks", None));
}

#[test]
fn truncated_or_flipped_stream_is_an_error() {
    let (_folder, path) = written(2);
    let whole = fs::read(&path).unwrap();
    let is_refused = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        KernelStream::open(&path).and_then(|stream| stream.verify()).is_err()
    };
    for length in (0..whole.len()).step_by(7) {
        assert!(is_refused(&whole[..length]), "a prefix of {length} bytes");
    }
    for bit in (0..whole.len() * 8).step_by(13) {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(is_refused(&bytes), "bit {bit}");
    }
}

#[test]
fn unfinished_stream_keeps_the_previous_file() {
    let (_folder, path) = written(1);
    let before = fs::read(&path).unwrap();
    let mut writer = StreamWriter::create(&path, &about()).unwrap();
    writer.copy(false, 1, 2).unwrap();
    drop(writer);
    assert_eq!(fs::read(&path).unwrap(), before);
}

//! Readers of untrusted files as fuzz targets: any bytes are read, or refused by an error; nothing panics.
//!
//! `fuzz/` holds the kept corpus and the crate that cargo-fuzz builds. The test `corpus` runs each target on
//! the corpus and on mutations of it.

mod checkpoint;
mod container;
mod seal;

pub use checkpoint::checkpoint;
pub use container::container;

use ptx_frontend::Module;
use ptx_frontend::analyse::{ControlFlow, Liveness};
use std::path::Path;
use timing::specification::{GpuSpec, gpu};
use warp_trace::Recording;
use warp_trace::accelsim::read_kernel;

/// A target: its name, which is the folder of its corpus, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 6] = [
    ("checkpoint", checkpoint),
    ("container", container),
    ("gpu", gpu_file),
    ("ptx", ptx),
    ("recording", recording),
    ("trace", trace),
];

/// Parses PTX, judges it, and decodes and analyses every function.
pub fn ptx(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let module = match Module::parse(text.as_str(), "fuzz.ptx") {
        Ok(module) => module,
        Err(error) => return said(&error),
    };
    let _ = module.judge();
    for item in &module.outline().functions {
        match module.function(item.name.of(&text)) {
            Ok(function) => drop(Liveness::of(&function, &ControlFlow::of(&function))),
            Err(error) => said(&error),
        }
    }
}

/// Reads a GPU's file.
pub fn gpu_file(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Err(error) = gpu::document("fuzz.toml", &text).and_then(|document| GpuSpec::read(&document)) {
        said(&error);
    }
}

/// Reads a trace of Accel-Sim.
pub fn trace(bytes: &[u8]) {
    in_file("kernel-1.traceg", bytes, |path| {
        if let Err(error) = read_kernel(path) {
            said(&error);
        }
    });
}

/// Reads a recording, as it is and with hashes that match its contents.
pub fn recording(bytes: &[u8]) {
    for bytes in [bytes.to_vec(), seal::sealed(bytes)] {
        if let Err(error) = Recording::read(&bytes) {
            said(&error);
        }
    }
}

/// An error says something.
fn said(error: &dyn std::error::Error) {
    assert!(!error.to_string().is_empty(), "an error without a text");
}

/// Calls `read` with a file of this name that holds `bytes`.
fn in_file(name: &str, bytes: &[u8], read: impl FnOnce(&Path)) {
    let folder = tempfile::tempdir();
    let written = folder.and_then(|folder| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).map(|()| (folder, path))
    });
    if let Ok((_folder, path)) = written {
        read(&path);
    }
}

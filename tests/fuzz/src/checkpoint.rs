//! Checkpoints: frames, images of memory, saved runs.

use crate::{in_file, said, seal};
use saved_run::SavedRun;
use std::path::Path;
use voltsim_checkpoint::frame::File;
use voltsim_checkpoint::image::Image;

/// Threads that check an image.
const THREADS: usize = 1;

/// Reads a checkpoint, as it is and with hashes that match its contents.
pub fn checkpoint(bytes: &[u8]) {
    for bytes in [bytes.to_vec(), seal::sealed(bytes)] {
        in_file("fuzz.vck", &bytes, read);
    }
}

fn read(path: &Path) {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return said(&error),
    };
    // Sections of an image are called after it: `memory 0.map`.
    let images: Vec<&str> = file.names().filter_map(|name| name.strip_suffix(".map")).collect();
    for name in images {
        if let Err(error) = Image::read(&file, name).and_then(|image| image.check(THREADS)) {
            said(&error);
        }
    }
    if let Err(error) = SavedRun::open(path).and_then(|run| run.verify()) {
        said(&error);
    }
}

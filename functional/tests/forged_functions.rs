//! Decoded functions with forged bytes and correct checksums, as an attacker may write them into the cache
//! folder. Each is refused, or bound without a panic.

#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use functional::bind::bind;
use functional::device::{Device, DeviceSpec, Settings};
use functional::module::Module;
use ptx_frontend::cache::is_sound;
use ptx_frontend::ir::Function;
use ptx_frontend::validate;
use voltsim_checkpoint::codec::{decode, encode};

const LARGEST: usize = 1 << 24;

/// Forged copies of each function; `VOLTSIM_TEST_FORGED` overrides the number.
const COPIES: u64 = 6;

/// A linear congruential generator (Knuth, MMIX).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end.max(1)
    }
}

/// Prints the function when a panic unwinds.
struct ShownOnPanic<'f>(&'f Function);

impl Drop for ShownOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{:#?}", self.0);
        }
    }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            found.push(path);
        }
    }
}

/// Changes one to three bytes: by one, by a bit, to a random value, or to the prefix of a long number.
fn forge(bytes: &mut [u8], numbers: &mut Numbers) {
    for _ in 0..=numbers.below(3) {
        let at = numbers.below(bytes.len());
        match numbers.below(4) {
            0 => bytes[at] = bytes[at].wrapping_add(1),
            1 => bytes[at] = numbers.below(256) as u8,
            2 => bytes[at] ^= 1 << numbers.below(8),
            _ => bytes[at] = 0xfd,
        }
    }
}

#[test]
fn forged_functions_never_panic() {
    let copies =
        std::env::var("VOLTSIM_TEST_FORGED").ok().and_then(|text| text.parse().ok()).unwrap_or(COPIES);
    let mut paths = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/ptx"), &mut paths);
    paths.sort();
    let (mut sound, mut refused, mut numbers) = (0, 0, Numbers(1));
    let devices = [false, true].map(|timed| {
        let settings = Settings { timed, ..Settings::default() };
        Arc::new(Device::new(DeviceSpec::default(), settings).unwrap())
    });
    for path in paths {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let Ok(ptx) = ptx_frontend::Module::parse(text, &path.to_string_lossy()) else { continue };
        let ptx = Arc::new(ptx);
        for device in &devices {
            let Ok(module) = Module::load(device, vec![Arc::clone(&ptx)]) else { continue };
            for kernel in ptx.kernels() {
                let Ok(function) = ptx.function(kernel) else { continue };
                assert!(is_sound(&function), "{}: {kernel}", path.display());
                let bytes = encode(&*function).unwrap();
                for _ in 0..copies {
                    let mut forged = bytes.clone();
                    forge(&mut forged, &mut numbers);
                    let Ok(forged) = decode::<LARGEST, Function>(&forged) else { continue };
                    if is_sound(&forged) && validate::function(&forged, &*ptx).is_empty() {
                        sound += 1;
                        let _shown = ShownOnPanic(&forged);
                        let forged = forged.clone();
                        // Both an error and a program are correct results.
                        let _ = bind(Arc::new(forged), &module);
                    } else {
                        refused += 1;
                    }
                }
            }
            module.unload();
        }
    }
    assert!(sound > 100 && refused > 100, "{sound} sound, {refused} refused");
}

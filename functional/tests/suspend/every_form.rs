//! Suspension and resumption of kernels with every instruction form (`tests/ptx`). Other tests check their
//! results; here the results must equal those of an uninterrupted launch.

use std::path::{Path, PathBuf};
use std::time::Duration;

use functional::device::Settings;
use functional::launch::LaunchConfig;
use functional::suspend::Window;
use voltsim_checkpoint::codec;

use crate::bench::{Bench, Case, decode, stepped};
use warp_stream::LaunchShape;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            found.push(path);
        }
    }
    found.sort();
}

fn size(text: &str) -> [u32; 3] {
    let mut extents = text.split('x').map(|extent| extent.parse().unwrap_or(1));
    [(); 3].map(|()| extents.next().unwrap_or(1))
}

/// Launch described by a file's comments, with generated buffer contents. `None` for files with textures,
/// printed text and the like.
fn case(text: &str) -> Option<Case> {
    let mut config = LaunchConfig { shape: LaunchShape::new([1; 3], [32, 1, 1]), ..LaunchConfig::default() };
    let mut buffers = Vec::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("// ")) {
        let Some((directive, rest)) = line.split_once(": ") else { continue };
        match directive.split(' ').next()? {
            "run" => {
                for (key, value) in rest.split(' ').filter_map(|setting| setting.split_once('=')) {
                    match key {
                        "grid" => config.shape.grid = size(value),
                        "block" => config.shape.block = size(value),
                        "cluster" => config.cluster = Some(size(value)),
                        "shared" => config.dynamic_shared = value.parse().ok()?,
                        "threads" => config.shape.grid = [value.parse::<u32>().ok()?.div_ceil(32), 1, 1],
                        _ => return None,
                    }
                }
            }
            "buffer" => {
                let count: usize = rest.split(['[', ']']).nth(1)?.parse().ok()?;
                buffers.push((0..count * 4).map(|n| (n as u32).wrapping_mul(0x0101_0305) >> 3).collect());
            }
            "scalar" | "texture" | "surface" => return None,
            _ => {}
        }
    }
    Some(Case { text: text.to_owned(), config, buffers })
}

#[test]
fn every_form_resumes_equally() {
    let mut paths = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/ptx"), &mut paths);
    let (mut tried, mut number) = (0, 1u64);
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let Some(case) = case(&text) else { continue };
        // The order of atomic operations and clocks differs from an uninterrupted launch.
        if ["%clock", "%globaltimer", "malloc", "vprintf"].iter().any(|word| text.contains(word)) {
            continue;
        }
        // Some kernels run forever with these inputs.
        let settings = Settings { watchdog: Some(Duration::from_millis(300)), ..stepped() };
        let Some(bench) = Bench::try_with(&case, settings) else { continue };
        let before = bench.memory();
        let Ok(plain) = bench.launch() else { continue };
        for _ in 0..4 {
            number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let window = Window { first: 0, ctas: 1 + (number >> 60), instructions: 1 + (number >> 33) % 40 };
            bench.restore(&before);
            let state = bench.launch_until(&window);
            let state = state.unwrap_or_else(|error| panic!("{}, {window:?}: {error}", path.display()));
            let left = bench.launch_from(&decode(&codec::encode(&state).unwrap()));
            let left = left.unwrap_or_else(|error| panic!("{}, {window:?}: {error}", path.display()));
            assert!(left.memory == plain.memory, "{}, {window:?}", path.display());
            tried += 1;
        }
    }
    assert!(tried > 1000, "{tried}");
}

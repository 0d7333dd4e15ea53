//! The environment is read in few places: the libraries get options from [`run_options`].

#![allow(clippy::expect_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

/// Files that read the environment, with the reason.
const READERS: &[(&str, &str)] = &[
    ("cudart-shim/options/src/reading.rs", "it reads the options"),
    ("cudart-shim/options/src/system.rs", "it reads variables of CUDA and the host"),
    ("cudart-shim/preload/dlopen/src/lib.rs", "it is loaded into every program and has no dependencies"),
    ("cudart-shim/toolchain/vendor-library/src/lib.rs", "it looks for NVIDIA's library as the loader does"),
    ("cudart-shim/toolchain/ptxas/src/toolkit.rs", "it looks for NVIDIA's assembler on the search path"),
    ("cudart-shim/fronts/folder/src/lib.rs", "it starts cargo where libraries are missing"),
];

/// Folders whose libraries a program loads.
const FOLDERS: [&str; 6] =
    ["checkpoint", "warp-stream", "ptx-frontend/src", "functional/src", "timing", "cudart-shim"];

/// Calls that read the environment.
const CALLS: [&str; 5] = ["env::var(", "env::var_os", "env::vars", "getenv(", "option_env!("];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Source files below a folder, without tests, examples and build scripts.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        if path.is_dir() {
            if !["tests", "examples", "target"].contains(&name) {
                sources(&path, files);
            }
        } else if name.ends_with(".rs") && !["build.rs", "front.rs"].contains(&name) {
            files.push(path);
        }
    }
}

#[test]
fn few_files_read_the_environment() {
    let root = root();
    let mut files = Vec::new();
    FOLDERS.iter().for_each(|folder| sources(&root.join(folder), &mut files));
    assert!(files.len() > 100, "{} files", files.len());
    let reads = |file: &&PathBuf| {
        let text = fs::read_to_string(file).expect("a source file");
        CALLS.iter().any(|call| text.contains(call))
    };
    let names = files.iter().filter(reads).map(|file| file.strip_prefix(&root).expect("below the root"));
    let mut readers: Vec<String> = names.map(|file| file.display().to_string()).collect();
    readers.sort();
    let mut known: Vec<&str> = READERS.iter().map(|(file, _)| *file).collect();
    known.sort_unstable();
    assert_eq!(readers, known, "the library reads options by `host::environment::options()`");
}

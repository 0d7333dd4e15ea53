//! Lists the GPU files of the folder `gpus`, so that a file there is all that a GPU needs.

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../gpus");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path.canonicalize()?);
        }
    }
    files.sort();
    let mut list =
        "/// Names and texts of the GPU files that are part of the program, in the order of their names.\n\
        pub const BUILT_IN: &[(&str, &str)] = &[\n"
            .to_owned();
    for path in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        writeln!(list, "    ({name:?}, include_str!({path:?})),")?;
    }
    list.push_str("];\n");
    let out = PathBuf::from(env::var("OUT_DIR")?).join("gpus.rs");
    Ok(fs::write(out, list)?)
}

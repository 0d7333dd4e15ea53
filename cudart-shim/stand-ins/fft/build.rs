//! Link arguments: an empty version node for each version of the symbols (see `api_table::front` for
//! the reason).

use std::path::PathBuf;

const NODES: &str = "libcufft.so.10 { };\nlibcufft.so.11 { };\nlibcufft.so.12 { };\n";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?).join("exports.map");
    std::fs::write(&script, NODES)?;
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={}", script.display());
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    Ok(())
}

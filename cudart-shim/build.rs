//! Generates the core's function tables and stubs from the API table.

use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    std::fs::write(out.join("tables.rs"), api_table::core_tables::generate()?)?;
    std::fs::write(out.join("attributes.rs"), api_table::attributes::generate()?)?;
    std::fs::write(out.join("errors.rs"), api_table::errors::generate()?)?;
    std::fs::write(out.join("stubs.s"), api_table::core_tables::stub_assembly()?)?;
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libvoltsim_core.so");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    Ok(())
}

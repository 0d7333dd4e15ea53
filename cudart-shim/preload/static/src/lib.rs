//! Preloaded into programs with the static CUDA runtime: redirects the program's copies of runtime
//! functions to Voltsim's.
//!
//! Unless the program is stripped, its symbol table lists the runtime's functions. Before the
//! program's code runs, and so before its fat binaries register, jumps overwrite the first bytes of
//! these functions. The set of names reveals the runtime's version.

mod patch;
mod symbols;

use api_table::Library;
use std::collections::HashMap;
use std::ffi::c_void;

use patch::patch;
use symbols::{LocalFunction, runtime_functions};

/// Reason why the program's runtime cannot be replaced.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("cannot read the program's own file: {0}")]
    Read(#[from] std::io::Error),
    #[error("the program's symbol table is damaged: {0}")]
    Symbols(#[from] object::Error),
    #[error(transparent)]
    Table(#[from] api_table::TableError),
    #[error("{0}")]
    Core(String),
    #[error("the program's code cannot be made writable: {0}")]
    Protection(std::io::Error),
}

/// Runs before the program's constructors, since the loader initialises preloaded libraries first.
#[used]
#[unsafe(link_section = ".init_array")]
static REPLACE: extern "C" fn() = {
    extern "C" fn replace_runtime() {
        // No file content causes a panic here; a panic must still not end the program.
        if let Ok(Err(error)) = std::panic::catch_unwind(replace) {
            eprintln!("voltsim: the static CUDA runtime of this program cannot be replaced: {error}");
        }
    }
    replace_runtime
};

/// The runtime version that best covers a set of names.
///
/// Each version has unique names: 12 both structures of device properties, 11 texture references.
fn version_of(functions: &[LocalFunction]) -> Library {
    let has = |name: &str| functions.iter().any(|function| function.name == name);
    if has("cudaGetDeviceProperties_v2") {
        Library::Cudart12
    } else if has("cudaBindTexture") {
        Library::Cudart11
    } else {
        Library::Cudart13
    }
}

fn replace() -> Result<(), Error> {
    let functions = runtime_functions(&std::fs::read("/proc/self/exe")?)?;
    // Child processes inherit the preload, and most have no CUDA.
    if functions.is_empty() {
        return Ok(());
    }
    let library = version_of(&functions);
    let exports = api_table::exports(library)?;
    let mut table = vec![std::ptr::null(); exports.len()];
    let anchor: *const c_void = (&raw const REPLACE).cast();
    // SAFETY: the table has as many entries as the library has functions.
    unsafe {
        front_loader::try_bind(
            library.number(),
            library.fingerprint()?,
            table.as_mut_ptr(),
            table.len(),
            anchor,
        )
    }
    .map_err(Error::Core)?;
    let ours: HashMap<&str, *const c_void> =
        exports.iter().zip(table).map(|(export, address)| (export.name, address)).collect();
    let jumps = functions.iter().filter_map(|function| Some((function, *ours.get(function.name.as_str())?)));
    patch(jumps).map_err(Error::Protection)
}

//! For programs linked with the static CUDA runtime: preloaded, it puts our functions in place of the program's copies.
//!
//! The linker leaves the runtime's functions in the program's symbol table unless it is stripped. Before any code of the
//! program runs, so before its fat binaries register, the first bytes of each of these functions are overwritten by a jump
//! to ours. Which version the copy has is told by the names it has.

mod patch;
mod symbols;

use api_table::Library;
use std::collections::HashMap;
use std::ffi::c_void;

use patch::patch;
use symbols::{LocalFunction, runtime_functions};

/// Why the program's runtime could not be replaced.
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

/// Runs before the program's constructors, as preloaded libraries are initialised first.
#[used]
#[unsafe(link_section = ".init_array")]
static REPLACE: extern "C" fn() = {
    extern "C" fn replace_runtime() {
        // Nothing here panics on what a program's file holds; a panic must not end the program all the same.
        if let Ok(Err(error)) = std::panic::catch_unwind(replace) {
            eprintln!("voltsim: the static CUDA runtime of this program cannot be replaced: {error}");
        }
    }
    replace_runtime
};

/// The runtime that has all functions of a set of names best.
///
/// Each version has names that others lack: 12 both structures of device properties, 11 texture references.
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
    // A child process that the program starts has the preload too, and most have no CUDA.
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

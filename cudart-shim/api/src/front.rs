//! Generator of front libraries: trampolines through a table that the core fills, and linker
//! arguments.
//!
//! With rustc's linker (rust-lld), a version script alone leaves the symbols without their version
//! node. An explicit `@@node` in `.symver`, beside an empty node in the script, gives exactly the
//! original's symbol table.

use crate::{Class, Function, Library, Signature, TableError, exports};
use std::fmt::Write as _;
use std::path::Path;

/// Why a front's build script failed.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A mistake in the table.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A generated file could not be written.
    #[error(transparent)]
    Write(#[from] std::io::Error),
    /// Not started by cargo.
    #[error("OUT_DIR is not set")]
    NoOutputFolder,
}

/// Build script of a front: writes trampolines and version script, and passes linker arguments to
/// cargo.
pub fn build(library: Library) -> Result<(), BuildError> {
    let out = std::env::var_os("OUT_DIR").ok_or(BuildError::NoOutputFolder)?;
    let functions = exports(library)?;
    let script = Path::new(&out).join("exports.map");
    std::fs::write(Path::new(&out).join("trampolines.s"), trampolines(library, &functions))?;
    std::fs::write(&script, version_script(library, &functions))?;
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=VOLTSIM_FRONT_SONAME={}", library.soname());
    println!("cargo::rustc-env=VOLTSIM_FRONT_NUMBER={}", library.number());
    println!("cargo::rustc-env=VOLTSIM_FRONT_LENGTH={}", functions.len());
    println!("cargo::rustc-env=VOLTSIM_FRONT_FINGERPRINT={}", library.fingerprint()?);
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{}", library.soname());
    println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={}", script.display());
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    Ok(())
}

/// Assembly of the trampolines and of `voltsim_front_table`, whose entries first report a missing
/// core. `{missing_status}` and `{missing_word}` are operands of the surrounding `global_asm!`.
pub fn trampolines(library: Library, functions: &[Function]) -> String {
    let mut text = String::from(".text\n");
    for (index, function) in functions.iter().enumerate() {
        let name = function.name;
        let label = match library.version_node() {
            Some(_) => format!("voltsim_front_{name}"),
            None => name.to_owned(),
        };
        let _ = write!(
            text,
            ".balign 8\n.globl {label}\n.type {label},@function\n{label}:\n\
             jmp *voltsim_front_table+{offset}(%rip)\n.size {label}, .-{label}\n",
            offset = 8 * index,
        );
        if let Some(node) = library.version_node() {
            let _ = writeln!(text, ".symver {label},{name}@@{node},remove");
        }
    }
    text.push_str(
        ".data\n.balign 8\n.globl voltsim_front_table\n.hidden voltsim_front_table\nvoltsim_front_table:\n",
    );
    for function in functions {
        let result = Signature::parse(function.signature).map(|signature| signature.result);
        let missing = if result == Some(Class::Word) { "{missing_word}" } else { "{missing_status}" };
        let _ = writeln!(text, ".quad {missing}");
    }
    // Both operands must occur, even where no function returns a pointer.
    text.push_str(".text\n// {missing_status} {missing_word}\n");
    text
}

/// The version script: an empty node for versioned symbols, else the names.
pub fn version_script(library: Library, functions: &[Function]) -> String {
    match library.version_node() {
        Some(node) => format!("{node} {{ }};\n"),
        None => {
            let names: String = functions.iter().map(|function| format!("{};\n", function.name)).collect();
            format!("{{ global:\n{names}}};\n")
        }
    }
}

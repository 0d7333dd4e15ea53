//! `cargo xtask agree`: compares the front end with three versions of the vendor's assembler.

use crate::error::{Error, Result};
use crate::process;
use crate::toolchain::Toolchain;
use crate::workspace::Workspace;

/// Prints disagreements between op table and each assembler, on the given subjects or every form.
pub(crate) fn run(subjects: &[String]) -> Result<()> {
    let workspace = Workspace::find();
    let mut disagreeing = Vec::new();
    for assembler in Toolchain::set_up(&workspace)?.assemblers {
        println!("== {}", assembler.display());
        let mut oracle = workspace.cargo(&["run", "--quiet", "--package", "isa-oracle", "--", "agree"]);
        if !process::shown(oracle.arg(&assembler).args(subjects))? {
            disagreeing.push(assembler.display().to_string());
        }
    }
    if disagreeing.is_empty() { Ok(()) } else { Err(Error::Steps(disagreeing.join(", "))) }
}

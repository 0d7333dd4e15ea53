//! Compiles each C program in `tests/c` against the built libraries and runs its checks. The
//! argument is a library with device code.

#![allow(clippy::expect_used)]

mod common;

use libtest_mimic::{Arguments, Failed, Trial};
use std::path::Path;
use std::process::ExitCode;

fn compile_and_run(source: &Path) -> Result<(), Failed> {
    let program = common::compile(source)?;
    let output = common::command(&program).arg(common::library("adder")?).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into())
}

fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
    let mut sources: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder of programs")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    sources.sort();
    let trials = sources
        .into_iter()
        .map(|source| {
            let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Trial::test(name, move || compile_and_run(&source))
        })
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

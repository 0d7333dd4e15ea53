//! Compiles changed CUDA programs into `target/programs/MODE/NAME`, one per core.

use crate::error::{Error, Result};
use crate::stamp::Ingredients;
use crate::toolchain::Toolchain;
use crate::workspace::Workspace;
use std::collections::VecDeque;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use voltsim_tests::catalogue::{self, Mode, Program};

mod build;

/// Folder of compiled programs.
pub(crate) fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("programs")
}

/// Set of programs to compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Programs of every test run.
    Usual,
    /// Also programs that take minutes to compile.
    Long,
}

/// Sets up the compilers and compiles the programs in every mode with a compiler.
pub(crate) fn set_up_and_compile(workspace: &Workspace, extent: Extent) -> Result<()> {
    let mut programs = catalogue::programs(&workspace.root)?;
    programs.retain(|program| extent == Extent::Long || !program.is_long);
    compile(workspace, programs, &folder(workspace))
}

/// Sets up the compilers and compiles `programs` into `folder` in every mode with a compiler.
pub(crate) fn compile(workspace: &Workspace, programs: Vec<Program>, folder: &Path) -> Result<()> {
    let toolchain = &Toolchain::set_up(workspace)?;
    for mode in Mode::ALL {
        let path = folder.join(mode.name());
        fs::create_dir_all(&path).map_err(Error::file(&path))?;
    }
    let mut stale = VecDeque::new();
    for program in programs {
        let stamp = ingredients(workspace, toolchain, &program)?.stamp(&folder.join(&program.name));
        if !stamp.is_current() {
            stale.push_back((program, stamp));
        }
    }
    if !stale.is_empty() {
        println!("compiling {} CUDA programs", stale.len());
    }
    let (queue, errors) = (Mutex::new(stale), Mutex::new(Vec::new()));
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(|| {
                while let Some((program, stamp)) = next() {
                    let built =
                        build::build(workspace, toolchain, &program, folder).and_then(|()| stamp.write());
                    if let Err(error) = built {
                        errors.lock().unwrap_or_else(PoisonError::into_inner).push(error.to_string());
                    }
                }
            });
        }
    });
    let errors = errors.into_inner().unwrap_or_else(PoisonError::into_inner);
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Error::Compile { count: errors.len(), output: errors.join("\n") })
    }
}

/// Inputs of a program's build.
fn ingredients(workspace: &Workspace, toolchain: &Toolchain, program: &Program) -> Result<Ingredients> {
    let mut ingredients = toolchain.ingredients.clone();
    ingredients.text(build::RECIPE);
    for clang in [&toolchain.clang12, &toolchain.clang11] {
        ingredients.text(clang.as_ref().map_or("", |clang| clang.compiler));
    }
    let mut files = catalogue::entries(&catalogue::common_headers(&workspace.root))?;
    match &program.folder {
        Some(folder) => files.extend(catalogue::entries(folder)?),
        None => files.extend(program.sources.iter().cloned()),
    }
    for file in files.iter().filter(|file| is_source(file)) {
        ingredients.file(file)?;
    }
    Ok(ingredients)
}

fn is_source(file: &Path) -> bool {
    catalogue::has_extension(file, &["cu", "cuh", "cpp", "h", "ptx"])
}

//! Compiles a program of a suite into `target/suites/SUITE/NAME`.

use super::list::{Compiler, Program, Suite, folder};
use crate::error::{Error, Result};
use crate::process;
use crate::stamp::Ingredients;
use crate::toolchain::{Clang, Toolchain};
use crate::workspace::Workspace;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use voltsim_tests::catalogue;

/// Part of every stamp: a change of this file's options recompiles every program.
const RECIPE: &str = include_str!("build.rs");

const NVCC: [&str; 7] =
    ["-O3", "-std=c++17", "-w", "-cudart", "shared", "-gencode", "arch=compute_75,code=compute_75"];
const CLANG: [&str; 6] = [
    "-O3",
    "-std=c++17",
    "-w",
    "--cuda-gpu-arch=sm_70",
    "--cuda-include-ptx=sm_70",
    "-Wno-unknown-cuda-version",
];

/// Suite folder among the checkouts that contains `program`'s sources.
pub(super) fn root(checkouts: &Path, suite: &Suite, program: &Program) -> Option<PathBuf> {
    let main = program.sources.first()?;
    let roots = program.root.as_ref().map_or(&suite.roots[..], std::slice::from_ref);
    roots.iter().map(|root| checkouts.join(root)).find(|root| root.join(main).is_file())
}

/// One build.
pub(super) struct Build<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) toolchain: &'a Toolchain,
    pub(super) suite: &'a Suite,
    pub(super) program: &'a Program,
    /// Suite folder.
    pub(super) root: &'a Path,
    /// Build folder of the program.
    pub(super) folder: &'a Path,
}

impl Build<'_> {
    /// Builds the program unless up to date, and returns the executable.
    pub(super) fn run(&self) -> Result<PathBuf> {
        fs::create_dir_all(self.folder).map_err(Error::file(self.folder))?;
        let executable = self.folder.join(&self.program.name);
        let stamp = self.ingredients()?.stamp(&executable);
        if stamp.is_current() && executable.exists() {
            return Ok(executable);
        }
        match self.program.compiler {
            Compiler::Nvcc => self.nvcc(&executable)?,
            Compiler::Clang => self.clang(&executable)?,
        }
        stamp.write()?;
        Ok(executable)
    }

    fn ingredients(&self) -> Result<Ingredients> {
        let mut ingredients = self.toolchain.ingredients.clone();
        ingredients.text(RECIPE);
        let words = [&self.suite.options, &self.program.options, &self.program.link].into_iter().flatten();
        words.for_each(|word| ingredients.text(word));
        let mut folders: Vec<PathBuf> = self.include().collect();
        folders.dedup();
        for folder in folders.iter().filter(|folder| folder.is_dir()) {
            for file in catalogue::entries(folder)? {
                if catalogue::has_extension(&file, &["c", "cc", "cpp", "cu", "cuh", "h", "hh", "hpp"]) {
                    ingredients.file(&file)?;
                }
            }
        }
        Ok(ingredients)
    }

    fn sources(&self) -> impl Iterator<Item = PathBuf> {
        self.program.sources.iter().chain(&self.suite.sources).map(|source| self.root.join(source))
    }

    /// Include folders: of the sources, of the list, and of this repository.
    fn include(&self) -> impl Iterator<Item = PathBuf> {
        let own = folder(self.workspace).join("include");
        let listed =
            self.program.include.iter().chain(&self.suite.include).map(|folder| self.root.join(folder));
        let sources = self.sources().filter_map(|source| source.parent().map(Path::to_owned));
        let of_suite = own.join(&self.suite.suite);
        sources.chain(listed).chain([of_suite, own])
    }

    /// A compiler with the options common to all sources.
    fn compiler(&self, mut command: Command, options: &[&str]) -> Command {
        command.args(options);
        command.args(self.include().map(|folder| format!("-I{}", folder.display())));
        command.args(&self.suite.options).args(&self.program.options);
        command
    }

    fn nvcc(&self, executable: &Path) -> Result<()> {
        let mut nvcc = self.compiler(self.toolchain.nvcc(), &NVCC);
        process::quiet(nvcc.args(self.sources()).args(&self.program.link).arg("-o").arg(executable))?;
        Ok(())
    }

    fn clang(&self, executable: &Path) -> Result<()> {
        let missing =
            || Error::Peer { folder: "/usr/bin".into(), what: "clang++-16, which knows texture references" };
        let Clang { compiler, cuda } = self.toolchain.clang11.as_ref().ok_or_else(missing)?;
        let mut objects = Vec::new();
        for (index, source) in self.sources().enumerate() {
            let object = self.folder.join(format!("{index}.o"));
            let is_device = catalogue::has_extension(&source, &["cu"]);
            let is_c = catalogue::has_extension(&source, &["c"]);
            let mut clang =
                self.compiler(Command::new(compiler), if is_device { &CLANG } else { &CLANG[..3] });
            if is_c {
                clang = self.compiler(Command::new("gcc"), &["-O3", "-w"]);
            }
            if is_device {
                clang.args(["-x", "cuda"]).arg(format!("--cuda-path={}", cuda.display()));
            }
            clang.arg(format!("-I{}", cuda.join("include").display()));
            process::quiet(clang.arg("-c").arg(source).arg("-o").arg(&object))?;
            objects.push(object);
        }
        let mut linker = Command::new(compiler);
        linker.args(objects).arg("-L").arg(cuda.join("lib64")).arg("-lcudart").args(&self.program.link);
        process::quiet(linker.arg("-o").arg(executable))?;
        Ok(())
    }
}

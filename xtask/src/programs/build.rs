//! Compiler and linker calls for one program.

use crate::error::{Error, Result};
use crate::process;
use crate::toolchain::{Clang, Toolchain};
use crate::workspace::Workspace;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use voltsim_tests::catalogue::{self, Mode, Program};

/// Part of every stamp: a change of this file's options recompiles every program.
pub(super) const RECIPE: &str = include_str!("build.rs");

const NVCC: [&str; 2] = ["-O3", "-std=c++17"];
const CLANG_CUDA: [&str; 6] = [
    "-O3",
    "-std=c++17",
    "-xcuda",
    "--cuda-gpu-arch=sm_70",
    "--cuda-include-ptx=sm_70",
    "-Wno-unknown-cuda-version",
];
/// Options of host code that is the speed reference of a kernel.
const NATIVE: [&str; 4] = ["-O3", "-std=c++17", "-march=native", "-c"];

/// Compiles and links `program` into `folder` in each mode with a compiler.
pub(super) fn build(
    workspace: &Workspace,
    toolchain: &Toolchain,
    program: &Program,
    folder: &Path,
) -> Result<()> {
    let build = Build { workspace, toolchain, program, objects: folder.join("objects").join(&program.name) };
    fs::create_dir_all(&build.objects).map_err(Error::file(&build.objects))?;
    let mut objects = Vec::new();
    for &mode in &program.modes {
        let executable = program.executable(folder, mode);
        match mode {
            // One compilation serves both runtimes.
            Mode::Shared | Mode::Static => {
                if objects.is_empty() {
                    objects =
                        program.sources.iter().map(|source| build.object(source)).collect::<Result<_>>()?;
                }
                let runtime = if mode == Mode::Static { "static" } else { "shared" };
                build.link(&objects, runtime, &executable)?;
            }
            Mode::Clang | Mode::Clang11 => {
                let clang = if mode == Mode::Clang { &toolchain.clang12 } else { &toolchain.clang11 };
                if let Some(clang) = clang {
                    build.clang(clang, &executable)?;
                }
            }
        }
    }
    Ok(())
}

struct Build<'a> {
    workspace: &'a Workspace,
    toolchain: &'a Toolchain,
    program: &'a Program,
    /// Folder for object files.
    objects: PathBuf,
}

impl Build<'_> {
    /// nvcc 13 with PTX for compute_75 and later.
    fn nvcc(&self) -> Command {
        let mut nvcc = self.toolchain.nvcc();
        let arch = &self.program.arch;
        let code = self.program.code.as_ref().unwrap_or(arch);
        nvcc.args(NVCC).arg("-gencode").arg(format!("arch={arch},code={code}"));
        nvcc.args(&self.program.flags);
        nvcc
    }

    fn include(&self) -> String {
        format!("-I{}", catalogue::common_headers(&self.workspace.root).display())
    }

    /// Compiles a source and returns the object file.
    fn object(&self, source: &Path) -> Result<PathBuf> {
        let object = self.objects.join(source.file_name().unwrap_or_default()).with_added_extension("o");
        let mut compiler = if catalogue::has_extension(source, &["cpp"]) {
            let mut compiler = Command::new("g++");
            compiler.args(NATIVE);
            compiler
        } else {
            let mut compiler = self.nvcc();
            compiler.arg("-c");
            compiler
        };
        process::quiet(compiler.arg(self.include()).arg(source).arg("-o").arg(&object))?;
        Ok(object)
    }

    /// Links with nvcc, and device code with it if the program requires that.
    fn link(&self, objects: &[PathBuf], runtime: &str, executable: &Path) -> Result<()> {
        let mut linker = self.nvcc();
        linker.args(["-cudart", runtime]).args(objects);
        if self.program.link.iter().any(|option| option == "-lcuda") {
            linker.arg("-L").arg(self.driver_stand_in(objects)?);
        }
        process::quiet(linker.args(&self.program.link).arg("-o").arg(executable))?;
        Ok(())
    }

    /// Creates a `libcuda.so` with the driver functions that the objects call, and returns its
    /// folder.
    fn driver_stand_in(&self, objects: &[PathBuf]) -> Result<PathBuf> {
        let undefined = process::quiet(Command::new("nm").arg("--undefined-only").args(objects))?;
        let names: BTreeSet<&str> = undefined
            .lines()
            .filter_map(|line| line.split_whitespace().last())
            .filter(|name| is_driver(name))
            .collect();
        let mut code = String::new();
        for name in names {
            let _ = writeln!(code, "void {name}(void) {{}}");
        }
        let source = self.objects.join("libcuda.c");
        fs::write(&source, code).map_err(Error::file(&source))?;
        let mut compiler = Command::new("gcc");
        compiler.args(["-shared", "-Wl,-soname,libcuda.so.1"]).arg(&source);
        process::quiet(compiler.arg("-o").arg(self.objects.join("libcuda.so")))?;
        Ok(self.objects.clone())
    }

    /// Compiles and links with clang.
    fn clang(&self, Clang { compiler, cuda }: &Clang, executable: &Path) -> Result<()> {
        let mut clang = Command::new(compiler);
        clang.args(CLANG_CUDA).arg(format!("--cuda-path={}", cuda.display())).arg(self.include());
        clang.args(&self.program.sources).arg("-L").arg(cuda.join("lib64")).arg("-lcudart");
        process::quiet(clang.arg("-o").arg(executable))?;
        Ok(())
    }
}

/// True for the name of a driver function: `cu` and a capital letter.
fn is_driver(name: &str) -> bool {
    name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_uppercase()))
}

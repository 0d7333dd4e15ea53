//! The CUDA programs of this repository: which exist, how they are built, run and judged.
//!
//! A program is a file `tests/programs/NAME.cu`, or a folder `tests/programs/NAME` or `examples/NAME` whose sources are
//! linked together and whose main source is `NAME.cu`. Lines `//@ key: value` in the main source say what differs from
//! the usual:
//!
//! | key | value |
//! |---|---|
//! | `long` | why only `cargo xtask programs --long` compiles the program; `cargo xtask test NAME` runs it then |
//! | `modes` | names of [`Mode`]s to build and run, instead of `shared static` |
//! | `arch` | what nvcc compiles the kernels for, instead of `compute_75` |
//! | `code` | what the binary holds for the kernels, instead of PTX: `sm_75` |
//! | `device` | profile of the device to run on, instead of the default |
//! | `devices` | how many devices there are, instead of one |
//! | `flags` | more options for the compiler |
//! | `link` | more options for the linker; `-lcuda` is answered with a stand-in, as no package holds that library |
//! | `args` | arguments of the program |
//! | `stdout` | a line the program's standard output has to contain |
//! | `stderr` | a text the program's standard error has to contain |
//! | `check` | mistakes to look for while it runs, as `voltsim run --check` has them |
//! | `mistakes` | why every check may find something, where that is the program's purpose |
//! | `status` | exit status of the run, instead of 0 |
//! | `seconds` | time limit of a run, instead of 60 |
//!
//! Every program checks its own numbers, prints `PASS` as its last line and exits with 0; a run with `check` may turn that into
//! another status.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a program is compiled and linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// nvcc 13, PTX for compute_75, `libcudart.so.13`.
    Shared,
    /// The same with the runtime linked into the program.
    Static,
    /// clang 19, PTX for Volta itself (sm_70), `libcudart.so.12`.
    Clang,
    /// clang 16 with CUDA 11.8, which still has texture references: PTX for Volta itself, `libcudart.so.11.0`.
    Clang11,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 4] = [Self::Shared, Self::Static, Self::Clang, Self::Clang11];

    /// The mode's name in directives, folders and test names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Static => "static",
            Self::Clang => "clang",
            Self::Clang11 => "clang11",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// One program.
#[derive(Debug, Clone)]
pub struct Program {
    /// Name of the program and of its executable.
    pub name: String,
    /// `.cu` and `.cpp` files to compile and link, the main source first.
    pub sources: Vec<PathBuf>,
    /// Folder whose files the sources may include, when the program has one of its own.
    pub folder: Option<PathBuf>,
    /// How it is built and run.
    pub modes: Vec<Mode>,
    /// Takes too long to be compiled every time.
    pub is_long: bool,
    /// What nvcc compiles the kernels for: `compute_75`.
    pub arch: String,
    /// What nvcc puts into the binary instead of PTX for `arch`: machine code.
    pub code: Option<String>,
    /// Profile of the device, if not the default.
    pub device: Option<String>,
    /// How many devices there are, if not one.
    pub devices: Option<String>,
    /// More options for the compiler.
    pub flags: Vec<String>,
    /// More options for the linker.
    pub link: Vec<String>,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Lines that standard output has to contain.
    pub stdout: Vec<String>,
    /// Texts that standard error has to contain.
    pub stderr: Vec<String>,
    /// Mistakes to look for.
    pub check: Option<String>,
    /// Why every check may find something.
    pub mistakes: Option<String>,
    /// Exit status of the run.
    pub status: i32,
    /// Time limit of one run.
    pub time_limit: Duration,
}

/// Why the catalogue cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A directive is not one of those listed above.
    #[error("{path}:{line}: {text:?} is no directive with a value it can have")]
    Directive {
        /// The main source.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The line's text.
        text: String,
    },
}

/// Root of the checkout.
pub fn checkout() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_owned()
}

/// Where the programs of the checkout at `root` are.
fn folders(root: &Path) -> [PathBuf; 2] {
    [root.join("examples"), root.join("tests/programs")]
}

/// The folder with the headers that all programs share.
pub fn common_headers(root: &Path) -> PathBuf {
    root.join("examples/common")
}

/// All programs of this checkout, by name; what is wrong with them is told on standard error.
pub fn own_programs() -> Option<Vec<Program>> {
    programs(&checkout()).map_err(|error| eprintln!("{error}")).ok()
}

/// All programs of the checkout at `root`, by name.
pub fn programs(root: &Path) -> Result<Vec<Program>, Error> {
    let mut programs = Vec::new();
    for folder in folders(root) {
        programs.extend(programs_in(&folder)?);
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(programs)
}

/// The folder with the micro-benchmarks and what they measure on cards.
pub fn micro_benchmarks(root: &Path) -> PathBuf {
    root.join("tests/micro")
}

/// The micro-benchmarks of the checkout at `root`, by name: programs that print what they measure instead of `PASS`. They share
/// a folder with their header.
pub fn micro_programs(root: &Path) -> Result<Vec<Program>, Error> {
    let folder = micro_benchmarks(root);
    let mut programs = programs_in(&folder)?;
    for program in &mut programs {
        program.modes = vec![Mode::Shared];
        program.folder = Some(folder.clone());
    }
    Ok(programs)
}

/// The programs that lie in `folder`, by name.
fn programs_in(folder: &Path) -> Result<Vec<Program>, Error> {
    let mut programs = Vec::new();
    for path in entries(folder)? {
        if let Some(name) = name_of(&path) {
            programs.extend(program(name, &path)?);
        }
    }
    Ok(programs)
}

/// The program at `path`: a source, or a folder with a source of the folder's name.
fn program(name: &str, path: &Path) -> Result<Option<Program>, Error> {
    let is_folder = path.is_dir();
    let main = if is_folder { path.join(name).with_extension("cu") } else { path.to_owned() };
    // The demo's host program is plain C; its PTX lies beside it.
    if !has_extension(&main, &["cu"]) || !main.exists() || main.with_extension("c").exists() {
        return Ok(None);
    }
    let mut sources = vec![main.clone()];
    if is_folder {
        sources.extend(
            entries(path)?.into_iter().filter(|file| *file != main && has_extension(file, &["cu", "cpp"])),
        );
    }
    let mut program = Program {
        name: name.to_owned(),
        sources,
        folder: is_folder.then(|| path.to_owned()),
        modes: vec![Mode::Shared, Mode::Static],
        is_long: false,
        arch: "compute_75".to_owned(),
        code: None,
        device: None,
        devices: None,
        flags: Vec::new(),
        link: Vec::new(),
        args: Vec::new(),
        stdout: Vec::new(),
        stderr: Vec::new(),
        check: None,
        mistakes: None,
        status: 0,
        time_limit: Duration::from_secs(60),
    };
    let text = fs::read_to_string(&main).map_err(|source| Error::Read { path: main.clone(), source })?;
    for (index, line) in text.lines().enumerate() {
        let Some(directive) = line.strip_prefix("//@") else { continue };
        program.apply(directive).ok_or_else(|| Error::Directive {
            path: main.clone(),
            line: index + 1,
            text: line.to_owned(),
        })?;
    }
    Ok(Some(program))
}

impl Program {
    fn apply(&mut self, directive: &str) -> Option<()> {
        let (key, value) = directive.split_once(':')?;
        let value = value.trim();
        let words = || value.split_whitespace().map(str::to_owned);
        match key.trim() {
            "modes" => self.modes = value.split_whitespace().map(Mode::from_name).collect::<Option<_>>()?,
            "arch" => self.arch = value.to_owned(),
            "long" => self.is_long = true,
            "code" => self.code = Some(value.to_owned()),
            "device" => self.device = Some(value.to_owned()),
            "devices" => self.devices = Some(value.to_owned()),
            "flags" => self.flags.extend(words()),
            "link" => self.link.extend(words()),
            "args" => self.args.extend(words()),
            "stdout" => self.stdout.push(value.to_owned()),
            "stderr" => self.stderr.push(value.to_owned()),
            "check" => self.check = Some(value.to_owned()),
            "mistakes" => self.mistakes = Some(value.to_owned()),
            "status" => self.status = value.parse().ok()?,
            "seconds" => self.time_limit = Duration::from_secs(value.parse().ok()?),
            _ => return None,
        }
        Some(())
    }

    /// The executable of this program in `mode`, below `programs`, the folder of all compiled programs.
    pub fn executable(&self, programs: &Path, mode: Mode) -> PathBuf {
        programs.join(mode.name()).join(&self.name)
    }
}

/// Name of the program at `path`, unless the path is hidden or not text.
fn name_of(path: &Path) -> Option<&str> {
    path.file_stem()?.to_str().filter(|name| !name.starts_with('.'))
}

/// Whether `path` ends with one of `extensions`.
pub fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().and_then(|extension| extension.to_str()).is_some_and(|found| extensions.contains(&found))
}

/// The entries of `folder`, sorted.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let read =
        || fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>();
    let mut paths = read().map_err(|source| Error::Read { path: folder.to_owned(), source })?;
    paths.sort();
    Ok(paths)
}

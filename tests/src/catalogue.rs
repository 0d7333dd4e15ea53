//! Catalogue of the repository's CUDA programs, with their build, run and check options.
//!
//! A program is a file `tests/programs/NAME.cu`, or a folder `tests/programs/NAME` or `examples/NAME` with
//! a main source `NAME.cu` and further sources. Lines `//@ key: value` in the main source set options:
//!
//! | key | value |
//! |---|---|
//! | `long` | reason why only `cargo xtask programs --long` compiles the program |
//! | `modes` | names of [`Mode`]s to build and run, default `shared static` |
//! | `arch` | target of nvcc for the kernels, default `compute_75` |
//! | `code` | code in the binary instead of PTX: `sm_75` |
//! | `device` | device profile instead of the default |
//! | `devices` | number of devices, default one |
//! | `flags` | additional compiler options |
//! | `link` | additional linker options; a substitute library satisfies `-lcuda` |
//! | `args` | arguments of the program |
//! | `stdout` | line that the program's standard output must contain |
//! | `stderr` | text that the program's standard error must contain |
//! | `check` | checks of the run, as in `voltsim run --check` |
//! | `mistakes` | reason why checks may report errors in the program |
//! | `status` | exit status of the run, default 0 |
//! | `seconds` | time limit of a run, default 60 |
//!
//! After `--long`, `cargo xtask test NAME` runs a `long` program.
//!
//! Every program checks its own results, prints `PASS` as its last line and exits with 0. With `check`, the
//! status may differ.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Compiler and runtime of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// nvcc 13, PTX for compute_75, `libcudart.so.13`.
    Shared,
    /// nvcc 13, PTX for compute_75, statically linked runtime.
    Static,
    /// clang 19, PTX for Volta (sm_70), `libcudart.so.12`.
    Clang,
    /// clang 16 with CUDA 11.8, which still supports texture references: PTX for Volta,
    /// `libcudart.so.11.0`.
    Clang11,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 4] = [Self::Shared, Self::Static, Self::Clang, Self::Clang11];

    /// Returns the mode's name in directives, folders and test names.
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

/// CUDA program.
#[derive(Debug, Clone)]
pub struct Program {
    /// Name of the program and of its executable.
    pub name: String,
    /// `.cu` and `.cpp` files to compile and link, main source first.
    pub sources: Vec<PathBuf>,
    /// Include folder, if the program has its own.
    pub folder: Option<PathBuf>,
    /// Modes to build and run.
    pub modes: Vec<Mode>,
    /// Excluded from routine builds because of its compile time.
    pub is_long: bool,
    /// Target of nvcc: `compute_75`.
    pub arch: String,
    /// Machine code in the binary instead of PTX for `arch`.
    pub code: Option<String>,
    /// Device profile, if not the default.
    pub device: Option<String>,
    /// Number of devices, if not one.
    pub devices: Option<String>,
    /// Additional compiler options.
    pub flags: Vec<String>,
    /// Additional linker options.
    pub link: Vec<String>,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Required lines of standard output.
    pub stdout: Vec<String>,
    /// Required texts in standard error.
    pub stderr: Vec<String>,
    /// Checks to enable.
    pub check: Option<String>,
    /// Reason why checks may report errors.
    pub mistakes: Option<String>,
    /// Exit status of the run.
    pub status: i32,
    /// Time limit of one run.
    pub time_limit: Duration,
}

/// Error of reading the catalogue.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// File or folder.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// A directive is unknown or has an invalid value.
    #[error("{path}:{line}: {text:?} is not a directive with a valid value")]
    Directive {
        /// Main source.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Text of the line.
        text: String,
    },
}

/// Returns the root of the checkout.
pub fn checkout() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_owned()
}

/// Returns the program folders of the checkout at `root`.
fn folders(root: &Path) -> [PathBuf; 2] {
    [root.join("examples"), root.join("tests/programs")]
}

/// Returns the folder of the shared headers.
pub fn common_headers(root: &Path) -> PathBuf {
    root.join("examples/common")
}

/// Returns all programs of this checkout by name. Prints errors to standard error.
pub fn own_programs() -> Option<Vec<Program>> {
    programs(&checkout()).map_err(|error| eprintln!("{error}")).ok()
}

/// Returns all programs of the checkout at `root` by name.
pub fn programs(root: &Path) -> Result<Vec<Program>, Error> {
    let mut programs = Vec::new();
    for folder in folders(root) {
        programs.extend(programs_in(&folder)?);
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(programs)
}

/// Returns the folder of the micro-benchmarks and their measurements on cards.
pub fn micro_benchmarks(root: &Path) -> PathBuf {
    root.join("evaluation/micro")
}

/// Returns the micro-benchmarks of the checkout at `root` by name. They print measurements instead of
/// `PASS` and share a folder with their header.
pub fn micro_programs(root: &Path) -> Result<Vec<Program>, Error> {
    let folder = micro_benchmarks(root);
    let mut programs = programs_in(&folder)?;
    for program in &mut programs {
        program.modes = vec![Mode::Shared];
        program.folder = Some(folder.clone());
    }
    Ok(programs)
}

/// Returns the programs in `folder` by name.
fn programs_in(folder: &Path) -> Result<Vec<Program>, Error> {
    let mut programs = Vec::new();
    for path in entries(folder)? {
        if let Some(name) = name_of(&path) {
            programs.extend(program(name, &path)?);
        }
    }
    Ok(programs)
}

/// Reads the program at `path`: a source, or a folder with a source of the folder's name.
fn program(name: &str, path: &Path) -> Result<Option<Program>, Error> {
    let is_folder = path.is_dir();
    let main = if is_folder { path.join(name).with_extension("cu") } else { path.to_owned() };
    // The demo's host program is plain C with a separate PTX file.
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

    /// Returns the path of the executable in `mode`, below `programs`, the folder of all compiled programs.
    pub fn executable(&self, programs: &Path, mode: Mode) -> PathBuf {
        programs.join(mode.name()).join(&self.name)
    }
}

/// Returns the name of the program at `path`, unless the path is hidden or not UTF-8.
fn name_of(path: &Path) -> Option<&str> {
    path.file_stem()?.to_str().filter(|name| !name.starts_with('.'))
}

/// Returns whether `path` ends with one of `extensions`.
pub fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().and_then(|extension| extension.to_str()).is_some_and(|found| extensions.contains(&found))
}

/// Returns the sorted entries of `folder`.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let read =
        || fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>();
    let mut paths = read().map_err(|source| Error::Read { path: folder.to_owned(), source })?;
    paths.sort();
    Ok(paths)
}

//! The vendor's assembler, `ptxas`, as a second implementation of PTX.

pub mod agreement;
mod specimen;
mod text;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Versions of the PTX ISA, newest first.
const VERSIONS: [(u8, u8); 39] = [
    (9, 6),
    (9, 5),
    (9, 4),
    (9, 3),
    (9, 2),
    (9, 1),
    (9, 0),
    (8, 8),
    (8, 7),
    (8, 6),
    (8, 5),
    (8, 4),
    (8, 3),
    (8, 2),
    (8, 1),
    (8, 0),
    (7, 8),
    (7, 7),
    (7, 6),
    (7, 5),
    (7, 4),
    (7, 3),
    (7, 2),
    (7, 1),
    (7, 0),
    (6, 5),
    (6, 4),
    (6, 3),
    (6, 2),
    (6, 1),
    (6, 0),
    (5, 0),
    (4, 3),
    (4, 2),
    (4, 1),
    (4, 0),
    (3, 2),
    (3, 1),
    (3, 0),
];

/// Error of the assembler.
#[derive(Debug, thiserror::Error)]
pub enum AssemblerError {
    /// The program cannot be started, or its input cannot be written.
    #[error("{path}: {source}")]
    File {
        /// Program or file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The program does not behave like `ptxas`.
    #[error("{path} {what}")]
    Foreign {
        /// Program.
        path: PathBuf,
        /// Missing behaviour.
        what: &'static str,
    },
}

/// `ptxas` program.
#[derive(Debug)]
pub struct Assembler {
    program: PathBuf,
    scratch: tempfile::TempDir,
    /// Newest supported version of the PTX ISA.
    pub version: (u8, u8),
    /// Supported target numbers, ascending: 75 for `sm_75`.
    pub targets: Vec<u32>,
    /// Architecture-specific targets, such as `100a`.
    pub specific: Vec<String>,
}

/// Errors of a module by line, counted from 1. Line 0 holds errors of the whole module.
pub type Complaints = BTreeMap<usize, String>;

/// Beginning of a syntax error, after which the assembler stops. Syntax errors do not depend on the target.
const UNREADABLE: &str = "Parsing error";

impl Assembler {
    /// Queries the program's supported versions and targets.
    pub fn open(program: &Path) -> Result<Assembler, AssemblerError> {
        let file = |source| AssemblerError::File { path: program.to_owned(), source };
        let foreign = |what| AssemblerError::Foreign { path: program.to_owned(), what };
        let help = Command::new(program).arg("--help").output().map_err(file)?;
        let help = String::from_utf8_lossy(&help.stdout).into_owned();
        let names = help.split('\'').filter_map(|word| word.strip_prefix("sm_"));
        let mut targets: Vec<u32> = names.clone().filter_map(|name| name.parse().ok()).collect();
        targets.sort_unstable();
        targets.dedup();
        let mut specific: Vec<String> = names.filter(|name| name.ends_with('a')).map(str::to_owned).collect();
        specific.sort();
        specific.dedup();
        let newest = *targets.last().ok_or(foreign("lists no target"))?;
        let scratch = tempfile::tempdir().map_err(file)?;
        let mut assembler =
            Assembler { program: program.to_owned(), scratch, version: (0, 0), targets, specific };
        for version in VERSIONS {
            let text = format!("{}.visible .entry one() {{ ret; }}\n", head(version, &newest.to_string()));
            if assembler.complaints(&text, &newest.to_string())?.is_empty() {
                assembler.version = version;
                return Ok(assembler);
            }
        }
        Err(foreign("supports no known version of PTX"))
    }

    /// Returns the assembler's errors for a module, possibly only the first few.
    pub fn complaints(&self, text: &str, target: &str) -> Result<Complaints, AssemblerError> {
        let path = self.scratch.path().join("module.ptx");
        let file = |source| AssemblerError::File { path: path.clone(), source };
        std::fs::write(&path, text).map_err(file)?;
        let mut command = Command::new(&self.program);
        // For a virtual architecture, ptxas only parses and generates no code.
        command.args(["-arch", &format!("compute_{target}"), "-o", "/dev/null"]).arg(&path);
        let output =
            command.output().map_err(|source| AssemblerError::File { path: self.program.clone(), source })?;
        Ok(read_complaints(&output))
    }
}

/// Returns the directives at the start of a module.
fn head((major, minor): (u8, u8), target: &str) -> String {
    format!(".version {major}.{minor}\n.target sm_{target}\n.address_size 64\n")
}

/// Joins all errors in one line.
fn shown(complaints: &Complaints) -> String {
    complaints.values().map(String::as_str).collect::<Vec<_>>().join("; ").replace('\n', "; ")
}

/// Parses lines such as `ptxas FILE, line 12; error   : MESSAGE` and `ptxas fatal   : MESSAGE`.
fn read_complaints(output: &Output) -> Complaints {
    let mut complaints = Complaints::new();
    if output.status.success() {
        return complaints;
    }
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    for line in String::from_utf8_lossy(&text).lines() {
        let placed = line.split_once(", line ").and_then(|(_, rest)| rest.split_once(';'));
        let Some((number, (kind, message))) = placed.and_then(|(n, rest)| Some((n, rest.split_once(':')?)))
        else {
            continue;
        };
        let message = message.trim();
        if let Ok(number) = number.parse()
            && (kind.trim() == "error" || message.starts_with(UNREADABLE))
        {
            complaints.entry(number).or_insert_with(|| message.to_owned());
        }
    }
    if complaints.is_empty() {
        complaints.insert(0, String::from_utf8_lossy(&text).trim().to_owned());
    }
    complaints
}

//! The `voltsim` command as a user runs it.
#![allow(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

#[path = "../../../ptx-frontend/tests/container/builder.rs"]
#[allow(dead_code, reason = "these tests use a part of the builder")]
mod builder;
mod cache_model;
mod capture;
mod check;
mod checkpoint;
mod checksums;
mod columns;
mod compare;
mod completions;
mod convert;
mod correlate;
mod coverage;
mod doctor;
mod environment;
mod experiment;
mod extract;
mod gpu_files;
mod hybrid;
mod installation;
mod instrument;
mod launches;
mod library_path;
mod mistakes;
mod model;
mod names;
mod outputs;
mod refused;
mod register_source;
mod report;
mod sanitize;
mod stream;
mod targets;
mod trace;
mod until_stable;
mod why;

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// Status and output of a run of the command.
struct Outcome {
    status: i32,
    stdout: String,
    stderr: String,
}

impl Outcome {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap()
    }
}

/// A folder to run the command in.
struct Workplace {
    folder: TempDir,
}

impl Workplace {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn read_bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    fn voltsim(&self, arguments: &[&str]) -> Outcome {
        self.run(Path::new(env!("CARGO_BIN_EXE_voltsim")), arguments)
    }

    /// Compiles C `source` to `output`.
    fn compile(&self, source: &str, output: &str, options: &[&str]) {
        self.write("source.c", source);
        let outcome = self.run(Path::new("cc"), &[&["-o", output, "source.c"], options].concat());
        assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    }

    fn run(&self, program: &Path, arguments: &[&str]) -> Outcome {
        self.run_with(program, arguments, &[])
    }

    /// Runs a program with these settings in its environment; without a cache of decoded functions.
    fn run_with(&self, program: &Path, arguments: &[&str], settings: &[(&str, PathBuf)]) -> Outcome {
        let mut command = Command::new(program);
        command.env("VOLTSIM_CACHE", "off").envs(settings.iter().cloned());
        let result = command.current_dir(self.folder.path()).args(arguments).output().unwrap();
        // As a shell has it: 128 and the signal's number.
        let ended_by = || 128 + result.status.signal().unwrap();
        Outcome {
            status: result.status.code().unwrap_or_else(ended_by),
            stdout: String::from_utf8(result.stdout).unwrap(),
            stderr: String::from_utf8(result.stderr).unwrap(),
        }
    }
}

/// A word of a shell's script: the text of an option that the command has handed over.
fn handed_over(option: &str) -> String {
    format!("\"$(printf %s \"$VOLTSIM_RUN\" | tr ';' '\\n' | sed -n 's/^{option}=//p')\"")
}

/// PTX text with one kernel of this name and body.
fn ptx(kernel: &str, body: &str) -> String {
    format!(".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry {kernel}()\n{{\n{body}\nret;\n}}")
}

//! `voltsim status`: what is done and what is not.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::process::ExitCode;

use api_table::{Function, Library};
use ptx_frontend::isa::{self, Support};
use serde::Serialize;

use crate::failure::Failure;
use crate::table;

/// For each instruction form a file test that executes it. A test checks the table against the
/// files.
const TESTS: &str = include_str!("../../../tests/ptx/forms.tsv");

/// Show what is supported
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(clap::Subcommand)]
enum Subject {
    /// List every function of libcudart and libcuda: the libraries that export it, and its state
    Api {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// List every PTX instruction form: versions, state, test and syntax
    Isa {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Writes the list.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    match args.subject {
        Subject::Api { json } => api(json, out),
        Subject::Isa { json } => isa(json, out),
    }
}

/// A function, or one of its variants where versions differ.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    libraries: Vec<&'static str>,
    /// `done`, `stub` (returns "not supported") or `refused` (a stub that will stay one).
    state: &'static str,
    signature: &'static str,
}

impl From<Function> for Row {
    fn from(function: Function) -> Self {
        Self {
            name: function.name,
            libraries: function.libraries.into_iter().map(Library::soname).collect(),
            state: function.state.label(),
            signature: function.signature,
        }
    }
}

/// A spelling of an instruction form, or an instruction that has none.
#[derive(Serialize)]
struct Form {
    name: String,
    syntax: &'static str,
    /// First PTX ISA version that has it; empty where the op table has no line.
    ptx: String,
    /// First target that has it.
    sm: String,
    /// `done`, `missing` or `refused`.
    state: &'static str,
    reason: &'static str,
    section: &'static str,
    /// A test that executes it, within the repository.
    test: &'static str,
}

fn forms() -> Vec<Form> {
    let label = |state: Support| match state {
        Support::Done => ("done", ""),
        Support::Missing(reason) => ("missing", reason),
        Support::Refused(reason) => ("refused", reason),
    };
    let tests: HashMap<&str, &str> = TESTS.lines().filter_map(|line| line.split_once('\t')).collect();
    let spellings = isa::table().flat_map(|line| line.spellings.iter().map(move |spelling| (line, spelling)));
    let lines = spellings.map(|(line, spelling)| {
        let (state, reason) = label(Support::Done);
        let (major, minor) = spelling.requirement.ptx;
        let name = format!("{}.{}", line.group, line.name);
        Form {
            test: tests.get(name.as_str()).copied().unwrap_or_default(),
            name,
            syntax: spelling.syntax,
            ptx: format!("{major}.{minor}"),
            sm: spelling.requirement.target.to_string(),
            state,
            reason,
            section: line.section,
        }
    });
    let absent = isa::ABSENT.iter().map(|absent| {
        let (state, reason) = label(absent.state);
        Form {
            name: absent.opcode(),
            syntax: absent.mnemonic,
            ptx: String::new(),
            sm: String::new(),
            state,
            reason,
            section: absent.section,
            test: "",
        }
    });
    lines.chain(absent).collect()
}

fn isa(json: bool, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let forms = forms();
    if json {
        serde_json::to_writer_pretty(&mut *out, &forms).map_err(std::io::Error::from)?;
        writeln!(out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let cells: Vec<[String; 6]> = forms
        .iter()
        .map(|form| {
            let state = [form.state, form.reason].join(" ").trim_end().to_owned();
            let texts = [&form.name, &form.ptx, &form.sm, &state, form.test, form.syntax];
            texts.map(str::to_owned)
        })
        .collect();
    table::write(out, ["form", "PTX", "target", "state", "test", "syntax"], &cells)?;
    write_counts(out, "forms", forms.iter().map(|form| form.state))
}

/// Writes how many of each state there are.
fn write_counts<'a>(
    out: &mut dyn Write,
    what: &str,
    states: impl Iterator<Item = &'a str>,
) -> Result<ExitCode, Failure> {
    let mut counts = BTreeMap::new();
    for state in states {
        *counts.entry(state).or_insert(0_usize) += 1;
    }
    let total: usize = counts.values().sum();
    let counts: Vec<String> = counts.iter().map(|(state, count)| format!("{count} {state}")).collect();
    writeln!(out, "\n{total} {what}: {}", counts.join(", "))?;
    Ok(ExitCode::SUCCESS)
}

fn api(json: bool, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let functions = api_table::runtime().and_then(|mut functions| {
        functions.extend(api_table::driver()?);
        Ok(functions)
    });
    let rows: Vec<Row> = functions.map_err(Failure::new)?.into_iter().map(Row::from).collect();
    if json {
        serde_json::to_writer_pretty(&mut *out, &rows).map_err(std::io::Error::from)?;
        writeln!(out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let cells: Vec<[String; 3]> =
        rows.iter().map(|row| [row.name.to_owned(), row.state.to_owned(), row.libraries.join(" ")]).collect();
    table::write(out, ["function", "state", "exported by"], &cells)?;
    write_counts(out, "functions", rows.iter().map(|row| row.state))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_form_that_runs_has_a_test() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for form in forms().iter().filter(|form| form.state == "done") {
            assert!(form.test.ends_with(".ptx") && repository.join(form.test).exists(), "{}", form.name);
        }
    }
}

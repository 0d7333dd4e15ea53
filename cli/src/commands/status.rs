//! `voltsim status`: what is done and what is not.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use api_table::{Function, Library};
use serde::Serialize;

use crate::failure::Failure;
use crate::table;

/// Show what is supported
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(clap::Subcommand)]
enum Subject {
    /// Every function of libcudart and libcuda: the libraries that export it and how far it is
    Api {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Writes the list.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    match args.subject {
        Subject::Api { json } => api(json, out),
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
    let mut counts = BTreeMap::new();
    for row in &rows {
        *counts.entry(row.state).or_insert(0_usize) += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(state, count)| format!("{count} {state}")).collect();
    writeln!(out, "\n{} functions: {}", rows.len(), counts.join(", "))?;
    Ok(ExitCode::SUCCESS)
}

//! `voltsim coverage`: which instruction forms a program executes, and how two programs differ in
//! that.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::failure::Failure;
use crate::given::{Given, taking};
use crate::program;
use crate::supervise;

/// Record which instruction forms a program executes, or compare two such records
///
/// A form is a line of the op table with its modifiers and types, such as add.sat.s32. To find a
/// faulty instruction, compare the record of a program that goes wrong with one that goes right.
/// With --diff the exit status is 0 when the records have the same forms, else 1. Without --diff it
/// is the program's.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// List the forms that only one of two records has
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["coverage", "program"])]
    diff: Option<Vec<PathBuf>>,

    #[command(flatten)]
    given: Given<taking::Coverage>,

    /// The program and its arguments
    #[arg(required_unless_present = "diff", trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Starts the program, or compares.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    if let Some([a, b]) = args.diff.as_deref() {
        return difference(a, b, out);
    }
    let options = args.given.options.clone();
    if options.coverage.is_none() {
        return Err(Failure::new("--output is missing: the record needs a file").remedy("add --output FILE"));
    }
    let program = program::prepare(&args.program, options, args.given.profile.as_deref())?;
    Ok(supervise::run(program)?.pass_on())
}

/// Beginning of the first line of a record.
const HEAD: &str = "# voltsim coverage 1:";

/// Executions by line of the op table and opcode.
type Record = BTreeMap<(String, String), u64>;

fn read(path: &Path) -> Result<Record, Failure> {
    let text = fs::read_to_string(path).map_err(|error| Failure::in_file(path, error))?;
    let mut lines = text.lines().enumerate();
    if !lines.next().is_some_and(|(_, head)| head.starts_with(HEAD)) {
        return Err(Failure::in_file(path, "this is no record of this version of voltsim coverage")
            .remedy("Make it with voltsim coverage -o FILE -- PROGRAM, and let the program end by itself"));
    }
    // A run that a signal has ended says so in such a line.
    lines
        .filter(|(_, line)| !line.starts_with('#'))
        .map(|(number, line)| {
            let mut fields = line.split('\t');
            let parsed = match [fields.next(), fields.next(), fields.next(), fields.next()] {
                [Some(form), Some(opcode), Some(count), None] => {
                    count.parse().ok().map(|count| ((form.to_owned(), opcode.to_owned()), count))
                }
                _ => None,
            };
            parsed.ok_or_else(|| {
                Failure::in_file(path, format_args!("line {} is damaged", number + 1))
                    .remedy("Make the record again")
            })
        })
        .collect()
}

fn difference(a: &Path, b: &Path, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let (record_a, record_b) = (read(a)?, read(b)?);
    let mut same = true;
    for (path, own, other) in [(a, &record_a, &record_b), (b, &record_b, &record_a)] {
        let only: Vec<_> = own.iter().filter(|(form, _)| !other.contains_key(*form)).collect();
        if only.is_empty() {
            continue;
        }
        same = false;
        writeln!(out, "only in {}:", path.display())?;
        for ((form, opcode), count) in only {
            writeln!(out, "  {opcode:<40} {form:<32} {count:>12}")?;
        }
    }
    Ok(ExitCode::from(u8::from(!same)))
}

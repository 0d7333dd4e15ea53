//! `voltsim coverage`: which instruction forms a program executes, and how two programs differ in that.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::failure::Failure;
use crate::outputs;
use crate::program;
use crate::supervise;

/// Record which instruction forms a program executes, or compare two such records
///
/// A form is a line of the op table with its modifiers and types, such as add.sat.s32. What a program that goes wrong
/// executes, and programs that go right do not, is where to look first. With --diff the exit status is 0 when the
/// records have the same forms, else 1; otherwise it is the program's.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// File for the record
    #[arg(short, long, value_name = "FILE", required_unless_present = "diff")]
    output: Option<PathBuf>,

    /// List the forms that only one of two records has
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["output", "program"])]
    diff: Option<Vec<PathBuf>>,

    #[command(flatten)]
    options: program::Options,

    /// The program and its arguments
    #[arg(required_unless_present = "diff", trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Starts the program, or compares.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    if let Some([a, b]) = args.diff.as_deref() {
        return difference(a, b, out);
    }
    let mut command = program::command(&args.program, &args.options)?;
    if let Some(output) = &args.output {
        outputs::name(&mut command, "VOLTSIM_COVERAGE", "--output", output)?;
    }
    Ok(supervise::run(command)?.pass_on())
}

/// What the first line of a record begins with.
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

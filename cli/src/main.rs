//! The `voltsim` command: one file per subcommand under `commands/`.
//!
//! Standard output carries a command's own report and nothing else. Failures go to standard error
//! with the file, the place and a remedy, and the process exits with status 2.

mod checkpoint;
mod columns;
mod commands;
mod demo_program;
mod device;
mod difference;
mod environment;
mod executable;
mod failure;
mod given;
mod gpu_file;
mod instrumented;
mod libraries;
mod model;
mod outputs;
mod paths;
mod program;
mod python_tools;
mod quantity;

mod setup;
mod supervise;
mod table;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::commands::Command;

/// Runs unmodified CUDA programs on a machine with no GPU.
#[derive(Parser)]
#[command(name = "voltsim", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => return refuse(&error),
    };
    let mut out = BufWriter::new(io::stdout());
    let result = command.run(&mut out).and_then(|code| Ok(out.flush().map(|()| code)?));
    match result {
        Ok(code) => code,
        Err(failure) if failure.is_closed_output() => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("voltsim: {failure}");
            ExitCode::from(failure.status())
        }
    }
}

/// Ends a command line that cannot be read. An unknown option is named with the most similar one.
fn refuse(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    if error.kind() != ErrorKind::UnknownArgument {
        let text = error.render().to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        // A rule of the options tells its remedy; the usage that clap adds names no option.
        match text.split_once("\n\n") {
            Some((told, _)) if told.contains("  remedy: ") => eprintln!("voltsim: {}", told.trim_end()),
            _ => eprint!("voltsim: {text}"),
        }
        return ExitCode::from(failure::EXIT_STATUS);
    }
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        Some(ContextValue::Strings(texts)) => texts.first().map(String::as_str),
        _ => None,
    };
    let given = text(ContextKind::InvalidArg).unwrap_or_default();
    match text(ContextKind::SuggestedArg) {
        Some(similar) => eprintln!("voltsim: unexpected argument '{given}', did you mean '{similar}'?"),
        None => eprintln!("voltsim: unexpected argument '{given}'"),
    }
    if let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) {
        eprintln!("{usage}");
    }
    eprintln!("  remedy: --help lists the options; put options of the program behind the program");
    ExitCode::from(failure::EXIT_STATUS)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn no_command_has_an_option_twice() {
        Cli::command().debug_assert();
    }
}

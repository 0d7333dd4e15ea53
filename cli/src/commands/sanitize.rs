//! `voltsim sanitize`: `voltsim run --check`, spelt as NVIDIA's compute-sanitizer spells it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use run_options::values::{Value, WholeLaunchesText};
use run_options::{Key, RunOptions};

use crate::failure::Failure;
use crate::program;
use crate::supervise;

/// Find mistakes of a program, with the options of compute-sanitizer
///
/// The command is a second spelling of `voltsim run --check`, for users and scripts that know
/// compute-sanitizer. A program that exits with 0 gets status 86 if a mistake was found, unless
/// `--error-exitcode` names another status. Child processes are checked too.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Tool: memcheck, racecheck, initcheck or synccheck
    ///
    /// The tools are the checks `memory`, `races`, `uninitialised` and `barriers`.
    #[arg(long, value_enum, default_value = "memcheck")]
    tool: Tool,

    /// Report allocations that the program never frees: full or no
    #[arg(long, value_enum, default_value = "no", value_name = "full|no")]
    leak_check: LeakCheck,

    /// Report API calls that return an error: all, explicit or no
    ///
    /// `all` and `explicit` mean the same here. The default is explicit for memcheck and no for the
    /// other tools.
    #[arg(long, value_enum, value_name = "all|explicit|no")]
    report_api_errors: Option<ApiErrors>,

    /// Check only this kernel: a name, kne=NAME or kns=PART
    ///
    /// `kns=PART` takes kernels whose name contains PART. `*` and `?` are wildcards.
    #[arg(long, short = 'k', visible_alias = "kernel-regex", value_name = "NAME")]
    kernel_name: Option<String>,

    /// Leave out the first N launches that would be checked
    #[arg(long, short = 's', value_name = "N")]
    launch_skip: Option<u32>,

    /// Check at most N launches
    #[arg(long, short = 'c', value_name = "N")]
    launch_count: Option<u32>,

    /// Show at most N findings; 100 by default
    #[arg(long, value_name = "N")]
    print_limit: Option<u32>,

    /// End with this status where a mistake was found and the program exited with 0
    #[arg(long, value_name = "STATUS", value_parser = clap::value_parser!(u8))]
    error_exitcode: Option<u8>,

    /// Write the findings to a file; a name ending in .jsonl gets lines of JSON
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,

    /// Leave out findings that a file names, a line of JSON each (see --check-suppressions)
    #[arg(long, value_name = "FILE")]
    suppressions: Option<PathBuf>,

    /// Show the host's stack with findings: yes, host, device or no
    ///
    /// `device` and `no` leave the host's stack out. The place in the kernel is always shown.
    #[arg(long, value_enum, default_value = "yes", value_name = "yes|host|device|no")]
    show_backtrace: Backtrace,

    /// GPU that the program is told about (see voltsim run --device)
    #[arg(long, value_name = "NAME|FILE|auto")]
    device: Option<String>,

    /// Run in the environment that `voltsim setup NAME` has made in its usual place
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Tools of compute-sanitizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tool {
    Memcheck,
    Racecheck,
    Initcheck,
    Synccheck,
}

/// Values of `--leak-check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LeakCheck {
    Full,
    No,
}

/// Values of `--report-api-errors`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ApiErrors {
    All,
    Explicit,
    No,
}

/// Values of `--show-backtrace`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Backtrace {
    Yes,
    Host,
    Device,
    No,
}

/// Runs the program under the checks.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let program = program::prepare(&args.program, options(args)?, args.profile.as_deref())?;
    Ok(supervise::run_checked(program)?.pass_on())
}

/// The options of `voltsim run` that mean the same.
fn options(args: &Args) -> Result<RunOptions, Failure> {
    let mut texts: Vec<(Key, OsString)> = vec![(Key::check, checks(args).join(",").into())];
    let mut give = |key, text: Option<OsString>| texts.extend(text.map(|text| (key, text)));
    let number = |number: Option<u32>| number.map(|number| number.to_string().into());
    give(Key::check_only, args.kernel_name.as_deref().map(selection).transpose()?);
    give(Key::check_skip, number(args.launch_skip));
    give(Key::check_count, number(args.launch_count));
    give(Key::check_limit, number(args.print_limit));
    give(Key::check_exit_status, number(args.error_exitcode.map(u32::from)));
    give(Key::check_report, args.log_file.clone().map(OsString::from));
    give(Key::check_suppressions, args.suppressions.clone().map(OsString::from));
    give(Key::device, args.device.clone().map(OsString::from));
    let hides_stacks = matches!(args.show_backtrace, Backtrace::Device | Backtrace::No);
    give(Key::check_stacks, hides_stacks.then(|| "0".into()));
    Ok(RunOptions::of_texts(texts))
}

/// Names of the checks that a tool and its options mean.
fn checks(args: &Args) -> Vec<&'static str> {
    let mut checks = vec![match args.tool {
        Tool::Memcheck => "memory",
        Tool::Racecheck => "races",
        Tool::Initcheck => "uninitialised",
        Tool::Synccheck => "barriers",
    }];
    if args.leak_check == LeakCheck::Full {
        checks.push("leaks");
    }
    let usual = if args.tool == Tool::Memcheck { ApiErrors::Explicit } else { ApiErrors::No };
    if args.report_api_errors.unwrap_or(usual) != ApiErrors::No {
        checks.push("calls");
    }
    checks
}

/// The selection of launches that `--kernel-name` means.
fn selection(name: &str) -> Result<OsString, Failure> {
    if let Some(expression) = name.strip_prefix("regex:") {
        return Err(Failure::new(format_args!(
            "--kernel-name regex:{expression}: regular expressions are not supported"
        ))
        .remedy("give kns=PART of the name, or a name with * and ?"));
    }
    let glob = match name.split_once('=') {
        Some(("kns" | "kernel_substring", part)) => format!("*{part}*"),
        Some(("kne" | "kernel_name", whole)) => whole.to_owned(),
        _ => name.to_owned(),
    };
    // A comma would end the key.
    let text = OsString::from(format!("kernel={}", glob.replace(',', "?")));
    match WholeLaunchesText::read(&text) {
        Ok(_) => Ok(text),
        Err(wrong) => Err(Failure::new(format_args!("--kernel-name {name}: {}", wrong.rule))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn text(key: Key, arguments: &[&str]) -> Option<String> {
        let line = [&["sanitize"], arguments, &["--", "./program"]].concat();
        let args = Line::try_parse_from(line).unwrap().args;
        let text = options(&args).unwrap().text(key)?;
        Some(text.into_string().unwrap())
    }

    #[test]
    fn tools_are_checks() {
        for (arguments, checks) in [
            (&[][..], "memory,calls"),
            (&["--report-api-errors", "no"], "memory"),
            (&["--tool", "racecheck"], "races"),
            (&["--tool", "initcheck", "--leak-check", "full"], "uninitialised,leaks"),
            (&["--tool", "synccheck", "--report-api-errors", "all"], "barriers,calls"),
        ] {
            assert_eq!(text(Key::check, arguments).unwrap(), checks, "{arguments:?}");
        }
    }

    #[test]
    fn kernel_names_are_selections() {
        for (name, selection) in [
            ("scan", "kernel=scan"),
            ("kns=scan", "kernel=*scan*"),
            ("kernel_substring=scan", "kernel=*scan*"),
            ("kne=scan", "kernel=scan"),
            ("kne=add<int, 4>", "kernel=add<int? 4>"),
        ] {
            assert_eq!(text(Key::check_only, &["--kernel-name", name]).unwrap(), selection);
        }
        assert_eq!(text(Key::check_only, &[]), None);
    }

    #[test]
    fn limits_and_statuses_are_passed_on() {
        let line = ["-s", "2", "-c", "3", "--print-limit", "5", "--error-exitcode", "7"];
        let texts = [Key::check_skip, Key::check_count, Key::check_limit, Key::check_exit_status]
            .map(|key| text(key, &line).unwrap());
        assert_eq!(texts, ["2", "3", "5", "7"]);
    }
}

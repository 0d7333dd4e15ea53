//! Child processes.

use crate::error::{Error, Result};
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitStatus, Stdio};

/// Runs `command` silently and returns standard output; a failure's error holds the output.
pub(crate) fn quiet(command: &mut Command) -> Result<String> {
    both(command).map(|[output, _]| output)
}

/// Runs `command` silently and returns standard error.
pub(crate) fn errors(command: &mut Command) -> Result<String> {
    both(command).map(|[_, errors]| errors)
}

/// Standard output and error of a successful command.
fn both(command: &mut Command) -> Result<[String; 2]> {
    let output = command.stdin(Stdio::null()).output().map_err(start_error(command))?;
    let written = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if output.status.success() {
        return Ok(written);
    }
    Err(Error::Command { command: words(command), status: output.status, output: written.concat() })
}

/// True if `command` starts and succeeds; output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs `command` with inherited output; true if it succeeds.
pub(crate) fn shown(command: &mut Command) -> Result<bool> {
    Ok(command.status().map_err(start_error(command))?.success())
}

/// Exit status of `command`.
pub(crate) fn status(command: &mut Command) -> Result<ExitStatus> {
    command.stdin(Stdio::null()).status().map_err(start_error(command))
}

/// As [`shown`], and passes each line of standard output to `see`.
pub(crate) fn seen(command: &mut Command, mut see: impl FnMut(&str)) -> Result<bool> {
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(start_error(command))?;
    for line in child.stdout.take().into_iter().flat_map(|stdout| BufReader::new(stdout).lines()) {
        let line = line.map_err(start_error(command))?;
        println!("{line}");
        see(&line);
    }
    Ok(child.wait().map_err(start_error(command))?.success())
}

/// Passes each line of standard output to `see` with the process number, and ignores the exit
/// status.
pub(crate) fn each_line(command: &mut Command, mut see: impl FnMut(u32, &str)) -> Result<()> {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(start_error(command))?;
    for line in child.stdout.take().into_iter().flat_map(|stdout| BufReader::new(stdout).split(b'\n')) {
        let line = line.map_err(start_error(command))?;
        see(child.id(), &String::from_utf8_lossy(&line));
    }
    child.wait().map_err(start_error(command))?;
    Ok(())
}

fn start_error(command: &Command) -> impl FnOnce(std::io::Error) -> Error + use<> {
    let program = command.get_program().to_string_lossy().into_owned();
    move |source| Error::Start { program, source }
}

/// The command as typed.
fn words(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

//! Starting other programs.

use crate::error::{Error, Result};
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitStatus, Stdio};

/// Runs `command` silently; its output becomes part of the error when it fails.
pub(crate) fn quiet(command: &mut Command) -> Result<String> {
    both(command).map(|[output, _]| output)
}

/// The same, with what it writes to standard error.
pub(crate) fn errors(command: &mut Command) -> Result<String> {
    both(command).map(|[_, errors]| errors)
}

/// What a command that succeeds writes to standard output and error.
fn both(command: &mut Command) -> Result<[String; 2]> {
    let output = command.stdin(Stdio::null()).output().map_err(start_error(command))?;
    let written = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if output.status.success() {
        return Ok(written);
    }
    Err(Error::Command { command: words(command), status: output.status, output: written.concat() })
}

/// Whether `command` can be started and succeeds; its output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs `command` with its output on this process's own; whether it succeeds.
pub(crate) fn shown(command: &mut Command) -> Result<bool> {
    Ok(command.status().map_err(start_error(command))?.success())
}

/// The status with which `command` ends.
pub(crate) fn status(command: &mut Command) -> Result<ExitStatus> {
    command.stdin(Stdio::null()).status().map_err(start_error(command))
}

/// Like [`shown`], and hands each line of standard output to `see` as well.
pub(crate) fn seen(command: &mut Command, mut see: impl FnMut(&str)) -> Result<bool> {
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(start_error(command))?;
    for line in child.stdout.take().into_iter().flat_map(|stdout| BufReader::new(stdout).lines()) {
        let line = line.map_err(start_error(command))?;
        println!("{line}");
        see(&line);
    }
    Ok(child.wait().map_err(start_error(command))?.success())
}

/// Hands each line of standard output to `see` with the process's number, until the command ends. How it ends is not looked
/// at.
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

/// The command as one would type it.
fn words(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

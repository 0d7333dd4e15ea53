//! Python's own programs in an environment: `pip` and its like never come from the host, whose
//! packages they would change.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::environment::Environment;
use crate::failure::Failure;

/// Python's programs; a version may follow (`pip3`, `python3.13`).
const OF_PYTHON: [&str; 6] = ["python", "pip", "easy_install", "ipython", "pydoc", "wheel"];

/// A program of Python's in an environment, and the arguments before the user's own; nothing for
/// other programs.
///
/// # Errors
/// The environment does not have the program.
pub(crate) fn of_environment(
    program: &Path,
    environment: &Environment,
) -> Result<Option<(PathBuf, Vec<OsString>)>, Failure> {
    let Some(tool) = tool(program) else { return Ok(None) };
    let own = environment.programs().join(program);
    let python = environment.programs().join("python");
    if own.is_file() {
        return Ok(match is_script_of_host(&own, environment) {
            true => Some((python, vec![own.into_os_string()])),
            false => Some((own, Vec::new())),
        });
    }
    if tool != "python" && has_module(&python, tool) {
        return Ok(Some((python, vec!["-m".into(), tool.into()])));
    }
    let name = program.display();
    let refused = Failure::new(format_args!(
        "the environment `{}` has no `{name}`, and the host's is not for it",
        environment.name()
    ));
    Err(refused.remedy(match tool {
        "pip" => "install packages to a folder of their own with the host's: pip install --target FOLDER PACKAGE; programs find \
                  them with PYTHONPATH=FOLDER"
            .to_owned(),
        _ => format!("its programs lie in {}", environment.programs().display()),
    }))
}

/// The name of a program of Python's, without its version.
fn tool(program: &Path) -> Option<&'static str> {
    let name = program.to_str().filter(|_| program.components().count() == 1)?;
    OF_PYTHON.into_iter().find(|tool| {
        name.strip_prefix(tool)
            .is_some_and(|version| version.chars().all(|letter| letter.is_ascii_digit() || letter == '.'))
    })
}

/// Is a script started by a Python that lies elsewhere?
fn is_script_of_host(script: &Path, environment: &Environment) -> bool {
    let text = fs::read(script).unwrap_or_default();
    let Some(line) = text.strip_prefix(b"#!") else { return false };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let interpreter = Path::new(line.split_whitespace().next().unwrap_or_default());
    let is_python = interpreter.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"));
    is_python && !interpreter.starts_with(environment.folder())
}

fn has_module(python: &Path, module: &str) -> bool {
    let mut question = Command::new(python);
    question.args(["-c", &format!("import {module}")]);
    let answer = question.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    answer.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_python_are_known_with_and_without_version() {
        let named = |name: &str| tool(Path::new(name));
        assert_eq!([named("pip"), named("pip3"), named("pip3.13")], [Some("pip"); 3]);
        assert_eq!(
            [named("python3"), named("pipx"), named("./pip"), named("bash")],
            [Some("python"), None, None, None]
        );
    }
}

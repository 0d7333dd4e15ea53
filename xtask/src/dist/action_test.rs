//! Executes the steps of `action.yml` as GitHub's runner does: a script each, with inputs as variables.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use super::install_test::as_user;
use crate::error::{Error, Result};
use crate::process;

/// A step of a composite action.
#[derive(Debug, Default, PartialEq, Eq)]
struct Step {
    /// Variables with the inputs that they have.
    variables: Vec<(String, String)>,
    /// Lines of the script.
    script: String,
}

/// Installs the wheel by the action in `folder`, and runs the demo's program under its checks.
pub(super) fn run(action: &Path, wheel: &Path, folder: &Path) -> Result<()> {
    let text = fs::read_to_string(action).map_err(Error::file(action))?;
    let wrong = |reason: String| Error::Artefact { artefact: action.to_owned(), reason };
    let demo = folder.join("voltsim/lib/voltsim/voltsim-demo");
    let inputs = HashMap::from([
        ("version", String::new()),
        ("wheel", wheel.to_string_lossy().into_owned()),
        ("run", format!("echo begun; {}", demo.display())),
        ("options", "--check all --watchdog 60s".to_owned()),
    ]);
    let added = folder.join("github-path");
    let mut output = String::new();
    for step in steps(&text).map_err(wrong)? {
        let paths = fs::read_to_string(&added).unwrap_or_default();
        let path = paths.lines().chain(["/usr/bin:/bin"]).collect::<Vec<_>>().join(":");
        let mut shell = as_user(Path::new("bash"), folder);
        shell.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &step.script]);
        shell.env("RUNNER_TEMP", folder).env("GITHUB_PATH", &added).env("PATH", path);
        for (variable, input) in &step.variables {
            let input = inputs.get(input.as_str()).ok_or_else(|| wrong(format!("no input {input}")))?;
            shell.env(variable, input);
        }
        output += &process::quiet(&mut shell)?;
    }
    match output.contains("begun") && output.contains("0 of 307200 points wrong") {
        true => Ok(()),
        false => Err(wrong(format!("the demo does not run:\n{output}"))),
    }
}

/// The steps of an action. A key that this function does not know is an error.
fn steps(text: &str) -> std::result::Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_script = false;
    for line in text.lines().skip_while(|line| line.trim() != "steps:").skip(1) {
        let indent = line.len() - line.trim_start().len();
        let step = steps.last_mut();
        match (line.trim(), step) {
            ("- shell: bash", _) => {
                steps.push(Step::default());
                is_script = false;
            }
            (script, Some(step)) if is_script && (indent >= 8 || script.is_empty()) => {
                step.script += script;
                step.script.push('\n');
            }
            ("run: |", Some(_)) => is_script = true,
            ("env:", Some(_)) => {}
            // The test gives this input.
            ("if: inputs.run != ''", Some(_)) => {}
            (line, Some(step)) => {
                let entry = line.split_once(": ${{ inputs.");
                let entry = entry.and_then(|(name, input)| Some((name, input.strip_suffix(" }}")?)));
                let (variable, input) = entry.ok_or_else(|| format!("unknown line `{line}`"))?;
                step.variables.push((variable.to_owned(), input.to_owned()));
            }
            (line, None) => return Err(format!("unknown line `{line}`")),
        }
    }
    match steps.is_empty() || steps.iter().any(|step| step.script.is_empty()) {
        true => Err("a step without a script".to_owned()),
        false => Ok(steps),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn steps_have_scripts_and_inputs() {
        let action = include_str!("../../../action.yml");
        let steps = steps(action).unwrap();
        assert_eq!(steps.len(), 2);
        assert_eq!(steps[0].variables[1], ("WHEEL".to_owned(), "wheel".to_owned()));
        assert!(steps[0].script.starts_with("python3 -m venv"), "{}", steps[0].script);
        assert!(steps[1].script.contains("voltsim run $OPTIONS -- bash"), "{}", steps[1].script);
    }

    #[test]
    fn unknown_key_of_a_step_is_an_error() {
        let text = "  steps:\n    - shell: bash\n      uses: checkout\n      run: |\n        true\n";
        assert_eq!(steps(text).unwrap_err(), "unknown line `uses: checkout`");
    }
}

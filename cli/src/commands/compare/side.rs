//! One of the two ways in which launches are run.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use launch_capture::{Capture, Results};
use run_options::Key;
use saved_run::refusals;

use crate::failure::{EXIT_STATUS, Failure};
use crate::instrumented;
use crate::paths::absolute;

/// Settings, library and PTX of one way.
pub(super) struct Side {
    /// `A` or `B`.
    pub(super) name: &'static str,
    settings: Vec<(String, String)>,
    library: Option<PathBuf>,
    /// PTX in place of the captured one.
    text: Option<String>,
}

impl Side {
    pub(super) fn new(
        name: &'static str,
        settings: &[String],
        library: Option<&Path>,
        ptx: Option<&Path>,
    ) -> Result<Side, Failure> {
        let pair = |setting: &String| {
            let pair = setting.split_once('=').filter(|(name, _)| !name.is_empty());
            pair.map(|(name, value)| (name.to_owned(), value.to_owned())).ok_or_else(|| {
                Failure::new(format_args!(
                    "`{setting}` is no setting; write NAME=VALUE, such as VOLTSIM_THREADS=1"
                ))
            })
        };
        let settings = settings.iter().map(pair).collect::<Result<Vec<_>, _>>()?;
        let text = match ptx {
            Some(path) => Some(fs::read_to_string(path).map_err(|error| Failure::in_file(path, error))?),
            None => None,
        };
        Ok(Side { name, settings, library: library.map(absolute).transpose()?, text })
    }

    /// Has it a library of its own, or PTX?
    pub(super) fn is_special(&self) -> bool {
        self.library.is_some() || self.text.is_some()
    }

    /// The PTX that it runs.
    pub(super) fn text(&self, capture: &Capture) -> Result<String, Failure> {
        match &self.text {
            Some(text) => Ok(text.clone()),
            None => Ok(capture.modules()?.into_iter().next().unwrap_or_default()),
        }
    }

    /// Runs a launch as this way has it; what is made lies in `scratch`.
    pub(super) fn plain(&self, capture: &Capture, scratch: &Path) -> Result<Results, Failure> {
        let results = scratch.join(format!("{}-results", self.name));
        match &self.text {
            Some(text) => {
                let changed = scratch.join(self.name);
                instrumented::with_text(capture, text, &changed)?;
                self.replay(&changed, &results)
            }
            None => self.replay(capture.path(), &results),
        }
    }

    /// Runs the launch in `folder` by `voltsim replay`.
    pub(super) fn replay(&self, folder: &Path, results: &Path) -> Result<Results, Failure> {
        let mut command = self.voltsim()?;
        command.arg("replay").arg(folder).arg("-o").arg(results);
        if let Some(library) = &self.library {
            command.arg("--library").arg(library);
        }
        let output =
            command.output().map_err(|error| Failure::new(format_args!("own executable: {error}")))?;
        let has_no_results = |code| [EXIT_STATUS, refusals::STATUS].map(i32::from).contains(&code);
        if output.status.code().is_none_or(has_no_results) {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.trim_start_matches("voltsim: ").trim_end();
            return Err(Failure::new(format_args!("{}: {said} ({})", self.name, output.status)));
        }
        Ok(Results::open(results)?)
    }

    /// Captures the launches of a program, with results; gives its exit status.
    pub(super) fn capture(
        &self,
        only: Option<&str>,
        program: &[OsString],
        folder: &Path,
    ) -> Result<Option<i32>, Failure> {
        let mut command = self.voltsim()?;
        command.arg("capture").arg("--results").arg("-o").arg(folder);
        if let Some(only) = only {
            command.arg("--only").arg(only);
        }
        command.arg("--").args(program).stdout(Stdio::null());
        let status =
            command.status().map_err(|error| Failure::new(format_args!("own executable: {error}")))?;
        Ok(status.code())
    }

    /// This command with the settings in its environment; CTAs in a fixed order unless they say
    /// otherwise.
    fn voltsim(&self) -> Result<Command, Failure> {
        let own = env::current_exe().map_err(|error| Failure::new(format_args!("own path: {error}")))?;
        let mut command = Command::new(own);
        let deterministic = Key::deterministic.declaration().variable;
        if env::var_os(deterministic).is_none() {
            command.env(deterministic, "1");
        }
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }
}

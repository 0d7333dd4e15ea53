//! PyTorch suites: Voltsim's tests in the environments of `voltsim setup`.

use super::pytest::{self, TEST_TIME_LIMIT};
use super::{Part, lists, pass_list, plugin, read};
use crate::error::{Error, Result};
use crate::python::Python;
use crate::stamp::Ingredients;
use crate::workspace::Workspace;
use crate::{files, process};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A suite, named as its environment.
pub(super) struct Framework {
    name: &'static str,
}

pub(super) const PYTORCH: Framework = Framework { name: "pytorch" };
pub(super) const PYTORCH_2_6: Framework = Framework { name: "pytorch-2.6" };

/// Time after which a suite counts as hung.
const TIME_LIMIT: &str = "3h";

impl Framework {
    /// Creates the environment if missing, runs the suite and compares with the pass list; true if
    /// every listed test passes. With `accept`, the list and the measured figures are stored in the
    /// repository.
    pub(super) fn run(
        &self,
        workspace: &Workspace,
        command: &Path,
        part: Part,
        accept: bool,
    ) -> Result<bool> {
        if part == Part::Small {
            return Ok(true);
        }
        if !process::shown(Command::new(command).args(["setup", self.name]))? {
            return Ok(false);
        }
        let list = lists(workspace).join(format!("{}.txt", self.name));
        let folder = workspace.target.join("clients").join(self.name);
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        let (results, figures) = (folder.join("outcomes.tsv"), folder.join("measured.tsv"));
        for file in [&results, &figures] {
            fs::write(file, "").map_err(Error::file(file))?;
        }
        let root = lists(workspace).join(self.name);
        let mut tests = Command::new("timeout");
        tests.arg(TIME_LIMIT).arg(command).args([
            "run",
            "--profile",
            self.name,
            "--",
            "python",
            "-m",
            "pytest",
        ]);
        tests.args([
            "-p",
            "outcomes",
            "--quiet",
            "--no-header",
            "-p",
            "no:cacheprovider",
            "--disable-warnings",
        ]);
        tests.args(["--tb=short", "--timeout", TEST_TIME_LIMIT, "--rootdir"]).arg(&root).arg(&root);
        let mut modules = vec![plugin(workspace)];
        modules.extend(self.packages(workspace, command)?);
        let modules =
            env::join_paths(modules).map_err(|_| Error::Steps("the path of packages".to_owned()))?;
        tests.current_dir(&folder).env("PYTHONPATH", modules).env("PYTHONDONTWRITEBYTECODE", "1");
        tests.env("OUTCOMES", &results).env("MEASURED", &figures).env("VOLTSIM", command);
        // The pass list judges failures.
        process::shown(&mut tests)?;
        let outcomes = pytest::parse(&read(&results)?);
        let kept = pass_list::judge(self.name, &list, &outcomes, accept)?;
        if accept {
            let kept_figures = root.join("measured.tsv");
            fs::copy(&figures, &kept_figures).map_err(Error::file(&kept_figures))?;
        }
        Ok(kept)
    }

    /// Folder of the packages that the tests need beyond the environment, if any.
    fn packages(&self, workspace: &Workspace, command: &Path) -> Result<Option<PathBuf>> {
        let requirements = lists(workspace).join(format!("{}-requirements.txt", self.name));
        if !requirements.exists() {
            return Ok(None);
        }
        let folder = workspace.cache.join("clients").join(format!("{}-tests", self.name));
        let mut ingredients = Ingredients::default();
        ingredients.text(&read(&requirements)?);
        let stamp = ingredients.stamp(&folder);
        if !stamp.is_current() {
            files::remove_folder(&folder)?;
            let question = "import sys; print(sys.prefix)";
            let mut ask = Command::new(command);
            ask.args(["run", "--profile", self.name, "--", "python", "-c", question]);
            let environment = PathBuf::from(process::quiet(&mut ask)?.trim());
            Python::at(environment, workspace.downloads()).install(&requirements, &folder)?;
            stamp.write()?;
        }
        Ok(Some(folder))
    }
}

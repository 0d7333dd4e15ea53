//! The list of programs: a file per suite in `tests/outside`.

use super::input::Input;
use crate::error::{Error, Result};
use crate::workspace::Workspace;
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use voltsim_tests::catalogue;

/// Folder of the list and of headers that replace removed ones.
pub(super) fn folder(workspace: &Workspace) -> PathBuf {
    workspace.root.join("tests/outside")
}

/// A suite of programs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Suite {
    /// Short name, the prefix of the programs' names.
    pub(super) suite: String,
    /// Folders among the checkouts; a program uses the first with its main source.
    pub(super) roots: Vec<String>,
    /// Sources of every program, below the root.
    #[serde(default)]
    pub(super) sources: Vec<String>,
    /// Include folders of every program, below the root.
    #[serde(default)]
    pub(super) include: Vec<String>,
    /// Compiler options of every program.
    #[serde(default)]
    pub(super) options: Vec<String>,
    /// Difference of all builds from the suite's own, with the reason.
    #[serde(default)]
    pub(super) adaptation: Option<String>,
    #[serde(rename = "program")]
    pub(super) programs: Vec<Program>,
}

/// A program of a suite: build, run and check, or the reason why it is left out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Program {
    pub(super) name: String,
    /// Reason why the program is left out.
    pub(super) left_out: Option<String>,
    /// Folder among the checkouts that replaces the suite's.
    pub(super) root: Option<String>,
    /// Sources below the root, the main one first. Their folders are include folders.
    #[serde(default)]
    pub(super) sources: Vec<String>,
    /// Further include folders, below the root.
    #[serde(default)]
    pub(super) include: Vec<String>,
    #[serde(default)]
    pub(super) options: Vec<String>,
    #[serde(default)]
    pub(super) link: Vec<String>,
    #[serde(default)]
    pub(super) compiler: Compiler,
    /// Difference of the build from the suite's own, with the reason.
    #[serde(default)]
    pub(super) adaptation: Option<String>,
    #[serde(default)]
    pub(super) inputs: Vec<Input>,
    #[serde(default)]
    pub(super) arguments: Vec<String>,
    /// Options of `voltsim run`.
    #[serde(default)]
    pub(super) voltsim: Vec<String>,
    pub(super) check: Option<Check>,
    /// Reason why the program does not run in detailed mode.
    pub(super) functional_only: Option<String>,
    /// Exit status of a successful run.
    #[serde(default)]
    pub(super) status: i32,
    /// Time limit of a functional run in seconds.
    #[serde(default = "seconds")]
    pub(super) seconds: u64,
}

fn seconds() -> u64 {
    60
}

/// Compiler of a program's CUDA sources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Compiler {
    /// nvcc 13, PTX for compute_75.
    #[default]
    Nvcc,
    /// clang 16 with CUDA 11.8, the last with texture references: PTX for sm_70.
    Clang,
}

/// Check of a run with the right exit status.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Check {
    /// Texts required in standard output: the program's own check.
    #[serde(default)]
    pub(super) output: Vec<String>,
    /// Texts forbidden in standard output.
    #[serde(default)]
    pub(super) never: Vec<String>,
    /// Pairs of equal files: the program's output and the solution.
    #[serde(default)]
    pub(super) equal: Vec<[String; 2]>,
    /// Results equal in both modes.
    #[serde(default)]
    pub(super) same: Vec<String>,
    /// Words of standard output lines that may differ, such as times.
    #[serde(default)]
    pub(super) except: Vec<String>,
}

/// Standard output, in [`Check::same`].
pub(super) const OUTPUT: &str = "output";
/// All device memory after each launch, in [`Check::same`].
pub(super) const MEMORY: &str = "memory";

impl Check {
    /// Summary of the check.
    pub(super) fn describe(&self) -> String {
        let mut parts = Vec::new();
        if !self.output.is_empty() || !self.never.is_empty() {
            parts.push("own check".to_owned());
        }
        if !self.equal.is_empty() {
            parts.push("solution".to_owned());
        }
        if !self.same.is_empty() {
            parts.push(format!("same {}", self.same.join(", ")));
        }
        parts.join("; ")
    }
}

/// All suites, by file name.
pub(super) fn read(folder: &Path) -> Result<Vec<Suite>> {
    let files =
        catalogue::entries(folder)?.into_iter().filter(|file| catalogue::has_extension(file, &["toml"]));
    files
        .map(|file| {
            let text = fs::read_to_string(&file).map_err(Error::file(&file))?;
            toml::from_str(&text).map_err(|source| Error::List { path: file, source: Box::new(source) })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, HashSet};

    fn suites() -> Vec<Suite> {
        read(&catalogue::checkout().join("tests/outside")).unwrap()
    }

    /// Running programs by suite, and those in detailed mode.
    fn counts() -> BTreeMap<String, (usize, usize)> {
        let suites = suites();
        let count = |suite: &Suite| {
            let runs = || suite.programs.iter().filter(|program| program.left_out.is_none());
            (runs().count(), runs().filter(|program| program.functional_only.is_none()).count())
        };
        suites.iter().map(|suite| (suite.suite.clone(), count(suite))).collect()
    }

    #[test]
    fn every_program_has_a_check_or_a_reason() {
        for suite in suites() {
            assert!(!suite.roots.is_empty(), "{}", suite.suite);
            for program in &suite.programs {
                let name = format!("{}/{}", suite.suite, program.name);
                let runs = program.left_out.is_none();
                assert_eq!(program.check.is_some(), runs, "{name}");
                assert_eq!(!program.sources.is_empty(), runs, "{name}");
                for reason in [&program.left_out, &program.functional_only, &program.adaptation] {
                    assert!(reason.as_ref().is_none_or(|reason| reason.len() > 10), "{name}");
                }
                let check = program.check.as_ref().map(Check::describe);
                assert!(check.is_none_or(|check| !check.is_empty()), "{name}");
                assert!(program.inputs.iter().all(Input::is_whole), "{name}");
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names = HashSet::new();
        for suite in suites() {
            for program in &suite.programs {
                assert!(names.insert(format!("{}/{}", suite.suite, program.name)));
            }
        }
    }

    #[test]
    fn each_of_the_six_suites_has_running_programs() {
        let counts = counts();
        let names: Vec<&str> = counts.keys().map(String::as_str).collect();
        assert_eq!(names, ["chai", "ispass", "lonestar", "pannotia", "parboil", "shoc"]);
        assert!(counts.values().all(|(runs, detailed)| *runs >= 6 && *detailed >= 4), "{counts:?}");
        let all: usize = counts.values().map(|(runs, _)| runs).sum();
        let detailed: usize = counts.values().map(|(_, detailed)| detailed).sum();
        assert!(all >= 84 && detailed >= 81, "{counts:?}");
    }

    #[test]
    fn spanning_tree_weight_matches_its_graph() {
        let suites = suites();
        let lonestar = suites.iter().find(|suite| suite.suite == "lonestar").unwrap();
        let tree = lonestar.programs.iter().find(|program| program.name == "mst").unwrap();
        let weight = tree.inputs[0].graph().unwrap().tree_weight();
        let output = &tree.check.as_ref().unwrap().output;
        assert!(output.iter().any(|text| text.contains(&format!("weight: {weight},"))), "{weight}");
    }
}

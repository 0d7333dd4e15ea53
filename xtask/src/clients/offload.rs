//! Voltsim's programs that GCC 12 compiles for a device. OpenMP and OpenACC regions become PTX
//! modules, which libgomp links with its own and the device C library's.

use super::pass_list::{self, Outcomes};
use super::{Part, lists, read};
use crate::error::{Error, Result};
use crate::process;
use crate::workspace::Workspace;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Debian's compiler; package `gcc-12-offload-nvptx` generates PTX.
const COMPILER: &str = "gcc-12";
const OPTIONS: [&str; 4] = ["-O2", "-w", "-foffload=nvptx-none", "-foffload-options=-lm -latomic"];
/// Time after which a program counts as hung.
const TIME_LIMIT: &str = "120";
const NAME: &str = "gcc-offload";

/// Compiles and runs all programs, compares with the pass list and, if `accept`, updates it.
pub(super) fn run(workspace: &Workspace, command: &Path, part: Part, accept: bool) -> Result<bool> {
    let sources = lists(workspace).join(NAME);
    let folder = workspace.target.join("clients").join(NAME);
    fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
    let path = lists(workspace).join(format!("{NAME}.txt"));
    let text = read(&path)?;
    let mut outcomes = Outcomes::default();
    for entry in fs::read_dir(&sources).map_err(Error::file(&sources))? {
        let source = entry.map_err(Error::file(&sources))?.path();
        let Some(name) = source.file_stem().and_then(|name| name.to_str()) else { continue };
        if source.extension().is_none_or(|extension| extension != "c") {
            continue;
        }
        let model = if name.starts_with("acc_") { "-fopenacc" } else { "-fopenmp" };
        let program = folder.join(name);
        let mut compile = Command::new(COMPILER);
        compile.args(OPTIONS).arg(model).arg(&source).arg("-o").arg(&program).arg("-lm");
        process::quiet(&mut compile)?;
        let mut test = Command::new("timeout");
        test.arg(TIME_LIMIT).arg(command).args(["run", "--"]).arg(&program);
        // A region that cannot run on the device must fail instead of running on the host.
        test.env("OMP_TARGET_OFFLOAD", "MANDATORY").env("ACC_DEVICE_TYPE", "nvidia");
        let names = if process::shown(&mut test)? { &mut outcomes.passed } else { &mut outcomes.failed };
        names.insert(name.to_owned());
    }
    let kept = pass_list::report(NAME, &pass_list::parse(&text), &outcomes);
    if accept && part == Part::Whole {
        pass_list::write(&path, &text, &outcomes)?;
        return Ok(true);
    }
    Ok(kept)
}

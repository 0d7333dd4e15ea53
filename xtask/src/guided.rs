//! `cargo xtask guided`: compiles the command and the libraries with an execution profile.
//!
//! Nearly all of the timing model's code runs for each warp instruction and exceeds the host's L1
//! instruction cache. Given execution counts, the compiler places and inlines the code better.

use crate::error::{Error, Result};
use crate::programs::Extent;
use crate::stamp::Ingredients;
use crate::workspace::{GUIDED, Workspace};
use crate::{files, process, programs};
use std::path::{Path, PathBuf};
use std::process::Command;
use voltsim_tests::catalogue::Mode;

/// A training run: a program, its size and options.
struct Training {
    program: &'static str,
    size: &'static str,
    options: &'static [&'static str],
}

/// Functions compiled without the profile: single instructions and the interpreter loop. The
/// profile slows these hand-tuned functions down by a tenth to a quarter in functional mode.
const WITHOUT: &str = "10functional(3ops|6engine(6shapes|10arithmetic|6native|7running|7special))";

const TIMED: &[&str] = &["--mode", "detailed", "--threads", "1"];
const EXECUTED: &[&str] = &["--threads", "1"];

const TRAINING: [Training; 11] = [
    Training { program: "matrix_multiply", size: "192", options: TIMED },
    Training { program: "bfs", size: "30000", options: TIMED },
    Training { program: "saxpy", size: "1048576", options: TIMED },
    Training { program: "heat", size: "300", options: TIMED },
    Training { program: "histogram", size: "100000", options: TIMED },
    Training { program: "reduction", size: "", options: TIMED },
    Training { program: "shared_memory", size: "", options: TIMED },
    Training { program: "matrix_multiply", size: "256", options: EXECUTED },
    Training { program: "bfs", size: "100000", options: EXECUTED },
    Training { program: "saxpy", size: "4194304", options: EXECUTED },
    Training { program: "nbody", size: "2048", options: EXECUTED },
];

/// Builds `target/guided`.
pub(crate) fn run() -> Result<()> {
    let workspace = Workspace::find();
    let tool = profile_tool()?;
    programs::set_up_and_compile(&workspace, Extent::Usual)?;
    let instrumented = workspace.target.join("instrumented");
    // Build scripts and macros leave their counts here.
    let noise = instrumented.join("build");
    println!("compiling with counters, into {}", instrumented.display());
    built(workspace.build_guided(&instrumented, &format!("profile-generate={}", noise.display()))?)?;
    files::remove_folder(&noise)?;
    let profile = instrumented.join("profile");
    let command = instrumented.join(GUIDED).join("voltsim");
    let stamp = ingredients(&command)?.stamp(&profile);
    if !stamp.is_current() {
        train(&workspace, &command, &tool, &profile)?;
        stamp.write()?;
    }
    println!("compiling with the profile, into {}", workspace.target.join(GUIDED).display());
    built(workspace.build_guided(&workspace.target, &format!("profile-use={}", profile.display()))?)
}

/// The `voltsim` command of the guided build; an error if it does not exist.
pub(crate) fn command(workspace: &Workspace) -> Result<PathBuf> {
    let path = workspace.target.join(GUIDED).join("voltsim");
    if path.exists() { Ok(path) } else { Err(Error::NotGuided { path }) }
}

fn built(succeeded: bool) -> Result<()> {
    if succeeded { Ok(()) } else { Err(Error::Steps("guided build".to_owned())) }
}

/// The compiler's own profile tool; another LLVM version cannot read the profile.
fn profile_tool() -> Result<PathBuf> {
    let libraries = process::quiet(Command::new("rustc").args(["--print", "target-libdir"]))?;
    let tool = Path::new(libraries.trim()).with_file_name("bin").join("llvm-profdata");
    if tool.exists() { Ok(tool) } else { Err(Error::NoProfileTool { path: tool }) }
}

/// Inputs of a profile.
fn ingredients(command: &Path) -> Result<Ingredients> {
    let mut ingredients = Ingredients::default();
    for file in ["voltsim", "libvoltsim_core.so"] {
        ingredients.file(&command.with_file_name(file))?;
    }
    ingredients.text(WITHOUT);
    for Training { program, size, options } in &TRAINING {
        [&[*program, *size], *options].concat().iter().for_each(|text| ingredients.text(text));
    }
    Ok(ingredients)
}

/// Runs the programs with counters and merges their counts into a profile.
fn train(workspace: &Workspace, command: &Path, tool: &Path, profile: &Path) -> Result<()> {
    let counts = profile.with_extension("counts");
    files::remove_folder(&counts)?;
    for Training { program, size, options } in &TRAINING {
        println!("counting: {program} {size} {}", options.join(" "));
        let mut training = Command::new(command);
        training.env("LLVM_PROFILE_FILE", counts.join("%m-%p.profraw"));
        training.arg("run").args(*options).arg("--");
        training.arg(programs::folder(workspace).join(Mode::Shared.name()).join(program));
        process::quiet(training.args(Some(*size).filter(|size| !size.is_empty())))?;
    }
    let mut merge = Command::new(tool);
    merge.arg("merge").arg(format!("--no-function={WITHOUT}")).arg("-o").arg(profile).arg(&counts);
    process::quiet(&mut merge)?;
    files::remove_folder(&counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use voltsim_tests::catalogue;

    #[test]
    fn training_programs_compile_in_every_test_run() {
        let programs = catalogue::programs(&Workspace::find().root).unwrap();
        for Training { program, .. } in &TRAINING {
            assert!(programs.iter().any(|it| it.name == *program && !it.is_long), "{program}");
        }
    }
}

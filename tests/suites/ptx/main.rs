//! File tests of `tests/ptx`: PTX with inputs and expected results. `tests/ptx/README.md` describes the
//! format.

mod card;
mod coverage;
mod directives;
mod expression;
mod launch;
mod stepped;
mod textures;
mod values;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use functional::device::Tier;
use functional::launch::LaunchShape;
use launch::Way;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let driver = std::env::var_os(card::DRIVER).map(PathBuf::from);
    if let (Some(driver), Ok(files)) = (&driver, std::env::var(card::FILES)) {
        return card::serve(driver, &files);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("ptx");
    let mut files = Vec::new();
    if let Err(error) = find(&root, &mut files) {
        eprintln!("{}: {error}", root.display());
        return ExitCode::FAILURE;
    }
    files.sort();
    if let Some(driver) = &driver {
        let wanted = arguments.filter.unwrap_or_default();
        files.retain(|path| path.to_string_lossy().contains(&wanted));
        return card::run(driver, &root, &files);
    }
    let mut trials = Vec::new();
    for path in &files {
        let name = path.strip_prefix(&root).unwrap_or(path).with_extension("").to_string_lossy().into_owned();
        let [at_once, compiled, in_steps, on_a_stack] = std::array::from_fn(|_| path.clone());
        trials.push(Trial::test(format!("{name}, stepped"), move || {
            stepped::INDEPENDENT.iter().try_for_each(|manner| test(&in_steps, Way::Stepped(*manner)))
        }));
        let spins = stepped::SPIN_FOR_EVER.contains(&name.as_str());
        trials.push(Trial::test(format!("{name}, on a stack"), move || {
            let outcome = test(&on_a_stack, Way::Stepped(stepped::ON_A_STACK));
            if spins { spins_for_ever(outcome) } else { outcome }
        }));
        if functional::engine::native::is_supported() {
            let run = move || test(&compiled, Way::AtOnce(Tier::Native));
            trials.push(Trial::test(format!("{name}, native"), run));
        }
        trials.push(Trial::test(name, move || test(&at_once, Way::AtOnce(Tier::Interpreter))));
    }
    let every_form = move || coverage::check(&root, &files);
    trials.push(Trial::test("every form of the op table is executed", every_form));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            files.push(path);
        }
    }
    Ok(())
}

/// Checks that a test that cannot end on a SIMT stack reports so.
fn spins_for_ever(outcome: Result<(), Failed>) -> Result<(), Failed> {
    match outcome {
        Err(failed) if failed.message().is_some_and(|text| text.contains("on a SIMT stack")) => Ok(()),
        Err(failed) => Err(failed),
        Ok(()) => Err("the kernel ended, although listed as spinning forever".into()),
    }
}

fn test(path: &Path, way: Way) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let test = directives::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    for shape in test.shapes() {
        let LaunchShape { grid, block } = shape;
        launch::run(&test, &text, path, shape, way)
            .map_err(|complaint| format!("grid {grid:?}, block {block:?}, {way:?}: {complaint}"))?;
    }
    Ok(())
}

//! The file tests of `tests/ptx`: PTX with its inputs and answers inside. `tests/ptx/README.md` describes the files.

mod coverage;
mod directives;
mod expression;
mod launch;
mod stepped;
mod textures;
mod values;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use functional::timed::turns::Order;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("ptx");
    let mut files = Vec::new();
    if let Err(error) = find(&root, &mut files) {
        eprintln!("{}: {error}", root.display());
        return ExitCode::FAILURE;
    }
    files.sort();
    let mut trials = Vec::new();
    for path in &files {
        let name = path.strip_prefix(&root).unwrap_or(path).with_extension("").to_string_lossy().into_owned();
        let (at_once, in_steps) = (path.clone(), path.clone());
        trials.push(Trial::test(format!("{name}, stepped"), move || {
            stepped::ORDERS.iter().try_for_each(|order| test(&in_steps, Some(*order)))
        }));
        trials.push(Trial::test(name, move || test(&at_once, None)));
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

fn test(path: &Path, order: Option<Order>) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let test = directives::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    for (grid, block) in test.shapes() {
        launch::run(&test, &text, path, grid, block, order)
            .map_err(|complaint| format!("grid {grid:?}, block {block:?}, {order:?}: {complaint}"))?;
    }
    Ok(())
}

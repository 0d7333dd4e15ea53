//! The file tests of `tests/ptx`: PTX with its inputs and answers inside. `tests/ptx/README.md` describes the files.

mod coverage;
mod directives;
mod expression;
mod launch;
mod textures;
mod values;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

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
    let mut trials: Vec<Trial> = files
        .iter()
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap_or(path).with_extension("");
            let path = path.clone();
            Trial::test(name.to_string_lossy().into_owned(), move || test(&path))
        })
        .collect();
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

fn test(path: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let test = directives::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    for (grid, block) in test.shapes() {
        launch::run(&test, &text, path, grid, block)
            .map_err(|complaint| format!("grid {grid:?}, block {block:?}: {complaint}"))?;
    }
    Ok(())
}

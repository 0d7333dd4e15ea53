//! The book: its links lead somewhere, and its examples run.
//!
//! Examples are blocks of a page marked `run` ([`voltsim_tests::book::Example`]). They run in a
//! folder that holds the compiled programs by name, and `program`, which is `vector_add`. `cargo
//! xtask test` says where programs, command and compiler are; without it the examples are reported
//! as ignored.

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use voltsim_tests::book::{self, Example, Language};
use voltsim_tests::catalogue::{self, Mode, entries};

/// The folder with the compiled programs.
const PROGRAMS: &str = "VOLTSIM_TEST_PROGRAMS";
/// The `voltsim` command.
const COMMAND: &str = "VOLTSIM_TEST_COMMAND";
/// CUDA's compiler: a folder with `bin/nvcc`, `include` and `lib`.
const TOOLKIT: &str = "VOLTSIM_TEST_TOOLKIT";

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = catalogue::checkout();
    let mut trials = vec![
        Trial::test("links_lead_somewhere", links_lead_somewhere),
        Trial::test("model_diffs_apply", model_diffs_apply),
        Trial::test("architecture_counts_the_places_of_extensions", architecture_counts_places),
        Trial::test("fences_are_read_as_examples", fences_are_read_as_examples),
    ];
    match book::examples(&root) {
        Ok(pages) => trials.extend(pages.into_iter().map(|(page, examples)| {
            let name = format!("examples_of_{}", page.display());
            Trial::ignorable_test(name, move || run_all(&page, &examples))
        })),
        Err(error) => trials.push(Trial::test("examples", move || Err(Failed::from(error.to_string())))),
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn links_lead_somewhere() -> Result<(), Failed> {
    let broken = book::broken_links(&catalogue::checkout())?;
    if broken.is_empty() { Ok(()) } else { Err(Failed::from(broken.join("\n"))) }
}

/// Every model diff fits the sources. `cargo xtask docs --extending` compiles them.
fn model_diffs_apply() -> Result<(), Failed> {
    let root = catalogue::checkout();
    let patches = book::patches(&root)?;
    if patches.is_empty() {
        return Err(Failed::from("the book has no model diff"));
    }
    for patch in patches {
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), &patch.text)?;
        let mut check = Command::new("git");
        check.args(["apply", "--check", "-p0", "--unidiff-zero"]).arg(file.path()).current_dir(&root);
        let output = check.output()?;
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Failed::from(format!("{}:{}: {reason}", patch.page.display(), patch.line)));
        }
    }
    Ok(())
}

/// Rows `| [NAME](PAGE) | PLACES |` of ARCHITECTURE.md hold the numbers of files that the model diffs touch.
fn architecture_counts_places() -> Result<(), Failed> {
    let root = catalogue::checkout();
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    for patch in book::patches(&root)? {
        let (page, places) = (patch.page.display().to_string(), patch.files().len());
        let row = text.lines().find(|line| line.starts_with('|') && line.contains(&format!("({page})")));
        let told = row.and_then(|row| row.split('|').nth(2)?.trim().parse().ok());
        if told != Some(places) {
            return Err(Failed::from(format!(
                "{page}: the diff touches {places} files, ARCHITECTURE.md says {told:?}"
            )));
        }
    }
    Ok(())
}

fn fences_are_read_as_examples() -> Result<(), Failed> {
    let page = "```sh run status=86\na\n```\n```\nb\n```\n1. x\n   ```python run\n   c\n     d\n   ```\n\
                ```toml file=my.toml\ne\n```\n";
    let example =
        |line, language, status, text: &str| Example { line, language, status, text: text.to_owned() };
    let expected = vec![
        example(1, Language::Shell, 86, "a\n"),
        example(8, Language::Python, 0, "c\n  d\n"),
        example(12, Language::File("my.toml".to_owned()), 0, "e\n"),
    ];
    let found = book::of_page(page);
    if found == expected { Ok(()) } else { Err(Failed::from(format!("{found:?}"))) }
}

/// Runs the examples of a page, one after the other, in one folder.
fn run_all(page: &Path, examples: &[Example]) -> Result<Completion, Failed> {
    let place = |name| std::env::var_os(name).map(PathBuf::from);
    let (Some(programs), Some(command), Some(toolkit)) = (place(PROGRAMS), place(COMMAND), place(TOOLKIT))
    else {
        return Ok(Completion::ignored_with("not compiled; run `cargo xtask test`"));
    };
    let folder = tempfile::tempdir()?;
    for program in entries(&programs.join(Mode::Shared.name()))? {
        symlink(&program, folder.path().join(program.file_name().unwrap_or_default()))?;
    }
    symlink(programs.join(Mode::Shared.name()).join("vector_add"), folder.path().join("program"))?;
    let mut path = command.parent().unwrap_or(Path::new("/")).as_os_str().to_owned();
    for next in [toolkit.join("bin").into_os_string(), std::env::var_os("PATH").unwrap_or_default()] {
        path.push(":");
        path.push(next);
    }
    for example in examples {
        let mut run = match &example.language {
            Language::File(name) => {
                std::fs::write(folder.path().join(name), &example.text)?;
                continue;
            }
            Language::Shell => shell(&example.text),
            Language::Python => interpreter("python3", "-c", &example.text),
        };
        run.current_dir(folder.path()).env("PATH", &path).env("LIBRARY_PATH", toolkit.join("lib"));
        let output = run.output()?;
        if output.status.code() != Some(example.status) {
            let written = [output.stdout, output.stderr].concat();
            let place = format!("{}:{}: {}", page.display(), example.line, output.status);
            return Err(Failed::from(format!("{place}\n{}", String::from_utf8_lossy(&written))));
        }
    }
    Ok(Completion::Completed)
}

/// A shell that ends at the first command that fails.
fn shell(text: &str) -> Command {
    interpreter("bash", "-c", &format!("set -eo pipefail\n{text}"))
}

fn interpreter(name: &str, option: &str, text: &str) -> Command {
    let mut command = Command::new(name);
    command.args([option, text]);
    command
}

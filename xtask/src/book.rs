//! `cargo xtask docs`: the book under `docs/`, its generated pages and its links.

use crate::error::{Error, Result};
use crate::workspace::Workspace;
use crate::{extending, process};
use std::path::PathBuf;
use std::process::Command;
use voltsim_tests::book;

/// The version of mdBook that builds the book.
const MDBOOK: &str = "0.5.4";
/// Set for the test that holds the generated pages: it writes them instead.
const WRITE: &str = "VOLTSIM_WRITE_REFERENCE";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Write the pages that are made from the code, and build nothing
    #[arg(long, conflicts_with = "check")]
    generate: bool,
    /// Check the links, and build nothing
    #[arg(long)]
    check: bool,
    /// Compile the model diffs of the pages about extending, each in a copy of the tree
    #[arg(long, conflicts_with_all = ["check", "generate"])]
    extending: bool,
    /// Build the documentation of the crates with warnings as errors, and nothing else
    #[arg(long, conflicts_with_all = ["check", "generate", "extending"])]
    api: bool,
}

/// Builds the book into `target/book`, after a check of its links.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find();
    if arguments.generate {
        let mut test = workspace.cargo(&["test", "--workspace", "--test", "reference"]);
        return process::quiet(test.env(WRITE, "1")).map(drop);
    }
    if arguments.extending {
        return extending::check(&workspace);
    }
    if arguments.api {
        let mut document = workspace.cargo(&["doc", "--workspace", "--no-deps"]);
        return process::quiet(document.env("RUSTDOCFLAGS", "-D warnings")).map(drop);
    }
    let broken = book::broken_links(&workspace.root)?;
    if !broken.is_empty() {
        return Err(Error::Links(broken.join("\n")));
    }
    if arguments.check {
        return Ok(());
    }
    let mdbook = install(&workspace)?;
    process::quiet(Command::new(mdbook).arg("build").arg(workspace.root.join("docs")))?;
    println!("{}", workspace.target.join("book/index.html").display());
    Ok(())
}

/// mdBook of the pinned version in `target/tools`, installed from crates.io if it is not there.
fn install(workspace: &Workspace) -> Result<PathBuf> {
    let tools = workspace.target.join("tools");
    let mdbook = tools.join("bin/mdbook");
    let found = process::quiet(Command::new(&mdbook).arg("--version"));
    if found.is_ok_and(|version| version.trim().trim_start_matches("mdbook v") == MDBOOK) {
        return Ok(mdbook);
    }
    let mut install = workspace.cargo(&["install", "mdbook", "--version", MDBOOK, "--locked", "--quiet"]);
    install.args(["--no-default-features", "--features", "search", "--root"]).arg(&tools);
    process::quiet(&mut install)?;
    Ok(mdbook)
}

//! The model diffs of the book, applied to a copy of the tree and compiled.

use crate::error::{Error, Result};
use crate::process;
use crate::workspace::Workspace;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use voltsim_tests::book::{self, Patch};

/// Compiles the crates of each model diff with the diff, in `target/extending`.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let folder = workspace.target.join("extending");
    let tree = folder.join("tree");
    copy_tree(&workspace.root, &tree)?;
    for patch in book::patches(&workspace.root)? {
        let file = folder.join("model.diff");
        fs::write(&file, &patch.text).map_err(Error::file(&file))?;
        let apply = |reverse: Option<&str>| {
            let mut apply = Command::new("git");
            // The copy is no part of the repository around it.
            apply.args(["apply", "-p0", "--unidiff-zero"]).args(reverse).arg(&file).current_dir(&tree);
            process::quiet(apply.env("GIT_CEILING_DIRECTORIES", &folder)).map(drop)
        };
        apply(None)?;
        let compiled = compile(workspace, &tree, &folder.join("target"), &patch);
        apply(Some("--reverse"))?;
        compiled?;
        println!("{}: {} places, compiles", patch.page.display(), patch.files().len());
    }
    Ok(())
}

fn compile(workspace: &Workspace, tree: &Path, target: &Path, patch: &Patch) -> Result<()> {
    let mut cargo = workspace.cargo(&["check", "--quiet", "--locked"]);
    cargo.args(patch.crates.iter().flat_map(|name| ["--package", name]));
    process::quiet(cargo.current_dir(tree).env("CARGO_TARGET_DIR", target)).map(drop)
}

/// Brings the files of the checkout at `root` to `tree`. A file that is there already keeps its
/// time.
fn copy_tree(root: &Path, tree: &Path) -> Result<()> {
    let mut list = Command::new("git");
    list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let listed = process::quiet(&mut list)?;
    let files: BTreeSet<&Path> = listed.split('\0').filter(|name| !name.is_empty()).map(Path::new).collect();
    for file in &files {
        let (from, to) = (root.join(file), tree.join(file));
        if !from.is_file() {
            continue;
        }
        let contents = fs::read(&from).map_err(Error::file(&from))?;
        if fs::read(&to).is_ok_and(|found| found == contents) {
            continue;
        }
        let parent = to.parent().unwrap_or(tree);
        fs::create_dir_all(parent).map_err(Error::file(parent))?;
        fs::write(&to, contents).map_err(Error::file(&to))?;
    }
    remove_others(tree, tree, &files)
}

/// Removes files of the copy that the checkout does not have.
fn remove_others(folder: &Path, tree: &Path, files: &BTreeSet<&Path>) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::file(folder))? {
        let path: PathBuf = entry.map_err(Error::file(folder))?.path();
        if path.is_dir() && !path.is_symlink() {
            remove_others(&path, tree, files)?;
        } else if !files.contains(path.strip_prefix(tree).unwrap_or(&path)) {
            fs::remove_file(&path).map_err(Error::file(&path))?;
        }
    }
    Ok(())
}

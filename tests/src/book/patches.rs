//! Model diffs of the book: code blocks ` ```diff check=CRATES `.

use super::examples::blocks;
use crate::catalogue::{Error, has_extension};
use crate::tidy;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A model diff of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The page, within the checkout.
    pub page: PathBuf,
    /// The line of the block's fence, from 1.
    pub line: usize,
    /// The crates that have to compile with the patch.
    pub crates: Vec<String>,
    /// The diff, without prefixes of folders.
    pub text: String,
}

impl Patch {
    /// The files that the diff touches: the places of the extension.
    pub fn files(&self) -> BTreeSet<&str> {
        self.text.lines().filter_map(|line| line.strip_prefix("+++ ")).collect()
    }
}

/// The model diffs of the book at `root`, by page.
pub fn patches(root: &Path) -> Result<Vec<Patch>, Error> {
    let mut found = Vec::new();
    for path in tidy::files(&root.join("docs"))?.into_iter().filter(|path| has_extension(path, &["md"])) {
        let text = fs::read_to_string(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
        let page = path.strip_prefix(root).unwrap_or(&path);
        for (info, line, text) in blocks(&text) {
            if let Some(crates) = info.strip_prefix("diff check=") {
                let crates = crates.split(',').map(str::to_owned).collect();
                found.push(Patch { page: page.to_owned(), line, crates, text });
            }
        }
    }
    Ok(found)
}

//! Links of Markdown pages: targets and anchors that are not there, and pages that the book does not list.

use crate::catalogue::{Error, has_extension};
use crate::tidy;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The folder of the book within the checkout.
const BOOK: &str = "docs";
/// The book's table of contents.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Every link of a page of the checkout at `root` that leads nowhere, as `file:line: reason`. A
/// page of the book may link to pages of the book alone, since the built book holds nothing else.
pub fn broken_links(root: &Path) -> Result<Vec<String>, Error> {
    let mut pages = BTreeMap::new();
    for path in tidy::files(root)?.into_iter().filter(|path| has_extension(path, &["md"])) {
        let text = fs::read_to_string(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
        pages.insert(path.strip_prefix(root).unwrap_or(&path).to_owned(), text);
    }
    let mut broken = Vec::new();
    let mut listed = BTreeSet::new();
    for (page, text) in &pages {
        for (line, target) in links(text) {
            match judge(root, &pages, page, target) {
                Ok(found) if page == Path::new(SUMMARY) => drop(listed.insert(found)),
                Ok(_) => {}
                Err(reason) => broken.push(format!("{}:{line}: {target}: {reason}", page.display())),
            }
        }
    }
    let of_book = pages.keys().filter(|page| page.starts_with(BOOK) && *page != Path::new(SUMMARY));
    broken.extend(
        of_book
            .filter(|page| !listed.contains(*page))
            .map(|page| format!("{}: {SUMMARY} does not list the page", page.display())),
    );
    Ok(broken)
}

/// The file that a link leads to, or the reason why it leads nowhere.
fn judge(
    root: &Path,
    pages: &BTreeMap<PathBuf, String>,
    page: &Path,
    target: &str,
) -> Result<PathBuf, &'static str> {
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    let found = match file {
        "" => page.to_owned(),
        _ => normal(&page.parent().unwrap_or(Path::new("")).join(file)).ok_or("it leaves the repository")?,
    };
    if !root.join(&found).exists() {
        return Err("there is no such file");
    }
    if page.starts_with(BOOK) && !found.starts_with(BOOK) {
        return Err("the built book does not hold this file: name it as code");
    }
    match (anchor, pages.get(&found)) {
        (Some(anchor), Some(text)) if !anchors(text).contains(anchor) => Err("the page has no such heading"),
        _ => Ok(found),
    }
}

/// A path without `..`; nothing where it leaves the root.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => found.pop().then_some(())?,
            Component::Normal(name) => found.push(name),
            _ => {}
        }
    }
    Some(found)
}

/// Targets of a text's links within the repository, with their lines.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (number, line) in tidy::lines_outside_code(text) {
        // Pieces at odd places lie between backticks.
        for piece in line.split('`').step_by(2) {
            let targets = piece.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
            found.extend(targets.map(|(target, _)| (number, target)));
        }
    }
    found.retain(|(_, target)| !target.contains("://") && !target.starts_with("mailto:"));
    found
}

/// Anchors of a page's headings, as GitHub and mdBook name them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = tidy::lines_outside_code(text).filter_map(|(_, line)| {
        let heading = line.trim_start_matches('#');
        (heading.len() < line.len()).then(|| heading.strip_prefix(' ')).flatten()
    });
    let mut found = BTreeSet::new();
    for heading in headings {
        let kept = heading.trim().chars().filter_map(|letter| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            _ if letter.is_alphanumeric() => Some(letter.to_ascii_lowercase()),
            _ => None,
        });
        let anchor: String = kept.collect();
        let numbered = (1..).map(|number| format!("{anchor}-{number}"));
        let free = std::iter::once(anchor.clone()).chain(numbered).find(|name| !found.contains(name));
        found.extend(free);
    }
    found
}

//! Examples of the book: code blocks whose first line says `run` behind the language.

use crate::catalogue::{Error, has_extension};
use crate::tidy;
use std::fs;
use std::path::{Path, PathBuf};

/// Language of an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Language {
    /// Commands of a shell, each of which has to succeed.
    Shell,
    /// A Python program.
    Python,
    /// A file of this name for the examples that follow.
    File(String),
}

/// A code block that a test runs: ` ```sh run `, ` ```python run ` or ` ```cuda file=NAME `. Blocks
/// of one page run in one folder, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The line of the block's fence, from 1.
    pub line: usize,
    /// How to run it.
    pub language: Language,
    /// Exit status that it must have: `status=86`.
    pub status: i32,
    /// The code.
    pub text: String,
}

/// Pages of the book with examples, within the checkout at `root`.
pub fn examples(root: &Path) -> Result<Vec<(PathBuf, Vec<Example>)>, Error> {
    let mut pages = Vec::new();
    for path in tidy::files(&root.join("docs"))?.into_iter().filter(|path| has_extension(path, &["md"])) {
        let text = fs::read_to_string(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
        let found = of_page(&text);
        if found.iter().any(|example| !matches!(example.language, Language::File(_))) {
            pages.push((path.strip_prefix(root).unwrap_or(&path).to_owned(), found));
        }
    }
    Ok(pages)
}

/// The examples of a page.
pub fn of_page(text: &str) -> Vec<Example> {
    let examples = blocks(text)
        .into_iter()
        .map(|(info, line, text)| opened(info, line).map(|it| Example { text, ..it }));
    examples.flatten().collect()
}

/// Code blocks of a page: information of the fence, its line from 1, and the code without the
/// fence's indentation.
pub(super) fn blocks(text: &str) -> Vec<(&str, usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<((&str, usize, String), usize)> = None;
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let Some(info) = trimmed.strip_prefix("```") else {
            if let Some(((.., code), indent)) = &mut open {
                code.push_str(line.get(*indent..).unwrap_or_default());
                code.push('\n');
            }
            continue;
        };
        match open.take() {
            Some((block, _)) => found.push(block),
            None => open = Some(((info.trim(), index + 1, String::new()), line.len() - trimmed.len())),
        }
    }
    found
}

/// The example that a fence with this information opens.
fn opened(info: &str, line: usize) -> Option<Example> {
    let mut words = info.split_whitespace();
    let language = words.next()?;
    let words: Vec<&str> = words.collect();
    let value = |key: &str| words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    let language = match (value("file"), language) {
        (Some(name), _) => Language::File(name.to_owned()),
        (None, "sh") if words.contains(&"run") => Language::Shell,
        (None, "python") if words.contains(&"run") => Language::Python,
        _ => return None,
    };
    let status = value("status").and_then(|status| status.parse().ok()).unwrap_or(0);
    Some(Example { line, language, status, text: String::new() })
}

//! The rules of STYLE.md that a program can hold, and the places that break them.
//!
//! [`check`] reads every Rust source and Markdown page of a checkout. The file
//! `tests/suites/tidy.tsv` holds the number of findings that each top-level folder may still have
//! of each [`Rule`]; the counts may only fall ([`Ratchet`]).

mod comments;
mod prose;
mod ratchet;
mod source;

pub use prose::{Sentence, lines_outside_code, sentences};
pub use ratchet::{Difference, Ratchet};

use crate::catalogue::{Error, entries, has_extension};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// Words that open no sentence: a noun must.
const BANNED_OPENERS: [&str; 8] = ["What", "It", "Its", "Whether", "Those", "That", "The same", "So many"];
/// Most words of a sentence.
const SENTENCE_WORDS: usize = 25;
/// Most columns of a Markdown line. Tables and code blocks cannot be wrapped and are free.
const PAGE_COLUMNS: usize = 100;
/// Most columns of a comment: the width of `rustfmt.toml`.
const COMMENT_COLUMNS: usize = 110;
/// Most characters of a test's name.
const TEST_NAME: usize = 60;
/// Most lines of a Rust file.
const FILE_LINES: usize = 600;
/// Most bytes of a page of the book. Pages in `docs/reference` are tables and have no bound.
const PAGE_BYTES: usize = 8 << 10;
/// Most bytes of a document in the root, by name; others have [`ROOT_BYTES`].
const ROOT_DOCUMENTS: [(&str, usize, usize); 3] =
    [("ARCHITECTURE.md", 15_000, 20 << 10), ("PROGRESS.md", 0, 6 << 10), ("README.md", 0, 6 << 10)];
/// Most bytes of a document in the root.
const ROOT_BYTES: usize = 5 << 10;

/// A rule that a program can check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A Markdown line has at most 100 columns, a comment line at most rustfmt's width.
    Columns,
    /// A Rust file has at most 600 lines.
    FileLines,
    /// A sentence of a page or comment opens with a noun.
    Opener,
    /// A document has the size that house rules give it.
    PageBytes,
    /// A sentence of a page or comment has at most 25 words.
    SentenceWords,
    /// A test's name has at most 60 characters.
    TestName,
}

impl Rule {
    /// Every rule, in the order of the ratchet file.
    pub const ALL: [Rule; 6] =
        [Rule::Columns, Rule::FileLines, Rule::Opener, Rule::PageBytes, Rule::SentenceWords, Rule::TestName];

    /// The rule's name in the ratchet file and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Columns => "columns",
            Rule::FileLines => "file-lines",
            Rule::Opener => "opener",
            Rule::PageBytes => "page-bytes",
            Rule::SentenceWords => "sentence-words",
            Rule::TestName => "test-name",
        }
    }

    /// The rule of this name.
    pub fn named(name: &str) -> Option<Rule> {
        Self::ALL.into_iter().find(|rule| rule.name() == name)
    }
}

/// A place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The broken rule.
    pub rule: Rule,
    /// The file, within the checkout.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The offending text or size.
    pub text: String,
}

impl Finding {
    /// The top-level folder by which the ratchet counts; `.` for files of the root.
    pub fn folder(&self) -> &str {
        let mut parts = self.path.components();
        let first = parts.next().and_then(|part| part.as_os_str().to_str()).unwrap_or(".");
        if parts.next().is_some() { first } else { "." }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}: {}", self.path.display(), self.line, self.rule.name(), self.text)
    }
}

/// Every place of the checkout at `root` that breaks a rule, by file.
pub fn check(root: &Path) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for path in files(root)? {
        let text = fs::read_to_string(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
        let within = path.strip_prefix(root).unwrap_or(&path);
        if has_extension(&path, &["md"]) {
            page(within, &text, &mut findings);
        } else {
            source::check(within, &text, &mut findings);
        }
    }
    Ok(findings)
}

/// Every Rust source and Markdown page below `root`, sorted. Hidden folders and build outputs are left out.
pub fn files(root: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder)? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() && !path.is_symlink() && !name.starts_with('.') && name != "target" {
                folders.push(path);
            } else if has_extension(&path, &["md", "rs"]) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Checks a Markdown page.
fn page(path: &Path, text: &str, findings: &mut Vec<Finding>) {
    let mut add = |rule, line, text: String| {
        findings.push(Finding { rule, path: path.to_owned(), line, text });
    };
    let (least, most) = page_size(path);
    if text.len() > most || text.len() < least {
        add(Rule::PageBytes, 1, format!("{} bytes; {least} to {most} are allowed", text.len()));
    }
    if is_generated(path) {
        return;
    }
    for (number, line) in prose::lines_outside_code(text) {
        let columns = line.chars().count();
        if columns > PAGE_COLUMNS && !line.trim_start().starts_with('|') {
            add(Rule::Columns, number, format!("{columns} columns"));
        }
    }
    check_sentences(&sentences(text), add);
}

/// Checks length and first words of sentences.
fn check_sentences(sentences: &[Sentence], mut add: impl FnMut(Rule, usize, String)) {
    for sentence in sentences {
        let words = sentence.words();
        if words > SENTENCE_WORDS {
            add(Rule::SentenceWords, sentence.line, format!("{words} words: {}", sentence.text));
        }
        if BANNED_OPENERS.iter().any(|opener| sentence.opens_with(opener)) {
            add(Rule::Opener, sentence.line, sentence.text.clone());
        }
    }
}

/// Least and most bytes of a page.
fn page_size(path: &Path) -> (usize, usize) {
    let in_root = path.components().count() == 1;
    let bounds =
        |name| ROOT_DOCUMENTS.into_iter().find(|(document, ..)| Path::new(document) == Path::new(name));
    match path.to_str().and_then(bounds) {
        Some((_, least, most)) => (least, most),
        None if in_root => (0, ROOT_BYTES),
        None if path.starts_with("docs") && !path.starts_with("docs/reference") => (0, PAGE_BYTES),
        None => (0, usize::MAX),
    }
}

/// True for a page that a program writes from the code: its sentences are checked where they stand there.
fn is_generated(path: &Path) -> bool {
    path.starts_with("docs/reference")
}

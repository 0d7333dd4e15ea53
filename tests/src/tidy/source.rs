//! Rules for Rust sources: comments, names of tests, length of files.

use super::comments::comments;
use super::{COMMENT_COLUMNS, FILE_LINES, Finding, Rule, TEST_NAME, check_sentences, sentences};
use std::path::Path;

/// Checks a Rust source.
pub(super) fn check(path: &Path, text: &str, findings: &mut Vec<Finding>) {
    let mut add = |rule, line, text: String| {
        findings.push(Finding { rule, path: path.to_owned(), line, text });
    };
    let lines = text.lines().count();
    if lines > FILE_LINES {
        add(Rule::FileLines, 1, format!("{lines} lines"));
    }
    for comment in comments(text) {
        check_sentences(&sentences(&comment.text), |rule, line, text| {
            add(rule, comment.line + line - 1, text);
        });
    }
    let mut is_test = false;
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let columns = line.chars().count();
        if trimmed.starts_with("//") && columns > COMMENT_COLUMNS {
            add(Rule::Columns, index + 1, format!("{columns} columns"));
        }
        if let Some(name) = function_name(trimmed).filter(|_| is_test) {
            let length = name.chars().count();
            if length > TEST_NAME {
                add(Rule::TestName, index + 1, format!("{length} characters: {name}"));
            }
        }
        // Other attributes may stand between the mark and the function.
        is_test = trimmed == "#[test]" || is_test && trimmed.starts_with('#');
    }
}

/// The name of the function that a line declares.
fn function_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ").unwrap_or(line).strip_prefix("fn ")?;
    rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
}

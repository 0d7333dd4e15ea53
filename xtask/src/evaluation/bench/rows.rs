//! Selection of benchmark rows by name.

use crate::error::{Error, Result};

/// Selected rows.
pub(super) struct Choice {
    patterns: Vec<String>,
}

impl Choice {
    /// Rows that match one of `patterns`; all without patterns. A pattern matches the whole name or
    /// the part after the slash; `*` is a wildcard.
    pub(super) fn new(patterns: &[String], rows: &[String]) -> Result<Choice> {
        let choice = Choice { patterns: patterns.to_vec() };
        match patterns.iter().find(|pattern| !rows.iter().any(|row| matches_row(pattern, row))) {
            Some(row) => Err(Error::NoSuchRow { row: row.clone(), rows: rows.join(", ") }),
            None => Ok(choice),
        }
    }

    /// True if the row is selected.
    pub(super) fn has(&self, group: &str, name: &str) -> bool {
        let row = row_name(group, name);
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| matches_row(pattern, &row))
    }
}

/// Whole name of a row.
pub(super) fn row_name(group: &str, name: &str) -> String {
    format!("{group}/{name}")
}

fn matches_row(pattern: &str, row: &str) -> bool {
    let behind_slash = row.split_once('/').map_or(row, |(_, name)| name);
    [row, behind_slash].iter().any(|name| matches_text(pattern, name))
}

fn matches_text(pattern: &str, text: &str) -> bool {
    let Some((before, behind)) = pattern.split_once('*') else { return pattern == text };
    let Some(rest) = text.strip_prefix(before) else { return false };
    (0..=rest.len()).any(|at| rest.get(at..).is_some_and(|rest| matches_text(behind, rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(patterns: &[&str]) -> std::result::Result<Vec<String>, String> {
        let rows =
            ["functional/saxpy", "functional/bfs", "functional/bfs_queue", "detailed/saxpy", "host/start"];
        let rows = rows.map(str::to_owned);
        let patterns: Vec<String> = patterns.iter().copied().map(str::to_owned).collect();
        let choice = Choice::new(&patterns, &rows).map_err(|error| error.to_string())?;
        let has = |row: &&String| row.split_once('/').is_some_and(|(group, name)| choice.has(group, name));
        Ok(rows.iter().filter(has).cloned().collect())
    }

    #[test]
    fn rows_are_selected_by_name_and_pattern() {
        assert_eq!(chosen(&["saxpy"]).unwrap(), ["functional/saxpy", "detailed/saxpy"]);
        assert_eq!(chosen(&["detailed/*"]).unwrap(), ["detailed/saxpy"]);
        assert_eq!(
            chosen(&["bfs*", "start"]).unwrap(),
            ["functional/bfs", "functional/bfs_queue", "host/start"]
        );
        assert_eq!(chosen(&[]).unwrap().len(), 5);
    }

    #[test]
    fn unknown_row_lists_the_rows() {
        let error = chosen(&["bfs", "saxpi"]).unwrap_err();
        assert!(
            error.contains("`saxpi`") && error.contains("functional/bfs_queue, detailed/saxpy"),
            "{error}"
        );
    }
}

//! The pages of the book that are made from the code: GPU keys, statistics, instructions, API calls and error
//! codes.
//!
//! A page that is not current fails. `cargo xtask docs --generate` writes the pages.

#![allow(clippy::expect_used, reason = "helpers of tests, where a panic is the report")]

mod api;
mod errors;
mod isa;
mod timing_model;

use std::fmt::Write as _;
use std::fs;
use voltsim_tests::catalogue;

/// Set: pages are written instead of compared.
const WRITE: &str = "VOLTSIM_WRITE_REFERENCE";

/// A page that is being made.
struct Page(String);

impl Page {
    /// A page with a title and its first paragraph.
    fn new(title: &str, about: &str) -> Page {
        let note = "<!-- `cargo xtask docs --generate` writes this page. -->";
        Page(format!("# {title}\n\n{note}\n\n{about}\n"))
    }

    fn section(&mut self, title: &str) {
        write!(self.0, "\n## {title}\n").expect("a string takes text");
    }

    fn paragraph(&mut self, text: &str) {
        write!(self.0, "\n{text}\n").expect("a string takes text");
    }

    /// A table; bars in cells are escaped.
    fn table<const N: usize>(&mut self, heads: [&str; N], rows: &[[String; N]]) {
        let line = |cells: &[String; N]| {
            let cells = cells.each_ref().map(|cell| cell.trim().replace('|', "\\|").replace('\n', " "));
            format!("| {} |\n", cells.join(" | "))
        };
        self.0.push('\n');
        self.0.push_str(&line(&heads.map(str::to_owned)));
        self.0.push_str(&format!("|{}\n", "---|".repeat(N)));
        self.0.extend(rows.iter().map(line));
    }

    /// Compares the page with the file of this name in `docs/reference`, or writes it.
    fn hold(self, name: &str) {
        let path = catalogue::checkout().join("docs/reference").join(name);
        if std::env::var_os(WRITE).is_some() {
            fs::write(&path, &self.0).expect("the page is written");
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        let first = self.0.lines().zip(found.lines()).find(|(made, found)| made != found);
        let is_current = self.0 == found;
        assert!(
            is_current,
            "{name} is not current: cargo xtask docs --generate\nfirst difference: {first:?}"
        );
    }
}

/// Text as code; nothing for nothing.
fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{text}`") }
}

#[test]
fn page_of_gpu_keys_is_current() {
    timing_model::keys().hold("gpu-keys.md");
}

#[test]
fn page_of_statistics_is_current() {
    timing_model::statistics().hold("statistics.md");
}

#[test]
fn page_of_instructions_is_current() {
    isa::page().hold("instructions.md");
}

#[test]
fn pages_of_api_calls_are_current() {
    for (name, page) in api::pages() {
        page.hold(name);
    }
}

#[test]
fn page_of_options_is_current() {
    Page(run_options::reference::page()).hold("options.md");
}

#[test]
fn page_of_error_codes_is_current() {
    errors::page().hold("errors.md");
}

//! `cargo xtask tidy`: places that break rules of STYLE.md, and the counts that a folder may still
//! have.

use crate::error::{Error, Result};
use crate::workspace::Workspace;
use std::fs;
use voltsim_tests::tidy::{self, Ratchet, Rule};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Rules (`opener`) and beginnings of paths (`timing/src`) to list; everything without
    subjects: Vec<String>,
    /// Lower the counts in tests/suites/tidy.tsv to those of the checkout; no count rises
    #[arg(long)]
    lower: bool,
}

/// Lists the findings, or lowers the ratchet.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find();
    let findings = tidy::check(&workspace.root)?;
    let path = workspace.root.join("tests/suites/tidy.tsv");
    let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
    let allowed = Ratchet::parse(&text).map_err(|reason| Error::Ratchet { path: path.clone(), reason })?;
    let found = Ratchet::of(&findings);
    if arguments.lower {
        let head: String =
            text.lines().filter(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        return fs::write(&path, head + &allowed.lowered(&found).to_text()).map_err(Error::file(&path));
    }
    let (rules, paths): (Vec<&String>, Vec<&String>) =
        arguments.subjects.iter().partition(|subject| Rule::named(subject).is_some());
    for finding in &findings {
        let is_of_rule = rules.is_empty() || rules.iter().any(|rule| *rule == finding.rule.name());
        let is_there = paths.is_empty() || paths.iter().any(|path| finding.path.starts_with(path));
        if is_of_rule && is_there {
            println!("{finding}");
        }
    }
    for difference in allowed.risen(&found) {
        eprintln!("too many: {difference}");
    }
    Ok(())
}

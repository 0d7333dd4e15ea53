//! `cargo xtask house`: figures of the repository's structure, measured from the sources.

use crate::error::{Error, Result};
use crate::workspace::Workspace;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use voltsim_tests::book;
use voltsim_tests::catalogue::{entries, has_extension};
use voltsim_tests::module_graph::{ModuleGraph, crates};

/// Documents with a size of their own.
const DOCUMENTS: [&str; 6] =
    ["README.md", "ARCHITECTURE.md", "PROGRESS.md", "CONTRIBUTING.md", "STYLE.md", "CHANGELOG.md"];
/// Words that open no doc comment.
const OPENERS: [&str; 3] = ["What", "It", "Whether"];
/// Fewest definitions of a name that make it ambiguous.
const AMBIGUOUS: usize = 6;
/// Names or types shown of a longer list.
const SHOWN: usize = 5;

/// A Rust file.
struct Source {
    /// Path from the repository's root.
    path: PathBuf,
    text: String,
}

/// Prints the figures.
pub(crate) fn run() -> Result<()> {
    let workspace = Workspace::find();
    let sources = sources(&workspace.root)?;
    cycles(&workspace.root)?;
    impl_blocks(&sources);
    variables(&sources);
    grids(&sources);
    type_names(&sources);
    openers(&sources);
    for name in DOCUMENTS {
        let path = workspace.root.join(name);
        let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        println!("document {name}: {} bytes, longest line {longest} characters", text.len());
    }
    for patch in book::patches(&workspace.root)? {
        println!("places of {}: {}", patch.page.display(), patch.files().len());
    }
    Ok(())
}

/// The Rust files of all crates, without build outputs.
fn sources(root: &Path) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = crates(root).map_err(Error::file(root))?.into_values().collect();
    while let Some(folder) = open.pop() {
        for path in entries(&folder)? {
            if path.is_dir() {
                open.push(path);
            } else if has_extension(&path, &["rs"]) {
                let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
                found.push(Source { path: path.strip_prefix(root).unwrap_or(&path).to_owned(), text });
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

/// Top-level modules in the largest import cycle of each crate that has one.
fn cycles(root: &Path) -> Result<()> {
    for (name, folder) in crates(root).map_err(Error::file(root))? {
        let graph = ModuleGraph::of_sources(&folder, 1).map_err(Error::file(&folder))?;
        let largest = graph.cycles().first().map_or(0, BTreeSet::len);
        if largest > 0 || name == "cudart-shim" {
            println!("cycle {name}: {largest} of {} modules", graph.modules().count());
        }
    }
    Ok(())
}

/// The types with the most inherent `impl` blocks.
fn impl_blocks(sources: &[Source]) {
    let mut blocks: BTreeMap<(String, String), (usize, BTreeSet<&Path>)> = BTreeMap::new();
    for source in sources {
        let krate = source.path.iter().take_while(|part| *part != "src").collect::<PathBuf>();
        for line in source.text.lines() {
            let Some(header) = line.strip_prefix("impl ").and_then(|rest| rest.strip_suffix('{')) else {
                continue;
            };
            if header.contains(" for ") {
                continue;
            }
            let name = header.trim().split(['<', ' ']).next().unwrap_or_default().to_owned();
            let (count, files) = blocks.entry((krate.display().to_string(), name)).or_default();
            *count += 1;
            files.insert(&source.path);
        }
    }
    let mut largest: Vec<_> = blocks.into_iter().collect();
    largest.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    for ((krate, name), (count, files)) in largest.into_iter().take(SHOWN) {
        println!("impl blocks of {name} in {krate}: {count} in {} files", files.len());
    }
}

/// Names of environment variables, and files that read one.
fn variables(sources: &[Source]) {
    let mut names = BTreeSet::new();
    for source in sources {
        for (at, _) in source.text.match_indices("\"VOLTSIM_") {
            let rest = source.text.get(at + 1..).unwrap_or_default();
            let end = rest.find(|letter: char| {
                !letter.is_ascii_uppercase() && letter != '_' && !letter.is_ascii_digit()
            });
            names.extend(rest.get(..end.unwrap_or(rest.len())));
        }
    }
    let reads = |source: &&Source| source.text.contains("env::var");
    println!(
        "environment variables: {} names, read in {} files",
        names.len(),
        sources.iter().filter(reads).count()
    );
}

/// Structs with a field for the three extents of a launch's grid.
fn grids(sources: &[Source]) {
    let mut holders = Vec::new();
    for source in sources {
        let mut holder = None;
        for line in source.text.lines() {
            let words = line.trim_start().trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ");
            let words = words.trim_start_matches("pub ");
            if let Some(rest) = words.strip_prefix("struct ") {
                holder = rest.split(['<', ' ', '(']).next();
            } else if line == "}" {
                holder = None;
            } else if let (Some(name), Some(kind)) = (holder, words.strip_prefix("grid: "))
                && (kind.contains("; 3]") || kind.starts_with("Dim3"))
            {
                holders.push(format!("{name} ({})", source.path.display()));
            }
        }
    }
    println!("structs that hold `grid`: {}", holders.len());
    holders.iter().for_each(|holder| println!("  {holder}"));
}

/// Names of types with several definitions.
fn type_names(sources: &[Source]) {
    let mut definitions: BTreeMap<&str, usize> = BTreeMap::new();
    for line in sources.iter().flat_map(|source| source.text.lines()) {
        let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
        // Types inside of functions and associated types have one meaning where they stand.
        if !line.starts_with(char::is_whitespace)
            && matches!(words.next(), Some("struct" | "enum" | "trait"))
            && let Some(name) = words.next()
        {
            let end = name.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(name.len());
            *definitions.entry(name.get(..end).unwrap_or_default()).or_default() += 1;
        }
    }
    let mut ambiguous: Vec<_> = definitions.into_iter().filter(|(_, count)| *count >= AMBIGUOUS).collect();
    ambiguous.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let list: Vec<_> = ambiguous.iter().map(|(name, count)| format!("{name} {count}")).collect();
    println!("type names with {AMBIGUOUS} or more definitions: {} ({})", list.len(), list.join(", "));
}

/// Doc comments that open with a banned word.
fn openers(sources: &[Source]) {
    for opener in OPENERS {
        let opens = |lines: &[&str]| {
            let [before, line] = lines else { return false };
            let is_first = !before.trim_start().starts_with("//");
            let text =
                line.trim_start().strip_prefix("/// ").or_else(|| line.trim_start().strip_prefix("//! "));
            is_first && text.is_some_and(|text| text.split_whitespace().next() == Some(opener))
        };
        let count: usize = sources
            .iter()
            .map(|source| {
                let lines: Vec<&str> = std::iter::once("").chain(source.text.lines()).collect();
                lines.windows(2).filter(|lines| opens(lines)).count()
            })
            .sum();
        println!("doc comments that open with {opener}: {count}");
    }
}

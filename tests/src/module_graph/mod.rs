//! Which modules of a crate name which others, read from the paths in its sources.
//!
//! Methods that a module calls on a type of another are no path, so the graph does not have them.

mod paths;
mod tokens;

use paths::Import;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A module's path below the crate's root; the root's is empty.
type ModulePath = Vec<String>;

/// Modules of a crate, and for each the modules that it names, with a source file that does.
#[derive(Debug, Default)]
pub struct ModuleGraph {
    edges: BTreeMap<String, BTreeMap<String, PathBuf>>,
}

/// A source file.
struct Source {
    file: PathBuf,
    module: ModulePath,
    imports: Vec<Import>,
    inline: Vec<Vec<String>>,
}

impl ModuleGraph {
    /// Reads the sources below `folder`, the `src` of a crate. Modules deeper than `depth` count as
    /// part of the one above.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn of_sources(folder: &Path, depth: usize) -> io::Result<Self> {
        let mut sources = Vec::new();
        for root in ["lib.rs", "main.rs"].map(|name| folder.join(name)) {
            if root.is_file() {
                read(&root, Vec::new(), folder, &mut sources)?;
            }
        }
        let modules: BTreeSet<&ModulePath> = sources.iter().map(|source| &source.module).collect();
        let reexports = reexports(&sources, &modules);
        let mut graph = Self::default();
        for source in sources.iter().filter(|source| !source.module.is_empty()) {
            let from = name(&source.module, depth);
            let named = graph.edges.entry(from.clone()).or_default();
            let paths = source.imports.iter().map(|import| &import.path).chain(&source.inline);
            for path in paths {
                let Some(path) = absolute(path, &source.module, &modules) else { continue };
                let target = resolve(path, &modules, &reexports);
                let to = name(&target, depth);
                if !target.is_empty() && to != from && !source.module.starts_with(&target) {
                    named.entry(to).or_insert_with(|| source.file.clone());
                }
            }
        }
        Ok(graph)
    }

    /// Names of the modules.
    pub fn modules(&self) -> impl Iterator<Item = &str> {
        self.edges.keys().map(String::as_str)
    }

    /// The modules that `module` names, with a file that does.
    pub fn named_by(&self, module: &str) -> impl Iterator<Item = (&str, &Path)> {
        self.edges.get(module).into_iter().flatten().map(|(to, file)| (to.as_str(), file.as_path()))
    }

    /// Sets of modules each of which reaches all others of its set, the largest first.
    pub fn cycles(&self) -> Vec<BTreeSet<&str>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.modules().map(|module| (module, self.reached_from(module))).collect();
        let reaches = |from: &str, to: &str| reached.get(from).is_some_and(|others| others.contains(to));
        let mut cycles: Vec<BTreeSet<&str>> = Vec::new();
        for module in self.modules().filter(|module| reaches(module, module)) {
            if !cycles.iter().any(|cycle| cycle.contains(module)) {
                cycles.push(
                    self.modules().filter(|other| reaches(module, other) && reaches(other, module)).collect(),
                );
            }
        }
        cycles.sort_by_key(|cycle| std::cmp::Reverse(cycle.len()));
        cycles
    }

    fn reached_from(&self, module: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&str> = self.named_by(module).map(|(to, _)| to).collect();
        while let Some(next) = open.pop() {
            if reached.insert(next) {
                open.extend(self.named_by(next).map(|(to, _)| to));
            }
        }
        reached
    }
}

/// The folders with the sources of the workspace's crates, each with the crate's folder as its name.
///
/// # Errors
/// A folder cannot be read.
pub fn crates(workspace: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    let mut open = vec![workspace.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            if path.is_dir() && !is_hidden && !path.ends_with("target") && !path.ends_with("src") {
                open.push(path);
            }
        }
        let sources = folder.join("src");
        if folder.join("Cargo.toml").is_file() && sources.is_dir() {
            let name = folder.strip_prefix(workspace).unwrap_or(&folder);
            found.insert(name.to_string_lossy().into_owned(), sources);
        }
    }
    Ok(found)
}

/// Reads a module's file and those of the modules that it declares outside of tests.
fn read(file: &Path, module: ModulePath, folder: &Path, sources: &mut Vec<Source>) -> io::Result<()> {
    let tokens = tokens::without_tests(&tokens::tokens(&fs::read_to_string(file)?));
    for declared in tokens.windows(3) {
        let [first, second, third] = declared else { continue };
        if let (Some("mod"), Some(child), tokens::Token::Sign(';')) = (first.word(), second.word(), third) {
            let below: PathBuf = module.iter().collect();
            let base = folder.join(below).join(child);
            let path: ModulePath = module.iter().cloned().chain([child.to_owned()]).collect();
            let candidates = [base.with_extension("rs"), base.join("mod.rs")];
            // A module with a path of its own lies elsewhere.
            if let Some(child) = candidates.iter().find(|file| file.is_file()) {
                read(child, path, folder, sources)?;
            }
        }
    }
    let (imports, inline) = paths::paths(&tokens);
    sources.push(Source { file: file.to_owned(), module, imports, inline });
    Ok(())
}

/// A path from the crate's root; `None` for a path into another crate.
fn absolute(path: &[String], module: &ModulePath, modules: &BTreeSet<&ModulePath>) -> Option<ModulePath> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some([module.as_slice(), rest].concat()),
        "super" => {
            let supers = path.iter().take_while(|word| *word == "super").count();
            let above = module.get(..module.len().checked_sub(supers)?)?;
            Some([above, path.get(supers..)?].concat())
        }
        _ => {
            let child: ModulePath = module.iter().chain([first]).cloned().collect();
            modules.contains(&child).then(|| [module.as_slice(), path].concat())
        }
    }
}

/// Names that a module passes on, with the path of each.
type Reexports = BTreeMap<(ModulePath, String), ModulePath>;

fn reexports(sources: &[Source], modules: &BTreeSet<&ModulePath>) -> Reexports {
    let mut found = Reexports::new();
    for source in sources {
        for import in source.imports.iter().filter(|import| import.is_public) {
            if let Some(path) = absolute(&import.path, &source.module, modules) {
                found.insert((source.module.clone(), import.name.clone()), path);
            }
        }
    }
    found
}

/// The module that a path leads to, through at most a few names that are passed on.
fn resolve(mut path: ModulePath, modules: &BTreeSet<&ModulePath>, reexports: &Reexports) -> ModulePath {
    for _ in 0..8 {
        let known = (0..=path.len())
            .rev()
            .find(|length| path.get(..*length).is_some_and(|part| modules.contains(&part.to_vec())));
        let (module, rest) = path.split_at(known.unwrap_or(0));
        let passed_on = rest.split_first().and_then(|(name, further)| {
            let target = reexports.get(&(module.to_vec(), name.clone()))?;
            Some([target.as_slice(), further].concat())
        });
        match passed_on {
            Some(further) if further != path => path = further,
            _ => return module.to_vec(),
        }
    }
    path
}

fn name(module: &[String], depth: usize) -> String {
    module.get(..depth.min(module.len())).unwrap_or_default().join("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_name_each_other_are_a_cycle() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let sources = [
            ("lib.rs", "mod a; mod b; mod c; pub use a::Thing;"),
            ("a.rs", "use crate::b::Other; pub struct Thing;"),
            ("b.rs", "fn f(_: crate::Thing) {}"),
            ("c.rs", "use crate::a::Thing; #[cfg(test)] mod tests { use crate::b; }"),
        ];
        for (name, text) in sources {
            fs::write(folder.path().join(name), text)?;
        }
        let graph = ModuleGraph::of_sources(folder.path(), 1)?;
        assert_eq!(graph.modules().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(graph.cycles(), [BTreeSet::from(["a", "b"])]);
        Ok(())
    }
}

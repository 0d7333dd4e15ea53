//! The shared libraries a program loads, found as the dynamic loader finds them.

use std::collections::{BTreeSet, VecDeque};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use api_table::Library as OurLibrary;
use ptx_frontend::container::ContainerError;
use ptx_frontend::container::elf::HostFile;
use serde::Serialize;

/// Folders the loader searches last; `/etc/ld.so.conf.d` adds more.
const SYSTEM_FOLDERS: [&str; 6] =
    ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"];

/// Where a library comes from when the program runs under Voltsim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Found {
    /// Voltsim stands in for it.
    Voltsim,
    /// This file.
    At(PathBuf),
    /// No folder has it.
    Nowhere,
}

/// A library that a file loads.
#[derive(Debug, Serialize)]
pub(super) struct Library {
    pub(super) soname: String,
    /// The first file that asks for it.
    pub(super) needed_by: PathBuf,
    pub(super) found: Found,
}

/// Libraries still to be looked for, and those already found.
#[derive(Default)]
pub(super) struct Search {
    seen: BTreeSet<String>,
    waiting: VecDeque<PathBuf>,
    pub(super) libraries: Vec<Library>,
}

impl Search {
    /// Looks for the libraries that `file` at `path` asks for and that no file before asked for.
    pub(super) fn add_needs_of(&mut self, file: &HostFile<'_>, path: &Path) -> Result<(), ContainerError> {
        let folders = search_folders(file, path)?;
        for soname in file.needed_libraries()? {
            if !self.seen.insert(soname.clone()) {
                continue;
            }
            let found = find(&soname, &folders);
            if let Found::At(path) = &found {
                self.waiting.push_back(path.clone());
            }
            self.libraries.push(Library { soname, needed_by: path.to_owned(), found });
        }
        Ok(())
    }

    /// A library that the program loads, or may open while it runs.
    pub(super) fn add_file(&mut self, path: PathBuf) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        if name.is_some_and(|name| self.seen.insert(name)) {
            self.waiting.push_back(path);
        }
    }

    /// The next library whose own needs have not been added.
    pub(super) fn next_file(&mut self) -> Option<PathBuf> {
        self.waiting.pop_front()
    }
}

fn find(soname: &str, folders: &[PathBuf]) -> Found {
    if OurLibrary::ALL.into_iter().any(|ours| library_folder::name_of(ours) == soname) {
        return Found::Voltsim;
    }
    let candidates = folders.iter().map(|folder| folder.join(soname));
    candidates.into_iter().find(|path| path.is_file()).map_or(Found::Nowhere, Found::At)
}

/// The folders searched for the needs of `file`, in the loader's order (`man ld.so`).
fn search_folders(file: &HostFile<'_>, path: &Path) -> Result<Vec<PathBuf>, ContainerError> {
    let origin = fs::canonicalize(path).ok().and_then(|path| path.parent().map(Path::to_owned));
    let origin = origin.unwrap_or_default();
    let from_environment = env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let from_file = file.library_paths()?.join(":").replace("${ORIGIN}", "$ORIGIN");
    let listed = [from_environment, from_file.replace("$ORIGIN", &origin.to_string_lossy())].join(":");
    let listed = listed.split(':').filter(|folder| !folder.is_empty()).map(PathBuf::from);
    Ok(listed.chain(configured_folders()).chain(SYSTEM_FOLDERS.map(PathBuf::from)).collect())
}

/// The folders named in `/etc/ld.so.conf.d`, which the loader's cache is made from.
fn configured_folders() -> Vec<PathBuf> {
    let Ok(files) = fs::read_dir("/etc/ld.so.conf.d") else { return Vec::new() };
    let mut paths: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
    paths.sort();
    let texts = paths.into_iter().filter_map(|path| fs::read_to_string(path).ok());
    texts
        .flat_map(|text| text.lines().map(str::trim).map(PathBuf::from).collect::<Vec<_>>())
        .filter(|folder| folder.is_absolute())
        .collect()
}

//! Files that appear whole or not at all.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const TEMPORARY_PREFIX: &str = ".voltsim-";
/// Unfinished files and folders that nobody has written to for this long belong to nobody.
const TEMPORARY_LIFE: Duration = Duration::from_secs(60 * 60);

/// Whether the file's contents must have reached the disk before it appears under its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// They must: after a loss of power there is the old file or the new one.
    Synced,
    /// They need not: after a loss of power the file may be damaged. Saves milliseconds.
    Unsynced,
}

/// Writes `contents` to a new file beside `path` and gives it the name `path`, replacing what had it. Other processes see
/// the old file or the new one, never a part. On failure the new file is removed and the old one is untouched.
pub fn write(path: &Path, contents: &[u8], durability: Durability) -> io::Result<()> {
    let unfinished = Unfinished::create(path)?;
    unfinished.file().write_all(contents)?;
    unfinished.finish(durability)
}

/// A file that has no name of its own yet: it lies beside the one it will replace, and is removed when it is dropped.
/// A writer locks the file, so that a file left behind by a killed process is known.
#[derive(Debug)]
pub struct Unfinished {
    file: File,
    temporary: PathBuf,
    path: PathBuf,
}

impl Unfinished {
    /// A new, empty file beside `path`.
    pub fn create(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let temporary = path.with_file_name(temporary_name(name));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&temporary)?;
        lock(&file);
        Ok(Self { file, temporary, path: path.to_owned() })
    }

    /// The file, to be written.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Where it is until it is finished.
    pub fn here(&self) -> &Path {
        &self.temporary
    }

    /// The path it will have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name, replacing what had it.
    pub fn finish(mut self, durability: Durability) -> io::Result<()> {
        if durability == Durability::Synced {
            self.file.sync_all()?;
        }
        fs::rename(&self.temporary, &self.path)?;
        // It is not there under this name any more.
        self.temporary = PathBuf::new();
        match durability {
            Durability::Synced => sync_folder(folder_of(&self.path)),
            Durability::Unsynced => Ok(()),
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.temporary.as_os_str().is_empty() {
            // Whatever kept the file from being finished is the error to report.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// A folder that has no name of its own yet: it lies beside where it will be, and is removed with what is in it when it is dropped.
/// The folder is locked as a file is.
#[derive(Debug)]
pub struct UnfinishedFolder {
    temporary: PathBuf,
    path: PathBuf,
    /// Holds the lock.
    _folder: File,
}

impl UnfinishedFolder {
    /// A new, empty folder beside `path`. Those that were left behind there long ago are removed.
    pub fn create(path: &Path) -> io::Result<Self> {
        remove_abandoned(folder_of(path));
        Self::begin(path)
    }

    /// A new, empty folder beside `path`, which may have many beside it.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let temporary = path.with_file_name(temporary_name(name));
        fs::create_dir(&temporary)?;
        let folder = File::open(&temporary)?;
        lock(&folder);
        Ok(Self { temporary, path: path.to_owned(), _folder: folder })
    }

    /// Where it is until it is finished.
    pub fn here(&self) -> &Path {
        &self.temporary
    }

    /// Gives the folder its name, which nothing may have but an empty folder. What is in it must have reached the disk
    /// where the folder has to.
    pub fn finish(mut self, durability: Durability) -> io::Result<()> {
        if durability == Durability::Synced {
            sync_folder(&self.temporary)?;
        }
        fs::rename(&self.temporary, &self.path)?;
        // It is not there under this name any more.
        self.temporary = PathBuf::new();
        match durability {
            Durability::Synced => sync_folder(folder_of(&self.path)),
            Durability::Unsynced => Ok(()),
        }
    }
}

impl Drop for UnfinishedFolder {
    fn drop(&mut self) {
        if !self.temporary.as_os_str().is_empty() {
            // Whatever kept the folder from being finished is the error to report.
            let _ = fs::remove_dir_all(&self.temporary);
        }
    }
}

/// A new, empty file in `folder` that no name leads to: it is gone when it is closed.
pub fn nameless(folder: &Path) -> io::Result<File> {
    let path = folder.join(temporary_name(OsStr::new("nameless")));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(path)?;
    Ok(file)
}

/// Makes the new name durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// The folder that a file is in, by a path that can be opened.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A name no other writer uses, in this process or any other.
fn temporary_name(name: &OsStr) -> OsString {
    let random = RandomState::new().build_hasher().finish();
    let mut temporary = OsString::from(format!("{TEMPORARY_PREFIX}{random:016x}-"));
    temporary.push(name);
    temporary
}

/// Whether a file or folder has the name of an unfinished one, left behind by a process that was killed.
pub fn is_temporary(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(TEMPORARY_PREFIX.as_bytes())
}

/// Removes the unfinished files and folders in a folder that were left behind long ago; does nothing where that is not possible.
pub fn remove_abandoned(folder: &Path) {
    remove_unfinished(folder, |path| is_idle_for_long(path) && !is_in_use(path));
}

/// Removes the unfinished files and folders in a folder that nobody writes any more, however long ago they were left behind.
pub fn clear(folder: &Path) {
    remove_unfinished(folder, |path| !is_in_use(path));
}

fn remove_unfinished(folder: &Path, is_left: impl Fn(&Path) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if is_temporary(&entry.file_name()) && is_left(&path) {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            // Another process may have removed it.
            let _ = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
    }
}

/// Tells other processes that somebody writes a file or a folder, until it is closed.
fn lock(file: &File) {
    // Where the file system has no locks, unfinished files are told by their age alone.
    let _ = file.try_lock();
}

/// A process holds the lock of an unfinished file or folder.
fn is_in_use(path: &Path) -> bool {
    let lock = File::open(path).map(|file| file.try_lock());
    matches!(lock, Ok(Err(TryLockError::WouldBlock)))
}

/// Whether nobody has written to a file, or to a folder and the files in it, for long.
fn is_idle_for_long(path: &Path) -> bool {
    let idle = |path: &Path| fs::symlink_metadata(path)?.modified()?.elapsed().map_err(io::Error::other);
    let is_idle = |path: &Path| idle(path).is_ok_and(|idle| idle > TEMPORARY_LIFE);
    let mut inside = fs::read_dir(path).into_iter().flatten().flatten();
    is_idle(path) && inside.all(|entry| is_idle(&entry.path()))
}

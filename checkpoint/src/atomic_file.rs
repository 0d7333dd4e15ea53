//! Atomic creation of files and folders: each appears complete under its name, or not at all.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const TEMPORARY_PREFIX: &str = ".voltsim-";
/// Age after which unfinished files and folders count as abandoned.
const TEMPORARY_LIFE: Duration = Duration::from_secs(60 * 60);

/// Durability of a file's contents when it appears under its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Contents reach the disk first: after a power failure, the path holds the old or the new file.
    Synced,
    /// Contents may not have reached the disk: a power failure may damage the file. Saves milliseconds.
    Unsynced,
}

/// Writes `contents` to a new file beside `path`, then renames it to `path` and replaces any existing file.
/// Other processes see either the old or the new file. On failure, the new file is removed and the old one
/// is unchanged.
pub fn write(path: &Path, contents: &[u8], durability: Durability) -> io::Result<()> {
    let unfinished = Unfinished::create(path)?;
    unfinished.file().write_all(contents)?;
    unfinished.finish(durability)
}

/// Temporary file beside the path that it will replace. Dropping it removes the file. The writer locks the
/// file, so that files left by killed processes can be recognised.
#[derive(Debug)]
pub struct Unfinished {
    file: File,
    temporary: PathBuf,
    path: PathBuf,
}

impl Unfinished {
    /// Creates an empty file beside `path`.
    pub fn create(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let temporary = path.with_file_name(temporary_name(name));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&temporary)?;
        lock(&file);
        Ok(Self { file, temporary, path: path.to_owned() })
    }

    /// Returns the file, for writing.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the temporary path.
    pub fn here(&self) -> &Path {
        &self.temporary
    }

    /// Returns the final path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the file to its final path and replaces any existing file.
    pub fn finish(mut self, durability: Durability) -> io::Result<()> {
        if durability == Durability::Synced {
            self.file.sync_all()?;
        }
        fs::rename(&self.temporary, &self.path)?;
        // The temporary path no longer exists.
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
            // The caller has reported the error that prevented completion.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Temporary folder beside its final path. Dropping it removes the folder with its contents. The writer
/// locks the folder, as with files.
#[derive(Debug)]
pub struct UnfinishedFolder {
    temporary: PathBuf,
    path: PathBuf,
    _folder: File,
}

impl UnfinishedFolder {
    /// Creates an empty folder beside `path`. Removes abandoned folders there.
    pub fn create(path: &Path) -> io::Result<Self> {
        remove_abandoned(folder_of(path));
        Self::begin(path)
    }

    /// Creates an empty folder beside `path`, without a search for abandoned ones.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let temporary = path.with_file_name(temporary_name(name));
        fs::create_dir(&temporary)?;
        let folder = File::open(&temporary)?;
        lock(&folder);
        Ok(Self { temporary, path: path.to_owned(), _folder: folder })
    }

    /// Returns the temporary path.
    pub fn here(&self) -> &Path {
        &self.temporary
    }

    /// Renames the folder to its final path, which may only be an empty folder. With
    /// [`Durability::Synced`], the caller must sync its contents first.
    pub fn finish(mut self, durability: Durability) -> io::Result<()> {
        if durability == Durability::Synced {
            sync_folder(&self.temporary)?;
        }
        fs::rename(&self.temporary, &self.path)?;
        // The temporary path no longer exists.
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
            // The caller has reported the error that prevented completion.
            let _ = fs::remove_dir_all(&self.temporary);
        }
    }
}

/// Creates an unnamed file in `folder`, which vanishes when closed.
pub fn nameless(folder: &Path) -> io::Result<File> {
    let path = folder.join(temporary_name(OsStr::new("nameless")));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(path)?;
    Ok(file)
}

/// Makes a new name durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Returns the folder of a file as a path that can be opened.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns a temporary name that is unique among all processes.
fn temporary_name(name: &OsStr) -> OsString {
    let random = RandomState::new().build_hasher().finish();
    let mut temporary = OsString::from(format!("{TEMPORARY_PREFIX}{random:016x}-"));
    temporary.push(name);
    temporary
}

/// Returns whether a name is that of an unfinished file or folder.
pub fn is_temporary(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(TEMPORARY_PREFIX.as_bytes())
}

/// Removes abandoned unfinished files and folders from a folder. Ignores errors.
pub fn remove_abandoned(folder: &Path) {
    remove_unfinished(folder, |path| is_idle_for_long(path) && !is_in_use(path));
}

/// Removes unfinished files and folders without a writer from a folder, at any age.
pub fn clear(folder: &Path) {
    remove_unfinished(folder, |path| !is_in_use(path));
}

fn remove_unfinished(folder: &Path, is_left: impl Fn(&Path) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if is_temporary(&entry.file_name()) && is_left(&path) {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            // Another process may have removed the entry.
            let _ = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
    }
}

/// Marks a file or folder as in use until it is closed.
fn lock(file: &File) {
    // On file systems without locks, only the age shows whether an unfinished file is abandoned.
    let _ = file.try_lock();
}

/// Returns whether a process holds the lock of an unfinished file or folder.
fn is_in_use(path: &Path) -> bool {
    let lock = File::open(path).map(|file| file.try_lock());
    matches!(lock, Ok(Err(TryLockError::WouldBlock)))
}

/// Returns whether a file, or a folder and its files, has had no writes for [`TEMPORARY_LIFE`].
fn is_idle_for_long(path: &Path) -> bool {
    let idle = |path: &Path| fs::symlink_metadata(path)?.modified()?.elapsed().map_err(io::Error::other);
    let is_idle = |path: &Path| idle(path).is_ok_and(|idle| idle > TEMPORARY_LIFE);
    let mut inside = fs::read_dir(path).into_iter().flatten().flatten();
    is_idle(path) && inside.all(|entry| is_idle(&entry.path()))
}

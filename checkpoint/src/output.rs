//! Output files of a user, created atomically: each appears complete, or the existing file is unchanged.

use std::env;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};

use crate::atomic_file::{self, Durability, Unfinished, folder_of};

/// Buffer size for small writes.
const BUFFER: usize = 64 << 10;

/// Output under construction. Dropping an unfinished output keeps the existing file.
///
/// Devices and pipes receive bytes immediately. A writable file in a read-only folder is overwritten when
/// the output is finished, and so is a file that cannot be replaced.
#[derive(Debug)]
pub struct Output {
    target: Target,
    buffer: Vec<u8>,
}

#[derive(Debug)]
enum Target {
    /// Temporary file that is renamed on completion.
    Whole(Unfinished),
    /// Unnamed file that is copied to the path on completion.
    Held(File, PathBuf),
    /// Device or pipe.
    Stream(File),
}

impl Output {
    /// Creates an output.
    ///
    /// # Errors
    /// The path is a folder or not writable.
    pub fn create(path: &Path) -> io::Result<Self> {
        let (path, there) = place(path)?;
        let target = match there {
            Some(there) if !there.is_file() => Target::Stream(File::options().write(true).open(path)?),
            there => whole(path, there)?,
        };
        Ok(Self { target, buffer: Vec::new() })
    }

    /// Completes the output under its name.
    ///
    /// # Errors
    /// The disk is full, or the file cannot be completed for another reason. The existing file is
    /// unchanged.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        match self.target {
            Target::Stream(_) => Ok(()),
            Target::Held(held, path) => copy(held, &path),
            Target::Whole(unfinished) => {
                let file = unfinished.file().try_clone()?;
                let path = unfinished.path().to_owned();
                sync(&file)?;
                match unfinished.finish(Durability::Unsynced) {
                    // The file is a mount point in a container.
                    Err(error) if is_bound(&error) => copy(file, &path),
                    finished => finished,
                }
            }
        }
    }

    fn file(&self) -> &File {
        match &self.target {
            Target::Whole(unfinished) => unfinished.file(),
            Target::Held(file, _) | Target::Stream(file) => file,
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend(bytes);
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut file = self.file();
        file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// Writes an output at once.
///
/// # Errors
/// See [`Output`].
pub fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut output = Output::create(path)?;
    output.write_all(contents)?;
    output.finish()
}

/// Checks that an output can be created, without changing an existing file. Removes abandoned files beside
/// it.
///
/// # Errors
/// See [`Output::create`].
pub fn check(path: &Path) -> io::Result<()> {
    match place(path)? {
        // Opening a pipe blocks until both ends are open.
        (_, Some(there)) if !there.is_file() => Ok(()),
        (place, _) => {
            atomic_file::remove_abandoned(folder_of(&place));
            Output::create(path).map(drop)
        }
    }
}

/// Follows links. Returns the path and the metadata of any existing file.
fn place(path: &Path) -> io::Result<(PathBuf, Option<Metadata>)> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(ErrorKind::IsADirectory.into()),
        // Links in /proc/self/fd may have targets without a valid name.
        Ok(there) if !there.is_file() => Ok((path.to_owned(), Some(there))),
        Ok(there) => Ok((fs::canonicalize(path)?, Some(there))),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let behind = fs::read_link(path).map(|link| folder_of(path).join(link));
            Ok((behind.unwrap_or_else(|_| path.to_owned()), None))
        }
        Err(error) => Err(error),
    }
}

fn whole(path: PathBuf, there: Option<Metadata>) -> io::Result<Target> {
    match (Unfinished::create(&path), there) {
        (Ok(unfinished), there) => {
            if let Some(there) = there {
                // Only the owner of the file may change permissions. Failure does not affect the output.
                let _ = unfinished.file().set_permissions(there.permissions());
            }
            Ok(Target::Whole(unfinished))
        }
        (Err(error), Some(_)) if is_forbidden(&error) => {
            File::options().write(true).open(&path)?;
            Ok(Target::Held(atomic_file::nameless(&env::temp_dir())?, path))
        }
        (Err(error), _) => Err(error),
    }
}

fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

fn is_bound(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ResourceBusy | ErrorKind::CrossesDevices)
}

/// Overwrites the file at a path.
fn copy(mut from: File, path: &Path) -> io::Result<()> {
    from.rewind()?;
    let mut to = File::options().write(true).truncate(true).open(path)?;
    io::copy(&mut from, &mut to)?;
    sync(&to)
}

/// Syncs the file to disk, if the file system supports that.
fn sync(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

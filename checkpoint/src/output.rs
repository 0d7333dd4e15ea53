//! Files that a user names as outputs: each appears whole under its name, or what was there stays.

use std::env;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};

use crate::atomic_file::{self, Durability, Unfinished, folder_of};

/// Small pieces are gathered to this many bytes before they are written.
const BUFFER: usize = 64 << 10;

/// An output that is being written. An output that is dropped before it is finished leaves what had its name.
///
/// Devices and pipes get bytes as they come. A file that may be written in a folder that may not is
/// overwritten when the output is finished, as is one whose name cannot be given to another file.
#[derive(Debug)]
pub struct Output {
    target: Target,
    buffer: Vec<u8>,
}

#[derive(Debug)]
enum Target {
    /// Takes its name when it is whole.
    Whole(Unfinished),
    /// Has no name, and goes to the file at the path when it is whole.
    Held(File, PathBuf),
    /// A device or a pipe.
    Stream(File),
}

impl Output {
    /// Begins an output.
    ///
    /// # Errors
    /// The path is a folder, or nothing can be written there.
    pub fn create(path: &Path) -> io::Result<Self> {
        let (path, there) = place(path)?;
        let target = match there {
            Some(there) if !there.is_file() => Target::Stream(File::options().write(true).open(path)?),
            there => whole(path, there)?,
        };
        Ok(Self { target, buffer: Vec::new() })
    }

    /// Ends the output, which has its name now.
    ///
    /// # Errors
    /// A disk is full, or something else keeps the file from being whole. What had its name stays.
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
                    // A file that is mounted into a container by itself.
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
/// As those of [`Output`].
pub fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut output = Output::create(path)?;
    output.write_all(contents)?;
    output.finish()
}

/// Checks that an output can be begun, and leaves what has its name. Files that killed processes left beside it an hour
/// ago or more are removed.
///
/// # Errors
/// As those of [`Output::create`].
pub fn check(path: &Path) -> io::Result<()> {
    match place(path)? {
        // A pipe is opened by its reader and its writer together.
        (_, Some(there)) if !there.is_file() => Ok(()),
        (place, _) => {
            atomic_file::remove_abandoned(folder_of(&place));
            Output::create(path).map(drop)
        }
    }
}

/// Where links lead to, and what is there.
fn place(path: &Path) -> io::Result<(PathBuf, Option<Metadata>)> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(ErrorKind::IsADirectory.into()),
        // The links of /proc/self/fd lead to names that need not be there.
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
                // Only who owns the file may change them; the output is worth more.
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

/// Has the bytes reach the disk, where the file system knows of disks.
fn sync(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

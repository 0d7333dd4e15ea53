//! Content-addressed cache folder, shared by any number of processes.
//!
//! A cache may lose values but never returns wrong ones or causes failures. Damaged files are misses, and
//! after a write error the process stores nothing more. [`DiskCache::counts`] and [`DiskCache::problem`]
//! report such events.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, FileTimes};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::atomic_file::{self, Durability};
use crate::frame::{self, Frame, Schema, Section};

const EXTENSION: &str = "voltsim-cache";
const KEY_SECTION: &str = "key";
const VALUE_SECTION: &str = "value";

/// Interval in which repeated uses of an entry are not recorded.
const USE_RESOLUTION: Duration = Duration::from_secs(60 * 60);

/// BLAKE3 hash of all inputs of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CacheKey([u8; blake3::OUT_LEN]);

impl CacheKey {
    /// Returns the key of these parts. Part boundaries affect the key.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        Self(*hasher.finalize().as_bytes())
    }
}

/// Cache statistics of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Values found.
    pub hits: u64,
    /// Values not found.
    pub misses: u64,
    /// Misses because of damage or another version.
    pub rejected: u64,
    /// Values stored.
    pub stores: u64,
    /// Files removed to limit the folder's size.
    pub pruned: u64,
}

#[derive(Debug, Default)]
struct Counters {
    hits: AtomicU64,
    misses: AtomicU64,
    rejected: AtomicU64,
    stores: AtomicU64,
    pruned: AtomicU64,
}

/// Cache folder, usable from all threads.
#[derive(Debug)]
pub struct DiskCache {
    folder: PathBuf,
    schema: Schema,
    /// Capacity of the folder in bytes.
    capacity: u64,
    given_up: AtomicBool,
    problem: Mutex<Option<String>>,
    /// Estimated size of the folder in bytes; `None` before the first scan.
    size: Mutex<Option<u64>>,
    counters: Counters,
}

impl DiskCache {
    /// Describes a cache in `folder` for values of `schema` with about `capacity` bytes. Accesses no files:
    /// the first store creates the folder.
    pub fn new(folder: PathBuf, schema: Schema, capacity: u64) -> Self {
        Self {
            folder,
            schema,
            capacity,
            given_up: AtomicBool::new(false),
            problem: Mutex::default(),
            size: Mutex::default(),
            counters: Counters::default(),
        }
    }

    /// Returns the value of `key`, stored by any process.
    pub fn get(&self, key: &CacheKey) -> Option<Vec<u8>> {
        let value = self.find(key);
        increment(if value.is_some() { &self.counters.hits } else { &self.counters.misses });
        value
    }

    /// Stores a value. Errors disable further stores.
    pub fn put(&self, key: &CacheKey, value: &[u8]) {
        if self.given_up.load(Ordering::Relaxed) {
            return;
        }
        match self.store(key, value) {
            Ok(()) => {}
            Err(error) => {
                self.given_up.store(true, Ordering::Relaxed);
                self.note(format!("caching is disabled in {}: {error}", self.folder.display()));
            }
        }
    }

    /// Returns the statistics so far.
    pub fn counts(&self) -> CacheCounts {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CacheCounts {
            hits: get(&self.counters.hits),
            misses: get(&self.counters.misses),
            rejected: get(&self.counters.rejected),
            stores: get(&self.counters.stores),
            pruned: get(&self.counters.pruned),
        }
    }

    /// Returns the first problem, for a log.
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, problem: String) {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(problem);
    }

    fn find(&self, key: &CacheKey) -> Option<Vec<u8>> {
        let path = self.path(key);
        let file = match self.load(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                self.note(format!("{}: {error}", path.display()));
                return None;
            }
        };
        match self.value(&file, key) {
            Ok(value) => Some(value.to_vec()),
            Err(reason) => {
                increment(&self.counters.rejected);
                self.note(format!("{}: {reason}", path.display()));
                // A new value can be stored after removal. A read-only folder keeps the file.
                let _ = fs::remove_file(&path);
                None
            }
        }
    }

    fn load(&self, path: &Path) -> io::Result<Vec<u8>> {
        // Opening another kind of file, such as a pipe, could block forever.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::other("not a file"));
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let now = SystemTime::now();
        if metadata
            .modified()
            .is_ok_and(|used| now.duration_since(used).is_ok_and(|age| age > USE_RESOLUTION))
        {
            // In a read-only folder, only the time of use is lost.
            let _ = file.set_times(FileTimes::new().set_modified(now));
        }
        let mut contents = Vec::new();
        file.take(self.capacity).read_to_end(&mut contents)?;
        Ok(contents)
    }

    fn value<'a>(&self, file: &'a [u8], key: &CacheKey) -> Result<&'a [u8], String> {
        let frame = Frame::read(file).map_err(|error| error.to_string())?;
        let stored = frame.section(KEY_SECTION, self.schema).map_err(|error| error.to_string())?;
        if stored != key.0 {
            return Err("the file holds another key's value".to_owned());
        }
        frame.section(VALUE_SECTION, self.schema).map_err(|error| error.to_string())
    }

    fn store(&self, key: &CacheKey, value: &[u8]) -> io::Result<()> {
        let section = |name, contents| Section { name, schema: self.schema, contents };
        let file = frame::write(&[section(KEY_SECTION, key.0.as_slice()), section(VALUE_SECTION, value)])
            .map_err(io::Error::other)?;
        if file.len() as u64 > self.capacity {
            return Ok(());
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        atomic_file::write(&self.path(key), &file, Durability::Unsynced)?;
        increment(&self.counters.stores);
        self.account(file.len() as u64)
    }

    /// Adds to the folder's estimated size and prunes it above capacity. Replaced and removed files make
    /// the estimate too large, and other processes' files make it too small. A scan corrects it.
    fn account(&self, added: u64) -> io::Result<()> {
        let mut size = self.size.lock().unwrap_or_else(PoisonError::into_inner);
        let known = size.map(|size| size.saturating_add(added));
        *size = Some(match known {
            Some(known) if known <= self.capacity => known,
            _ => self.prune()?,
        });
        Ok(())
    }

    /// If the folder is above capacity, removes the least recently used files until a quarter of the
    /// capacity is free. Returns the remaining size in bytes.
    fn prune(&self) -> io::Result<u64> {
        let mut entries = self.entries()?;
        let mut size = entries.iter().map(|entry| entry.length).sum::<u64>();
        if size <= self.capacity {
            return Ok(size);
        }
        entries.sort_by_key(|entry| entry.used);
        for entry in entries {
            if size <= self.capacity / 4 * 3 {
                break;
            }
            // Another process may have removed the file.
            if fs::remove_file(&entry.path).is_ok() {
                increment(&self.counters.pruned);
            }
            size -= entry.length;
        }
        Ok(size)
    }

    /// Returns the cache's files in the folder. Removes abandoned unfinished files.
    fn entries(&self) -> io::Result<Vec<EntryFile>> {
        atomic_file::remove_abandoned(&self.folder);
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            // Another process may have removed the file.
            let Ok(metadata) = entry.metadata() else { continue };
            let Ok(used) = metadata.modified() else { continue };
            let name = entry.file_name();
            if metadata.is_file()
                && Path::new(&name).extension() == Some(OsStr::new(EXTENSION))
                && !atomic_file::is_temporary(&name)
            {
                entries.push(EntryFile { path: entry.path(), used, length: metadata.len() });
            }
        }
        Ok(entries)
    }

    fn path(&self, key: &CacheKey) -> PathBuf {
        let name = blake3::Hash::from_bytes(key.0).to_hex();
        self.folder.join(format!("{name}.{EXTENSION}"))
    }
}

struct EntryFile {
    path: PathBuf,
    used: SystemTime,
    length: u64,
}

fn increment(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

//! Reads and writes the files of a captured launch.
//!
//! The manifest is written last: a folder without one is unfinished.

use crate::capture::Capture;
use crate::error::Error;
use crate::manifest::{Address, Buffer, FORMAT, Launch, ResultBuffer, ResultList};
use crate::ranges::Ranges;
use crate::words::Words;
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::io::{ErrorKind, Read as _};
use std::path::{Component, Path, PathBuf};
use voltsim_checkpoint::atomic_file::{self, Durability, UnfinishedFolder};

/// File name of a launch's manifest.
pub const MANIFEST: &str = "launch.toml";

/// Subfolder for the memory after a launch.
pub const RESULTS: &str = "results";

/// File name of the results' manifest.
const RESULT_MANIFEST: &str = "results.toml";

/// Memory after a launch, with its validated manifest.
#[derive(Debug)]
pub struct Results {
    folder: PathBuf,
    list: ResultList,
}

/// Writer of a launch's folder.
#[derive(Debug)]
pub struct Writer {
    unfinished: UnfinishedFolder,
    folder: PathBuf,
    modules: Vec<String>,
    buffers: Vec<Buffer>,
}

/// Writer of a results folder.
#[derive(Debug)]
pub struct ResultsWriter {
    unfinished: UnfinishedFolder,
    folder: PathBuf,
    buffers: Vec<ResultBuffer>,
}

/// True if the folder holds a finished capture.
pub fn is_capture(folder: &Path) -> bool {
    folder.join(MANIFEST).is_file()
}

pub(crate) fn reading(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |error| Error::Read { path, error }
}

fn writing(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |error| Error::Write { path, error }
}

pub(crate) fn read_manifest<T: DeserializeOwned>(path: &Path, expected: u32) -> Result<T, Error> {
    /// Fields common to all formats.
    #[derive(serde::Deserialize)]
    struct Version {
        format: u32,
    }

    let text = fs::read_to_string(path).map_err(reading(path))?;
    let malformed =
        |error: toml::de::Error| Error::Malformed { path: path.to_owned(), message: error.to_string() };
    let Version { format } = toml::from_str(&text).map_err(malformed)?;
    if format != expected {
        return Err(Error::Format { path: path.to_owned(), found: format, expected });
    }
    toml::from_str(&text).map_err(malformed)
}

pub(crate) fn write_manifest(path: &Path, manifest: &impl Serialize) -> Result<(), Error> {
    let text = toml::to_string(manifest)
        .map_err(|error| Error::Malformed { path: path.to_owned(), message: error.to_string() })?;
    write(path, text.as_bytes())
}

fn write(path: &Path, contents: &[u8]) -> Result<(), Error> {
    atomic_file::write(path, contents, Durability::Unsynced).map_err(writing(path))
}

fn hash(contents: &[u8]) -> String {
    blake3::hash(contents).to_hex().to_string()
}

/// Reads a compressed file and checks size and hash.
pub(crate) fn read_contents(path: &Path, size: u64, blake3: &str) -> Result<Vec<u8>, Error> {
    let damaged = |reason: String| Error::Damaged { path: path.to_owned(), reason };
    let file = fs::File::open(path).map_err(reading(path))?;
    let decoder =
        StreamingDecoder::new(std::io::BufReader::new(file)).map_err(|error| damaged(error.to_string()))?;
    let mut contents = Vec::new();
    // One byte more detects a file that is too long without reading all of it.
    let read = decoder.take(size.saturating_add(1)).read_to_end(&mut contents);
    read.map_err(|error| damaged(error.to_string()))?;
    if contents.len() as u64 != size {
        let more = if contents.len() as u64 > size { "more than" } else { "not" };
        return Err(damaged(format!("the file holds {more} {size} bytes")));
    }
    if hash(&contents) != blake3 {
        return Err(damaged("the contents differ from the manifest's hash".to_owned()));
    }
    Ok(contents)
}

fn write_contents(path: &Path, contents: &[u8]) -> Result<(), Error> {
    write(path, &compress_to_vec(contents, CompressionLevel::Fastest))
}

/// Path of a file named in a manifest; rejects paths out of the folder.
pub(crate) fn within(folder: &Path, manifest: &str, file: &str) -> Result<PathBuf, Error> {
    let inside = Path::new(file).components().all(|part| matches!(part, Component::Normal(_)));
    if inside && !file.is_empty() {
        return Ok(folder.join(file));
    }
    Err(Error::Malformed {
        path: folder.join(manifest),
        message: format!("`{file}` must be a file of the folder"),
    })
}

/// Creates an unfinished folder and its parents; fails if the folder exists.
fn begin(folder: &Path) -> Result<UnfinishedFolder, Error> {
    if let Some(around) = folder.parent() {
        fs::create_dir_all(around).map_err(writing(around))?;
    }
    if folder.exists() {
        return Err(Error::Exists { path: folder.to_owned() });
    }
    UnfinishedFolder::begin(folder).map_err(writing(folder))
}

/// Renames the finished folder.
fn finish(unfinished: UnfinishedFolder, folder: &Path) -> Result<(), Error> {
    unfinished.finish(Durability::Unsynced).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty | ErrorKind::NotADirectory => {
            Error::Exists { path: folder.to_owned() }
        }
        _ => Error::Write { path: folder.to_owned(), error },
    })
}

impl Results {
    /// Opens a results folder.
    pub fn open(folder: &Path) -> Result<Results, Error> {
        let list = read_manifest(&folder.join(RESULT_MANIFEST), FORMAT)?;
        Ok(Results { folder: folder.to_owned(), list })
    }

    /// Memory before a launch in the form of results, for comparison.
    pub fn before(capture: &Capture) -> Results {
        let buffers = capture.launch().buffers.iter().map(|buffer| ResultBuffer {
            address: buffer.address,
            size: buffer.size,
            file: buffer.file.clone(),
            blake3: buffer.blake3.clone(),
        });
        let list = ResultList { format: FORMAT, outcome: String::new(), buffers: buffers.collect() };
        Results { folder: capture.path().to_owned(), list }
    }

    /// The manifest.
    pub fn list(&self) -> &ResultList {
        &self.list
    }

    /// Contents of a buffer after the launch.
    pub fn contents(&self, buffer: &ResultBuffer) -> Result<Vec<u8>, Error> {
        read_contents(&within(&self.folder, RESULT_MANIFEST, &buffer.file)?, buffer.size, &buffer.blake3)
    }

    /// Addresses of the buffers in this run.
    pub fn ranges(&self) -> Ranges {
        Ranges::new(self.list.buffers.iter().map(|buffer| (buffer.address.0, buffer.size)))
    }
}

impl Writer {
    /// Creates a launch's folder; fails if the folder exists.
    pub fn new(folder: &Path) -> Result<Writer, Error> {
        let unfinished = begin(folder)?;
        let buffers = unfinished.here().join("buffers");
        fs::create_dir(&buffers).map_err(writing(&buffers))?;
        Ok(Writer { unfinished, folder: folder.to_owned(), modules: Vec::new(), buffers: Vec::new() })
    }

    /// Writes a PTX text; the kernel's comes first.
    pub fn module(&mut self, text: &str) -> Result<(), Error> {
        let file = match self.modules.len() {
            0 => "module.ptx".to_owned(),
            number => format!("linked-{number}.ptx"),
        };
        write(&self.unfinished.here().join(&file), text.as_bytes())?;
        self.modules.push(file);
        Ok(())
    }

    /// Writes a buffer and sets its `size`, `file` and `blake3`.
    pub fn buffer(&mut self, buffer: Buffer, contents: &[u8]) -> Result<(), Error> {
        let file = format!("buffers/{}.zst", self.buffers.len());
        write_contents(&self.unfinished.here().join(&file), contents)?;
        self.buffers.push(Buffer { size: contents.len() as u64, file, blake3: hash(contents), ..buffer });
        Ok(())
    }

    /// Copies a buffer of another capture, as a link if the disk allows it.
    pub fn copy(&mut self, from: &Capture, buffer: &Buffer) -> Result<(), Error> {
        let source = within(from.path(), MANIFEST, &buffer.file)?;
        let file = format!("buffers/{}.zst", self.buffers.len());
        let target = self.unfinished.here().join(&file);
        if fs::hard_link(&source, &target).is_err() {
            fs::copy(&source, &target).map_err(writing(&target))?;
        }
        self.buffers.push(Buffer { file, ..buffer.clone() });
        Ok(())
    }

    /// Writes the manifest and sets its `modules` and `buffers`.
    pub fn finish(self, launch: Launch) -> Result<Capture, Error> {
        let launch = Launch { modules: self.modules, buffers: self.buffers, ..launch };
        write_manifest(&self.unfinished.here().join(MANIFEST), &launch)?;
        finish(self.unfinished, &self.folder)?;
        Ok(Capture::of_folder(self.folder, launch))
    }
}

impl Buffer {
    /// A buffer without contents.
    pub fn new(address: u64, kind: &str) -> Buffer {
        Buffer {
            address: Address(address),
            size: 0,
            kind: kind.to_owned(),
            variable: None,
            file: String::new(),
            blake3: String::new(),
            pointers: Words::default(),
            functions: Words::default(),
            objects: Words::default(),
        }
    }
}

impl ResultsWriter {
    /// Creates a results folder; fails if the folder exists.
    pub fn new(folder: &Path) -> Result<ResultsWriter, Error> {
        let unfinished = begin(folder)?;
        Ok(ResultsWriter { unfinished, folder: folder.to_owned(), buffers: Vec::new() })
    }

    /// Writes the next buffer.
    pub fn buffer(&mut self, address: u64, contents: &[u8]) -> Result<(), Error> {
        let file = format!("{}.zst", self.buffers.len());
        write_contents(&self.unfinished.here().join(&file), contents)?;
        let (address, size) = (Address(address), contents.len() as u64);
        self.buffers.push(ResultBuffer { address, size, file, blake3: hash(contents) });
        Ok(())
    }

    /// Writes the manifest. The buffers do not count after a failed launch.
    pub fn finish(self, outcome: &str) -> Result<Results, Error> {
        let list = ResultList { format: FORMAT, outcome: outcome.to_owned(), buffers: self.buffers };
        write_manifest(&self.unfinished.here().join(RESULT_MANIFEST), &list)?;
        finish(self.unfinished, &self.folder)?;
        Ok(Results { folder: self.folder, list })
    }
}

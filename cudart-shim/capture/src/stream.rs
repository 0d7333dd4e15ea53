//! Kernel streams: many captured launches and the copies between them in one file. Equal contents
//! are stored once.
//!
//! | section | what |
//! |---|---|
//! | `about` | origin of the launches |
//! | `contents`, `contents.table` | PTX texts and memory before each launch |
//! | `entries` | launches and copies, in the order in which they were executed |

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use timing::gpu::Transfer;
use voltsim_checkpoint::atomic_file::{Durability, folder_of};
use voltsim_checkpoint::codec::{self, CodecError};
use voltsim_checkpoint::contents::{self, Content, Contents, ContentsWriter};
use voltsim_checkpoint::frame::{File, FileWriter, Schema};
use voltsim_checkpoint::journal::{JournalReader, JournalWriter};
use warp_stream::Past;

use crate::accessible::Accessible;
use crate::capture::Capture;
use crate::entry::{Entry, EntryOf3};
use crate::error::Error;
use crate::held::HeldLaunch;
use crate::manifest::{Buffer, Launch};
use crate::past::PastOf2;

const ABOUT: &str = "about";
const CONTENTS: &str = "contents";
const ENTRIES: &str = "entries";

/// Most bytes of a record in memory.
const LIMIT: usize = 1 << 30;

/// Version written. Version 3 lacks the memory allocated at launches; version 2 also lacks details
/// of earlier accesses, device copies and fills.
const VERSION: u32 = 4;
/// Oldest version read.
const OLDEST: u32 = 2;

fn about_schema(version: u32) -> Schema {
    Schema::of(&format!("kernel stream, about, version {version}"))
}

/// Origin of a stream's launches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Voltsim version of the writer.
    pub voltsim: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The device's profile, by name or file.
    pub device: String,
}

/// Writer of a kernel stream. The file gets its name when finished.
pub struct StreamWriter {
    file: FileWriter,
    contents: ContentsWriter,
    entries: JournalWriter,
    launches: u64,
}

impl StreamWriter {
    /// Creates a file that replaces an existing one when finished.
    pub fn create(path: &Path, about: &About) -> Result<StreamWriter, Error> {
        StreamWriter::of_version(VERSION, path, about)
    }

    fn of_version(version: u32, path: &Path, about: &About) -> Result<StreamWriter, Error> {
        let mut file = FileWriter::create(path, contents::SECTIONS + 2)?;
        file.begin(ABOUT, about_schema(version))?;
        file.append(&codec::encode(about).map_err(|error| malformed(path, &error))?)?;
        let contents = ContentsWriter::begin(&mut file, CONTENTS)?;
        Ok(StreamWriter { file, contents, entries: JournalWriter::new(folder_of(path)), launches: 0 })
    }

    /// Adds a launch.
    pub fn launch(&mut self, held: &HeldLaunch) -> Result<(), Error> {
        let path = self.file.path().to_owned();
        let manifest = toml::to_string(&held.launch).map_err(|error| malformed(&path, &error))?;
        let mut store = |bytes: &[u8]| self.contents.add(&mut self.file, bytes);
        let modules = held.modules.iter().map(|text| store(text.as_bytes())).collect::<Result<_, _>>()?;
        let buffers = held.contents.iter().map(|bytes| store(bytes)).collect::<Result<_, _>>()?;
        let encoded = |error: CodecError| malformed(&path, &error);
        let past = held.past.as_ref().map(codec::encode).transpose().map_err(encoded)?;
        let accessible = held.accessible.as_ref().map(codec::encode).transpose().map_err(encoded)?;
        let mut store_known = |bytes: Option<Vec<u8>>| bytes.map_or(Ok(Content::default()), |it| store(&it));
        let (past, accessible) = (store_known(past)?, store_known(accessible)?);
        let (number, kernel) = (held.launch.launch, held.launch.kernel.clone());
        let entry = Entry::Launch { number, kernel, manifest, modules, buffers, past, accessible };
        self.launches += 1;
        self.entry(&entry)
    }

    /// Adds a copy.
    pub fn copy(&mut self, to_device: bool, address: u64, bytes: u64) -> Result<(), Error> {
        self.entry(&Entry::Copy { to_device, address, bytes })
    }

    /// Adds a device copy or fill.
    pub fn transfer(&mut self, transfer: &Transfer) -> Result<(), Error> {
        self.entry(&Entry::Transfer(*transfer))
    }

    fn entry(&mut self, entry: &impl Serialize) -> Result<(), Error> {
        let encoded = codec::encode(entry).map_err(|error| malformed(self.file.path(), &error))?;
        Ok(self.entries.push(&encoded)?)
    }

    /// Launches so far.
    pub fn launches(&self) -> u64 {
        self.launches
    }

    /// Completes the file under its name.
    pub fn finish(mut self) -> Result<(), Error> {
        self.contents.finish(&mut self.file)?;
        self.entries.write_to(&mut self.file, ENTRIES)?;
        self.file.finish(Durability::Synced)?;
        Ok(())
    }
}

/// An open kernel stream.
#[derive(Debug)]
pub struct KernelStream {
    file: File,
    version: u32,
    about: About,
    contents: Contents,
    entries: Vec<Entry>,
}

/// True if the file's head and section names are a kernel stream's.
pub fn is_stream(path: &Path) -> bool {
    let file = File::open(path).ok();
    file.is_some_and(|file| file.length(ENTRIES).is_some() && file.length(ABOUT).is_some())
}

impl KernelStream {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<KernelStream, Error> {
        let file = File::open(path)?;
        let damaged = |error: &dyn std::fmt::Display| malformed(path, error);
        let schema = file.schema(ABOUT);
        let version = (OLDEST..VERSION).find(|older| schema == Some(about_schema(*older))).unwrap_or(VERSION);
        let about = file.section(ABOUT, about_schema(version))?;
        let about = codec::decode::<LIMIT, About>(&about).map_err(|error| damaged(&error))?;
        let contents = Contents::open(&file, CONTENTS)?;
        let mut entries = Vec::new();
        for record in JournalReader::open(&file, ENTRIES)? {
            let record = record?;
            let entry = match version {
                VERSION => codec::decode::<LIMIT, Entry>(&record),
                _ => codec::decode::<LIMIT, EntryOf3>(&record).map(Entry::from),
            };
            entries.push(entry.map_err(|error| damaged(&error))?);
        }
        Ok(KernelStream { file, version, about, contents, entries })
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Origin of the launches.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Device operations, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Hash that identifies a launch with all that it can reach; `None` if the stream lacks the
    /// launch.
    pub fn identity(&self, launch: u64) -> Option<[u8; 32]> {
        let entry = self
            .entries
            .iter()
            .find(|entry| matches!(entry, Entry::Launch { number, .. } if *number == launch));
        let Some(Entry::Launch { number, manifest, modules, buffers, past, accessible, .. }) = entry else {
            return None;
        };
        let mut hasher = blake3::Hasher::new();
        hasher.update(&number.to_le_bytes()).update(manifest.as_bytes());
        for content in modules.iter().chain(buffers).chain([past, accessible]) {
            hasher.update(&content.length.to_le_bytes());
            for hash in self.contents.hashes(content) {
                hasher.update(hash);
            }
        }
        Some(*hasher.finalize().as_bytes())
    }

    /// Verifies the hashes of the whole file.
    pub fn verify(&self) -> Result<(), Error> {
        self.file.check()?;
        for entry in &self.entries {
            let Entry::Launch { modules, buffers, past, accessible, .. } = entry else { continue };
            modules
                .iter()
                .chain(buffers)
                .chain([past, accessible])
                .try_for_each(|content| self.content(content).map(drop))?;
        }
        Ok(())
    }

    /// The launch of an entry; `None` for other operations.
    pub fn capture(self: &Arc<Self>, entry: usize) -> Result<Option<Capture>, Error> {
        let Some(Entry::Launch { manifest, modules, buffers, .. }) = self.entries.get(entry) else {
            return Ok(None);
        };
        let launch: Launch = toml::from_str(manifest).map_err(|error| malformed(self.path(), &error))?;
        if launch.buffers.len() != buffers.len() || launch.modules.len() != modules.len() {
            return Err(malformed(self.path(), &"the memory of a launch differs from its manifest"));
        }
        Capture::of_stream(Arc::clone(self), entry, launch).map(Some)
    }

    /// Accesses before an entry's launch; `None` if unknown.
    pub fn past(&self, entry: usize) -> Result<Option<Past>, Error> {
        let Some(Entry::Launch { past, .. }) = self.entries.get(entry) else { return Ok(None) };
        let bytes = self.content(past)?;
        let past = match (bytes.is_empty(), self.version) {
            (true, _) => return Ok(None),
            (_, 2) => codec::decode::<LIMIT, PastOf2>(&bytes).map(Past::from),
            _ => codec::decode::<LIMIT, Past>(&bytes),
        };
        past.map(Some).map_err(|error| malformed(self.path(), &error))
    }

    /// Memory allocated at an entry's launch; `None` if unknown.
    pub(crate) fn accessible(&self, entry: usize) -> Result<Option<Accessible>, Error> {
        let Some(Entry::Launch { accessible, .. }) = self.entries.get(entry) else { return Ok(None) };
        let bytes = self.content(accessible)?;
        let accessible = (!bytes.is_empty()).then(|| codec::decode::<LIMIT, Accessible>(&bytes));
        accessible.transpose().map_err(|error| malformed(self.path(), &error))
    }

    /// PTX texts of an entry.
    pub(crate) fn modules(&self, entry: usize) -> Result<Vec<String>, Error> {
        let Some(Entry::Launch { modules, .. }) = self.entries.get(entry) else { return Ok(Vec::new()) };
        let text =
            |module| String::from_utf8(self.content(module)?).map_err(|error| malformed(self.path(), &error));
        modules.iter().map(text).collect()
    }

    /// Memory of the entry's `number`-th buffer.
    pub(crate) fn buffer(&self, entry: usize, number: usize, buffer: &Buffer) -> Result<Vec<u8>, Error> {
        let content = match self.entries.get(entry) {
            Some(Entry::Launch { buffers, .. }) => buffers.get(number),
            _ => None,
        };
        let fits = content.filter(|content| content.length == buffer.size);
        let content =
            fits.ok_or_else(|| malformed(self.path(), &format_args!("the size of buffer {number} differs")))?;
        self.content(content)
    }

    fn content(&self, content: &Content) -> Result<Vec<u8>, Error> {
        Ok(self.contents.read(&self.file, content)?)
    }
}

fn malformed(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::Malformed { path: PathBuf::from(path), message: error.to_string() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use voltsim_checkpoint::layout;

    use super::*;
    use crate::past::TraceOf2;

    /// Digests of the layouts in a stream. A changed layout needs the next version.
    const LAYOUTS: (u32, [&str; 4]) = (
        4,
        [
            "5d610556a073ae855a7fcc0dfbba2f81",
            "80c313469d6faf911cf92966112769e8",
            "e9aecb2ce8b4e1a9ef13320ed76fd546",
            "9781158db905f542dfcf3da595494be2",
        ],
    );

    #[test]
    fn changed_stream_layout_needs_a_new_version() {
        let layouts =
            [layout::of::<About>(), layout::of::<Entry>(), layout::of::<Past>(), layout::of::<Accessible>()];
        let digests =
            layouts.map(|layout| blake3::hash(layout.unwrap().as_bytes()).to_hex()[..32].to_owned());
        assert_eq!((VERSION, digests), (LAYOUTS.0, LAYOUTS.1.map(str::to_owned)));
    }

    #[test]
    fn version_2_stream_reads_with_its_past() {
        let before = || PastOf2 {
            traces: vec![TraceOf2 { line: 0x1000, read: 3, written: 4 }],
            pages: vec![0x20_0000],
            has_code: true,
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all.vks");
        let about = About { voltsim: "1".to_owned(), command: Vec::new(), device: "titan-v".to_owned() };
        let mut writer = StreamWriter::of_version(2, &path, &about).unwrap();
        let past = writer.contents.add(&mut writer.file, &codec::encode(&before()).unwrap()).unwrap();
        let (kernel, manifest) = ("k".to_owned(), String::new());
        let (modules, buffers) = (Vec::new(), Vec::new());
        let entry = EntryOf3::Launch { number: 1, kernel, manifest, modules, buffers, past };
        writer.entry(&entry).unwrap();
        writer.finish().unwrap();
        let stream = KernelStream::open(&path).unwrap();
        assert_eq!(stream.past(0).unwrap(), Some(before().into()));
        assert_eq!(stream.accessible(0).unwrap(), None);
    }
}

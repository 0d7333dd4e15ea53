//! The file of a saved run, written and read.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use functional::device::DeviceCounters;
use functional::memory::{Memory, MemoryState};
use functional::suspend::SuspendedLaunch;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use voltsim_checkpoint::atomic_file::Durability;
use voltsim_checkpoint::codec::{self, CodecError};
use voltsim_checkpoint::frame::{File, FileError, FileWriter, FrameError, Schema};

use voltsim_checkpoint::image::{self, Image, ImageError, Part, Region, Series, Sink};
use voltsim_checkpoint::journal::{JournalError, JournalReader, JournalWriter};

use crate::about::About;
use crate::pages::Pages;
use crate::step::{Address, Step};

const ABOUT: &str = "about";
const STEPS: &str = "steps";
const DEVICES: &str = "devices";
const KERNELS: &str = "kernels";
const LAUNCH: &str = "launch";

/// Bytes that a section's values may take in memory.
const LIMIT: usize = 1 << 32;

/// The definition that a section follows: its name, and the version of what is in it.
fn schema(section: &str) -> Schema {
    Schema::of(&format!("saved run, {section}, version 9"))
}

/// The section with the memory of a device.
fn memory_of(device: u64) -> String {
    format!("memory {device}")
}

/// Memory of the program's own that was registered with a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub size: u64,
}

/// A device at the point, but for the bytes in its memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceState {
    /// Its number.
    pub number: u64,
    /// Its memory's allocations.
    pub memory: MemoryState,
    /// What the program has registered with it so far, undone or not, by number.
    pub registered: BTreeMap<u64, Registration>,
    /// What launches have left.
    pub counters: DeviceCounters,
    /// What timed its launches, if anything did, as that wrote it.
    pub model: Option<Vec<u8>>,
}

/// The launch at a point inside of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BegunLaunch {
    /// Number of its device.
    pub device: u64,
    /// Where it stands.
    pub state: SuspendedLaunch,
    /// What it has printed.
    pub printed: Vec<u8>,
    /// What it has written to memory that the host sees: addresses and bytes.
    pub written: Vec<(Address, Vec<u8>)>,
}

/// A run at a point.
#[derive(Clone, Copy, Debug)]
pub struct State<'a> {
    /// Whose it is.
    pub about: &'a About,
    /// The devices.
    pub devices: &'a [DeviceState],
    /// Their memories, in the same order.
    pub memories: &'a [&'a Memory],
    /// What launches have executed, by kernel.
    pub kernels: &'a BTreeMap<String, KernelCounts>,
    /// The launch that has begun, if one has.
    pub launch: Option<&'a BegunLaunch>,
}

/// What launches of a kernel have executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelCounts {
    /// Launches.
    pub count: u64,
    /// Warp instructions.
    pub warp_instructions: u64,
    /// Lane instructions.
    pub lane_instructions: u64,
    /// Time of the host, seconds.
    pub seconds: f64,
}

/// Why a run cannot be saved, or a saved one read.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// The file as such.
    #[error(transparent)]
    File(#[from] FileError),
    /// A part of it.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The image of a device's memory.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A value in a section.
    #[error("section {section}: {error}")]
    Value {
        /// The section.
        section: String,
        /// What is wrong with it.
        error: CodecError,
    },
    /// The steps.
    #[error(transparent)]
    Steps(#[from] JournalError),
    /// Writing.
    #[error("{}: {error}", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

impl SavedError {
    /// What the user can do.
    pub fn remedy(&self) -> &'static str {
        match self {
            SavedError::File(error) => {
                error.remedy().unwrap_or("Check the path, and that it is a checkpoint")
            }
            SavedError::Frame(error) => error.remedy().unwrap_or("Make the checkpoint anew"),
            SavedError::Image(error) => error.remedy().unwrap_or("Make the checkpoint anew"),
            SavedError::Steps(error) => error.remedy().unwrap_or("Make the checkpoint anew"),
            SavedError::Value { .. } => "Make the checkpoint anew",
            SavedError::Write { .. } => "Check the folder, its permissions and the room on its disk",
        }
    }
}

/// The steps of a run, written as they are done.
pub struct StepWriter {
    journal: JournalWriter,
}

impl StepWriter {
    /// Steps for checkpoints in this folder, where they lie as long as they are too many for memory.
    pub fn in_folder(folder: &Path) -> Result<StepWriter, SavedError> {
        let failed = |error| SavedError::Write { file: folder.to_owned(), error };
        if !folder.metadata().map_err(failed)?.is_dir() {
            return Err(failed(io::ErrorKind::NotADirectory.into()));
        }
        Ok(StepWriter { journal: JournalWriter::new(folder) })
    }

    /// Adds a step.
    pub fn push(&mut self, step: &Step) -> Result<(), SavedError> {
        Ok(self.journal.push(&encode(STEPS, step)?)?)
    }
}

fn encode<T: Serialize + ?Sized>(section: &str, value: &T) -> Result<Vec<u8>, SavedError> {
    codec::encode(value).map_err(|error| SavedError::Value { section: section.to_owned(), error })
}

/// Writes a saved run to a file, which appears when it is whole. Files of a series, by device, hold only pages that those
/// before them do not.
pub fn write(
    file: &Path,
    steps: &mut StepWriter,
    state: State<'_>,
    mut series: Option<&mut BTreeMap<u64, Series>>,
) -> Result<(), SavedError> {
    let State { about, devices, memories, kernels, launch } = state;
    let failed = |error| SavedError::Write { file: file.to_owned(), error };
    let mut writer = FileWriter::create(file, 5 + image::SECTIONS * devices.len())?;
    let values = [
        (ABOUT, encode(ABOUT, about)?),
        (DEVICES, encode(DEVICES, devices)?),
        (KERNELS, encode(KERNELS, kernels)?),
        (LAUNCH, encode(LAUNCH, &launch)?),
    ];
    for (name, bytes) in values {
        writer.begin(name, schema(name))?;
        writer.write_all(&bytes).map_err(failed)?;
    }
    steps.journal.write_to(&mut writer, STEPS)?;
    for (device, memory) in devices.iter().zip(memories) {
        let touched = memory.touched(&device.memory.allocations);
        let regions: Vec<Region> = touched
            .into_iter()
            .map(|range| Region { addresses: range.clone(), touched: vec![range] })
            .collect();
        let (name, memory) = (memory_of(device.number), DeviceMemory(memory));
        match &mut series {
            None => image::save(&mut writer, &name, &regions, &memory, threads())?,
            Some(series) => {
                let series = series.entry(device.number).or_insert_with(|| Series::new(name));
                series.save(&mut writer, &regions, &memory, threads())?
            }
        };
    }
    writer.finish(Durability::Synced)?;
    for series in series.into_iter().flat_map(BTreeMap::values_mut) {
        series.add(&File::open(file)?)?;
    }
    Ok(())
}

/// A saved run.
#[derive(Debug)]
pub struct SavedRun {
    file: File,
}

impl SavedRun {
    /// Opens a file.
    pub fn open(file: &Path) -> Result<SavedRun, SavedError> {
        let file = File::open(file)?;
        file.frame()?;
        Ok(SavedRun { file })
    }

    /// Checks every byte.
    pub fn verify(&self) -> Result<(), SavedError> {
        self.file.frame()?.check()?;
        self.about()?;
        self.counts()?;
        self.launch()?;
        self.steps()?.try_for_each(|step| step.map(drop))?;
        for device in self.devices()? {
            Image::read(&self.file, &memory_of(device.number))?.check(threads())?;
        }
        Ok(())
    }

    /// Names of the sections, and their bytes.
    pub fn sections(&self) -> Result<Vec<(String, usize)>, SavedError> {
        let frame = self.file.frame()?;
        Ok(frame.names().map(|name| (name.to_owned(), frame.length(name).unwrap_or(0))).collect())
    }

    /// Files of the same folder that hold some of the pages of its devices.
    pub fn bases(&self) -> Result<Vec<String>, SavedError> {
        let mut names = Vec::new();
        for device in self.devices()? {
            let image = Image::read(&self.file, &memory_of(device.number))?;
            names.extend(image.bases().iter().map(|base| base.file.clone()));
        }
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Whose it is.
    pub fn about(&self) -> Result<About, SavedError> {
        self.value(ABOUT)
    }

    /// The devices.
    pub fn devices(&self) -> Result<Vec<DeviceState>, SavedError> {
        self.value(DEVICES)
    }

    /// What launches have executed, by kernel.
    pub fn counts(&self) -> Result<BTreeMap<String, KernelCounts>, SavedError> {
        self.value(KERNELS)
    }

    /// The launch that has begun, if one has.
    pub fn launch(&self) -> Result<Option<BegunLaunch>, SavedError> {
        self.value(LAUNCH)
    }

    /// The steps, in the order in which they were done.
    pub fn steps(&self) -> Result<impl Iterator<Item = Result<Step, SavedError>> + '_, SavedError> {
        let journal = JournalReader::open(&self.file, STEPS)?;
        Ok(journal.map(|record| decode(STEPS, &record?)))
    }

    /// Puts the bytes of a device's memory in place.
    pub fn fill(&self, device: u64, memory: &Memory) -> Result<(), SavedError> {
        let image = Image::read(&self.file, &memory_of(device))?;
        image.restore(&DeviceMemory(memory), threads())?;
        Ok(())
    }

    /// The pages of a device's memory.
    pub(crate) fn pages(&self, device: u64) -> Result<Pages, SavedError> {
        let pages = Gathered::default();
        Image::read(&self.file, &memory_of(device))?.restore(&pages, threads())?;
        Ok(pages.0.into_inner())
    }

    fn value<T: serde::de::DeserializeOwned>(&self, section: &str) -> Result<T, SavedError> {
        decode(section, self.file.frame()?.section(section, schema(section))?)
    }
}

/// Memory of a device, which does nothing meanwhile.
struct DeviceMemory<'a>(&'a Memory);

impl image::Memory for DeviceMemory<'_> {
    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read_pages(address, bytes).map_err(io::Error::other)
    }
}

impl Sink for DeviceMemory<'_> {
    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.fill_saved(address, bytes);
        Ok(())
    }

    fn map(&self, address: u64, part: Part<'_>) -> io::Result<bool> {
        self.0.map_saved(address..address + part.length, part.file, part.offset)
    }
}

/// Pages on their way to be compared.
#[derive(Default)]
struct Gathered(Mutex<Pages>);

impl Sink for Gathered {
    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().add(address, bytes);
        Ok(())
    }
}

fn threads() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}

fn decode<T: serde::de::DeserializeOwned>(section: &str, bytes: &[u8]) -> Result<T, SavedError> {
    codec::decode::<LIMIT, T>(bytes).map_err(|error| SavedError::Value { section: section.to_owned(), error })
}

//! Reads and writes the file of a saved run.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use functional::device::DeviceCounters;
use functional::memory::{Memory, MemoryState, Requests};
use functional::suspend::SuspendedLaunch;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use voltsim_checkpoint::atomic_file::Durability;
use voltsim_checkpoint::codec::{self, CodecError};
use voltsim_checkpoint::frame::{File, FileError, FileWriter};
use voltsim_checkpoint::image::{self, Image, ImageError, Region, Series, Sink};
use voltsim_checkpoint::journal::{JournalError, JournalReader, JournalWriter};

use crate::about::About;
use crate::pages::Pages;
use crate::section::{
    ABOUT, ALL, DEVICES, KERNELS, LAUNCH, REQUESTS, STEPS, Section, TURNS, memory_of, model_of, model_schema,
    version_of, version_of_model,
};
use crate::step::{Address, Step};
use crate::turns::Turns;

/// Most bytes of a section's values in memory.
pub(crate) const LIMIT: usize = 1 << 32;

/// Host memory registered with a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub size: u64,
}

/// A device at the point, except for memory contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceState {
    /// Number of the device.
    pub number: u64,
    /// Allocations.
    pub memory: MemoryState,
    /// All registrations so far, undone or not, by number.
    pub registered: BTreeMap<u64, Registration>,
    /// Counters left by launches.
    pub counters: DeviceCounters,
}

/// State of a device's timing model, in the model's format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelState {
    /// Version of the format.
    pub version: u32,
    /// Encoded state.
    pub bytes: Vec<u8>,
}

/// The launch that a point lies inside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BegunLaunch {
    /// Number of its device.
    pub device: u64,
    /// State of the launch.
    pub state: SuspendedLaunch,
    /// Output printed by the kernel.
    pub printed: Vec<u8>,
    /// Writes to memory that the host sees: addresses and bytes.
    pub written: Vec<(Address, Vec<u8>)>,
}

/// A run at a point.
#[derive(Clone, Copy, Debug)]
pub struct State<'a> {
    /// Origin.
    pub about: &'a About,
    /// The devices.
    pub devices: &'a [DeviceState],
    /// Memories of the devices, in the same order.
    pub memories: &'a [&'a Memory],
    /// Timing-model states by device.
    pub models: &'a BTreeMap<u64, ModelState>,
    /// Executed instructions by kernel.
    pub kernels: &'a BTreeMap<String, KernelCounts>,
    /// Launch in flight, if any.
    pub launch: Option<&'a BegunLaunch>,
    /// Order of calls among threads, as far as known.
    pub turns: &'a Turns,
    /// Allocation requests of API calls by device.
    pub requests: &'a BTreeMap<u64, Requests>,
}

/// Executed instructions of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelCounts {
    /// Launches.
    pub count: u64,
    /// Warp instructions.
    pub warp_instructions: u64,
    /// Lane instructions.
    pub lane_instructions: u64,
    /// Host time in seconds.
    pub seconds: f64,
}

/// An error of a saved run.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// Error of the file itself.
    #[error(transparent)]
    File(#[from] FileError),
    /// Error of a device's memory image.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// Other version of a section.
    #[error("{}", other_version(section, *found, *wanted))]
    Version {
        /// The section.
        section: String,
        /// Version found, if known.
        found: Option<u32>,
        /// Version supported.
        wanted: u32,
    },
    /// Malformed value.
    #[error("section {section}: {error}")]
    Value {
        /// The section.
        section: String,
        /// Error of the value.
        error: CodecError,
    },
    /// Error of the steps.
    #[error(transparent)]
    Steps(#[from] JournalError),
    /// Write error.
    #[error("{}: {error}", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

impl SavedError {
    /// Remedy for the user.
    pub fn remedy(&self) -> &'static str {
        match self {
            SavedError::File(error) => error.remedy().unwrap_or("Check that the path names a checkpoint"),
            SavedError::Image(error) => error.remedy().unwrap_or("Make the checkpoint again"),
            SavedError::Steps(error) => error.remedy().unwrap_or("Make the checkpoint again"),
            SavedError::Version { found: Some(found), wanted, .. } if found < wanted => CONVERT,
            SavedError::Version { .. } => "Use the Voltsim that wrote it",
            SavedError::Value { .. } => "Make the checkpoint again",
            SavedError::Write { .. } => "Check the folder, its permissions and the free disk space",
        }
    }
}

/// Remedy for files of older versions.
pub(crate) const CONVERT: &str = "Convert it with `voltsim checkpoint convert OLD -o NEW`";

fn other_version(section: &str, found: Option<u32>, wanted: u32) -> String {
    match found {
        Some(found) => {
            format!("section {section} has version {found}; this build reads version {wanted}")
        }
        None => format!("section {section} has an unknown version"),
    }
}

/// Writer of steps, used as they complete.
pub struct StepWriter {
    journal: JournalWriter,
}

impl StepWriter {
    /// Steps for checkpoints in a folder, where excess steps are kept in a temporary file.
    pub fn in_folder(folder: &Path) -> Result<StepWriter, SavedError> {
        let failed = |error| SavedError::Write { file: folder.to_owned(), error };
        if !folder.metadata().map_err(failed)?.is_dir() {
            return Err(failed(io::ErrorKind::NotADirectory.into()));
        }
        Ok(StepWriter { journal: JournalWriter::new(folder) })
    }

    /// Adds a step.
    pub fn push(&mut self, step: &Step) -> Result<(), SavedError> {
        Ok(self.journal.push(&encode(STEPS.name, step)?)?)
    }

    /// Adds the steps to a file.
    pub(crate) fn write_to(&mut self, writer: &mut FileWriter) -> Result<(), SavedError> {
        Ok(self.journal.write_as(writer, STEPS.name, STEPS.schema())?)
    }
}

pub(crate) fn encode<T: Serialize + ?Sized>(section: &str, value: &T) -> Result<Vec<u8>, SavedError> {
    codec::encode(value).map_err(|error| SavedError::Value { section: section.to_owned(), error })
}

/// Writes a saved run to a file, which appears when complete. With series, by device, the file
/// holds only pages that earlier files lack.
pub fn write(
    file: &Path,
    steps: &mut StepWriter,
    state: State<'_>,
    mut series: Option<&mut BTreeMap<u64, Series>>,
) -> Result<(), SavedError> {
    let State { about, devices, memories, models, kernels, launch, turns, requests } = state;
    let mut writer = FileWriter::create(file, sections(devices.len(), models.len()))?;
    write_values(&mut writer, (about, devices, kernels, launch, turns, requests), models)?;
    steps.write_to(&mut writer)?;
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

/// Number of a file's sections.
pub(crate) fn sections(devices: usize, models: usize) -> usize {
    ALL.len() + models + image::SECTIONS * devices
}

/// Values of a file other than steps, models and memories.
pub(crate) type Values<'a> = (
    &'a About,
    &'a [DeviceState],
    &'a BTreeMap<String, KernelCounts>,
    Option<&'a BegunLaunch>,
    &'a Turns,
    &'a BTreeMap<u64, Requests>,
);

/// Adds all sections except steps and memories.
pub(crate) fn write_values(
    writer: &mut FileWriter,
    (about, devices, kernels, launch, turns, requests): Values<'_>,
    models: &BTreeMap<u64, ModelState>,
) -> Result<(), SavedError> {
    for (section, bytes) in [
        (ABOUT, encode(ABOUT.name, about)?),
        (DEVICES, encode(DEVICES.name, devices)?),
        (KERNELS, encode(KERNELS.name, kernels)?),
        (LAUNCH, encode(LAUNCH.name, &launch)?),
        (TURNS, encode(TURNS.name, turns)?),
        (REQUESTS, encode(REQUESTS.name, requests)?),
    ] {
        writer.begin(section.name, section.schema())?;
        writer.append(&bytes)?;
    }
    for (device, model) in models {
        writer.begin(&model_of(*device), model_schema(model.version))?;
        writer.append(&model.bytes)?;
    }
    Ok(())
}

/// An open saved run.
#[derive(Debug)]
pub struct SavedRun {
    file: File,
}

impl SavedRun {
    /// Opens a file.
    pub fn open(file: &Path) -> Result<SavedRun, SavedError> {
        let file = File::open(file)?;
        for Section { name, version: wanted } in ALL {
            let found = version_of(&file, name);
            if file.length(name).is_some() && found != Some(wanted) {
                return Err(SavedError::Version { section: name.to_owned(), found, wanted });
            }
        }
        Ok(SavedRun { file })
    }

    /// Verifies every byte.
    pub fn verify(&self) -> Result<(), SavedError> {
        self.file.check()?;
        self.about()?;
        self.counts()?;
        self.launch()?;
        self.turns()?;
        self.requests()?;
        self.steps()?.try_for_each(|step| step.map(drop))?;
        for device in self.devices()? {
            self.model(device.number)?;
            Image::read(&self.file, &memory_of(device.number))?.check(threads())?;
        }
        Ok(())
    }

    /// Names and sizes of the sections.
    pub fn sections(&self) -> Result<Vec<(String, usize)>, SavedError> {
        let length = |name: &str| (name.to_owned(), self.file.length(name).unwrap_or(0));
        Ok(self.file.names().map(length).collect())
    }

    /// Files of the same folder that hold some of the pages.
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

    /// Origin of the run.
    pub fn about(&self) -> Result<About, SavedError> {
        self.value(ABOUT)
    }

    /// The devices.
    pub fn devices(&self) -> Result<Vec<DeviceState>, SavedError> {
        self.value(DEVICES)
    }

    /// State of a device's timing model, if there is one.
    pub fn model(&self, device: u64) -> Result<Option<ModelState>, SavedError> {
        model_in(&self.file, device)
    }

    /// Executed instructions by kernel.
    pub fn counts(&self) -> Result<BTreeMap<String, KernelCounts>, SavedError> {
        self.value(KERNELS)
    }

    /// Launch in flight, if any.
    pub fn launch(&self) -> Result<Option<BegunLaunch>, SavedError> {
        self.value(LAUNCH)
    }

    /// Order of calls among threads, as far as known.
    pub fn turns(&self) -> Result<Turns, SavedError> {
        match self.file.length(TURNS.name) {
            Some(_) => self.value(TURNS),
            None => Ok(Turns::default()),
        }
    }

    /// Allocation requests of API calls by device; a device without an entry is unknown.
    pub fn requests(&self) -> Result<BTreeMap<u64, Requests>, SavedError> {
        match self.file.length(REQUESTS.name) {
            Some(_) => self.value(REQUESTS),
            None => Ok(BTreeMap::new()),
        }
    }

    /// The steps, in the order of completion.
    pub fn steps(&self) -> Result<impl Iterator<Item = Result<Step, SavedError>> + '_, SavedError> {
        let journal = JournalReader::open_as(&self.file, STEPS.name, STEPS.schema())?;
        Ok(journal.map(|record| decode(STEPS.name, &record?)))
    }

    /// Loads the bytes of a device's memory.
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

    fn value<T: DeserializeOwned>(&self, section: Section) -> Result<T, SavedError> {
        decode(section.name, &self.file.section(section.name, section.schema())?)
    }
}

/// Timing-model state of a device, in a file with a section for it.
pub(crate) fn model_in(file: &File, device: u64) -> Result<Option<ModelState>, SavedError> {
    let section = model_of(device);
    if file.length(&section).is_none() {
        return Ok(None);
    }
    let Some(version) = version_of_model(file, device) else {
        return Err(SavedError::Version { section, found: None, wanted: 0 });
    };
    let bytes = file.section(&section, model_schema(version))?;
    Ok(Some(ModelState { version, bytes }))
}

/// Memory of an idle device.
struct DeviceMemory<'a>(&'a Memory);

impl image::ReadMemory for DeviceMemory<'_> {
    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read_pages(address, bytes).map_err(io::Error::other)
    }
}

impl Sink for DeviceMemory<'_> {
    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.fill_saved(address, bytes);
        Ok(())
    }
}

/// Collects pages for comparison.
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

pub(crate) fn decode<T: DeserializeOwned>(section: &str, bytes: &[u8]) -> Result<T, SavedError> {
    codec::decode::<LIMIT, T>(bytes).map_err(|error| SavedError::Value { section: section.to_owned(), error })
}

//! The file of a saved run, written and read.

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

/// Bytes that a section's values may take in memory.
pub(crate) const LIMIT: usize = 1 << 32;

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
}

/// What timed a device's launches, as that wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelState {
    /// Which version of it, by its own count.
    pub version: u32,
    /// Its bytes.
    pub bytes: Vec<u8>,
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
    /// What timed their launches, by number.
    pub models: &'a BTreeMap<u64, ModelState>,
    /// What launches have executed, by kernel.
    pub kernels: &'a BTreeMap<String, KernelCounts>,
    /// The launch that has begun, if one has.
    pub launch: Option<&'a BegunLaunch>,
    /// In which order threads have made calls, as far as it is known.
    pub turns: &'a Turns,
    /// What calls of the program have asked the devices for, by number.
    pub requests: &'a BTreeMap<u64, Requests>,
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
    /// The image of a device's memory.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A section is of another version.
    #[error("{}", other_version(section, *found, *wanted))]
    Version {
        /// The section.
        section: String,
        /// Its version, if it is known.
        found: Option<u32>,
        /// What it should be.
        wanted: u32,
    },
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
            SavedError::Image(error) => error.remedy().unwrap_or("Make the checkpoint anew"),
            SavedError::Steps(error) => error.remedy().unwrap_or("Make the checkpoint anew"),
            SavedError::Version { found: Some(found), wanted, .. } if found < wanted => CONVERT,
            SavedError::Version { .. } => "Use the Voltsim that has written it",
            SavedError::Value { .. } => "Make the checkpoint anew",
            SavedError::Write { .. } => "Check the folder, its permissions and the room on its disk",
        }
    }
}

/// What brings files of before to this build.
pub(crate) const CONVERT: &str = "Bring it forward by `voltsim checkpoint convert OLD -o NEW`";

fn other_version(section: &str, found: Option<u32>, wanted: u32) -> String {
    match found {
        Some(found) => {
            format!("section {section} has version {found}, and this build of Voltsim has {wanted}")
        }
        None => format!("section {section} has no version that this build of Voltsim knows"),
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
        Ok(self.journal.push(&encode(STEPS.name, step)?)?)
    }

    /// Adds them to a file.
    pub(crate) fn write_to(&mut self, writer: &mut FileWriter) -> Result<(), SavedError> {
        Ok(self.journal.write_as(writer, STEPS.name, STEPS.schema())?)
    }
}

pub(crate) fn encode<T: Serialize + ?Sized>(section: &str, value: &T) -> Result<Vec<u8>, SavedError> {
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

/// Sections of a file.
pub(crate) fn sections(devices: usize, models: usize) -> usize {
    ALL.len() + models + image::SECTIONS * devices
}

/// What is in a file beside steps, models and memories.
pub(crate) type Values<'a> = (
    &'a About,
    &'a [DeviceState],
    &'a BTreeMap<String, KernelCounts>,
    Option<&'a BegunLaunch>,
    &'a Turns,
    &'a BTreeMap<u64, Requests>,
);

/// Adds all sections but for steps and memories.
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

/// A saved run.
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

    /// Checks every byte.
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

    /// Names of the sections, and their bytes.
    pub fn sections(&self) -> Result<Vec<(String, usize)>, SavedError> {
        let length = |name: &str| (name.to_owned(), self.file.length(name).unwrap_or(0));
        Ok(self.file.names().map(length).collect())
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

    /// What timed a device's launches, if anything did.
    pub fn model(&self, device: u64) -> Result<Option<ModelState>, SavedError> {
        model_in(&self.file, device)
    }

    /// What launches have executed, by kernel.
    pub fn counts(&self) -> Result<BTreeMap<String, KernelCounts>, SavedError> {
        self.value(KERNELS)
    }

    /// The launch that has begun, if one has.
    pub fn launch(&self) -> Result<Option<BegunLaunch>, SavedError> {
        self.value(LAUNCH)
    }

    /// In which order threads have made calls, as far as it is known.
    pub fn turns(&self) -> Result<Turns, SavedError> {
        match self.file.length(TURNS.name) {
            Some(_) => self.value(TURNS),
            None => Ok(Turns::default()),
        }
    }

    /// What calls of the program had asked the devices for, by number; nothing of a device if that is not known.
    pub fn requests(&self) -> Result<BTreeMap<u64, Requests>, SavedError> {
        match self.file.length(REQUESTS.name) {
            Some(_) => self.value(REQUESTS),
            None => Ok(BTreeMap::new()),
        }
    }

    /// The steps, in the order in which they were done.
    pub fn steps(&self) -> Result<impl Iterator<Item = Result<Step, SavedError>> + '_, SavedError> {
        let journal = JournalReader::open_as(&self.file, STEPS.name, STEPS.schema())?;
        Ok(journal.map(|record| decode(STEPS.name, &record?)))
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

    fn value<T: DeserializeOwned>(&self, section: Section) -> Result<T, SavedError> {
        decode(section.name, &self.file.section(section.name, section.schema())?)
    }
}

/// What timed a device's launches, in a file that has it apart from the devices.
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

pub(crate) fn decode<T: DeserializeOwned>(section: &str, bytes: &[u8]) -> Result<T, SavedError> {
    codec::decode::<LIMIT, T>(bytes).map_err(|error| SavedError::Value { section: section.to_owned(), error })
}

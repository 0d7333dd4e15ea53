//! Converts saved runs of another build or older versions to files that this build resumes.
//!
//! Sections of older versions are converted one by one (`versions.rs`); the others are copied.
//! Memory, allocations, steps and counts mean the same in every build. CTAs in flight do not: their
//! registers and code positions depend on the build, so they are rejected. The timing-model state
//! follows the model's own version. The origin stays, except for the build.

mod error;
mod series;
mod versions;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use functional::memory::Requests;
use serde::de::DeserializeOwned;
use voltsim_checkpoint::atomic_file::{Durability, folder_of};
use voltsim_checkpoint::codec::CodecError;
use voltsim_checkpoint::frame::{File, FileWriter, Index, TableHash};
use voltsim_checkpoint::image;
use voltsim_checkpoint::journal::JournalReader;

pub use error::ConvertError;
pub use series::convert_series;

use crate::about::About;
use crate::file::{
    BegunLaunch, DeviceState, KernelCounts, ModelState, SavedError, StepWriter, Values, decode, model_in,
    sections, write_values,
};
use crate::section::{
    ABOUT, ALL, DEVICES, KERNELS, LAST_COMMON, LAUNCH, OPTIONAL, REQUESTS, STEPS, Section, TURNS, memory_of,
    schema, version_of,
};
use crate::step::{Digest, Step};
use crate::turns::Turns;

/// The build that will resume a file.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// Voltsim version.
    pub voltsim: &'a str,
    /// Digest of the library.
    pub engine: Digest,
    /// Version of the timing-model state.
    pub model: u32,
    /// Validates the bytes of such a state.
    pub check_model: fn(&[u8]) -> Result<(), String>,
    /// True to drop states of other versions.
    pub cold: bool,
}

/// Report of a conversion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// Version and library of the file's previous build, if it differs.
    pub build: Option<(String, Digest)>,
    /// Converted sections with old and new version.
    pub sections: Vec<(&'static str, Range<u32>)>,
    /// Devices whose timing-model state was dropped, with its version.
    pub left_out: Vec<(u64, u32)>,
    /// Base files whose pages the new file includes.
    pub included: usize,
}

impl Converted {
    /// True if nothing had to be converted.
    pub fn is_as_before(&self) -> bool {
        *self == Converted::default()
    }
}

/// Converts a file to a new, self-contained one, which appears when complete.
///
/// # Errors
/// The old file is unreadable, damaged, or not resumable by this build, or the new one cannot be
/// written. An existing file of the new name stays.
pub fn convert(old: &Path, new: &Path, target: &Target<'_>) -> Result<Converted, ConvertError> {
    let identity = |path: &Path| fs::metadata(path).map(|data| (data.dev(), data.ino())).ok();
    if identity(old).is_some_and(|old| identity(new) == Some(old)) {
        return Err(ConvertError::SameFile);
    }
    Ok(Old::open(old)?.convert(new, target, &HashMap::new())?.0)
}

/// A file to convert.
struct Old {
    file: File,
    /// Version of each section.
    versions: BTreeMap<&'static str, u32>,
    about: About,
    devices: Vec<DeviceState>,
    models: BTreeMap<u64, ModelState>,
}

impl Old {
    /// Opens a file and verifies it, except for pages in base files.
    fn open(path: &Path) -> Result<Old, ConvertError> {
        let file = File::open(path).map_err(SavedError::from)?;
        file.check().map_err(SavedError::from)?;
        let mut versions = BTreeMap::new();
        for section in ALL.into_iter().filter(|section| has(&file, *section)) {
            versions.insert(section.name, convertible(version_of(&file, section.name), section)?);
        }
        let about = value(&file, &versions, ABOUT)?;
        let devices: Vec<DeviceState> = value(&file, &versions, DEVICES)?;
        let models = models(&file, &versions, &devices)?;
        Ok(Old { file, versions, about, devices, models })
    }

    fn value<T: DeserializeOwned>(&self, section: Section) -> Result<T, ConvertError> {
        value(&self.file, &self.versions, section)
    }

    /// Value of a section, or the default without one.
    fn optional<T: DeserializeOwned + Default>(&self, section: Section) -> Result<T, ConvertError> {
        let is_there = self.versions.contains_key(section.name);
        if is_there { self.value(section) } else { Ok(T::default()) }
    }

    /// Writes the new file. Base files in `renewed` stay referenced by their new hashes.
    fn convert(
        mut self,
        new: &Path,
        target: &Target<'_>,
        renewed: &HashMap<TableHash, TableHash>,
    ) -> Result<(Converted, TableHash), ConvertError> {
        let launch = self.value::<Option<BegunLaunch>>(LAUNCH)?;
        let mut converted = Converted { build: self.other_build(target), ..Converted::default() };
        if let Some(launch) = &launch {
            self.check_launch(launch, &converted)?;
        }
        converted.left_out = self.leave_out_models(target, launch.as_ref())?;
        let older = ALL.iter().map(|section| (section.name, self.version(*section)..section.version));
        converted.sections = older.filter(|(_, versions)| !versions.is_empty()).collect();
        let bases = series::bases_of(&self.file)?;
        converted.included = bases.iter().filter(|base| !renewed.contains_key(&base.hash)).count();
        let kernels = self.value::<BTreeMap<String, KernelCounts>>(KERNELS)?;
        let mut steps = self.steps(folder_of(new))?;
        if converted.is_as_before() && bases.iter().all(|base| renewed.get(&base.hash) == Some(&base.hash)) {
            self.file.copy_to(new, Durability::Synced).map_err(SavedError::from)?;
            return Ok((converted, self.file.hash()));
        }
        target.voltsim.clone_into(&mut self.about.voltsim);
        self.about.engine = target.engine;
        let turns = self.optional::<Turns>(TURNS)?;
        let requests = self.optional::<BTreeMap<u64, Requests>>(REQUESTS)?;
        let values = (&self.about, self.devices.as_slice(), &kernels, launch.as_ref(), &turns, &requests);
        let hash = self.write(new, values, &mut steps, renewed)?;
        Ok((converted, hash))
    }

    fn version(&self, section: Section) -> u32 {
        self.versions.get(section.name).copied().unwrap_or(section.version)
    }

    /// Build of the file, if it is not the target.
    fn other_build(&self, target: &Target<'_>) -> Option<(String, Digest)> {
        let is_other = (self.about.voltsim.as_str(), self.about.engine) != (target.voltsim, target.engine);
        is_other.then(|| (self.about.voltsim.clone(), self.about.engine))
    }

    /// Rejects a launch in flight in another build.
    fn check_launch(&self, launch: &BegunLaunch, converted: &Converted) -> Result<(), ConvertError> {
        let is_under_way = launch.state.is_timed() || launch.state.ctas_started() > 0;
        if converted.build.is_some() && is_under_way {
            let (kernel, number) = (launch.state.kernel().to_owned(), self.about.point.kernel);
            return Err(ConvertError::Begun { kernel, number });
        }
        Ok(())
    }

    /// Drops timing-model states that this build cannot continue, if permitted, and returns their
    /// versions.
    fn leave_out_models(
        &mut self,
        target: &Target<'_>,
        launch: Option<&BegunLaunch>,
    ) -> Result<Vec<(u64, u32)>, ConvertError> {
        let mut left_out = Vec::new();
        for (&device, ModelState { version, bytes }) in &self.models {
            let is_of_version = *version == target.model;
            let checked = if is_of_version { (target.check_model)(bytes) } else { Ok(()) };
            // A launch in flight in the model needs its state.
            let may_go = target.cold && launch.is_none_or(|launch| !launch.state.is_timed());
            match checked {
                Ok(()) if is_of_version => {}
                _ if may_go => left_out.push((device, *version)),
                Ok(()) => {
                    return Err(ConvertError::Model { device, found: *version, wanted: target.model });
                }
                Err(reason) => return Err(ConvertError::ModelState { device, reason }),
            }
        }
        self.models.retain(|device, _| left_out.iter().all(|(left, _)| left != device));
        Ok(left_out)
    }

    /// Converted steps.
    fn steps(&self, folder: &Path) -> Result<StepWriter, ConvertError> {
        let version = self.version(STEPS);
        let mut steps = StepWriter::in_folder(folder)?;
        let records = JournalReader::open_as(&self.file, STEPS.name, schema(STEPS.name, version));
        for record in records.map_err(SavedError::from)? {
            let record = record.map_err(SavedError::from)?;
            let step: Step = forward(STEPS, version, &record)?;
            steps.push(&step)?;
        }
        Ok(steps)
    }

    fn write(
        &self,
        new: &Path,
        values: Values<'_>,
        steps: &mut StepWriter,
        renewed: &HashMap<TableHash, TableHash>,
    ) -> Result<TableHash, ConvertError> {
        let count = sections(self.devices.len(), self.models.len());
        let mut writer = FileWriter::create(new, count).map_err(SavedError::from)?;
        write_values(&mut writer, values, &self.models)?;
        steps.write_to(&mut writer)?;
        for device in &self.devices {
            let copied = image::copy(&mut writer, &self.file, &memory_of(device.number), renewed);
            copied.map_err(SavedError::from)?;
        }
        Ok(writer.finish(Durability::Synced).map_err(SavedError::from)?.hash)
    }
}

/// True if a file has a section, or must have it.
fn has(index: &Index, section: Section) -> bool {
    !OPTIONAL.contains(&section) || index.length(section.name).is_some()
}

/// Version of a section, if convertible.
fn convertible(found: Option<u32>, section: Section) -> Result<u32, ConvertError> {
    let oldest = versions::oldest(section);
    match found {
        Some(found) if (oldest..=section.version).contains(&found) => Ok(found),
        Some(found) if found < oldest => Err(ConvertError::TooOld { section: section.name, found, oldest }),
        found => {
            let wanted = section.version;
            Err(SavedError::Version { section: section.name.to_owned(), found, wanted }.into())
        }
    }
}

/// Converted section with a single value.
fn value<T: DeserializeOwned>(
    file: &File,
    versions: &BTreeMap<&'static str, u32>,
    section: Section,
) -> Result<T, ConvertError> {
    let version = versions.get(section.name).copied().unwrap_or(section.version);
    forward(section, version, &bytes(file, section, version)?)
}

fn bytes(file: &File, section: Section, version: u32) -> Result<Vec<u8>, ConvertError> {
    Ok(file.section(section.name, schema(section.name, version)).map_err(SavedError::from)?)
}

/// Converts a value from a section's version.
fn forward<T: DeserializeOwned>(section: Section, version: u32, bytes: &[u8]) -> Result<T, ConvertError> {
    let bytes = versions::bring(section, version..section.version, bytes);
    Ok(decode(section.name, &bytes.map_err(of_section(section))?)?)
}

fn of_section(section: Section) -> impl Fn(CodecError) -> SavedError {
    move |error| SavedError::Value { section: section.name.to_owned(), error }
}

/// Timing-model states by device. Older files hold them in the devices section, under the common
/// version.
fn models(
    file: &File,
    versions: &BTreeMap<&'static str, u32>,
    devices: &[DeviceState],
) -> Result<BTreeMap<u64, ModelState>, ConvertError> {
    let version = versions.get(DEVICES.name).copied().unwrap_or(DEVICES.version);
    if version > LAST_COMMON {
        let found = devices.iter().map(|device| Ok((device.number, model_in(file, device.number)?)));
        let found: Vec<_> = found.collect::<Result<_, SavedError>>()?;
        return Ok(found.into_iter().filter_map(|(device, model)| Some((device, model?))).collect());
    }
    let common = versions::bring(DEVICES, version..LAST_COMMON, &bytes(file, DEVICES, version)?);
    let models = common.and_then(|devices| versions::models(&devices)).map_err(of_section(DEVICES))?;
    Ok(models.into_iter().map(|(device, bytes)| (device, ModelState { version, bytes })).collect())
}

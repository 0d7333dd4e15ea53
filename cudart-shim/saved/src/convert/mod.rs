//! Saved runs of another build, or of older versions, as files that a build resumes.
//!
//! What is of an older version is brought forward section by section (`versions.rs`), what is not is carried over. Memory,
//! allocations, steps and counts are the same whichever build reads them. What CTAs hold that have begun is not: it lies in registers and
//! at places of code as one build has bound it, and so is refused. The timing model's state goes by the version that the model
//! keeps. Whose the run is stays as it is, but for the build.

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
    model_of, schema, version_of,
};
use crate::step::{Digest, Step};
use crate::turns::Turns;

/// The build that is to resume a file.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// Its version of Voltsim.
    pub voltsim: &'a str,
    /// Of its library.
    pub engine: Digest,
    /// The version of its timing model's state.
    pub model: u32,
    /// Whether bytes of that version are a state of the timing model.
    pub check_model: fn(&[u8]) -> Result<(), CodecError>,
    /// Whether states of timing models of other versions are left out.
    pub cold: bool,
}

/// What has become of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// Version of Voltsim and library of the other build that it was of.
    pub build: Option<(String, Digest)>,
    /// Sections that were of older versions: these, and those that they have now.
    pub sections: Vec<(&'static str, Range<u32>)>,
    /// Devices whose timing model's state was left out, and its version.
    pub left_out: Vec<(u64, u32)>,
    /// Files of before whose pages are in the new file.
    pub included: usize,
}

impl Converted {
    /// Was nothing to be done?
    pub fn is_as_before(&self) -> bool {
        *self == Converted::default()
    }
}

/// Converts a file to a new one, which is whole when it appears and needs no others.
///
/// # Errors
/// The file cannot be read, is damaged, or has what this build cannot go on from; or the new one cannot be written. What had its name
/// is there still.
pub fn convert(old: &Path, new: &Path, target: &Target<'_>) -> Result<Converted, ConvertError> {
    let identity = |path: &Path| fs::metadata(path).map(|data| (data.dev(), data.ino())).ok();
    if identity(old).is_some_and(|old| identity(new) == Some(old)) {
        return Err(ConvertError::SameFile);
    }
    Ok(Old::open(old)?.convert(new, target, &HashMap::new())?.0)
}

/// A file that is to be converted.
struct Old {
    file: File,
    /// The version of each section.
    versions: BTreeMap<&'static str, u32>,
    about: About,
    devices: Vec<DeviceState>,
    models: BTreeMap<u64, ModelState>,
}

impl Old {
    /// Opens a file and checks all of its bytes, but for pages in files of before.
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

    /// What is in a section, or nothing where there is none.
    fn optional<T: DeserializeOwned + Default>(&self, section: Section) -> Result<T, ConvertError> {
        let is_there = self.versions.contains_key(section.name);
        if is_there { self.value(section) } else { Ok(T::default()) }
    }

    /// Writes the new file, which refers to files of before that are in `renewed`, by the hash that they have now.
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

    /// The build that has made it, if that is not the one that is to resume it.
    fn other_build(&self, target: &Target<'_>) -> Option<(String, Digest)> {
        let is_other = (self.about.voltsim.as_str(), self.about.engine) != (target.voltsim, target.engine);
        is_other.then(|| (self.about.voltsim.clone(), self.about.engine))
    }

    /// Refuses a launch that was under way in another build.
    fn check_launch(&self, launch: &BegunLaunch, converted: &Converted) -> Result<(), ConvertError> {
        let is_under_way = launch.state.is_timed() || launch.state.ctas_started() > 0;
        if converted.build.is_some() && is_under_way {
            let (kernel, number) = (launch.state.kernel().to_owned(), self.about.point.kernel);
            return Err(ConvertError::Begun { kernel, number });
        }
        Ok(())
    }

    /// Leaves out states of timing models that this build's cannot go on from, if it may; gives them with their versions.
    fn leave_out_models(
        &mut self,
        target: &Target<'_>,
        launch: Option<&BegunLaunch>,
    ) -> Result<Vec<(u64, u32)>, ConvertError> {
        let mut left_out = Vec::new();
        for (&device, ModelState { version, bytes }) in &self.models {
            let is_of_version = *version == target.model;
            let checked = if is_of_version { (target.check_model)(bytes) } else { Ok(()) };
            // A launch that is under way in the model needs it.
            let may_go = target.cold && launch.is_none_or(|launch| !launch.state.is_timed());
            match checked {
                Ok(()) if is_of_version => {}
                _ if may_go => left_out.push((device, *version)),
                Ok(()) => {
                    return Err(ConvertError::Model { device, found: *version, wanted: target.model });
                }
                Err(error) => return Err(SavedError::Value { section: model_of(device), error }.into()),
            }
        }
        self.models.retain(|device, _| left_out.iter().all(|(left, _)| left != device));
        Ok(left_out)
    }

    /// The steps, brought forward.
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

/// Whether a file has a section, or should.
fn has(index: &Index, section: Section) -> bool {
    !OPTIONAL.contains(&section) || index.length(section.name).is_some()
}

/// The version of a section, if it can be brought forward.
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

/// A section that is one value, brought forward.
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

/// A value of a section's version, as it is today.
fn forward<T: DeserializeOwned>(section: Section, version: u32, bytes: &[u8]) -> Result<T, ConvertError> {
    let bytes = versions::bring(section, version..section.version, bytes);
    Ok(decode(section.name, &bytes.map_err(of_section(section))?)?)
}

fn of_section(section: Section) -> impl Fn(CodecError) -> SavedError {
    move |error| SavedError::Value { section: section.name.to_owned(), error }
}

/// The states of timing models by device. They were among the devices, and of the version that all sections had, once.
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

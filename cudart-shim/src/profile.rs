//! Device profiles: the device that a program sees, chosen by `VOLTSIM_DEVICE=NAME|FILE.toml`.
//!
//! A profile lists attributes under their CUDA names, so a new attribute needs no code. A file may
//! start from another profile with `base` and override values. `[libraries."libcudnn.so"]`
//! overrides attributes for one library, by file name prefix. `VOLTSIM_DEVICE=auto` leaves the
//! choice to [`auto`].

mod auto;

pub(crate) use auto::fitting;

use crate::host::caller::calling_file;
use crate::host::environment;
use crate::session::model;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

include!(concat!(env!("OUT_DIR"), "/attributes.rs"));

#[path = "../profiles/built_in.rs"]
mod built_in;
use built_in::BUILT_IN;

/// Longest chain of bases.
const MAX_BASES: usize = 8;

/// Error of a profile.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProfileError {
    #[error("unknown device profile `{name}`: must be {known}, auto, or a file ending in .toml", known = known_names())]
    Unknown { name: String },
    #[error("{}: {error}", path.display())]
    Read { path: PathBuf, error: std::io::Error },
    #[error("{file}: {error}")]
    Malformed { file: String, error: Box<toml::de::Error> },
    #[error("{file}: {key}: {message}")]
    Value { file: String, key: String, message: String },
    #[error("{file}: the chain of bases is longer than {MAX_BASES} profiles")]
    TooManyBases { file: String },
}

/// Allocation rules of a multiprocessor's registers and shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OccupancyUnits {
    /// Allocation granularity of a warp's registers.
    pub(crate) register_allocation_unit: u32,
    /// Rounding of a CTA's warps for register allocation.
    pub(crate) warp_allocation_granularity: u32,
    /// Allocation granularity of a CTA's shared memory in bytes.
    pub(crate) shared_memory_allocation_unit: u32,
    /// Register limit of a thread.
    pub(crate) max_registers_per_thread: u32,
}

/// NVML values that the CUDA API lacks; none is simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Management {
    /// Power limit in milliwatts.
    pub(crate) power_limit: u32,
    /// Reported power draw in milliwatts.
    pub(crate) power_usage: u32,
    /// Degrees Celsius.
    pub(crate) temperature: u32,
}

/// A device as the API describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Profile {
    /// `NVIDIA TITAN V`.
    pub(crate) name: String,
    /// Bytes of device memory.
    pub(crate) total_memory: u64,
    /// CUDA version of the driver: 1000 × major + 10 × minor.
    pub(crate) driver_version: i32,
    /// How occupancy is computed.
    pub(crate) occupancy: OccupancyUnits,
    /// Further NVML values.
    pub(crate) management: Management,
    attributes: BTreeMap<Attribute, i32>,
    /// Attribute overrides for libraries, by file name prefix.
    libraries: BTreeMap<String, BTreeMap<Attribute, i32>>,
    /// Ordinal of the device.
    ordinal: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    base: Option<String>,
    name: Option<String>,
    total_memory: Option<u64>,
    driver_version: Option<String>,
    #[serde(default)]
    occupancy: OccupancyTable,
    management: Option<Management>,
    #[serde(default)]
    attributes: BTreeMap<String, i32>,
    #[serde(default)]
    libraries: BTreeMap<String, BTreeMap<String, i32>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct OccupancyTable {
    register_allocation_unit: Option<u32>,
    warp_allocation_granularity: Option<u32>,
    shared_memory_allocation_unit: Option<u32>,
    max_registers_per_thread: Option<u32>,
}

fn known_names() -> String {
    BUILT_IN.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

impl Profile {
    /// Profile named by `VOLTSIM_DEVICE`, else the default.
    pub(crate) fn from_environment() -> Result<Self, ProfileError> {
        Self::load(&Self::chosen())
    }

    /// Name or file of the profile: from `VOLTSIM_DEVICE` or its automatic choice, else of the
    /// modelled GPU, else the default.
    pub(crate) fn chosen() -> String {
        let named = environment::text("VOLTSIM_DEVICE");
        if named.as_deref() == Some(auto::NAME) {
            return auto::chosen().to_owned();
        }
        let modelled = || model::gpu_name().filter(|gpu| BUILT_IN.iter().any(|(known, _)| known == gpu));
        named.unwrap_or_else(|| modelled().unwrap_or("titan-v").to_owned())
    }

    /// Built-in profile by name, or the file at a path.
    pub(crate) fn load(name: &str) -> Result<Self, ProfileError> {
        let mut files = vec![read(name)?];
        while let Some(base) = files.last().and_then(|(_, file)| file.base.clone()) {
            if files.len() > MAX_BASES {
                return Err(ProfileError::TooManyBases { file: name.to_owned() });
            }
            files.push(read(&base)?);
        }
        // The base is read first; later files override it.
        let (base, file) = files.pop().ok_or_else(|| ProfileError::Unknown { name: name.to_owned() })?;
        let mut profile = Self::complete(&base, &file)?;
        for (file_name, file) in files.iter().rev() {
            profile.change(file_name, file)?;
        }
        Ok(profile)
    }

    fn complete(name: &str, file: &File) -> Result<Self, ProfileError> {
        let missing = |key: &str| value_error(name, key, "the value is missing, and the profile has no base");
        let occupancy = OccupancyUnits {
            register_allocation_unit: 1,
            warp_allocation_granularity: 1,
            shared_memory_allocation_unit: 1,
            max_registers_per_thread: 255,
        };
        let mut profile = Self {
            ordinal: 0,
            name: file.name.clone().ok_or_else(|| missing("name"))?,
            total_memory: file.total_memory.ok_or_else(|| missing("total_memory"))?,
            driver_version: 0,
            occupancy,
            management: Management::default(),
            attributes: BTreeMap::new(),
            libraries: BTreeMap::new(),
        };
        file.driver_version.as_ref().ok_or_else(|| missing("driver_version"))?;
        profile.change(name, file)?;
        for attribute in [Attribute::WarpSize, Attribute::MultiprocessorCount, Attribute::MaxThreadsPerBlock]
        {
            if profile.attribute(attribute) <= 0 {
                return Err(value_error(
                    name,
                    &format!("attributes.{}", name_of(attribute)),
                    "must be above 0",
                ));
            }
        }
        Ok(profile)
    }

    fn change(&mut self, name: &str, file: &File) -> Result<(), ProfileError> {
        if let Some(device) = &file.name {
            if device.len() > 255 {
                return Err(value_error(name, "name", "longer than 255 bytes"));
            }
            self.name.clone_from(device);
        }
        self.total_memory = file.total_memory.unwrap_or(self.total_memory);
        if let Some(version) = &file.driver_version {
            let message = "must be a CUDA version such as \"13.5\"";
            self.driver_version =
                parse_version(version).ok_or_else(|| value_error(name, "driver_version", message))?;
        }
        self.management = file.management.unwrap_or(self.management);
        let given = &file.occupancy;
        let units = &mut self.occupancy;
        for (key, unit, given) in [
            ("register_allocation_unit", &mut units.register_allocation_unit, given.register_allocation_unit),
            (
                "warp_allocation_granularity",
                &mut units.warp_allocation_granularity,
                given.warp_allocation_granularity,
            ),
            (
                "shared_memory_allocation_unit",
                &mut units.shared_memory_allocation_unit,
                given.shared_memory_allocation_unit,
            ),
            ("max_registers_per_thread", &mut units.max_registers_per_thread, given.max_registers_per_thread),
        ] {
            *unit = given.unwrap_or(*unit);
            if *unit == 0 {
                return Err(value_error(name, &format!("occupancy.{key}"), "must be above 0"));
            }
        }
        self.attributes.extend(parse_attributes(name, "attributes", &file.attributes)?);
        for (library, attributes) in &file.libraries {
            let attributes = parse_attributes(name, &format!("libraries.{library}"), attributes)?;
            self.libraries.entry(library.clone()).or_default().extend(attributes);
        }
        Ok(())
    }

    /// Value of an attribute; 0 if the profile lacks it.
    pub(crate) fn attribute(&self, attribute: Attribute) -> i32 {
        self.attributes.get(&attribute).copied().unwrap_or(0)
    }

    /// Value of an attribute that is a size or a count.
    pub(crate) fn amount(&self, attribute: Attribute) -> u32 {
        u32::try_from(self.attribute(attribute)).unwrap_or(0)
    }

    /// Value of an attribute by number; `None` for an unknown number.
    pub(crate) fn attribute_by_number(&self, number: i32) -> Option<i32> {
        let number = u32::try_from(number).ok()?;
        let index = ATTRIBUTES.binary_search_by_key(&number, |(attribute, _)| *attribute as u32).ok()?;
        ATTRIBUTES.get(index).map(|(attribute, _)| self.attribute(*attribute))
    }

    /// Value of an attribute by number, with overrides for the calling library.
    pub(crate) fn attribute_for_caller(&self, number: i32) -> Option<i32> {
        let of = |(told, value): (&Attribute, &i32)| (*told as i32 == number).then_some(*value);
        let mut told =
            self.libraries.iter().filter_map(|(file, told)| Some((file, told.iter().find_map(of)?)));
        let first = told.next();
        let caller = first.and_then(|_| calling_file());
        let is_caller = |(file, _): &(&String, i32)| {
            let name = caller.as_deref().and_then(|caller| caller.rsplit('/').next());
            name.is_some_and(|name| name.starts_with(file.as_str()))
        };
        let found = first.into_iter().chain(told).find(is_caller);
        found.map(|(_, value)| value).or_else(|| self.attribute_by_number(number))
    }

    /// Profile for a device's ordinal, with its own PCI bus number.
    pub(crate) fn numbered(mut self, ordinal: usize) -> Self {
        let bus = self.attribute(Attribute::PciBusId).saturating_add(i32::try_from(ordinal).unwrap_or(0));
        if ordinal > 0 {
            self.attributes.insert(Attribute::PciBusId, bus);
        }
        self.ordinal = ordinal;
        self
    }

    /// Profile of the process's first device, for values common to all.
    pub(crate) fn of_first(&self) -> Self {
        let mut first = self.clone();
        let bus = self.attribute(Attribute::PciBusId) - i32::try_from(self.ordinal).unwrap_or(0);
        if self.ordinal > 0 {
            first.attributes.insert(Attribute::PciBusId, bus);
        }
        first.ordinal = 0;
        first
    }

    /// Profile with `count` multiprocessors.
    pub(crate) fn with_multiprocessors(mut self, count: u32) -> Self {
        let count = i32::try_from(count).unwrap_or(i32::MAX);
        self.attributes.insert(Attribute::MultiprocessorCount, count);
        self
    }

    /// Ordinal among all devices.
    pub(crate) fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// 16 bytes that identify the device, derived from name and ordinal.
    pub(crate) fn uuid(&self) -> [u8; 16] {
        let half = |seed: u64| {
            self.name
                .bytes()
                .fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
        };
        let value = (u128::from(half(0xcbf2_9ce4_8422_2325)) << 64) | u128::from(half(0x6c62_272e_07bb_0142));
        value.wrapping_add(self.ordinal as u128).to_be_bytes()
    }

    /// `GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`.
    pub(crate) fn uuid_text(&self) -> String {
        let hex: String = self.uuid().iter().map(|byte| format!("{byte:02x}")).collect();
        let (a, rest) = hex.split_at(8);
        let (b, rest) = rest.split_at(4);
        let (c, rest) = rest.split_at(4);
        let (d, e) = rest.split_at(4);
        format!("GPU-{a}-{b}-{c}-{d}-{e}")
    }
}

fn parse_attributes(
    file: &str,
    table: &str,
    given: &BTreeMap<String, i32>,
) -> Result<BTreeMap<Attribute, i32>, ProfileError> {
    let parse = |(key, value): (&String, &i32)| {
        let known = ATTRIBUTES.iter().find(|(_, attribute)| attribute == key);
        let missing = || value_error(file, &format!("{table}.{key}"), "unknown device attribute");
        known.map(|(attribute, _)| (*attribute, *value)).ok_or_else(missing)
    };
    given.iter().map(parse).collect()
}

fn name_of(attribute: Attribute) -> &'static str {
    ATTRIBUTES.iter().find(|(known, _)| *known == attribute).map_or("?", |(_, name)| name)
}

fn value_error(file: &str, key: &str, message: &str) -> ProfileError {
    ProfileError::Value { file: file.to_owned(), key: key.to_owned(), message: message.to_owned() }
}

fn parse_version(text: &str) -> Option<i32> {
    let (major, minor) = text.split_once('.')?;
    let (major, minor): (i32, i32) = (major.parse().ok()?, minor.parse().ok()?);
    ((1..100).contains(&major) && (0..100).contains(&minor)).then(|| major * 1000 + minor * 10)
}

fn read(name: &str) -> Result<(String, File), ProfileError> {
    let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
    let text = match built_in {
        Some((_, text)) => (*text).to_owned(),
        None if name.ends_with(".toml") => std::fs::read_to_string(name)
            .map_err(|error| ProfileError::Read { path: PathBuf::from(name), error })?,
        None => return Err(ProfileError::Unknown { name: name.to_owned() }),
    };
    let file = toml::from_str(&text)
        .map_err(|error| ProfileError::Malformed { file: name.to_owned(), error: Box::new(error) })?;
    Ok((name.to_owned(), file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn load_text(text: &str) -> Result<Profile, String> {
        let mut file =
            tempfile::Builder::new().suffix(".toml").tempfile().map_err(|error| error.to_string())?;
        file.write_all(text.as_bytes()).map_err(|error| error.to_string())?;
        Profile::load(&file.path().to_string_lossy()).map_err(|error| error.to_string())
    }

    #[test]
    fn every_built_in_profile_loads() {
        for (name, _) in BUILT_IN {
            assert!(Profile::load(name).is_ok(), "{name}: {:?}", Profile::load(name));
        }
    }

    #[test]
    fn the_default_is_a_titan_v() {
        let profile = Profile::load("titan-v").unwrap();
        let capability = (Attribute::ComputeCapabilityMajor, Attribute::ComputeCapabilityMinor);
        assert_eq!((profile.attribute(capability.0), profile.attribute(capability.1)), (7, 0));
        assert_eq!(profile.attribute_by_number(16), Some(80));
        assert_eq!(profile.attribute_by_number(100_000), None);
        assert_eq!(profile.driver_version, 13_050);
    }

    #[test]
    fn profile_file_overrides_only_its_values() {
        let profile = load_text("base = \"titan-v\"\n[attributes]\nmultiprocessor_count = 4\n").unwrap();
        assert_eq!(profile.attribute(Attribute::MultiprocessorCount), 4);
        assert_eq!(profile.attribute(Attribute::WarpSize), 32);
        assert_eq!(profile.name, "NVIDIA TITAN V");
    }

    #[test]
    fn library_sees_its_overrides() {
        let own = std::env::current_exe().unwrap();
        let own = own.file_name().unwrap().to_str().unwrap();
        let profile = |library: &str| {
            let told = format!("[libraries.{library:?}]\nmultiprocessor_count = 3\n");
            load_text(&format!("base = \"titan-v\"\n{told}")).unwrap()
        };
        let number = Attribute::MultiprocessorCount as i32;
        // The test's caller is the C library that started its thread, or the program itself.
        let caller = calling_file();
        let caller = caller.as_deref().map_or(own, |path| path.rsplit('/').next().unwrap());
        assert_eq!(profile(caller).attribute_for_caller(number), Some(3));
        assert_eq!(profile("libother.so").attribute_for_caller(number), Some(80));
        assert_eq!(profile(caller).attribute(Attribute::MultiprocessorCount), 80);
    }

    #[test]
    fn profile_error_names_file_and_key() {
        for (text, key) in [
            ("base = \"titan-v\"\n[attributes]\nmultiprocesor_count = 4\n", "attributes.multiprocesor_count"),
            (
                "base = \"titan-v\"\n[occupancy]\nregister_allocation_unit = 0\n",
                "occupancy.register_allocation_unit",
            ),
            ("base = \"titan-v\"\ndriver_version = \"x\"\n", "driver_version"),
            ("base = \"titan-v\"\ncolour = 1\n", "colour"),
            ("base = \"titan-v\"\n[libraries.\"libx.so\"]\nwarps = 1\n", "libraries.libx.so.warps"),
            ("name = \"x\"\n", "total_memory"),
        ] {
            let error = load_text(text).unwrap_err();
            assert!(error.contains(key) && error.contains(".toml"), "{error}");
        }
    }

    #[test]
    fn profile_with_itself_as_base_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("loop.toml");
        std::fs::write(&path, format!("base = {path:?}\n")).unwrap();
        assert!(matches!(Profile::load(&path.to_string_lossy()), Err(ProfileError::TooManyBases { .. })));
    }
}

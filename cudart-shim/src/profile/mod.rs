//! The device that a program is told it has: `[device]` of a GPU's file, chosen by
//! `VOLTSIM_DEVICE`, else `VOLTSIM_GPU`.
//!
//! Attributes have their CUDA names, so that a new attribute needs no code. The GPU's file or its
//! model gives a value, or the library's own answers do (`answers.toml`). `VOLTSIM_DEVICE=auto`
//! leaves the choice to [`auto`].

mod auto;
pub(crate) mod device_properties;
pub(crate) mod visible_devices;

pub(crate) use auto::fitting;

use crate::host::caller::calling_file;
use crate::host::environment::options;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use timing::fidelity;
use timing::specification::{DeviceSpec, Document, GpuSpec, SpecificationError, gpu};

include!(concat!(env!("OUT_DIR"), "/attributes.rs"));

/// Why there is no profile.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum ProfileError {
    #[error("{0}; `--device auto` chooses one")]
    Unknown(SpecificationError),
    #[error("{0}")]
    File(SpecificationError),
    #[error("{file}: driver_version = {version:?}: not a CUDA version such as \"13.5\"")]
    Version { file: String, version: String },
    #[error("{0}")]
    Answers(String),
}

impl From<SpecificationError> for ProfileError {
    fn from(error: SpecificationError) -> Self {
        match error {
            SpecificationError::NoGpu { .. } => ProfileError::Unknown(error),
            _ => ProfileError::File(error),
        }
    }
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

/// The library's own answers, whatever the GPU.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answers {
    driver_version: String,
    attributes: BTreeMap<String, i32>,
}

/// The variables that choose a device.
struct Choice {
    /// Name or file.
    name: String,
    /// Changes of the GPU's values, which hold where the GPU is the device.
    changes: Vec<String>,
}

impl Choice {
    fn of_environment() -> Self {
        if let Some(device) = options().device.clone() {
            let name = if device == auto::NAME { auto::chosen().to_owned() } else { device };
            return Choice { name, changes: Vec::new() };
        }
        let name = options().gpu.clone().unwrap_or_else(|| gpu::DEFAULT.to_owned());
        // Fidelities of the mode come first: without them a changed one may make no sense.
        let mode = options().mode.and_then(|mode| fidelity::Mode::named(mode.name()));
        let of_mode = mode.map_or(&[][..], |mode| mode.changes).iter().copied();
        let changes = of_mode.chain(options().set.iter().flat_map(|changes| changes.of_gpu()));
        Choice { name, changes: changes.map(str::to_owned).collect() }
    }
}

/// Ten times the compute capability of the GPU that the timing model simulates; `None` without a model.
pub(crate) fn modelled_capability() -> Option<u32> {
    static MODELLED: LazyLock<Option<u32>> = LazyLock::new(|| {
        options().mode.filter(|mode| mode.is_timed())?;
        gpu::capability(options().gpu.as_deref().unwrap_or(gpu::DEFAULT))
    });
    *MODELLED
}

impl Profile {
    /// The profile that the environment chooses.
    pub(crate) fn from_environment() -> Result<Self, ProfileError> {
        static CHOSEN: LazyLock<Result<Profile, ProfileError>> = LazyLock::new(|| {
            let Choice { name, changes } = Choice::of_environment();
            let mut document = gpu::named(&name)?;
            changes.iter().try_for_each(|text| gpu::change(&mut document, text))?;
            Profile::of(&document)
        });
        CHOSEN.clone()
    }

    /// The variable that chooses.
    pub(crate) fn variable() -> &'static str {
        match options().device {
            Some(_) => "VOLTSIM_DEVICE",
            None => "VOLTSIM_GPU, VOLTSIM_SET",
        }
    }

    /// Name or file of the GPU that the environment chooses.
    pub(crate) fn chosen() -> String {
        let name = Choice::of_environment().name;
        gpu::spelt(&name).map_or(name, str::to_owned)
    }

    /// The profile of a GPU that is part of the program.
    #[cfg(test)]
    pub(crate) fn load(name: &str) -> Result<Self, ProfileError> {
        Self::of(&gpu::named(name)?)
    }

    fn of(document: &Document) -> Result<Self, ProfileError> {
        let answers: Answers = toml::from_str(include_str!("answers.toml"))
            .map_err(|error| ProfileError::Answers(error.to_string()))?;
        let device = DeviceSpec::read(document, &|name| attribute_of(name).is_some())?;
        let version = device.driver_version.as_ref().unwrap_or(&answers.driver_version);
        let driver_version = parse_version(version).ok_or_else(|| ProfileError::Version {
            file: document.file().to_owned(),
            version: version.clone(),
        })?;
        let unit = |name| u32::try_from(device.answer(name)).unwrap_or(1).max(1);
        let occupancy = OccupancyUnits {
            register_allocation_unit: unit("register_allocation_unit"),
            warp_allocation_granularity: unit("warp_allocation_granularity"),
            shared_memory_allocation_unit: unit("shared_memory_allocation_unit"),
            max_registers_per_thread: unit("max_registers_per_thread"),
        };
        let DeviceSpec { power_limit, power_usage, temperature, .. } = device;
        let of_gpu = device.answers.iter().map(|(name, answer)| (name.as_str(), answer.value));
        let own = answers.attributes.iter().map(|(name, value)| (name.as_str(), *value));
        // The GPU's answers come last, and win.
        let attributes = by_attribute(own.chain(of_gpu));
        let library = |(library, told): (&String, &BTreeMap<String, i32>)| {
            (library.clone(), by_attribute(told.iter().map(|(name, value)| (name.as_str(), *value))))
        };
        Ok(Self {
            ordinal: 0,
            total_memory: device.memory,
            driver_version,
            occupancy,
            management: Management { power_limit, power_usage, temperature },
            attributes,
            libraries: device.libraries.iter().map(library).collect(),
            name: device.name,
        })
    }

    /// Value of an attribute; 0 if the profile lacks it.
    pub(crate) fn attribute(&self, attribute: Attribute) -> i32 {
        self.attributes.get(&attribute).copied().unwrap_or(0)
    }

    /// Ten times the compute capability.
    pub(crate) fn capability(&self) -> u32 {
        self.amount(Attribute::ComputeCapabilityMajor) * 10 + self.amount(Attribute::ComputeCapabilityMinor)
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
    fn of_first(&self) -> Self {
        let mut first = self.clone();
        let bus = self.attribute(Attribute::PciBusId) - i32::try_from(self.ordinal).unwrap_or(0);
        if self.ordinal > 0 {
            first.attributes.insert(Attribute::PciBusId, bus);
        }
        first.ordinal = 0;
        first
    }

    /// The profile of a device that is simulated as a GPU. `--device` may tell of another GPU than
    /// `--gpu`; the SMs and the clock by which a program computes times are then those that are
    /// simulated.
    pub(crate) fn simulated_as(mut self, gpu: &GpuSpec) -> Self {
        let told = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
        self.attributes.insert(Attribute::MultiprocessorCount, told(gpu.chip.sms));
        self.attributes.insert(Attribute::ClockRate, told(gpu.clocks.core.saturating_mul(1000)));
        self
    }

    /// A text that is the same for devices on which a program does the same: the clock alone
    /// changes no result.
    pub(crate) fn identity(&self) -> String {
        let mut first = self.of_first();
        first.attributes.remove(&Attribute::ClockRate);
        format!("{first:?}")
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

fn by_attribute<'a>(told: impl Iterator<Item = (&'a str, i32)>) -> BTreeMap<Attribute, i32> {
    told.filter_map(|(name, value)| Some((attribute_of(name)?, value))).collect()
}

fn attribute_of(name: &str) -> Option<Attribute> {
    ATTRIBUTES.iter().find(|(_, known)| *known == name).map(|(attribute, _)| *attribute)
}

fn parse_version(text: &str) -> Option<i32> {
    let (major, minor) = text.split_once('.')?;
    let (major, minor): (i32, i32) = (major.parse().ok()?, minor.parse().ok()?);
    ((1..100).contains(&major) && (0..100).contains(&minor)).then(|| major * 1000 + minor * 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_text(text: &str) -> Result<Profile, String> {
        let document = gpu::document("mine.toml", text).map_err(|error| error.to_string())?;
        Profile::of(&document).map_err(|error| error.to_string())
    }

    #[test]
    fn every_gpu_of_the_program_is_a_device() {
        for name in gpu::names() {
            let profile = Profile::load(name).map_err(|error| format!("{name}: {error}")).unwrap();
            let positive = [
                Attribute::WarpSize,
                Attribute::MaxThreadsPerBlock,
                Attribute::MemoryClockRate,
                Attribute::MaxTexture1dWidth,
                Attribute::UnifiedAddressing,
            ];
            assert!(positive.iter().all(|attribute| profile.attribute(*attribute) > 0), "{name}");
        }
    }

    #[test]
    fn the_default_is_a_titan_v_at_the_simulated_clock() {
        let profile = Profile::load(gpu::DEFAULT).unwrap();
        let capability = (Attribute::ComputeCapabilityMajor, Attribute::ComputeCapabilityMinor);
        assert_eq!((profile.attribute(capability.0), profile.attribute(capability.1)), (7, 0));
        assert_eq!(profile.attribute_by_number(16), Some(80));
        assert_eq!(profile.attribute_by_number(100_000), None);
        assert_eq!(profile.attribute(Attribute::ClockRate), 1_200_000);
        assert_eq!(profile.driver_version, 13_050);
    }

    #[test]
    fn every_own_answer_is_an_attribute_that_no_capability_has() {
        let answers: Answers = toml::from_str(include_str!("answers.toml")).unwrap();
        let document = gpu::named("titan-v").unwrap();
        let of_gpu = DeviceSpec::read(&document, &|name| attribute_of(name).is_some()).unwrap().answers;
        for name in answers.attributes.keys() {
            assert!(attribute_of(name).is_some() && !of_gpu.contains_key(name), "{name}");
        }
        for name in of_gpu.keys() {
            let unit = timing::specification::device::ALLOCATION.contains(&name.as_str());
            assert!(unit || attribute_of(name).is_some(), "{name}");
        }
    }

    #[test]
    fn the_simulated_gpu_decides_sms_and_clock_of_another_device() {
        let gpu = GpuSpec::built_in("gtx470").unwrap();
        let profile = Profile::load("h100").unwrap().simulated_as(&gpu);
        let told = [Attribute::MultiprocessorCount, Attribute::ClockRate, Attribute::ComputeCapabilityMajor];
        assert_eq!(told.map(|attribute| profile.attribute(attribute)), [14, 607_000, 9]);
    }

    #[test]
    fn a_library_is_told_what_is_written_for_it() {
        let own = std::env::current_exe().unwrap();
        let own = own.file_name().unwrap().to_str().unwrap();
        let profile = |library: &str| {
            let value = "multiprocessor_count = { value = 3, unit = \"SMs\", source = \"mine\" }";
            of_text(&format!("base = \"titan-v\"\n[device.libraries.{library:?}]\n{value}\n")).unwrap()
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
    fn an_error_names_the_file_and_the_key() {
        let key = |name: &str, value: &str| {
            format!("[device]\n{name} = {{ value = {value}, unit = \"\", source = \"mine\" }}")
        };
        for (text, said) in [
            (key("ecc_enable", "1"), "line 3: `device.ecc_enable = 1`"),
            (key("driver_version", "\"x\"").replace("\"\"", "\"text\""), "driver_version = \"x\""),
            (key("clock_rate", "1").replace("\"\"", "\"kHz\""), "it follows from clocks.core"),
            ("[attributes]\nmultiprocesor_count = 4".to_owned(), "line 3: `device.multiprocesor_count"),
        ] {
            let error = of_text(&format!("base = \"titan-v\"\n{text}\n")).unwrap_err();
            assert!(error.contains("mine.toml") && error.contains(said), "{text}: {error}");
        }
    }
}

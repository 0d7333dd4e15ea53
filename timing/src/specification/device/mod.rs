//! The `[device]` half of a GPU's file: what a program is told about its device.
//!
//! A file gives what follows from nothing else: name, memory, power. The rest is derived, so that
//! the program is told what is simulated. An answer comes from the first of these that has one:
//!
//! 1. a key of `[device]`,
//! 2. the model's values (`derived.rs`): SMs, clocks, bus, caches, what an SM has for CTAs,
//! 3. the compute capability (`capability.rs`): sizes of CTAs and grids, textures, units of allocation.
//!
//! A key of `[device]` that the model's values answer too is an error: both would have to change together.

mod derived;

use std::collections::BTreeMap;

use super::GpuSpec;
use crate::gpu_file::device_keys::unit;
use crate::gpu_file::document::unknown_key;
use crate::gpu_file::written::{self, DEVICE};
use crate::gpu_file::{Document, Entry, Place, SpecificationError, capability};

pub use crate::gpu_file::device_keys::KEYS;

/// Bytes of a device's name in the CUDA API, without the zero at the end.
const LONGEST_NAME: usize = 255;

/// Degrees Celsius of a device whose file gives none: those of an idle board.
const IDLE_TEMPERATURE: &str = "35";

/// Units in which SMs allocate registers and shared memory: answers that are no device attributes.
pub const ALLOCATION: [&str; 4] = [
    "register_allocation_unit",
    "warp_allocation_granularity",
    "shared_memory_allocation_unit",
    "max_registers_per_thread",
];

/// Answers that every device has to have, and that no capability tells.
const NEEDED: [&str; 5] =
    ["multiprocessor_count", "clock_rate", "memory_clock_rate", "global_memory_bus_width", "l2_cache_size"];

/// Keys of `[device]` that are no numbers, or no device attributes.
const OWN: [&str; 7] =
    ["name", "capability", "memory", "driver_version", "power_limit", "power_usage", "temperature"];

/// Beginning of the keys of `[device.libraries]`.
const LIBRARIES: &str = "libraries.";

/// Answers to what a program asks about its device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceSpec {
    /// `NVIDIA TITAN V`.
    pub name: String,
    /// Compute capability, ten times: the source of limits. Programs are told
    /// `compute_capability_major` and `_minor`.
    pub capability: u32,
    /// Bytes of device memory.
    pub memory: u64,
    /// CUDA version of the driver, as `13.5`; nothing if that is left to the library.
    pub driver_version: Option<String>,
    /// Milliwatts that the board may draw.
    pub power_limit: u32,
    /// Milliwatts that the board is said to draw. Nothing is measured.
    pub power_usage: u32,
    /// Degrees Celsius that the board is said to have. Nothing is measured.
    pub temperature: u32,
    /// Device attributes by their CUDA names, and [`ALLOCATION`].
    pub answers: BTreeMap<String, Answer>,
    /// Other answers for single libraries, by the beginning of the library's file name.
    pub libraries: BTreeMap<String, BTreeMap<String, i32>>,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// In the attribute's unit.
    pub value: i32,
    /// The source of the value.
    pub origin: Origin,
}

/// The source of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A key of `[device]`, with its source.
    File(String, Place),
    /// Keys of the model.
    Model(&'static str),
    /// The compute capability, with the document that says so.
    Capability(String),
}

impl DeviceSpec {
    /// Reads `[device]` and derives the rest; `is_attribute` knows the names of device attributes.
    ///
    /// # Errors
    /// A key is missing, unknown, in another unit, or answered by the model's values too.
    pub fn read(
        document: &Document,
        is_attribute: &dyn Fn(&str) -> bool,
    ) -> Result<DeviceSpec, SpecificationError> {
        let name: String = document.get(DEVICE, "name", "text")?;
        if name.len() > LONGEST_NAME {
            return Err(document.wrong(DEVICE, "name", "must be at most 255 bytes"));
        }
        let capability = document.get::<String>(DEVICE, "capability", "version")?;
        let capability = written::capability(&capability)
            .ok_or_else(|| document.wrong(DEVICE, "capability", "must be written as in \"7.0\""))?;
        let version = document.entry(DEVICE, "driver_version");
        let version = version.map(|_| document.get(DEVICE, "driver_version", "text")).transpose()?;
        let mut device = DeviceSpec {
            name,
            capability,
            memory: document.get(DEVICE, "memory", "B")?,
            driver_version: version,
            power_limit: document.get_or(DEVICE, "power_limit", "mW", "0")?,
            power_usage: document.get_or(DEVICE, "power_usage", "mW", "0")?,
            temperature: document.get_or(DEVICE, "temperature", "degrees Celsius", IDLE_TEMPERATURE)?,
            answers: BTreeMap::new(),
            libraries: BTreeMap::new(),
        };
        device.read_answers(document, is_attribute)?;
        if document.has_model() {
            device.derive(document, &GpuSpec::of_model(document)?)?;
        }
        for (name, value, source) in capability::limits(capability) {
            device.add(name, value, Origin::Capability(source));
        }
        match NEEDED.iter().find(|needed| !device.answers.contains_key(**needed)) {
            Some(missing) => Err(document.missing(DEVICE, missing)),
            None => Ok(device),
        }
    }

    /// Keys of `[device]` beside those of its own are attributes.
    fn read_answers(
        &mut self,
        document: &Document,
        is_attribute: &dyn Fn(&str) -> bool,
    ) -> Result<(), SpecificationError> {
        for (key, entry) in document.section(DEVICE).filter(|(key, _)| !OWN.contains(key)) {
            let in_library = key.strip_prefix(LIBRARIES).and_then(|rest| rest.rsplit_once('.'));
            let name = in_library.map_or(key, |(_, name)| name);
            if !is_attribute(name) && !ALLOCATION.contains(&name) {
                return Err(unknown_key(DEVICE, key, entry, KEYS));
            }
            let value: i32 = match unit(name) {
                "" => document.get(DEVICE, key, &entry.unit)?,
                unit => document.get(DEVICE, key, unit)?,
            };
            match in_library {
                Some((library, name)) => {
                    let answers = self.libraries.entry(library.to_owned()).or_default();
                    answers.insert(name.to_owned(), value);
                }
                None => {
                    let Entry { source, place, .. } = entry.clone();
                    self.add(name, value, Origin::File(source, place));
                }
            }
        }
        Ok(())
    }

    /// Answers that follow from the model's values.
    fn derive(&mut self, document: &Document, gpu: &GpuSpec) -> Result<(), SpecificationError> {
        for (name, value, keys) in derived::answers(gpu, self.capability) {
            if document.entry(DEVICE, name).is_some() && !document.is_profile() {
                let reason = format!("it follows from {keys}; change that in [timing] instead");
                return Err(document.wrong(DEVICE, name, &reason));
            }
            self.add(name, value, Origin::Model(keys));
        }
        Ok(())
    }

    /// Adds an answer unless there is one.
    fn add(&mut self, name: &str, value: i32, origin: Origin) {
        self.answers.entry(name.to_owned()).or_insert(Answer { value, origin });
    }

    /// The value of an answer; 0 if there is none.
    pub fn answer(&self, name: &str) -> i32 {
        self.answers.get(name).map_or(0, |answer| answer.value)
    }
}

#[cfg(test)]
mod tests;

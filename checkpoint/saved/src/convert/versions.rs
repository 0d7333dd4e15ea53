//! Structures of older versions, and the conversion of each to the next.
//!
//! Changes: 7 and 9: the timing model alone. 8: registered memory has numbers, and addresses refer
//! to them. During 8, without a version: steps hold their fault. 10: the timing-model state is its
//! own section, and steps hold their version. Run-ahead changed meaning, but no other build
//! continues a launch with CTAs in flight.
//!
//! The structures are those of older versions. Parts shared with today's structures must be copied
//! here before those change.

use std::collections::BTreeMap;
use std::ops::Range;

use functional::device::DeviceCounters;
use functional::memory::MemoryState;
use functional::suspend::SuspendedLaunch;
use serde::{Deserialize, Serialize};
use voltsim_checkpoint::codec::{self, CodecError};
use warp_stream::LaunchShape;

use crate::file::{BegunLaunch, DeviceState, LIMIT, Registration};
use crate::section::Section;
use crate::step::{Address, Arguments, Asked, Digest, End, Outcome, Step};

/// Converts the bytes of a section or step to the next version.
type ToNext = fn(&[u8]) -> Result<Vec<u8>, CodecError>;

/// Conversion of a section to the next version, if there is one.
fn to_next(section: &str, version: u32) -> Option<ToNext> {
    Some(match (section, version) {
        ("about" | "kernels", 6..=8) => same,
        ("steps", 7) => with_places,
        ("steps", 8) => with_faults,
        ("steps", 6 | 9) => same,
        ("devices", 7) => with_registrations,
        ("devices", 9) => without_models,
        ("devices", 6 | 8) => same,
        ("launch", 7) => with_places_written,
        ("launch", 6 | 8 | 9) => same,
        _ => return None,
    })
}

/// Oldest convertible version of a section.
pub(super) fn oldest(section: Section) -> u32 {
    let older = (1..section.version).rev().take_while(|version| to_next(section.name, *version).is_some());
    older.last().unwrap_or(section.version)
}

/// Converts bytes from one version to a later one; the first must not precede [`oldest`].
pub(super) fn bring(section: Section, versions: Range<u32>, bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    let steps = versions.filter_map(|version| to_next(section.name, version));
    steps.into_iter().try_fold(bytes.to_vec(), |bytes, to_next| to_next(&bytes))
}

/// Timing-model states by device in a devices section of version
/// [`LAST_COMMON`](crate::section::LAST_COMMON).
pub(super) fn models(devices: &[u8]) -> Result<BTreeMap<u64, Vec<u8>>, CodecError> {
    let devices: Vec<Device9> = decode(devices)?;
    Ok(devices.into_iter().filter_map(|device| Some((device.number, device.model?))).collect())
}

fn decode<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    codec::decode::<LIMIT, T>(bytes)
}

fn same(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    Ok(bytes.to_vec())
}

/// A device of version 7.
#[derive(Serialize, Deserialize)]
struct Device7 {
    number: u64,
    memory: MemoryState,
    counters: DeviceCounters,
    model: Option<Vec<u8>>,
}

/// A device of version 9.
#[derive(Serialize, Deserialize)]
struct Device9 {
    number: u64,
    memory: MemoryState,
    registered: BTreeMap<u64, Registration>,
    counters: DeviceCounters,
    model: Option<Vec<u8>>,
}

/// Registered memory is unknown here: a program that registers memory is rejected on resume.
fn with_registrations(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    let devices: Vec<Device7> = decode(bytes)?;
    let devices = devices.into_iter().map(|Device7 { number, memory, counters, model }| Device9 {
        number,
        memory,
        registered: BTreeMap::new(),
        counters,
        model,
    });
    codec::encode(&devices.collect::<Vec<_>>())
}

fn without_models(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    let devices: Vec<Device9> = decode(bytes)?;
    let devices = devices.into_iter().map(|Device9 { number, memory, registered, counters, model: _ }| {
        DeviceState { number, memory, registered, counters }
    });
    codec::encode(&devices.collect::<Vec<_>>())
}

/// A launch of version 7.
#[derive(Serialize, Deserialize)]
struct Launch7 {
    device: u64,
    state: SuspendedLaunch,
    printed: Vec<u8>,
    written: Vec<(u64, Vec<u8>)>,
}

fn with_places_written(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    let launch: Option<Launch7> = decode(bytes)?;
    let launch = launch.map(|Launch7 { device, state, printed, written }| BegunLaunch {
        device,
        state,
        printed,
        written: places(written),
    });
    codec::encode(&launch)
}

fn places(written: Vec<(u64, Vec<u8>)>) -> Vec<(Address, Vec<u8>)> {
    written.into_iter().map(|(address, bytes)| (Address::Same(address), bytes)).collect()
}

/// A step of version 7.
#[derive(Serialize, Deserialize)]
struct Step7 {
    number: u64,
    asked: Asked7,
    outcome: Outcome7,
}

#[derive(Serialize, Deserialize)]
enum End7 {
    Device(u64),
    Host,
}

#[derive(Serialize, Deserialize)]
enum Asked7 {
    Kernel {
        launch: u64,
        name: String,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u64,
        arguments: Arguments,
        code: Digest,
    },
    Copy {
        to: End7,
        from: End7,
        extent: [u64; 3],
        sent: Option<Digest>,
    },
    Fill {
        address: u64,
        extent: [u64; 3],
        value: u32,
    },
    Choice,
    Wait {
        address: u64,
    },
}

#[derive(Serialize, Deserialize)]
struct Outcome7 {
    received: Option<Vec<u8>>,
    written: Vec<(u64, Vec<u8>)>,
    printed: Vec<u8>,
    choice: Option<u64>,
    nanoseconds: u64,
}

impl From<End7> for End {
    fn from(end: End7) -> End {
        match end {
            End7::Device(address) => End::Device(Address::Same(address)),
            End7::Host => End::Host,
        }
    }
}

impl From<Asked7> for Asked {
    fn from(asked: Asked7) -> Asked {
        match asked {
            Asked7::Kernel { launch, name, grid, block, shared, arguments, code } => {
                let shape = LaunchShape::new(grid, block);
                Asked::Kernel { launch, name, shape, shared, arguments, code }
            }
            Asked7::Copy { to, from, extent, sent } => {
                Asked::Copy { to: to.into(), from: from.into(), extent, sent }
            }
            Asked7::Fill { address, extent, value } => Asked::Fill { address, extent, value },
            Asked7::Choice => Asked::Choice,
            Asked7::Wait { address } => Asked::Wait { address: Address::Same(address) },
        }
    }
}

/// Takes registered memory for memory at fixed addresses: see [`with_registrations`].
fn with_places(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    let Step7 { number, asked, outcome } = decode(bytes)?;
    let Outcome7 { received, written, printed, choice, nanoseconds } = outcome;
    let outcome = Outcome8 { received, written: places(written), printed, choice, nanoseconds };
    codec::encode(&Step8 { number, asked: asked.into(), outcome })
}

/// A step of the first version 8.
#[derive(Serialize, Deserialize)]
struct Step8 {
    number: u64,
    asked: Asked,
    outcome: Outcome8,
}

#[derive(Serialize, Deserialize)]
struct Outcome8 {
    received: Option<Vec<u8>>,
    written: Vec<(Address, Vec<u8>)>,
    printed: Vec<u8>,
    choice: Option<u64>,
    nanoseconds: u64,
}

/// Detects the kind of step by its length: bytes without a fault are too short for a step with one.
fn with_faults(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    let Ok(Step8 { number, asked, outcome }) = decode(bytes) else { return same(bytes) };
    let Outcome8 { received, written, printed, choice, nanoseconds } = outcome;
    let outcome = Outcome { received, written, printed, choice, fault: None, nanoseconds };
    codec::encode(&Step { number, asked, outcome })
}

#[cfg(test)]
mod tests;

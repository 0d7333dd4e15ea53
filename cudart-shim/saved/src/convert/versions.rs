//! Sections of older versions, and what brings each to the next version.
//!
//! What changed: 7, 9: the timing model alone. 8: what the program registers is known by its number, and addresses tell whether they
//! are of it; during 8, without a version of its own: a step tells how it has failed. 10: the timing model's state is a section of its
//! own, and steps tell their version; of a launch, what warps have executed ahead means something else, but no other build goes on from
//! a launch that has CTAs under way. Structures here are those of before; what they have in common with today's is today's, and
//! has to be kept here when that changes.

use std::collections::BTreeMap;
use std::ops::Range;

use functional::device::DeviceCounters;
use functional::memory::MemoryState;
use functional::suspend::SuspendedLaunch;
use serde::{Deserialize, Serialize};
use voltsim_checkpoint::codec::{self, CodecError};

use crate::file::{BegunLaunch, DeviceState, LIMIT, Registration};
use crate::section::Section;
use crate::step::{Address, Arguments, Asked, Digest, End, Outcome, Step};

/// Bytes of a section, or of a step, as the next version has them.
type ToNext = fn(&[u8]) -> Result<Vec<u8>, CodecError>;

/// What brings a section of a version to the next one; nothing where that cannot be done.
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

/// The oldest version of a section that is brought forward.
pub(super) fn oldest(section: Section) -> u32 {
    let older = (1..section.version).rev().take_while(|version| to_next(section.name, *version).is_some());
    older.last().unwrap_or(section.version)
}

/// Brings bytes from one version of a section to a later one, of which there is none older than [`oldest`].
pub(super) fn bring(section: Section, versions: Range<u32>, bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    let steps = versions.filter_map(|version| to_next(section.name, version));
    steps.into_iter().try_fold(bytes.to_vec(), |bytes, to_next| to_next(&bytes))
}

/// States of timing models by device, in devices of version [`LAST_COMMON`](crate::section::LAST_COMMON).
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

/// What a program had registered is not known: one that registers memory is refused when it is resumed.
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
                Asked::Kernel { launch, name, grid, block, shared, arguments, code }
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

/// Memory that the program had registered is taken for memory that lies where it lay: see [`with_registrations`].
fn with_places(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    let Step7 { number, asked, outcome } = decode(bytes)?;
    let Outcome7 { received, written, printed, choice, nanoseconds } = outcome;
    let outcome = Outcome8 { received, written: places(written), printed, choice, nanoseconds };
    codec::encode(&Step8 { number, asked: asked.into(), outcome })
}

/// A step as version 8 had it at first.
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

/// Bytes are those of one kind of step only: without a fault they end too soon for one with it, and the other way round too late.
fn with_faults(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    let Ok(Step8 { number, asked, outcome }) = decode(bytes) else { return same(bytes) };
    let Outcome8 { received, written, printed, choice, nanoseconds } = outcome;
    let outcome = Outcome { received, written, printed, choice, fault: None, nanoseconds };
    codec::encode(&Step { number, asked, outcome })
}

#[cfg(test)]
mod tests;

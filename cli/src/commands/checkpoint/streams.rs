//! Kernel streams, looked at like checkpoints.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use launch_capture::{Buffer, Capture, Entry, KernelStream, Launch};
use timing::gpu::Transfer;
use warp_stream::LaunchShape;
use warp_stream::kernel_name::{signature, variable};

use crate::failure::Failure;

/// Says what a stream has.
pub(super) fn info(file: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let stream = KernelStream::open(file)?;
    let about = stream.about();
    writeln!(out, "kernel stream of {}, by Voltsim {}", about.command.join(" "), about.voltsim)?;
    writeln!(out, "device      {}", about.device)?;
    let mut kernels = BTreeMap::<&str, u64>::new();
    let [mut copies, mut device_copies, mut fills] = [(0_u64, 0_u64); 3];
    let count = |(number, bytes): &mut (u64, u64), more: u64| {
        *number += 1;
        *bytes = bytes.saturating_add(more);
    };
    for entry in stream.entries() {
        match entry {
            Entry::Launch { kernel, .. } => *kernels.entry(kernel).or_default() += 1,
            Entry::Copy { bytes, .. } => count(&mut copies, *bytes),
            Entry::Transfer(Transfer { to, from: Some(_) }) => count(&mut device_copies, to.bytes()),
            Entry::Transfer(Transfer { to, from: None }) => count(&mut fills, to.bytes()),
        }
    }
    writeln!(out, "launches    {}", kernels.values().sum::<u64>())?;
    for (kernel, launches) in kernels {
        writeln!(out, "            {launches} of {}", signature(kernel))?;
    }
    writeln!(out, "copies      {}, {} bytes", copies.0, copies.1)?;
    writeln!(out, "in device   {}, {} bytes", device_copies.0, device_copies.1)?;
    writeln!(out, "fills       {}, {} bytes", fills.0, fills.1)?;
    Ok(())
}

/// Checks every byte of a stream.
pub(super) fn verify(file: &Path) -> Result<(), Failure> {
    Ok(KernelStream::open(file)?.verify()?)
}

/// Where two runs first do something else, or find other memory; `None` if they do not.
pub(super) fn first_difference(first: &Path, second: &Path) -> Result<Option<String>, Failure> {
    let streams = [first, second].map(|file| KernelStream::open(file).map(Arc::new));
    let [one, other] = streams;
    let (one, other) = (one?, other?);
    for (number, entries) in one.entries().iter().zip(other.entries()).enumerate() {
        let found = match (one.capture(number)?, other.capture(number)?) {
            (Some(one), Some(other)) => between(&one, &other)?,
            (None, None) if entries.0 == entries.1 => None,
            _ => Some(format!("entry {number}: {}; {}", told(entries.0), told(entries.1))),
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    let [one, other] = [one.entries(), other.entries()];
    let count = one.len().min(other.len());
    let more = one.get(count).map(|entry| (second, entry)).or(other.get(count).map(|entry| (first, entry)));
    Ok(more.map(|(file, entry)| format!("{} ends before {}", file.display(), told(entry))))
}

fn told(entry: &Entry) -> String {
    match entry {
        Entry::Launch { number, kernel, .. } => format!("launch {number} of {}", signature(kernel)),
        Entry::Copy { to_device: true, address, bytes } => format!("copy of {bytes} bytes to {address:#x}"),
        Entry::Copy { address, bytes, .. } => format!("copy of {bytes} bytes from {address:#x}"),
        Entry::Transfer(Transfer { to, from: None }) => {
            format!("fill of {} bytes at {:#x}", to.bytes(), to.address)
        }
        Entry::Transfer(Transfer { to, from: Some(from) }) => {
            format!("copy of {} bytes from {:#x} to {:#x}", to.bytes(), from.address, to.address)
        }
    }
}

/// The first difference of two launches, with what they find in memory.
fn between(one: &Capture, other: &Capture) -> Result<Option<String>, Failure> {
    let (launch, launch_b) = (one.launch(), other.launch());
    let differs =
        |what: &str| Some(format!("launch {} of {}: {what}", launch.launch, signature(&launch.kernel)));
    if launch.kernel != launch_b.kernel {
        return Ok(differs(&format!("the other run launches {}", signature(&launch_b.kernel))));
    }
    if shape(launch) != shape(launch_b) {
        return Ok(differs("grid, CTA or shared memory are of another size"));
    }
    for (parameter, parameter_b) in launch.parameters.iter().zip(&launch_b.parameters) {
        if parameter.bytes != parameter_b.bytes {
            let [value, value_b] = [parameter, parameter_b].map(|parameter| hexadecimal(&parameter.bytes));
            return Ok(differs(&format!("parameter {} is {value}, and {value_b}", parameter.name)));
        }
    }
    let place = |buffer: &Buffer| (buffer.address, buffer.size);
    if !launch.buffers.iter().map(place).eq(launch_b.buffers.iter().map(place)) {
        return Ok(differs("other memory can be reached"));
    }
    for (number, buffer) in launch.buffers.iter().enumerate() {
        let (bytes, bytes_b) = (one.contents(number)?, other.contents(number)?);
        if let Some(first) = bytes.iter().zip(&bytes_b).position(|(byte, byte_b)| byte != byte_b) {
            let count = bytes.iter().zip(&bytes_b).filter(|(byte, byte_b)| byte != byte_b).count();
            let word = first / 8 * 8..bytes.len().min(first / 8 * 8 + 8);
            let [value, value_b] =
                [&bytes, &bytes_b].map(|bytes| hexadecimal(bytes.get(word.clone()).unwrap_or_default()));
            let (address, name) = (
                buffer.address.0,
                buffer.variable.as_deref().map_or(Cow::Borrowed(buffer.kind.as_str()), variable),
            );
            return Ok(differs(&format!(
                "before it, {name} memory at {:#x}, byte {} of {}: {value}, and {value_b}; {count} bytes differ",
                address + word.start as u64,
                word.start,
                bytes.len()
            )));
        }
    }
    Ok(None)
}

fn shape(launch: &Launch) -> (LaunchShape, u32) {
    (launch.shape(), launch.dynamic_shared)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

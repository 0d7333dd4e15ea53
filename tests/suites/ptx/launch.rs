//! Runs the kernel of a file test and compares the results.

use std::path::Path;
use std::sync::Arc;

use functional::device::{Device, DeviceSpec, Settings, Tier};
use functional::engine::program::Program;
use functional::launch::{LaunchConfig, LaunchShape, launch};
use functional::memory::AllocationKind;
use functional::module::Module;

use crate::directives::{Expectation, FileTest, Parameter};
use crate::stepped::{self, Manner};
use crate::values::{Tolerance, Value};

type Complaint = Box<dyn std::error::Error>;

/// Number of differences shown per buffer.
const SHOWN: usize = 8;

/// Execution of a kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    /// Warp by warp, in a tier.
    AtOnce(Tier),
    /// One machine instruction at a time.
    Stepped(Manner),
}

/// Runs the test with CTAs of `block` threads.
pub(crate) fn run(
    test: &FileTest,
    text: &str,
    path: &Path,
    shape: LaunchShape,
    way: Way,
) -> Result<(), Complaint> {
    let (timed, tier) = match way {
        Way::AtOnce(tier) => (false, tier),
        Way::Stepped(_) => (true, Tier::default()),
    };
    let settings = Settings { deterministic: true, timed, tier, ..Settings::default() };
    let device =
        Arc::new(Device::new(DeviceSpec { memory_bytes: 64 << 20, ..DeviceSpec::default() }, settings)?);
    let (module, program) = match (prepare(test, text, path, &device), refusal(test)) {
        (Ok(prepared), None) => prepared,
        (Err(error), None) => return Err(error),
        (Ok(_), Some(expected)) => return Err(format!("accepted; expected: {expected}").into()),
        (Err(error), Some(expected)) => return contains(&error.to_string(), expected),
    };
    let mut parameters = Vec::new();
    let mut contents: Vec<Vec<u64>> = Vec::new();
    let mut ranges = Vec::new();
    for (number, parameter) in test.parameters.iter().enumerate() {
        let bytes: Vec<u8> = parameter.values.iter().flat_map(|value| parameter.kind.bytes(*value)).collect();
        let (argument, content) = match &parameter.texture {
            Some(declared) => {
                let variable = module.variable(&parameter.name).map(|variable| variable.address);
                let placed = declared.place(&device, &bytes, variable, number)?;
                let handle = variable.map_or(placed.handle.to_le_bytes().to_vec(), |_| Vec::new());
                (handle, placed.channels().collect())
            }
            None if !parameter.multicast.is_empty() => {
                let range = Multicast::of(parameter, &device, &contents)?;
                let argument = range.address.to_le_bytes().to_vec();
                ranges.push(range);
                (argument, Vec::new())
            }
            None => place(parameter, &device, bytes)?,
        };
        contents.push(content);
        if !argument.is_empty() {
            parameters.resize(parameters.len().next_multiple_of(argument.len()), 0);
            parameters.extend(argument);
        }
    }
    device.memory.find_replicas_by(Box::new(move |address, bytes| {
        ranges.iter().find_map(|range| range.places(address, bytes)).unwrap_or_default()
    }));
    let textures = device.textures.snapshot();
    let config = LaunchConfig {
        shape,
        dynamic_shared: test.shared,
        parameters,
        textures,
        cluster: test.cluster,
        ..LaunchConfig::default()
    };
    let outcome = match way {
        Way::AtOnce(_) => launch(&device, &program, config).map(|_| ()).map_err(|error| error.to_string()),
        Way::Stepped(manner) => match stepped::launch(&device, &program, config, manner) {
            Ok(false) => return Ok(()),
            Ok(true) => Ok(()),
            Err(error) => Err(error),
        },
    };
    let fault_expected = test.expectations.iter().any(|e| matches!(e, Expectation::Fault(_)));
    if let (Err(fault), false) = (&outcome, fault_expected) {
        return Err(fault.as_str().into());
    }
    for expectation in &test.expectations {
        match expectation {
            Expectation::Fault(expected) => match &outcome {
                Ok(()) => return Err(format!("no fault; expected: {expected}").into()),
                Err(fault) => contains(fault, expected)?,
            },
            Expectation::Printed(expected) => {
                let printed = String::from_utf8_lossy(&device.take_printed()).into_owned();
                if printed != *expected {
                    return Err(format!("printed {printed:?}, expected {expected:?}").into());
                }
            }
            Expectation::Buffer { parameter, tolerance, values } => {
                let (buffer, elements) = (&test.parameters[*parameter], &contents[*parameter]);
                compare(&device, buffer, elements, *tolerance, values)?;
            }
            Expectation::Refused(_) => {}
        }
    }
    Ok(())
}

/// Argument bytes, and the addresses of a buffer's elements.
type Argument = (Vec<u8>, Vec<u64>);

/// Places a buffer in device memory. Scalars are passed unchanged.
fn place(parameter: &Parameter, device: &Device, bytes: Vec<u8>) -> Result<Argument, Complaint> {
    let Some(count) = parameter.count else { return Ok((bytes, Vec::new())) };
    let address = device.memory.allocate(bytes.len() as u64, 256, AllocationKind::Device)?;
    device.memory.write(address, &bytes)?;
    let elements = (0..count).map(|element| address + (element * parameter.kind.size) as u64);
    Ok((address.to_le_bytes().to_vec(), elements.collect()))
}

/// Addresses that stand for several buffers.
struct Multicast {
    address: u64,
    size: u64,
    buffers: Vec<u64>,
}

impl Multicast {
    /// Creates multicast addresses for placed buffers, as long as the shortest.
    fn of(parameter: &Parameter, device: &Device, placed: &[Vec<u64>]) -> Result<Multicast, Complaint> {
        let starts = |number: &usize| placed.get(*number).and_then(|elements| elements.first()).copied();
        let buffers: Vec<u64> = parameter.multicast.iter().filter_map(starts).collect();
        let sizes =
            buffers.iter().filter_map(|buffer| device.memory.allocation_of(*buffer)).map(|it| it.size);
        let size = sizes.min().unwrap_or_default();
        Ok(Multicast { address: device.memory.reserve(1 << 21, 1 << 21, 0)?, size, buffers })
    }

    fn places(&self, address: u64, bytes: u32) -> Option<Vec<u64>> {
        let offset = address.checked_sub(self.address)?;
        let inside = offset.checked_add(bytes.into())? <= self.size;
        inside.then(|| self.buffers.iter().map(|buffer| buffer + offset).collect())
    }
}

fn refusal(test: &FileTest) -> Option<&str> {
    test.expectations.iter().find_map(|expectation| match expectation {
        Expectation::Refused(text) => Some(text.as_str()),
        _ => None,
    })
}

fn prepare(
    test: &FileTest,
    text: &str,
    path: &Path,
    device: &Arc<Device>,
) -> Result<(Module, Arc<Program>), Complaint> {
    let source = Arc::new(ptx_frontend::Module::parse(text, &path.to_string_lossy())?);
    let module = Module::load(device, vec![source])?;
    let name = match &test.kernel {
        Some(name) => name.clone(),
        None => {
            let mut kernels = module.kernels();
            match (kernels.next(), kernels.next()) {
                (Some(only), None) => only.to_owned(),
                _ => {
                    return Err(
                        "the file has several kernels or none; select one with `run: kernel=…`".into()
                    );
                }
            }
        }
    };
    let program = module.kernel(&name)?;
    Ok((module, program))
}

fn contains(message: &str, expected: &str) -> Result<(), Complaint> {
    if message.contains(expected) { Ok(()) } else { Err(format!("{message}; expected: {expected}").into()) }
}

fn compare(
    device: &Device,
    buffer: &Parameter,
    elements: &[u64],
    tolerance: Tolerance,
    expected: &[Value],
) -> Result<(), Complaint> {
    let size = buffer.kind.size;
    let mut bytes = vec![0; expected.len() * size];
    for (element, address) in bytes.chunks_mut(size).zip(elements) {
        device.memory.read(*address, element)?;
    }
    Ok(differences(buffer, &bytes, tolerance, expected)?)
}

/// Describes the differences between a buffer and the expected bytes.
pub(crate) fn differences(
    buffer: &Parameter,
    bytes: &[u8],
    tolerance: Tolerance,
    expected: &[Value],
) -> Result<(), String> {
    let kind = buffer.kind;
    let wrong: Vec<String> = expected
        .iter()
        .zip(bytes.chunks(kind.size))
        .enumerate()
        .filter(|(_, (expected, found))| !kind.agrees(**expected, found, tolerance))
        .map(|(index, (expected, found))| {
            format!(
                "  {}[{index}] is {}, expected {}",
                buffer.name,
                kind.show_bytes(found),
                kind.show(*expected)
            )
        })
        .collect();
    if wrong.is_empty() {
        return Ok(());
    }
    let shown = wrong.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n");
    Err(format!("{} of {} elements of {} differ:\n{shown}", wrong.len(), expected.len(), buffer.name))
}

//! Devices and their properties.

use super::{Answer, Failure, UNKNOWN, check_version, initialized, store, store_text};
use crate::abi::{Out, Text};
use crate::api::entry::api;
use crate::api::runtime::pci_bus_id;
use crate::profile::visible_devices;
use crate::profile::{Attribute, Profile};
use crate::root::started;
use crate::session::simulator::Simulator;
use std::ffi::{c_char, c_int, c_uint};
use std::fmt;

/// Base of handles; the device's index is in the bits above.
const FIRST_HANDLE: usize = 0x766f_6c74;
/// NVIDIA's PCI vendor number.
const PCI_VENDOR: u32 = 0x10de;

/// `nvmlDevice_t`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct DeviceHandle(pub(super) usize);

impl fmt::Debug for DeviceHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

#[cfg(test)]
impl crate::abi::check::Abi for DeviceHandle {
    const CLASS: api_table::Class = api_table::Class::Word;
}

/// `nvmlPciInfo_t`, as of version 3.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct PciInfo {
    bus_id_legacy: [u8; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    pci_device_id: c_uint,
    pci_subsystem_id: c_uint,
    bus_id: [u8; 32],
}

/// `nvmlMemory_t`: bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

/// `nvmlMemory_v2_t`, in bytes. The caller stores the version.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct MemoryV2 {
    version: c_uint,
    total: u64,
    reserved: u64,
    free: u64,
    used: u64,
}

impl MemoryV2 {
    /// Size of the structure, with 2 in the highest byte.
    const VERSION: c_uint = size_of::<Self>() as c_uint | 2 << 24;
}

/// `nvmlUtilization_t`: percent of time.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Utilization {
    gpu: c_uint,
    memory: c_uint,
}

/// Device index of a handle.
pub(super) fn index_of(device: DeviceHandle) -> Answer<u32> {
    let index = device.0.checked_sub(FIRST_HANDLE).and_then(|index| u32::try_from(index).ok());
    index.filter(|index| *index < visible_devices::all() as u32).ok_or(Failure::InvalidArgument)
}

fn with_device(device: DeviceHandle, body: impl FnOnce(&Profile) -> Answer) -> c_int {
    initialized(|profile| {
        let index = index_of(device)?;
        body(&profile.clone().numbered(index as usize))
    })
}

/// PCI bus id with a domain of four digits, as in CUDA, or eight.
fn bus_id<const SIZE: usize>(profile: &Profile, zeros: &str) -> [u8; SIZE] {
    let mut bytes = [0; SIZE];
    let text = format!("{zeros}{}", pci_bus_id(profile));
    for (target, byte) in bytes.iter_mut().zip(text.bytes().take(SIZE - 1)) {
        *target = byte;
    }
    bytes
}

fn pci_info(profile: &Profile) -> PciInfo {
    PciInfo {
        bus_id_legacy: bus_id(profile, ""),
        domain: profile.amount(Attribute::PciDomainId),
        bus: profile.amount(Attribute::PciBusId),
        device: profile.amount(Attribute::PciDeviceId),
        pci_device_id: PCI_VENDOR,
        pci_subsystem_id: PCI_VENDOR,
        bus_id: bus_id(profile, "0000"),
    }
}

/// Free and total bytes. Other processes use other simulated devices.
fn memory(profile: &Profile) -> Memory {
    let total = profile.total_memory;
    let used = used_memory(profile.ordinal());
    Memory { total, free: total.saturating_sub(used), used }
}

/// The device, if this process has used it.
pub(super) fn in_use(device: usize) -> Option<&'static Simulator> {
    started().find(|simulator| simulator.profile.ordinal() == device)
}

/// Bytes of device memory allocated by this process.
pub(super) fn used_memory(device: usize) -> u64 {
    in_use(device).map_or(0, |simulator| simulator.device.memory.used())
}

/// Architecture code of a compute capability.
fn architecture(profile: &Profile) -> c_uint {
    let capability = (
        profile.attribute(Attribute::ComputeCapabilityMajor),
        profile.attribute(Attribute::ComputeCapabilityMinor),
    );
    match capability {
        (7, 0 | 2) => 5,
        (7, _) => 6,
        (8, 9) => 8,
        (8, _) => 7,
        (9, _) => 9,
        (10 | 12, _) => 10,
        _ => 0xffff_ffff,
    }
}

/// Finds the device that `matches`.
fn find(result: Out<DeviceHandle>, profile: &Profile, matches: impl Fn(&Profile) -> bool) -> Answer {
    let found = (0..visible_devices::all()).find(|index| matches(&profile.clone().numbered(*index)));
    store(result, DeviceHandle(FIRST_HANDLE + found.ok_or(Failure::NotFound)?))
}

api! { Driver;
    /// Number of devices.
    fn nvmlDeviceGetCount_v2(deviceCount: Out<c_uint>) -> c_int = UNKNOWN; {
        initialized(|_| store(deviceCount, visible_devices::all() as c_uint))
    }

    /// The device at an index.
    fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, device: Out<DeviceHandle>) -> c_int = UNKNOWN; {
        initialized(|_| {
            let handle = DeviceHandle(FIRST_HANDLE + index as usize);
            index_of(handle)?;
            store(device, handle)
        })
    }

    /// The device with a UUID, as `GPU-…`.
    fn nvmlDeviceGetHandleByUUID(wanted: Text, device: Out<DeviceHandle>) -> c_int = UNKNOWN; {
        initialized(|profile| {
            let wanted = wanted.get()?.to_bytes();
            find(device, profile, |one| wanted == one.uuid_text().as_bytes())
        })
    }

    /// The device of a PCI bus id, whose domain may have any number of digits.
    fn nvmlDeviceGetHandleByPciBusId_v2(pciBusId: Text, device: Out<DeviceHandle>) -> c_int = UNKNOWN; {
        initialized(|profile| {
            let wanted = pciBusId.get()?.to_string_lossy().to_uppercase();
            find(device, profile, |one| {
                wanted.trim_start_matches('0') == pci_bus_id(one).trim_start_matches('0')
            })
        })
    }

    /// `NVIDIA TITAN V`.
    fn nvmlDeviceGetName(device: DeviceHandle, name: *mut c_char, length: c_uint) -> c_int = UNKNOWN; {
        with_device(device, |profile| store_text(name, length, &profile.name))
    }

    /// `GPU-…`, from the bytes that CUDA returns.
    fn nvmlDeviceGetUUID(device: DeviceHandle, text: *mut c_char, length: c_uint) -> c_int = UNKNOWN; {
        with_device(device, |profile| store_text(text, length, &profile.uuid_text()))
    }

    /// The device's index.
    fn nvmlDeviceGetIndex(device: DeviceHandle, index: Out<c_uint>) -> c_int = UNKNOWN; {
        initialized(|_| store(index, index_of(device)?))
    }

    /// Minor number of the device file.
    fn nvmlDeviceGetMinorNumber(device: DeviceHandle, number: Out<c_uint>) -> c_int = UNKNOWN; {
        initialized(|_| store(number, index_of(device)?))
    }

    /// PCI location.
    fn nvmlDeviceGetPciInfo_v3(device: DeviceHandle, pci: Out<PciInfo>) -> c_int = UNKNOWN; {
        with_device(device, |profile| store(pci, pci_info(profile)))
    }

    /// Major and minor compute capability.
    fn nvmlDeviceGetCudaComputeCapability(device: DeviceHandle, major: Out<c_int>, minor: Out<c_int>) -> c_int = UNKNOWN; {
        with_device(device, |profile| {
            store(major, profile.attribute(Attribute::ComputeCapabilityMajor))?;
            store(minor, profile.attribute(Attribute::ComputeCapabilityMinor))
        })
    }

    /// Code of the architecture: 5 is Volta.
    fn nvmlDeviceGetArchitecture(device: DeviceHandle, result: Out<c_uint>) -> c_int = UNKNOWN; {
        with_device(device, |profile| store(result, architecture(profile)))
    }

    /// Bytes of device memory.
    fn nvmlDeviceGetMemoryInfo(device: DeviceHandle, result: Out<Memory>) -> c_int = UNKNOWN; {
        with_device(device, |profile| store(result, memory(profile)))
    }

    /// As version 1, plus the driver's reserved memory: none.
    fn nvmlDeviceGetMemoryInfo_v2(device: DeviceHandle, result: Out<MemoryV2>) -> c_int = UNKNOWN; {
        with_device(device, |profile| {
            check_version(result, MemoryV2::VERSION)?;
            let Memory { total, free, used } = memory(profile);
            let version = MemoryV2::VERSION;
            store(result, MemoryV2 { version, total, reserved: 0, free, used })
        })
    }

    /// 100 % if the device has work at this moment, else 0.
    fn nvmlDeviceGetUtilizationRates(device: DeviceHandle, result: Out<Utilization>) -> c_int = UNKNOWN; {
        with_device(device, |profile| {
            let idle = in_use(profile.ordinal()).is_none_or(|simulator| {
                simulator.engine.is_complete(stream_engine::Scope::Context).unwrap_or(true)
            });
            let percent = if idle { 0 } else { 100 };
            store(result, Utilization { gpu: percent, memory: percent })
        })
    }

    /// Clock in megahertz: 0 graphics, 1 SMs, 2 memory, 3 video. A simulated device always runs at
    /// its maximum.
    fn nvmlDeviceGetClockInfo(device: DeviceHandle, kind: c_int, clock: Out<c_uint>) -> c_int = UNKNOWN; {
        with_device(device, |profile| {
            let kilohertz = match kind {
                0 | 1 | 3 => profile.amount(Attribute::ClockRate),
                2 => profile.amount(Attribute::MemoryClockRate),
                _ => return Err(Failure::InvalidArgument),
            };
            store(clock, kilohertz / 1000)
        })
    }

    /// Power draw in milliwatts, from the profile.
    fn nvmlDeviceGetPowerUsage(device: DeviceHandle, power: Out<c_uint>) -> c_int = UNKNOWN; {
        with_device(device, |profile| store(power, profile.management.power_usage))
    }

    /// Power limit in milliwatts.
    fn nvmlDeviceGetPowerManagementLimit(device: DeviceHandle, limit: Out<c_uint>) -> c_int = UNKNOWN; {
        with_device(device, |profile| store(limit, profile.management.power_limit))
    }

    /// Temperature of sensor 0, the only one, in degrees Celsius, from the profile.
    fn nvmlDeviceGetTemperature(device: DeviceHandle, sensor: c_int, temperature: Out<c_uint>) -> c_int = UNKNOWN; {
        with_device(device, |profile| match sensor {
            0 => store(temperature, profile.management.temperature),
            _ => Err(Failure::InvalidArgument),
        })
    }

    /// Always the highest performance state.
    fn nvmlDeviceGetPerformanceState(device: DeviceHandle, state: Out<c_int>) -> c_int = UNKNOWN; {
        with_device(device, |_| store(state, 0))
    }

    /// Default compute mode: several contexts may use the device.
    fn nvmlDeviceGetComputeMode(device: DeviceHandle, mode: Out<c_int>) -> c_int = UNKNOWN; {
        with_device(device, |_| store(mode, 0))
    }

    /// Always off: no driver stays loaded.
    fn nvmlDeviceGetPersistenceMode(device: DeviceHandle, mode: Out<c_int>) -> c_int = UNKNOWN; {
        with_device(device, |_| store(mode, 0))
    }

    /// Always 0: the device cannot be divided.
    fn nvmlDeviceGetMaxMigDeviceCount(device: DeviceHandle, count: Out<c_uint>) -> c_int = UNKNOWN; {
        with_device(device, |_| store(count, 0))
    }

    /// Width of the memory interface in bits.
    fn nvmlDeviceGetMemoryBusWidth(device: DeviceHandle, width: Out<c_uint>) -> c_int = UNKNOWN; {
        with_device(device, |profile| store(width, profile.amount(Attribute::GlobalMemoryBusWidth)))
    }
}

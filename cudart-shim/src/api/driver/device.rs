//! Initialisation, version, devices and their attributes.

use crate::abi::error::{Error, Result};
use crate::abi::texture::driver_format;
use crate::abi::{Address, In, Out, Text};
use crate::api::entry::api;
use crate::api::runtime::{device_by_pci_bus_id, pci_bus_id, store_text};
use crate::objects::notification;
use crate::objects::peer;
use crate::profile::{Attribute, Profile};
use crate::root::{device_count, session, shared, simulator, simulator_of};
use crate::session::annotations;
use crate::session::context::{self, initialize_driver};
use crate::session::simulator::Simulator;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// `CUdevprop`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct LegacyProperties {
    max_threads_per_block: c_int,
    max_threads_dim: [c_int; 3],
    max_grid_size: [c_int; 3],
    shared_mem_per_block: c_int,
    total_constant_memory: c_int,
    warp_size: c_int,
    mem_pitch: c_int,
    regs_per_block: c_int,
    clock_rate: c_int,
    texture_align: c_int,
}

fn device(ordinal: c_int) -> Result<&'static Simulator> {
    simulator_of(context::ordinal(ordinal)?)
}

/// CUDA version of the driver, available without a device.
pub(crate) fn driver_version() -> Result<c_int> {
    match simulator() {
        Ok(simulator) => Ok(simulator.profile.driver_version),
        Err(Error::NoDevice) => Profile::from_environment()
            .map(|profile| profile.driver_version)
            .map_err(|_| Error::InitializationError),
        Err(error) => Err(error),
    }
}

/// The last `CUatomicOperation`.
const LAST_ATOMIC_OPERATION: c_int = 16;

/// Stores the capabilities of a link such as PCI Express, which performs no atomic operations
/// itself.
pub(crate) fn link_atomics(capabilities: Out<c_uint>, operations: In<c_int>, count: c_uint) -> Result<()> {
    capabilities.check()?;
    if count == 0 {
        return Err(Error::InvalidValue);
    }
    let operations = operations.list(count as usize)?;
    if operations.iter().any(|operation| !(0..=LAST_ATOMIC_OPERATION).contains(operation)) {
        return Err(Error::InvalidValue);
    }
    (0..count as usize).try_for_each(|index| Out::new(capabilities.pointer().wrapping_add(index)).set(0))
}

api! { Driver;
    /// Initialises the driver; must precede every other call.
    fn cuInit(flags: c_uint) { if flags == 0 { initialize_driver(session()) } else { Err(Error::InvalidValue) } }

    /// CUDA version of the driver.
    fn cuDriverGetVersion(version: Out<c_int>) {
        version.check()?;
        version.set(driver_version()?)
    }

    /// Number of devices.
    fn cuDeviceGetCount(count: Out<c_int>) {
        count.check()?;
        count.set(device_count() as c_int)
    }

    /// The handle of a device: its ordinal.
    fn cuDeviceGet(result: Out<c_int>, ordinal: c_int) {
        result.check()?;
        device(ordinal)?;
        result.set(ordinal)
    }

    /// `NVIDIA TITAN V`.
    fn cuDeviceGetName(name: *mut c_char, len: c_int, dev: c_int) { store_text(name, len, &device(dev)?.profile.name) }

    /// 16 bytes that identify the device.
    fn cuDeviceGetUuid(uuid: Out<[u8; 16]>, dev: c_int) { uuid.set(device(dev)?.profile.uuid()) }

    /// Bytes of device memory.
    fn cuDeviceTotalMem_v2(bytes: Out<usize>, dev: c_int) { bytes.set(device(dev)?.profile.total_memory as usize) }

    /// Total memory as before CUDA 3.2, in a number below 4 GiB.
    fn cuDeviceTotalMem(bytes: Out<c_uint>, dev: c_int) {
        bytes.set(c_uint::try_from(device(dev)?.profile.total_memory).unwrap_or(c_uint::MAX))
    }

    /// An attribute.
    fn cuDeviceGetAttribute(value: Out<c_int>, attribute: c_int, dev: c_int) {
        value.check()?;
        value.set(device(dev)?.profile.attribute_for_caller(attribute).ok_or(Error::InvalidValue)?)
    }

    /// Major and minor compute capability.
    fn cuDeviceComputeCapability(major: Out<c_int>, minor: Out<c_int>, dev: c_int) {
        let profile = &device(dev)?.profile;
        major.set(profile.attribute(Attribute::ComputeCapabilityMajor))?;
        minor.set(profile.attribute(Attribute::ComputeCapabilityMinor))
    }

    /// Device properties as of CUDA 2.
    fn cuDeviceGetProperties(result: Out<LegacyProperties>, dev: c_int) {
        let profile = &device(dev)?.profile;
        let value = |attribute| profile.attribute(attribute);
        result.set(LegacyProperties {
            max_threads_per_block: value(Attribute::MaxThreadsPerBlock),
            max_threads_dim: [Attribute::MaxBlockDimX, Attribute::MaxBlockDimY, Attribute::MaxBlockDimZ].map(value),
            max_grid_size: [Attribute::MaxGridDimX, Attribute::MaxGridDimY, Attribute::MaxGridDimZ].map(value),
            shared_mem_per_block: value(Attribute::MaxSharedMemoryPerBlock),
            total_constant_memory: value(Attribute::TotalConstantMemory),
            warp_size: value(Attribute::WarpSize),
            mem_pitch: value(Attribute::MaxPitch),
            regs_per_block: value(Attribute::MaxRegistersPerBlock),
            clock_rate: value(Attribute::ClockRate),
            texture_align: value(Attribute::TextureAlignment),
        })
    }

    /// `domain:bus:device.function`.
    fn cuDeviceGetPCIBusId(text: *mut c_char, len: c_int, dev: c_int) {
        store_text(text, len, &pci_bus_id(&device(dev)?.profile))
    }

    /// Device of a PCI bus id.
    fn cuDeviceGetByPCIBusId(result: Out<c_int>, pciBusId: Text) {
        result.set(device_by_pci_bus_id(pciBusId)?)
    }

    /// True if a device can access another's memory; a device is no peer of itself.
    fn cuDeviceCanAccessPeer(result: Out<c_int>, dev: c_int, peerDev: c_int) {
        device(dev)?;
        device(peerDev)?;
        result.set((dev != peerDev).into())
    }

    /// An attribute of the link between two devices.
    fn cuDeviceGetP2PAttribute(value: Out<c_int>, attribute: c_int, srcDevice: c_int, dstDevice: c_int) {
        value.check()?;
        let (source, target) = (device(srcDevice)?.ordinal, device(dstDevice)?.ordinal);
        value.set(peer::attribute(attribute, source, target)?)
    }

    /// Always 0: contexts cannot be restricted to some multiprocessors.
    fn cuDeviceGetExecAffinitySupport(result: Out<c_int>, _kind: c_int, dev: c_int) {
        device(dev)?;
        result.set(0)
    }

    /// Starts the profiled region.
    fn cuProfilerStart() {
        annotations::set_profiled(session(), true);
        Ok(())
    }

    /// Ends the profiled region.
    fn cuProfilerStop() {
        annotations::set_profiled(session(), false);
        Ok(())
    }

    /// Elements of the longest linear texture of one dimension.
    fn cuDeviceGetTexture1DLinearMaxWidth(
        maxWidthInElements: Out<usize>, format: c_int, numChannels: c_uint, dev: c_int,
    ) {
        maxWidthInElements.check()?;
        let simulator = device(dev)?;
        driver_format(format, numChannels)?;
        maxWidthInElements.set(simulator.profile.amount(Attribute::MaxTexture1dLinearWidth) as usize)
    }

    /// Atomic operations that the link to the host performs itself.
    fn cuDeviceGetHostAtomicCapabilities(
        capabilities: Out<c_uint>, operations: In<c_int>, count: c_uint, dev: c_int,
    ) {
        device(dev)?;
        link_atomics(capabilities, operations, count)
    }

    /// Atomic operations that the link between two devices performs itself.
    fn cuDeviceGetP2PAtomicCapabilities(
        capabilities: Out<c_uint>, operations: In<c_int>, count: c_uint, srcDevice: c_int, dstDevice: c_int,
    ) {
        device(srcDevice)?;
        device(dstDevice)?;
        if srcDevice == dstDevice {
            return Err(Error::InvalidDevice);
        }
        link_atomics(capabilities, operations, count)
    }

    /// Registers a callback for memory use above the process's share. The callback never runs,
    /// since such requests are rejected.
    fn cuDeviceRegisterAsyncNotification(
        dev: c_int, callbackFunc: Address, _userData: *mut c_void, callback: Out<u64>,
    ) {
        device(dev)?;
        notification::register(shared(), callbackFunc, callback)
    }

    /// Undoes `cuDeviceRegisterAsyncNotification`.
    fn cuDeviceUnregisterAsyncNotification(dev: c_int, callback: u64) {
        device(dev)?;
        notification::unregister(shared(), callback)
    }
}

//! Devices: count, selection, attributes, properties, limits, synchronisation, peers.

use crate::abi::error::{Error, Result};
use crate::abi::texture::ChannelFormat;
use crate::abi::{Address, In, Out, Text};
use crate::api::driver::{driver_version, link_atomics};
use crate::api::entry::api;
use crate::objects::{last_error, notification, peer};
use crate::profile::device_properties::{Layout, device_properties};
use crate::profile::{Attribute, Profile};
use crate::root::{device_count, session, shared, simulator, simulator_of};
use crate::session::annotations;
use crate::session::context::{self, check_device, ordinal};
use crate::session::streams::GREATEST_PRIORITY;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// Flags accepted by `cudaSetDeviceFlags`: scheduling (1, 2, 4), mapped host memory (8), local
/// memory (16), synchronous memory operations (128).
const DEVICE_FLAGS: u32 = 0x9f;

/// Stores `cudaDeviceProp` in the caller's structure.
fn store_properties(target: *mut c_void, device: c_int, layout: Layout) -> Result<()> {
    if target.is_null() {
        return Err(Error::InvalidValue);
    }
    let bytes = device_properties(&simulator_of(ordinal(device)?)?.profile, layout);
    // SAFETY: not null, so by the API's contract room for the structure of the version that was
    // called.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target.cast(), bytes.len()) };
    Ok(())
}

/// `domain:bus:device.function` in the driver's form.
pub(crate) fn pci_bus_id(profile: &Profile) -> String {
    let part = |attribute| profile.attribute(attribute);
    let (domain, bus) = (part(Attribute::PciDomainId), part(Attribute::PciBusId));
    format!("{domain:04X}:{bus:02X}:{:02X}.0", part(Attribute::PciDeviceId))
}

/// Stores a C string, truncated to the caller's buffer.
pub(crate) fn store_text(target: *mut c_char, room: c_int, text: &str) -> Result<()> {
    let room = usize::try_from(room).map_err(|_| Error::InvalidValue)?;
    if target.is_null() || room == 0 {
        return Err(Error::InvalidValue);
    }
    let length = text.len().min(room - 1);
    // SAFETY: not null, so by the API's contract `room` bytes, more than `length`.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), target.cast(), length);
        target.add(length).write(0);
    }
    Ok(())
}

/// The device of a PCI bus id; domain and function are optional.
pub(crate) fn device_by_pci_bus_id(text: Text) -> Result<c_int> {
    let wanted = text.get()?.to_string_lossy().to_uppercase();
    for device in 0..device_count() {
        let own = pci_bus_id(&simulator_of(device)?.profile);
        let short = own.split_once(':').map_or("", |(_, rest)| rest);
        let forms = [own.as_str(), own.trim_end_matches(".0"), short, short.trim_end_matches(".0")];
        if forms.contains(&wanted.as_str()) {
            return Ok(device as c_int);
        }
    }
    Err(Error::InvalidDevice)
}

fn synchronize() -> Result<()> {
    simulator()?.synchronize_device()
}

fn set_limit(limit: c_int, value: usize) -> Result<()> {
    simulator()?.set_limit(limit, value as u64)
}

fn limit(result: Out<usize>, limit: c_int) -> Result<()> {
    result.set(simulator()?.limit(limit)? as usize)
}

/// Cache and bank configurations are mere preferences; only their range is checked.
fn check_preference(value: c_int, largest: c_int) -> Result<()> {
    if (0..=largest).contains(&value) { Ok(()) } else { Err(Error::InvalidValue) }
}

fn preference(result: Out<c_int>) -> Result<()> {
    result.set(0)
}

api! { Runtime;
    /// Number of devices.
    fn cudaGetDeviceCount(count: Out<c_int>) {
        count.set(0)?;
        context::runtime(session())?;
        count.set(device_count() as c_int)
    }

    /// Current device of the thread.
    fn cudaGetDevice(device: Out<c_int>) {
        device.check()?;
        device.set(simulator()?.ordinal as c_int)
    }

    /// Makes a device and its primary context current for the thread.
    fn cudaSetDevice(device: c_int) {
        context::choose_device(session(), ordinal(device)?)?;
        last_error::check_sticky()
    }

    /// Creates a device's primary context without making it current.
    fn cudaInitDevice(device: c_int, deviceFlags: c_uint, flags: c_uint) {
        let device = ordinal(device)?;
        context::hold_for_runtime(session(), device)?;
        if flags & 1 != 0 {
            context::set_primary_flags(session(), device, deviceFlags)?;
        }
        Ok(())
    }

    /// Sets the order in which devices are tried; all are equal.
    fn cudaSetValidDevices(devices: *const c_int, len: c_int) {
        if len < 0 || (devices.is_null() && len > 0) {
            return Err(Error::InvalidValue);
        }
        Ok(())
    }

    /// The device that fits given properties best; all are equal.
    fn cudaChooseDevice(device: Out<c_int>, properties: *const c_void) {
        if properties.is_null() {
            return Err(Error::InvalidValue);
        }
        device.set(0)
    }

    /// Scheduling and mapping flags.
    fn cudaSetDeviceFlags(flags: c_uint) {
        if flags & !DEVICE_FLAGS != 0 {
            return Err(Error::InvalidValue);
        }
        context::set_primary_flags(session(), context::current_device(), flags)
    }

    /// Scheduling and mapping flags; host memory is always mapped.
    fn cudaGetDeviceFlags(flags: Out<c_uint>) {
        flags.set(context::current_flags(session())? | 8)
    }

    /// Device properties in CUDA 11's structure, which CUDA 12 keeps under this name.
    fn cudaGetDeviceProperties(prop: *mut c_void, device: c_int) { store_properties(prop, device, Layout::V11) }

    /// Device properties in CUDA 12's structure.
    fn cudaGetDeviceProperties_v2(prop: *mut c_void, device: c_int) { store_properties(prop, device, Layout::V12) }

    /// Device properties in CUDA 13's structure, exported as `cudaGetDeviceProperties`.
    fn cudaGetDeviceProperties_v13(prop: *mut c_void, device: c_int) { store_properties(prop, device, Layout::V13) }

    /// An attribute.
    fn cudaDeviceGetAttribute(value: Out<c_int>, attribute: c_int, device: c_int) {
        value.check()?;
        let simulator = simulator_of(ordinal(device)?)?;
        value.set(simulator.profile.attribute_for_caller(attribute).ok_or(Error::InvalidValue)?)
    }

    /// Waits for all work of the device.
    fn cudaDeviceSynchronize() { synchronize() }

    /// Waits for all work of the device.
    fn cudaThreadSynchronize() { synchronize() }

    /// Resets the device.
    fn cudaDeviceReset() { context::reset_current_device(session()) }

    /// Resets the device.
    fn cudaThreadExit() { context::reset_current_device(session()) }

    /// Value of a limit.
    fn cudaDeviceGetLimit(value: Out<usize>, limit_: c_int) { limit(value, limit_) }

    /// Sets a limit.
    fn cudaDeviceSetLimit(limit: c_int, value: usize) { set_limit(limit, value) }

    /// Value of a limit.
    fn cudaThreadGetLimit(value: Out<usize>, limit_: c_int) { limit(value, limit_) }

    /// Sets a limit.
    fn cudaThreadSetLimit(limit: c_int, value: usize) { set_limit(limit, value) }

    /// Preferred split of L1 and shared memory.
    fn cudaDeviceGetCacheConfig(config: Out<c_int>) { preference(config) }

    /// Preferred split of L1 and shared memory.
    fn cudaDeviceSetCacheConfig(config: c_int) { check_preference(config, 3) }

    /// Preferred split of L1 and shared memory.
    fn cudaThreadGetCacheConfig(config: Out<c_int>) { preference(config) }

    /// Preferred split of L1 and shared memory.
    fn cudaThreadSetCacheConfig(config: c_int) { check_preference(config, 3) }

    /// Preferred width of shared memory banks.
    fn cudaDeviceGetSharedMemConfig(config: Out<c_int>) { preference(config) }

    /// Preferred width of shared memory banks.
    fn cudaDeviceSetSharedMemConfig(config: c_int) { check_preference(config, 2) }

    /// Resets persisting cache lines, of which the model has none.
    fn cudaCtxResetPersistingL2Cache() { Ok(()) }

    /// Least and greatest stream priority.
    fn cudaDeviceGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) {
        least.set_if_wanted(0);
        greatest.set_if_wanted(GREATEST_PRIORITY);
        Ok(())
    }

    /// `domain:bus:device.function`.
    fn cudaDeviceGetPCIBusId(text: *mut c_char, len: c_int, device: c_int) {
        let simulator = simulator_of(ordinal(device)?)?;
        store_text(text, len, &pci_bus_id(&simulator.profile))
    }

    /// The device of a PCI bus id.
    fn cudaDeviceGetByPCIBusId(device: Out<c_int>, pciBusId: Text) {
        device.set(device_by_pci_bus_id(pciBusId)?)
    }

    /// Tells if a device can access another's memory; a device is no peer of itself.
    fn cudaDeviceCanAccessPeer(result: Out<c_int>, device: c_int, peerDevice: c_int) {
        check_device(device)?;
        check_device(peerDevice)?;
        result.set((device != peerDevice).into())
    }

    /// Gives the current device access to another's memory.
    fn cudaDeviceEnablePeerAccess(peerDevice: c_int, flags: c_uint) {
        peer::enable(shared(), simulator()?.ordinal, ordinal(peerDevice)?, flags)
    }

    /// Undoes `cudaDeviceEnablePeerAccess`.
    fn cudaDeviceDisablePeerAccess(peerDevice: c_int) {
        peer::disable(shared(), simulator()?.ordinal, ordinal(peerDevice)?)
    }

    /// An attribute of the link between two devices.
    fn cudaDeviceGetP2PAttribute(value: Out<c_int>, attribute: c_int, srcDevice: c_int, dstDevice: c_int) {
        value.check()?;
        value.set(peer::attribute(attribute, ordinal(srcDevice)?, ordinal(dstDevice)?)?)
    }

    /// CUDA version of the driver.
    fn cudaDriverGetVersion(version: Out<c_int>) {
        version.check()?;
        version.set(driver_version()?)
    }

    /// CUDA version of `libcudart.so.11.0`, exported as `cudaRuntimeGetVersion`.
    fn cudaRuntimeGetVersion_v11(version: Out<c_int>) { version.set(11_080) }

    /// CUDA version of `libcudart.so.12`, exported as `cudaRuntimeGetVersion`.
    fn cudaRuntimeGetVersion_v12(version: Out<c_int>) { version.set(12_090) }

    /// CUDA version of `libcudart.so.13`, exported as `cudaRuntimeGetVersion`.
    fn cudaRuntimeGetVersion_v13(version: Out<c_int>) { version.set(13_050) }

    /// Starts the profiled region.
    fn cudaProfilerStart() {
        annotations::set_profiled(session(), true);
        Ok(())
    }

    /// Ends the profiled region.
    fn cudaProfilerStop() {
        annotations::set_profiled(session(), false);
        Ok(())
    }

    /// Elements of the longest linear texture of one dimension.
    fn cudaDeviceGetTexture1DLinearMaxWidth(
        maxWidthInElements: Out<usize>, fmtDesc: In<ChannelFormat>, device: c_int,
    ) {
        maxWidthInElements.check()?;
        check_device(device)?;
        fmtDesc.get()?.format()?;
        maxWidthInElements.set(simulator()?.profile.amount(Attribute::MaxTexture1dLinearWidth) as usize)
    }

    /// Atomic operations that the link to the host performs itself.
    fn cudaDeviceGetHostAtomicCapabilities(
        capabilities: Out<c_uint>, operations: In<c_int>, count: c_uint, device: c_int,
    ) {
        check_device(device)?;
        link_atomics(capabilities, operations, count)
    }

    /// Atomic operations that the link between two devices performs itself.
    fn cudaDeviceGetP2PAtomicCapabilities(
        capabilities: Out<c_uint>, operations: In<c_int>, count: c_uint, srcDevice: c_int, dstDevice: c_int,
    ) {
        check_device(srcDevice)?;
        check_device(dstDevice)?;
        if srcDevice == dstDevice {
            return Err(Error::InvalidDevice);
        }
        link_atomics(capabilities, operations, count)
    }

    /// Registers a callback for memory use above the process's share. The callback never runs,
    /// since such requests are rejected.
    fn cudaDeviceRegisterAsyncNotification(
        device: c_int, callbackFunc: Address, _userData: *mut c_void, callback: Out<u64>,
    ) {
        check_device(device)?;
        notification::register(shared(), callbackFunc, callback)
    }

    /// Undoes `cudaDeviceRegisterAsyncNotification`.
    fn cudaDeviceUnregisterAsyncNotification(device: c_int, callback: u64) {
        check_device(device)?;
        notification::unregister(shared(), callback)
    }

    /// Formerly converted doubles for devices without them; has no effect.
    fn cudaSetDoubleForDevice(d: Out<f64>) { d.check() }

    /// As `cudaSetDoubleForDevice`.
    fn cudaSetDoubleForHost(d: Out<f64>) { d.check() }
}

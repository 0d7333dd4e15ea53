//! Multicast objects.

use crate::abi::error::{Error, Result};
use crate::abi::{Address, In, Out};
use crate::api::entry::api;
use crate::objects::multicast::MulticastProperties;
use crate::objects::virtual_memory::{self, GRANULARITY};
use crate::root::{shared, simulator, simulator_of};
use crate::session::context::ordinal;
use std::ffi::{c_int, c_ulonglong};

/// The device with this ordinal, once it is started.
fn started(device: usize) -> Result<usize> {
    simulator_of(device).map(|_| device)
}

api! { Driver;
    /// Creates a multicast object for several devices' memory.
    fn cuMulticastCreate(mcHandle: Out<u64>, prop: In<MulticastProperties>) {
        mcHandle.check()?;
        mcHandle.set(virtual_memory::create_multicast(shared(), &simulator()?.device.memory, &prop.get()?)?)
    }

    /// Adds a device to a multicast object.
    fn cuMulticastAddDevice(mcHandle: u64, dev: c_int) {
        virtual_memory::with_multicast(shared(), mcHandle, |object| object.add(ordinal(dev)?))
    }

    /// Binds memory on the device of its allocation.
    fn cuMulticastBindMem(
        mcHandle: u64, mcOffset: usize, memHandle: u64, memOffset: usize, size: usize, flags: c_ulonglong,
    ) {
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        let device = virtual_memory::device_of_handle(shared(), memHandle)?;
        let range = (mcOffset as u64, size as u64);
        virtual_memory::bind_memory(shared(), mcHandle, started(device)?, range, memHandle, memOffset as u64)
    }

    /// Binds memory for a device.
    fn cuMulticastBindMem_v2(
        mcHandle: u64, dev: c_int, mcOffset: usize, memHandle: u64, memOffset: usize, size: usize, flags: c_ulonglong,
    ) {
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        let range = (mcOffset as u64, size as u64);
        virtual_memory::bind_memory(shared(), mcHandle, started(ordinal(dev)?)?, range, memHandle, memOffset as u64)
    }

    /// Binds mapped memory on the device that it belongs to.
    fn cuMulticastBindAddr(mcHandle: u64, mcOffset: usize, memptr: Address, size: usize, flags: c_ulonglong) {
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        let device = virtual_memory::device_at(shared(), memptr.0 as u64)?;
        virtual_memory::bind_address(shared(), mcHandle, started(device)?, (mcOffset as u64, size as u64), memptr.0 as u64)
    }

    /// Binds mapped memory for a device.
    fn cuMulticastBindAddr_v2(
        mcHandle: u64, dev: c_int, mcOffset: usize, memptr: Address, size: usize, flags: c_ulonglong,
    ) {
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        let range = (mcOffset as u64, size as u64);
        virtual_memory::bind_address(shared(), mcHandle, started(ordinal(dev)?)?, range, memptr.0 as u64)
    }

    /// Removes a device's bindings in a range, after the work that may use them.
    fn cuMulticastUnbind(mcHandle: u64, dev: c_int, mcOffset: usize, size: usize) {
        let device = ordinal(dev)?;
        virtual_memory::wait_for_devices(shared())?;
        virtual_memory::with_multicast(shared(), mcHandle, |object| object.unbind(device, mcOffset as u64, size as u64))
    }

    /// Granularity of sizes: minimum (option 0) or recommended (1).
    fn cuMulticastGetGranularity(granularity: Out<usize>, prop: In<MulticastProperties>, option: c_int) {
        granularity.check()?;
        prop.get()?;
        if !matches!(option, 0 | 1) {
            return Err(Error::InvalidValue);
        }
        granularity.set(GRANULARITY as usize)
    }
}

//! Device memory at given addresses.

use std::ffi::c_int;

use crate::{Driver, DriverError};

/// Granularity of addresses and sizes in bytes.
pub const BLOCK: u64 = 2 << 20;

/// `CU_MEM_ALLOCATION_TYPE_PINNED`, `CU_MEM_LOCATION_TYPE_DEVICE`, `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`.
const PINNED: c_int = 1;
const DEVICE: c_int = 1;
const READ_WRITE: c_int = 3;

/// `CUmemLocation`.
#[repr(C)]
struct Location {
    kind: c_int,
    id: c_int,
}

/// `CUmemAllocationProp`.
#[repr(C)]
pub(crate) struct Properties {
    kind: c_int,
    handle_types: c_int,
    location: Location,
    windows_data: usize,
    flags: [u8; 8],
}

/// `CUmemAccessDesc`.
#[repr(C)]
pub(crate) struct Access {
    location: Location,
    flags: c_int,
}

impl Driver {
    /// Maps memory at whole blocks of addresses for the lifetime of the process. Returns `false` if the
    /// addresses are occupied.
    pub fn map_at(&self, address: u64, size: u64) -> Result<bool, DriverError> {
        if let Some(is_claimed) = self.claim(address, size) {
            return Ok(is_claimed);
        }
        let call = &self.functions;
        let length = size as usize;
        let (mut given, mut handle) = (0, 0);
        let location = || Location { kind: DEVICE, id: 0 };
        let properties = Properties {
            kind: PINNED,
            handle_types: 0,
            location: location(),
            windows_data: 0,
            flags: [0; 8],
        };
        let access = Access { location: location(), flags: READ_WRITE };
        // SAFETY: outputs and descriptions are valid, and the driver checks addresses and sizes.
        unsafe {
            let code = (call.cuMemAddressReserve)(&raw mut given, length, 0, address, 0);
            self.check("cuMemAddressReserve", code)?;
            if given != address {
                self.check("cuMemAddressFree", (call.cuMemAddressFree)(given, length))?;
                return Ok(false);
            }
            let code = (call.cuMemCreate)(&raw mut handle, length, &raw const properties, 0);
            self.check("cuMemCreate", code)?;
            self.check("cuMemMap", (call.cuMemMap)(given, length, 0, handle, 0))?;
            let code = (call.cuMemSetAccess)(given, length, &raw const access, 1);
            self.check("cuMemSetAccess", code)?;
        }
        Ok(true)
    }
}

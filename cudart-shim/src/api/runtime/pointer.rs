//! Pointer queries: `cudaPointerGetAttributes`.

use crate::abi::error::Result;
use crate::abi::{Address, Out};
use crate::api::entry::api;
use crate::root::owner_of;
use functional::memory::AllocationKind;
use std::ffi::c_int;

/// `cudaInvalidDeviceId`.
const NO_DEVICE: c_int = -2;

/// `cudaPointerAttributes` of CUDA 11 and 12; CUDA 13 appends 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct PointerAttributes {
    /// 0 unregistered, 1 host, 2 device, 3 managed.
    kind: c_int,
    device: c_int,
    device_pointer: Address,
    host_pointer: Address,
}

/// `cudaPointerAttributes` of CUDA 13.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct PointerAttributes13 {
    common: PointerAttributes,
    locality_domain: c_int,
    reserved: [u64; 7],
}

fn describe(pointer: Address) -> Result<PointerAttributes> {
    let owner = owner_of(pointer.0 as u64);
    let ordinal = owner.map_or(NO_DEVICE, |(owner, _)| owner.ordinal as c_int);
    let null = Address(0);
    let (kind, device, device_pointer, host_pointer) = match owner.map(|(_, found)| found.kind) {
        None => (0, NO_DEVICE, null, pointer),
        Some(AllocationKind::Host | AllocationKind::Registered) => (1, ordinal, pointer, pointer),
        Some(AllocationKind::Managed) => (3, ordinal, pointer, pointer),
        Some(_) => (2, ordinal, pointer, null),
    };
    Ok(PointerAttributes { kind, device, device_pointer, host_pointer })
}

api! { Runtime;
    /// Kind and addresses of a pointer; an unknown one is unregistered host memory.
    fn cudaPointerGetAttributes(attributes: Out<PointerAttributes>, ptr: Address) {
        attributes.check()?;
        attributes.set(describe(ptr)?)
    }

    /// As the previous call, in CUDA 13's structure; exported as `cudaPointerGetAttributes`.
    fn cudaPointerGetAttributes_v13(attributes: Out<PointerAttributes13>, ptr: Address) {
        attributes.check()?;
        attributes.set(PointerAttributes13 { common: describe(ptr)?, locality_domain: 0, reserved: [0; 7] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_original_sizes() {
        assert_eq!((size_of::<PointerAttributes>(), size_of::<PointerAttributes13>()), (24, 88));
    }
}

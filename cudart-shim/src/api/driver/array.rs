//! Arrays: creation, description, release.

use crate::abi::error::Result;
use crate::abi::texture::{ArrayDescription, ArrayDescription3d, driver_format, driver_format_code};
use crate::abi::{ArrayHandle, In, MipmappedArrayHandle, Out};
use crate::api::entry::api;
use crate::objects::array::ArrayShape;
use crate::root::simulator;
use std::ffi::c_uint;

fn shape(description: ArrayDescription3d) -> Result<ArrayShape> {
    let ArrayDescription3d { width, height, depth, format, channels, flags } = description;
    Ok(ArrayShape { format: driver_format(format, channels)?, size: [width, height, depth], flags })
}

api! { Driver;
    /// Makes an array of one or two dimensions.
    fn cuArrayCreate_v2(pHandle: Out<ArrayHandle>, pAllocateArray: In<ArrayDescription>) {
        pHandle.check()?;
        let simulator = simulator()?;
        let ArrayDescription { width, height, format, channels } = pAllocateArray.get()?;
        let shape = shape(ArrayDescription3d { width, height, depth: 0, format, channels, flags: 0 })?;
        pHandle.set(simulator.create_array(&shape)?)
    }

    /// Makes an array of any shape.
    fn cuArray3DCreate_v2(pHandle: Out<ArrayHandle>, pAllocateArray: In<ArrayDescription3d>) {
        pHandle.check()?;
        let simulator = simulator()?;
        pHandle.set(simulator.create_array(&shape(pAllocateArray.get()?)?)?)
    }

    /// Description of an array.
    fn cuArrayGetDescriptor_v2(pArrayDescriptor: Out<ArrayDescription>, hArray: ArrayHandle) {
        let array = simulator()?.array(hArray)?;
        let ([width, height, _], format) = (array.size, array.image.format);
        let (format, channels) = (driver_format_code(format), format.channels);
        pArrayDescriptor.set(ArrayDescription { width, height, format, channels })
    }

    /// Description of an array.
    fn cuArray3DGetDescriptor_v2(pArrayDescriptor: Out<ArrayDescription3d>, hArray: ArrayHandle) {
        let array = simulator()?.array(hArray)?;
        let ([width, height, depth], format) = (array.size, array.image.format);
        let (format, channels) = (driver_format_code(format), format.channels);
        pArrayDescriptor.set(ArrayDescription3d { width, height, depth, format, channels, flags: array.flags })
    }

    /// Frees an array.
    fn cuArrayDestroy(hArray: ArrayHandle) { simulator()?.free_array(hArray) }

    /// Makes a mipmapped array.
    fn cuMipmappedArrayCreate(
        pHandle: Out<MipmappedArrayHandle>, pMipmappedArrayDesc: In<ArrayDescription3d>, numMipmapLevels: c_uint,
    ) {
        pHandle.check()?;
        let simulator = simulator()?;
        pHandle.set(simulator.create_mipmapped_array(&shape(pMipmappedArrayDesc.get()?)?, numMipmapLevels)?)
    }

    /// Array of a level of a mipmapped array.
    fn cuMipmappedArrayGetLevel(pLevelArray: Out<ArrayHandle>, hMipmappedArray: MipmappedArrayHandle, level: c_uint) {
        pLevelArray.set(simulator()?.level_of(hMipmappedArray, level)?)
    }

    /// Frees a mipmapped array.
    fn cuMipmappedArrayDestroy(hMipmappedArray: MipmappedArrayHandle) {
        simulator()?.free_mipmapped_array(hMipmappedArray)
    }
}

//! Arrays: creation, description, release.

use crate::abi::error::{Error, Result};
use crate::abi::texture::ChannelFormat;
use crate::abi::{ArrayHandle, CudaExtent, In, MipmappedArrayHandle, Out};
use crate::api::entry::api;
use crate::objects::array::{ArrayShape, CUBEMAP, LAYERED};
use crate::root::simulator;
use std::ffi::{c_int, c_uint};

fn shape(channels: In<ChannelFormat>, extent: CudaExtent, flags: c_uint) -> Result<ArrayShape> {
    let format = channels.get()?.format()?;
    Ok(ArrayShape { format, size: [extent.width, extent.height, extent.depth], flags })
}

api! { Runtime;
    /// A channel description.
    fn cudaCreateChannelDesc(x: c_int, y: c_int, z: c_int, w: c_int, f: c_int) -> ChannelFormat = ChannelFormat::default(); {
        ChannelFormat { bits: [x, y, z, w], kind: f }
    }

    /// Makes an array of one or two dimensions.
    fn cudaMallocArray(
        array: Out<ArrayHandle>, desc: In<ChannelFormat>, width: usize, height: usize, flags: c_uint,
    ) {
        array.check()?;
        if flags & (LAYERED | CUBEMAP) != 0 {
            return Err(Error::InvalidValue);
        }
        let shape = shape(desc, CudaExtent { width, height, depth: 0 }, flags)?;
        array.set(simulator()?.create_array(&shape)?)
    }

    /// Makes an array of any shape.
    fn cudaMalloc3DArray(
        array: Out<ArrayHandle>, desc: In<ChannelFormat>, extent: CudaExtent, flags: c_uint,
    ) {
        array.check()?;
        array.set(simulator()?.create_array(&shape(desc, extent, flags)?)?)
    }

    /// Makes a mipmapped array.
    fn cudaMallocMipmappedArray(
        mipmappedArray: Out<MipmappedArrayHandle>, desc: In<ChannelFormat>, extent: CudaExtent, numLevels: c_uint,
        flags: c_uint,
    ) {
        mipmappedArray.check()?;
        let shape = shape(desc, extent, flags)?;
        mipmappedArray.set(simulator()?.create_mipmapped_array(&shape, numLevels)?)
    }

    /// Array of a level of a mipmapped array.
    fn cudaGetMipmappedArrayLevel(levelArray: Out<ArrayHandle>, mipmappedArray: MipmappedArrayHandle, level: c_uint) {
        levelArray.check()?;
        levelArray.set(simulator()?.level_of(mipmappedArray, level)?)
    }

    /// Frees an array; null has no effect.
    fn cudaFreeArray(array: ArrayHandle) {
        let simulator = simulator()?;
        if array.0 == 0 { Ok(()) } else { simulator.free_array(array).map_err(freed) }
    }

    /// Frees a mipmapped array; null has no effect.
    fn cudaFreeMipmappedArray(mipmappedArray: MipmappedArrayHandle) {
        let simulator = simulator()?;
        if mipmappedArray.0 == 0 { Ok(()) } else { simulator.free_mipmapped_array(mipmappedArray).map_err(freed) }
    }

    /// Description of an array.
    fn cudaArrayGetInfo(
        desc: Out<ChannelFormat>, extent: Out<CudaExtent>, flags: Out<c_uint>, array: ArrayHandle,
    ) {
        let array = simulator()?.array(array)?;
        let [width, height, depth] = array.size;
        desc.set_if_wanted(array.image.format.into());
        extent.set_if_wanted(CudaExtent { width, height, depth });
        flags.set_if_wanted(array.flags);
        Ok(())
    }

    /// The channels of an array.
    fn cudaGetChannelDesc(desc: Out<ChannelFormat>, array: ArrayHandle) {
        desc.set(simulator()?.array(array)?.image.format.into())
    }
}

/// Maps the error of freeing an unknown array to an invalid value.
fn freed(error: Error) -> Error {
    if error == Error::InvalidResourceHandle { Error::InvalidValue } else { error }
}

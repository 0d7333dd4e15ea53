//! Texture and surface references (CUDA 11 and earlier).

use crate::abi::error::{Error, Result};
use crate::abi::texture::{ChannelFormat, Resource, TextureReference};
use crate::abi::{Address, ArrayHandle, In, MipmappedArrayHandle, Out};
use crate::api::entry::api;
use crate::root::simulator;
use ptx_frontend::isa::ScalarType;

/// Stores the offset; without a destination the offset must be 0.
fn give_offset(place: Out<usize>, offset: usize) -> Result<()> {
    if place.set_if_wanted(offset) || offset == 0 { Ok(()) } else { Err(Error::InvalidValue) }
}

api! { Runtime;
    /// Binds linear memory to a texture.
    fn cudaBindTexture(
        offset: Out<usize>, texref: In<TextureReference>, devPtr: Address, desc: In<ChannelFormat>, size: usize,
    ) {
        let format = desc.get()?.format()?;
        give_offset(offset, simulator()?.bind_linear(texref, devPtr, format, size)?)
    }

    /// Binds rows of linear memory to a texture.
    fn cudaBindTexture2D(
        offset: Out<usize>, texref: In<TextureReference>, devPtr: Address, desc: In<ChannelFormat>, width: usize,
        height: usize, pitch: usize,
    ) {
        let format = desc.get()?.format()?;
        let bound = simulator()?.bind_rows(texref, devPtr, format, [width, height, pitch])?;
        give_offset(offset, bound)
    }

    /// Binds an array to a texture.
    fn cudaBindTextureToArray(texref: In<TextureReference>, array: ArrayHandle, desc: In<ChannelFormat>) {
        desc.get()?.format()?;
        simulator()?.bind_texture(texref, Resource::Array(array))
    }

    /// Binds a mipmapped array to a texture.
    fn cudaBindTextureToMipmappedArray(
        texref: In<TextureReference>, mipmappedArray: MipmappedArrayHandle, desc: In<ChannelFormat>,
    ) {
        desc.get()?.format()?;
        simulator()?.bind_texture(texref, Resource::Mipmapped(mipmappedArray))
    }

    /// Unbinds a texture.
    fn cudaUnbindTexture(texref: In<TextureReference>) { simulator()?.unbind_texture(texref.address()) }

    /// Offset in bytes of the bound memory from the texture's start.
    fn cudaGetTextureAlignmentOffset(offset: Out<usize>, texref: In<TextureReference>) {
        offset.set(simulator()?.texture_offset(texref.address())?)
    }

    /// Structure of a texture: the symbol itself.
    fn cudaGetTextureReference(texref: Out<Address>, symbol: Address) {
        texref.check()?;
        simulator()?.check_reference(symbol, ScalarType::Texref)?;
        texref.set(symbol)
    }

    /// Binds an array to a surface.
    fn cudaBindSurfaceToArray(surfref: Address, array: ArrayHandle, desc: In<ChannelFormat>) {
        desc.get()?.format()?;
        simulator()?.bind_surface(surfref, array)
    }

    /// Structure of a surface: the symbol itself.
    fn cudaGetSurfaceReference(surfref: Out<Address>, symbol: Address) {
        surfref.check()?;
        simulator()?.check_reference(symbol, ScalarType::Surfref)?;
        surfref.set(symbol)
    }
}

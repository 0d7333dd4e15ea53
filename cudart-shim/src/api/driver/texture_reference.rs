//! Texture and surface references: module variables and their bindings.

use crate::abi::error::{Error, Result};
use crate::abi::texture::{
    ArrayDescription, DriverTexture, NORMALIZED_COORDINATES, READ_AS_INTEGER, Resource, SRGB, driver_format,
    driver_format_code,
};
use crate::abi::{
    Address, ArrayHandle, FunctionHandle, In, MipmappedArrayHandle, ModuleHandle, Out,
    SurfaceReferenceHandle, Text, TextureReferenceHandle,
};
use crate::api::entry::api;
use crate::objects::texture_reference::DriverReference;
use crate::root::simulator;
use std::ffi::{c_int, c_uint};

fn change(
    handle: TextureReferenceHandle,
    set: impl FnOnce(&mut DriverReference) -> Result<()>,
) -> Result<()> {
    simulator()?.change_reference(handle, set)
}

fn reference(handle: TextureReferenceHandle) -> Result<DriverReference> {
    simulator()?.reference(handle)
}

/// Requires the flag by which the array's format overrides the reference's.
fn check_override(flags: c_uint) -> Result<()> {
    const OVERRIDE_FORMAT: c_uint = 1;
    if flags & !OVERRIDE_FORMAT == 0 { Ok(()) } else { Err(Error::InvalidValue) }
}

fn bind_rows(
    handle: TextureReferenceHandle,
    description: In<ArrayDescription>,
    address: Address,
    pitch: usize,
) -> Result<()> {
    let ArrayDescription { width, height, format, channels } = description.get()?;
    let format = driver_format(format, channels)?;
    change(handle, |reference| {
        reference.format = format;
        reference.resource = Some(Resource::Pitched { address, format, width, height, pitch });
        Ok(())
    })
}

api! { Driver;
    /// The texture reference of this name.
    fn cuModuleGetTexRef(pTexRef: Out<TextureReferenceHandle>, hmod: ModuleHandle, name: Text) {
        pTexRef.check()?;
        pTexRef.set(simulator()?.texture_reference(hmod, name.get()?)?)
    }

    /// The surface reference of this name.
    fn cuModuleGetSurfRef(pSurfRef: Out<SurfaceReferenceHandle>, hmod: ModuleHandle, name: Text) {
        pSurfRef.check()?;
        pSurfRef.set(simulator()?.surface_reference(hmod, name.get()?)?)
    }

    /// A texture reference outside modules.
    fn cuTexRefCreate(pTexRef: Out<TextureReferenceHandle>) {
        pTexRef.check()?;
        pTexRef.set(simulator()?.create_reference()?)
    }

    /// Destroys a texture reference.
    fn cuTexRefDestroy(hTexRef: TextureReferenceHandle) { simulator()?.destroy_reference(hTexRef) }

    /// Makes a texture reference available to a kernel; those of its module always are.
    fn cuParamSetTexRef(hfunc: FunctionHandle, texunit: c_int, hTexRef: TextureReferenceHandle) {
        /// `CU_PARAM_TR_DEFAULT`, the only unit.
        const DEFAULT_UNIT: c_int = -1;
        simulator()?.kernel(hfunc)?;
        reference(hTexRef)?;
        if texunit == DEFAULT_UNIT { Ok(()) } else { Err(Error::InvalidValue) }
    }

    /// Binds an array.
    fn cuTexRefSetArray(hTexRef: TextureReferenceHandle, hArray: ArrayHandle, Flags: c_uint) {
        check_override(Flags)?;
        simulator()?.bind_reference_array(hTexRef, hArray)
    }

    /// Binds a mipmapped array.
    fn cuTexRefSetMipmappedArray(
        hTexRef: TextureReferenceHandle, hMipmappedArray: MipmappedArrayHandle, Flags: c_uint,
    ) {
        check_override(Flags)?;
        simulator()?.bind_reference_mipmapped(hTexRef, hMipmappedArray)
    }

    /// Binds linear memory.
    fn cuTexRefSetAddress_v2(
        ByteOffset: Out<usize>, hTexRef: TextureReferenceHandle, dptr: Address, bytes: usize,
    ) {
        let offset = simulator()?.bind_reference_linear(hTexRef, dptr, bytes)?;
        if ByteOffset.set_if_wanted(offset) || offset == 0 { Ok(()) } else { Err(Error::InvalidValue) }
    }

    /// Binds rows of linear memory.
    fn cuTexRefSetAddress2D_v2(
        hTexRef: TextureReferenceHandle, desc: In<ArrayDescription>, dptr: Address, Pitch: usize,
    ) {
        bind_rows(hTexRef, desc, dptr, Pitch)
    }

    /// Binds rows of linear memory.
    fn cuTexRefSetAddress2D_v3(
        hTexRef: TextureReferenceHandle, desc: In<ArrayDescription>, dptr: Address, Pitch: usize,
    ) {
        bind_rows(hTexRef, desc, dptr, Pitch)
    }

    /// Format of linear memory.
    fn cuTexRefSetFormat(hTexRef: TextureReferenceHandle, fmt: c_int, NumPackedComponents: c_int) {
        let channels = c_uint::try_from(NumPackedComponents).map_err(|_| Error::InvalidValue)?;
        let format = driver_format(fmt, channels)?;
        change(hTexRef, |reference| {
            reference.format = format;
            if let Some(Resource::Linear { format: bound, .. }) = &mut reference.resource {
                *bound = format;
            }
            Ok(())
        })
    }

    /// Addressing mode of an axis.
    fn cuTexRefSetAddressMode(hTexRef: TextureReferenceHandle, dim: c_int, am: c_int) {
        change(hTexRef, |reference| {
            let modes = &mut reference.texture.common.address_modes;
            let mode = usize::try_from(dim).ok().and_then(|axis| modes.get_mut(axis)).ok_or(Error::InvalidValue)?;
            *mode = if (0..=3).contains(&am) { am } else { return Err(Error::InvalidValue) };
            Ok(())
        })
    }

    /// Filter within a level.
    fn cuTexRefSetFilterMode(hTexRef: TextureReferenceHandle, fm: c_int) {
        change(hTexRef, |reference| {
            reference.texture.common.filter = if matches!(fm, 0 | 1) { fm } else { return Err(Error::InvalidValue) };
            Ok(())
        })
    }

    /// Filter between levels.
    fn cuTexRefSetMipmapFilterMode(hTexRef: TextureReferenceHandle, fm: c_int) {
        change(hTexRef, |reference| {
            reference.texture.common.level_filter =
                if matches!(fm, 0 | 1) { fm } else { return Err(Error::InvalidValue) };
            Ok(())
        })
    }

    /// Level bias.
    fn cuTexRefSetMipmapLevelBias(hTexRef: TextureReferenceHandle, bias: f32) {
        change(hTexRef, |reference| {
            reference.texture.common.bias = bias;
            Ok(())
        })
    }

    /// Finest and coarsest level.
    fn cuTexRefSetMipmapLevelClamp(
        hTexRef: TextureReferenceHandle, minMipmapLevelClamp: f32, maxMipmapLevelClamp: f32,
    ) {
        change(hTexRef, |reference| {
            reference.texture.common.least_level = minMipmapLevelClamp;
            reference.texture.common.most_level = maxMipmapLevelClamp;
            Ok(())
        })
    }

    /// Most samples along an anisotropic footprint.
    fn cuTexRefSetMaxAnisotropy(hTexRef: TextureReferenceHandle, maxAniso: c_uint) {
        change(hTexRef, |reference| {
            reference.texture.common.anisotropy = maxAniso;
            Ok(())
        })
    }

    /// Border colour.
    fn cuTexRefSetBorderColor(hTexRef: TextureReferenceHandle, pBorderColor: In<[f32; 4]>) {
        let border = pBorderColor.get()?;
        change(hTexRef, |reference| {
            reference.texture.common.border = border;
            Ok(())
        })
    }

    /// Reads as integers, normalized coordinates, sRGB.
    fn cuTexRefSetFlags(hTexRef: TextureReferenceHandle, Flags: c_uint) {
        change(hTexRef, |reference| {
            let common = &mut reference.texture.common;
            common.read_mode = c_int::from(Flags & READ_AS_INTEGER == 0);
            common.normalized = c_int::from(Flags & NORMALIZED_COORDINATES != 0);
            common.srgb = c_int::from(Flags & SRGB != 0);
            Ok(())
        })
    }

    /// Bound linear memory.
    fn cuTexRefGetAddress_v2(pdptr: Out<Address>, hTexRef: TextureReferenceHandle) {
        match reference(hTexRef)?.resource {
            Some(Resource::Linear { address, .. } | Resource::Pitched { address, .. }) => pdptr.set(address),
            _ => Err(Error::InvalidValue),
        }
    }

    /// Bound array.
    fn cuTexRefGetArray(phArray: Out<ArrayHandle>, hTexRef: TextureReferenceHandle) {
        match reference(hTexRef)?.resource {
            Some(Resource::Array(array)) => phArray.set(array),
            _ => Err(Error::InvalidValue),
        }
    }

    /// Bound mipmapped array.
    fn cuTexRefGetMipmappedArray(
        phMipmappedArray: Out<MipmappedArrayHandle>, hTexRef: TextureReferenceHandle,
    ) {
        match reference(hTexRef)?.resource {
            Some(Resource::Mipmapped(array)) => phMipmappedArray.set(array),
            _ => Err(Error::InvalidValue),
        }
    }

    /// Addressing mode of an axis.
    fn cuTexRefGetAddressMode(pam: Out<c_int>, hTexRef: TextureReferenceHandle, dim: c_int) {
        let modes = reference(hTexRef)?.texture.common.address_modes;
        let mode = usize::try_from(dim).ok().and_then(|axis| modes.get(axis).copied());
        pam.set(mode.ok_or(Error::InvalidValue)?)
    }

    /// Filter within a level.
    fn cuTexRefGetFilterMode(pfm: Out<c_int>, hTexRef: TextureReferenceHandle) {
        pfm.set(reference(hTexRef)?.texture.common.filter)
    }

    /// Format of linear memory.
    fn cuTexRefGetFormat(pFormat: Out<c_int>, pNumChannels: Out<c_int>, hTexRef: TextureReferenceHandle) {
        let format = reference(hTexRef)?.format;
        pFormat.set_if_wanted(driver_format_code(format));
        pNumChannels.set_if_wanted(format.channels.cast_signed());
        Ok(())
    }

    /// Filter between levels.
    fn cuTexRefGetMipmapFilterMode(pfm: Out<c_int>, hTexRef: TextureReferenceHandle) {
        pfm.set(reference(hTexRef)?.texture.common.level_filter)
    }

    /// Level bias.
    fn cuTexRefGetMipmapLevelBias(pbias: Out<f32>, hTexRef: TextureReferenceHandle) {
        pbias.set(reference(hTexRef)?.texture.common.bias)
    }

    /// Finest and coarsest level.
    fn cuTexRefGetMipmapLevelClamp(
        pminMipmapLevelClamp: Out<f32>, pmaxMipmapLevelClamp: Out<f32>, hTexRef: TextureReferenceHandle,
    ) {
        let common = reference(hTexRef)?.texture.common;
        pminMipmapLevelClamp.set(common.least_level)?;
        pmaxMipmapLevelClamp.set(common.most_level)
    }

    /// Most samples along an anisotropic footprint.
    fn cuTexRefGetMaxAnisotropy(pmaxAniso: Out<c_int>, hTexRef: TextureReferenceHandle) {
        pmaxAniso.set(reference(hTexRef)?.texture.common.anisotropy.cast_signed())
    }

    /// Border colour.
    fn cuTexRefGetBorderColor(pBorderColor: Out<[f32; 4]>, hTexRef: TextureReferenceHandle) {
        pBorderColor.set(reference(hTexRef)?.texture.common.border)
    }

    /// Reads as integers, normalized coordinates, sRGB.
    fn cuTexRefGetFlags(pFlags: Out<c_uint>, hTexRef: TextureReferenceHandle) {
        pFlags.set(DriverTexture::from(reference(hTexRef)?.texture).flags)
    }

    /// Binds an array to a surface.
    fn cuSurfRefSetArray(hSurfRef: SurfaceReferenceHandle, hArray: ArrayHandle, Flags: c_uint) {
        if Flags != 0 {
            return Err(Error::InvalidValue);
        }
        simulator()?.bind_surface_reference(hSurfRef, hArray)
    }

    /// Array bound to a surface.
    fn cuSurfRefGetArray(phArray: Out<ArrayHandle>, hSurfRef: SurfaceReferenceHandle) {
        phArray.set(simulator()?.surface_reference_array(hSurfRef)?)
    }
}

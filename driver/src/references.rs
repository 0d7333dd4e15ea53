//! Texture and surface references: module variables to which memory is bound.

use std::ffi::{c_int, c_uint};
use std::ptr::null_mut;

use launch_capture::Sampler;

use crate::images::{Array, Rows, Texels};
use crate::{Driver, DriverError, Handle, Module, text_of};

/// `CU_TRSA_OVERRIDE_FORMAT`.
const OVERRIDE_FORMAT: c_uint = 1;
/// Flags of references: `CU_TRSF_READ_AS_INTEGER`, `…_NORMALIZED_COORDINATES`, `…_SRGB`.
const FLAGS: c_uint = 0x13;

impl Driver {
    /// Binds texels and a sampler to the texture reference of this name.
    pub fn bind_texture(
        &self,
        module: Module,
        name: &str,
        texels: &Texels<'_>,
        sampler: &Sampler,
    ) -> Result<(), DriverError> {
        let call = &self.functions;
        let (name, mut reference) = (text_of(name), null_mut());
        // SAFETY: the module is from this driver, the name is NUL-terminated, and the outputs are valid.
        unsafe {
            let found = (call.cuModuleGetTexRef)(&raw mut reference, module.0, name.as_ptr());
            self.check("cuModuleGetTexRef", found)?;
            self.bind(reference, texels)?;
            self.set_sampler(reference, sampler)
        }
    }

    /// Binds an array to the surface reference of this name.
    pub fn bind_surface(&self, module: Module, name: &str, array: &Array) -> Result<(), DriverError> {
        let call = &self.functions;
        let (name, mut reference) = (text_of(name), null_mut());
        // SAFETY: as for textures.
        unsafe {
            let found = (call.cuModuleGetSurfRef)(&raw mut reference, module.0, name.as_ptr());
            self.check("cuModuleGetSurfRef", found)?;
            self.check("cuSurfRefSetArray", (call.cuSurfRefSetArray)(reference, array.whole, 0))
        }
    }

    /// # Safety
    /// `reference` must be from this driver.
    unsafe fn bind(&self, reference: Handle, texels: &Texels<'_>) -> Result<(), DriverError> {
        let call = &self.functions;
        // SAFETY: by the caller's contract; arrays and memory are from this driver.
        unsafe {
            match *texels {
                Texels::Array(array) if array.levels.len() > 1 => {
                    let bound = (call.cuTexRefSetMipmappedArray)(reference, array.whole, OVERRIDE_FORMAT);
                    self.check("cuTexRefSetMipmappedArray", bound)
                }
                Texels::Array(array) => {
                    let bound = (call.cuTexRefSetArray)(reference, array.whole, OVERRIDE_FORMAT);
                    self.check("cuTexRefSetArray", bound)
                }
                Texels::Linear { address, format, channels, bytes } => {
                    let set = (call.cuTexRefSetFormat)(reference, format, channels as c_int);
                    self.check("cuTexRefSetFormat", set)?;
                    let bound = (call.cuTexRefSetAddress_v2)(null_mut(), reference, address, bytes as usize);
                    self.check("cuTexRefSetAddress", bound)
                }
                Texels::Pitched { address, format, channels, size: [width, height], pitch } => {
                    let (width, height, pitch) = (width as usize, height as usize, pitch as usize);
                    let rows = Rows { width, height, format, channels };
                    let bound = (call.cuTexRefSetAddress2D_v3)(reference, &raw const rows, address, pitch);
                    self.check("cuTexRefSetAddress2D", bound)
                }
            }
        }
    }

    /// # Safety
    /// `reference` must be from this driver.
    unsafe fn set_sampler(&self, reference: Handle, sampler: &Sampler) -> Result<(), DriverError> {
        let call = &self.functions;
        let [least, most] = sampler.level_range;
        let mut border = sampler.border;
        // SAFETY: by the caller's contract; the border has four components.
        unsafe {
            self.check("cuTexRefSetFlags", (call.cuTexRefSetFlags)(reference, sampler.flags & FLAGS))?;
            let set = (call.cuTexRefSetFilterMode)(reference, sampler.filter);
            self.check("cuTexRefSetFilterMode", set)?;
            for (axis, mode) in (0..).zip(sampler.address) {
                let set = (call.cuTexRefSetAddressMode)(reference, axis, mode);
                self.check("cuTexRefSetAddressMode", set)?;
            }
            let set = (call.cuTexRefSetMipmapFilterMode)(reference, sampler.level_filter);
            self.check("cuTexRefSetMipmapFilterMode", set)?;
            let set = (call.cuTexRefSetMipmapLevelBias)(reference, sampler.bias);
            self.check("cuTexRefSetMipmapLevelBias", set)?;
            let set = (call.cuTexRefSetMipmapLevelClamp)(reference, least, most);
            self.check("cuTexRefSetMipmapLevelClamp", set)?;
            let set = (call.cuTexRefSetMaxAnisotropy)(reference, sampler.anisotropy);
            self.check("cuTexRefSetMaxAnisotropy", set)?;
            let set = (call.cuTexRefSetBorderColor)(reference, border.as_mut_ptr());
            self.check("cuTexRefSetBorderColor", set)
        }
    }
}

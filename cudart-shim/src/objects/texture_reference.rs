//! Texture and surface references: module variables that a program binds to memory. The runtime of
//! CUDA 11 names a reference by its host structure, the driver by a handle.
//!
//! Device code uses the address of the module's variable as the handle, so the engine's table uses
//! it as key.

use crate::abi::error::{Error, Result};
use crate::abi::texture::{Resource, TextureDescription, TextureReference};
use crate::abi::{
    Address, ArrayHandle, In, MipmappedArrayHandle, ModuleHandle, SurfaceReferenceHandle,
    TextureReferenceHandle,
};
use crate::code::registry::{Kind, Registered, registry};
use crate::objects::array::Arrays;
use crate::objects::device::DeviceObjects;
use crate::objects::ownership::{self, Object};
use crate::objects::texture::{Objects, TextureParts};
use functional::texture::{Format, Numeric, Table};
use ptx_frontend::isa::ScalarType;
use rustc_hash::FxHashMap;
use std::ffi::CStr;

/// Handle values lie outside the address space of any process.
const TEXTURES: usize = 0x5a00_0000_0000_0000;
const SURFACES: usize = 0x5b00_0000_0000_0000;

/// A texture reference of the driver API.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DriverReference {
    /// Address of the module's variable; `None` if the program created the reference.
    variable: Option<u64>,
    /// Element format for linear memory.
    pub(crate) format: Format,
    /// Sampling parameters.
    pub(crate) texture: TextureDescription,
    /// Bound resource.
    pub(crate) resource: Option<Resource>,
}

/// All bound references.
#[derive(Default)]
pub(crate) struct References {
    /// By host structure: the variable, and the byte offset of linear memory from its aligned
    /// address.
    bound: FxHashMap<usize, (u64, usize)>,
    textures: FxHashMap<TextureReferenceHandle, DriverReference>,
    surfaces: FxHashMap<SurfaceReferenceHandle, (u64, Option<ArrayHandle>)>,
    created: usize,
}

/// Splits the address of linear memory into an aligned address for the texture and an offset for
/// the program.
fn aligned(address: usize, alignment: usize) -> (Address, usize) {
    let offset = address % alignment;
    (Address(address - offset), offset)
}

/// References of the runtime API.
impl DeviceObjects {
    /// The variable of a registered structure, and its flag for normalized reads.
    fn registered_reference(&self, structure: usize, wanted: ScalarType) -> Result<(u64, bool)> {
        let invalid = match wanted {
            ScalarType::Surfref => Error::InvalidSurface,
            _ => Error::InvalidTexture,
        };
        let Some(Registered { fat_binary, name, kind }) = registry().lock().find(structure) else {
            return Err(invalid);
        };
        let normalized = match (kind, wanted) {
            (Kind::Texture { normalized_reads }, ScalarType::Texref) => normalized_reads,
            (Kind::Surface, ScalarType::Surfref) => false,
            _ => return Err(invalid),
        };
        let module = self.registered_module(fat_binary)?;
        let variable = module.variable(&name).filter(|variable| variable.ty == wanted).ok_or(invalid)?;
        Ok((variable.address, normalized))
    }

    /// Checks that an address is the structure of a registered reference.
    pub(crate) fn check_reference(&self, structure: Address, wanted: ScalarType) -> Result<()> {
        self.registered_reference(structure.0, wanted).map(|_| ())
    }

    /// Binds a resource to the reference with this host structure.
    pub(crate) fn bind_texture(&self, structure: In<TextureReference>, resource: Resource) -> Result<()> {
        self.bind_with_offset(structure, resource, 0)
    }

    fn bind_with_offset(
        &self,
        structure: In<TextureReference>,
        resource: Resource,
        offset: usize,
    ) -> Result<()> {
        let (variable, normalized_reads) =
            self.registered_reference(structure.address(), ScalarType::Texref)?;
        let texture = structure.get()?.description(normalized_reads);
        let texture = self.texture(&TextureParts { resource, texture, view: None })?;
        self.device.textures.change(|table| table.textures.insert(variable, texture.into()));
        self.references.lock().bound.insert(structure.address(), (variable, offset));
        Ok(())
    }

    /// Binds up to `bytes` bytes of linear memory. Returns the byte offset of the address in the
    /// texture.
    pub(crate) fn bind_linear(
        &self,
        structure: In<TextureReference>,
        address: Address,
        format: Format,
        bytes: usize,
    ) -> Result<usize> {
        let found = self.device.memory.allocation_of(address.0 as u64).ok_or(Error::InvalidValue)?;
        let room = (found.end() as usize).saturating_sub(address.0);
        let (start, offset) = aligned(address.0, self.texture_alignment());
        let bytes = bytes.min(room) + offset;
        self.bind_with_offset(structure, Resource::Linear { address: start, format, bytes }, offset)?;
        Ok(offset)
    }

    /// Binds pitched linear memory. Returns the byte offset of the address in the texture.
    pub(crate) fn bind_rows(
        &self,
        structure: In<TextureReference>,
        address: Address,
        format: Format,
        [width, height, pitch]: [usize; 3],
    ) -> Result<usize> {
        let (address, offset) = aligned(address.0, self.texture_alignment());
        let width = width.saturating_add(offset / format.bytes() as usize);
        let resource = Resource::Pitched { address, format, width, height, pitch };
        self.bind_with_offset(structure, resource, offset)?;
        Ok(offset)
    }

    /// Unbinds a reference.
    pub(crate) fn unbind_texture(&self, structure: usize) -> Result<()> {
        let (variable, _) = self.registered_reference(structure, ScalarType::Texref)?;
        self.device.textures.change(|table| table.remove(variable));
        self.references.lock().bound.remove(&structure);
        Ok(())
    }

    /// Byte offset of the bound address in the texture.
    pub(crate) fn texture_offset(&self, structure: usize) -> Result<usize> {
        self.check_reference(Address(structure), ScalarType::Texref)?;
        let references = self.references.lock();
        references.bound.get(&structure).map(|(_, offset)| *offset).ok_or(Error::InvalidTextureBinding)
    }

    /// Binds an array to the surface reference with this host structure.
    pub(crate) fn bind_surface(&self, structure: Address, array: ArrayHandle) -> Result<()> {
        let (variable, _) = self.registered_reference(structure.0, ScalarType::Surfref)?;
        let surface = self.surface(&Resource::Array(array))?;
        self.device.textures.change(|table| table.surfaces.insert(variable, surface.into()));
        Ok(())
    }

    /// Removes all arrays, objects and bindings.
    pub(crate) fn forget_textures(&self) {
        *self.arrays.lock() = Arrays::of_device(self.ordinal);
        *self.objects.lock() = Objects::of_device(self.ordinal);
        *self.references.lock() = References::default();
        self.device.textures.change(|table| *table = Table::default());
    }
}

/// References of the driver API.
impl DeviceObjects {
    fn module_reference(&self, module: ModuleHandle, name: &CStr, wanted: ScalarType) -> Result<u64> {
        let variable = self.module_variable(module, &name.to_string_lossy())?;
        if variable.ty == wanted { Ok(variable.address) } else { Err(Error::SymbolNotFound) }
    }

    fn add_reference(&self, variable: Option<u64>) -> Option<TextureReferenceHandle> {
        let format = Format::new(Numeric::Float, 32, 1)?;
        let mut references = self.references.lock();
        let known =
            references.textures.iter().find(|(_, known)| variable.is_some() && known.variable == variable);
        if let Some((handle, _)) = known {
            return Some(*handle);
        }
        references.created += 1;
        let handle = TextureReferenceHandle(TEXTURES | (references.created << 4));
        let mut texture = TextureDescription::default();
        texture.common.address_modes = [1; 3];
        texture.common.read_mode = 1;
        references.textures.insert(handle, DriverReference { variable, format, texture, resource: None });
        Some(handle)
    }

    /// The texture reference of a module.
    pub(crate) fn texture_reference(
        &self,
        module: ModuleHandle,
        name: &CStr,
    ) -> Result<TextureReferenceHandle> {
        let variable = self.module_reference(module, name, ScalarType::Texref)?;
        self.add_reference(Some(variable)).ok_or(Error::InvalidValue)
    }

    /// Creates a texture reference outside any module.
    pub(crate) fn create_reference(&self) -> Result<TextureReferenceHandle> {
        let reference = self.add_reference(None).ok_or(Error::InvalidValue)?;
        ownership::adopt(self.shared, Object::Reference(reference));
        Ok(reference)
    }

    /// Destroys a texture reference that the program created.
    pub(crate) fn destroy_reference(&self, handle: TextureReferenceHandle) -> Result<()> {
        let removed = self.references.lock().textures.remove(&handle);
        ownership::disown(self.shared, Object::Reference(handle));
        removed.map(|_| ()).ok_or(Error::InvalidResourceHandle)
    }

    /// Properties of a texture reference.
    pub(crate) fn reference(&self, handle: TextureReferenceHandle) -> Result<DriverReference> {
        self.references.lock().textures.get(&handle).copied().ok_or(Error::InvalidResourceHandle)
    }

    /// Changes a texture reference and its table entry in the engine.
    pub(crate) fn change_reference(
        &self,
        handle: TextureReferenceHandle,
        change: impl FnOnce(&mut DriverReference) -> Result<()>,
    ) -> Result<()> {
        let mut reference = self.reference(handle)?;
        change(&mut reference)?;
        if let (Some(variable), Some(resource)) = (reference.variable, reference.resource) {
            let texture = self.texture(&TextureParts { resource, texture: reference.texture, view: None });
            // Properties are set one by one. Until they are consistent, the previous entry remains
            // in effect.
            if let Ok(texture) = texture {
                self.device.textures.change(|table| table.textures.insert(variable, texture.into()));
            }
        }
        self.references.lock().textures.insert(handle, reference);
        Ok(())
    }

    /// Binds linear memory to a texture reference. Returns the byte offset of the address in the
    /// texture.
    pub(crate) fn bind_reference_linear(
        &self,
        handle: TextureReferenceHandle,
        address: Address,
        bytes: usize,
    ) -> Result<usize> {
        self.device.memory.check_range(address.0 as u64, bytes as u64)?;
        let (start, offset) = aligned(address.0, self.texture_alignment());
        self.change_reference(handle, |reference| {
            let format = reference.format;
            reference.resource = Some(Resource::Linear { address: start, format, bytes: bytes + offset });
            Ok(())
        })?;
        Ok(offset)
    }

    /// Binds an array to a texture reference and adopts its format.
    pub(crate) fn bind_reference_array(
        &self,
        handle: TextureReferenceHandle,
        array: ArrayHandle,
    ) -> Result<()> {
        let format = self.array(array)?.image.format;
        self.change_reference(handle, |reference| {
            reference.format = format;
            reference.resource = Some(Resource::Array(array));
            Ok(())
        })
    }

    /// Binds a mipmapped array to a texture reference and adopts its format.
    pub(crate) fn bind_reference_mipmapped(
        &self,
        handle: TextureReferenceHandle,
        array: MipmappedArrayHandle,
    ) -> Result<()> {
        let format = self.mipmapped_array(array)?.image.format;
        self.change_reference(handle, |reference| {
            reference.format = format;
            reference.resource = Some(Resource::Mipmapped(array));
            Ok(())
        })
    }

    /// The surface reference of a module.
    pub(crate) fn surface_reference(
        &self,
        module: ModuleHandle,
        name: &CStr,
    ) -> Result<SurfaceReferenceHandle> {
        let variable = self.module_reference(module, name, ScalarType::Surfref)?;
        let mut references = self.references.lock();
        if let Some((handle, _)) = references.surfaces.iter().find(|(_, (known, _))| *known == variable) {
            return Ok(*handle);
        }
        references.created += 1;
        let handle = SurfaceReferenceHandle(SURFACES | (references.created << 4));
        references.surfaces.insert(handle, (variable, None));
        Ok(handle)
    }

    /// Binds an array to a surface reference.
    pub(crate) fn bind_surface_reference(
        &self,
        handle: SurfaceReferenceHandle,
        array: ArrayHandle,
    ) -> Result<()> {
        let surface = self.surface(&Resource::Array(array))?;
        let mut references = self.references.lock();
        let (variable, bound) = references.surfaces.get_mut(&handle).ok_or(Error::InvalidResourceHandle)?;
        *bound = Some(array);
        self.device.textures.change(|table| table.surfaces.insert(*variable, surface.into()));
        Ok(())
    }

    /// The array bound to a surface reference.
    pub(crate) fn surface_reference_array(&self, handle: SurfaceReferenceHandle) -> Result<ArrayHandle> {
        let references = self.references.lock();
        let (_, bound) = references.surfaces.get(&handle).ok_or(Error::InvalidResourceHandle)?;
        bound.ok_or(Error::InvalidValue)
    }
}

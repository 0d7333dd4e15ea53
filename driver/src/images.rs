//! Arrays, textures and surfaces of the driver API, with its published structures.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{null, null_mut};

use launch_capture::{Image, Level, Sampler};

use crate::{Driver, DriverError, Handle};

/// `CUDA_ARRAY3D_LAYERED`, `…_SURFACE_LDST`, `…_CUBEMAP`, `…_TEXTURE_GATHER`.
const LAYERED: c_uint = 1;
const SURFACE: c_uint = 2;
const CUBEMAP: c_uint = 4;
const GATHER: c_uint = 8;
/// `CU_RESOURCE_TYPE_…`.
const OF_ARRAY: c_int = 0;
const OF_MIPMAPPED_ARRAY: c_int = 1;
const OF_LINEAR: c_int = 2;
const OF_ROWS: c_int = 3;
/// `CU_MEMORYTYPE_…`.
const HOST: c_int = 1;
const ARRAY: c_int = 3;

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
pub(crate) struct ArrayDescription {
    width: usize,
    height: usize,
    depth: usize,
    format: c_uint,
    channels: c_uint,
    flags: c_uint,
}

/// `CUDA_ARRAY_DESCRIPTOR`: rows of texels.
#[repr(C)]
pub(crate) struct Rows {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) format: c_uint,
    pub(crate) channels: c_uint,
}

/// Source or destination of `CUDA_MEMCPY3D`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Side {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    kind: c_int,
    host: *mut c_void,
    device: u64,
    array: Handle,
    reserved: Handle,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
pub(crate) struct Copy3d {
    from: Side,
    to: Side,
    width: usize,
    height: usize,
    depth: usize,
}

/// `CUDA_RESOURCE_DESC`.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Resource {
    kind: c_int,
    address: u64,
    format: c_uint,
    channels: c_uint,
    sizes: [usize; 3],
    reserved: [u64; 11],
    flags: c_uint,
}

/// `CUDA_TEXTURE_DESC`.
#[repr(C)]
pub(crate) struct Texture {
    address: [c_uint; 3],
    filter: c_uint,
    flags: c_uint,
    anisotropy: c_uint,
    level_filter: c_uint,
    bias: f32,
    level_range: [f32; 2],
    border: [f32; 4],
    reserved: [c_int; 12],
}

/// Array of the driver.
pub struct Array {
    pub(crate) whole: Handle,
    /// Arrays of the mipmap levels, or the array itself.
    pub(crate) levels: Vec<Handle>,
}

/// Texels of a texture.
pub enum Texels<'a> {
    /// Texels in an array.
    Array(&'a Array),
    /// Texels in linear memory.
    Linear {
        /// Device address.
        address: u64,
        /// Element format (`CUarray_format`).
        format: u32,
        /// Channels of a texel.
        channels: u32,
        /// Total size in bytes.
        bytes: u64,
    },
    /// Rows of texels in linear memory.
    Pitched {
        /// Device address.
        address: u64,
        /// Element format (`CUarray_format`).
        format: u32,
        /// Channels of a texel.
        channels: u32,
        /// Texels per row, and rows.
        size: [u32; 2],
        /// Row pitch in bytes.
        pitch: u64,
    },
}

impl Texels<'_> {
    fn resource(&self) -> Resource {
        let none = Resource::default();
        match *self {
            Texels::Array(array) => {
                let kind = if array.levels.len() > 1 { OF_MIPMAPPED_ARRAY } else { OF_ARRAY };
                Resource { kind, address: array.whole as u64, ..none }
            }
            Texels::Linear { address, format, channels, bytes } => {
                Resource { kind: OF_LINEAR, address, format, channels, sizes: [bytes as usize, 0, 0], ..none }
            }
            Texels::Pitched { address, format, channels, size: [width, height], pitch } => {
                let sizes = [width as usize, height as usize, pitch as usize];
                Resource { kind: OF_ROWS, address, format, channels, sizes, ..none }
            }
        }
    }
}

/// Returns both sides of a copy between a level's array and a buffer of the whole image, and the extent.
fn sides(image: &Image, level: &Level, array: Handle, memory: *mut u8) -> (Side, Side, [usize; 3]) {
    let here = Side {
        x: 0,
        y: 0,
        z: 0,
        level: 0,
        kind: HOST,
        host: memory.cast(),
        device: 0,
        array: null_mut(),
        reserved: null_mut(),
        pitch: level.pitch as usize,
        height: (level.slice / level.pitch.max(1)) as usize,
    };
    let there = Side { kind: ARRAY, host: null_mut(), array, pitch: 0, height: 0, ..here };
    let [width, height, _] = level.size.map(|size| size as usize);
    (here, there, [width * image.texel_bytes as usize, height, image.slices(level) as usize])
}

impl Driver {
    /// Creates an array. Surfaces require `writable`.
    pub fn array(&self, image: &Image, writable: bool) -> Result<Array, DriverError> {
        let [width, height, depth] = image.levels.first().map_or([0; 3], |level| level.size);
        let layered = image.layers > if image.cube { 6 } else { 1 };
        let flag = |given: bool, flag| if given { flag } else { 0 };
        let plain = image.dimensions == 2 && !image.cube && !layered && image.levels.len() == 1;
        let description = ArrayDescription {
            width: width as usize,
            height: if image.dimensions >= 2 { height as usize } else { 0 },
            depth: match image.dimensions {
                3 => depth as usize,
                _ if layered || image.cube => image.layers as usize,
                _ => 0,
            },
            format: image.format,
            channels: image.channels,
            flags: flag(layered, LAYERED)
                | flag(writable, SURFACE)
                | flag(image.cube, CUBEMAP)
                | flag(plain, GATHER),
        };
        let call = &self.functions;
        let mut whole = null_mut();
        if let [_] = image.levels.as_slice() {
            // SAFETY: the description and the output are valid.
            let code = unsafe { (call.cuArray3DCreate_v2)(&raw mut whole, &raw const description) };
            self.check("cuArray3DCreate", code)?;
            return Ok(Array { whole, levels: vec![whole] });
        }
        let count = image.levels.len() as c_uint;
        // SAFETY: as above.
        let code = unsafe { (call.cuMipmappedArrayCreate)(&raw mut whole, &raw const description, count) };
        self.check("cuMipmappedArrayCreate", code)?;
        let level = |number| {
            let mut level = null_mut();
            // SAFETY: the array was just made.
            let code = unsafe { (call.cuMipmappedArrayGetLevel)(&raw mut level, whole, number) };
            self.check("cuMipmappedArrayGetLevel", code).map(|()| level)
        };
        Ok(Array { whole, levels: (0..count).map(level).collect::<Result<_, _>>()? })
    }

    /// Copies a level's texels into an array. Fails if `bytes` is shorter than the level.
    pub fn fill_level(
        &self,
        array: &Array,
        image: &Image,
        number: usize,
        bytes: &[u8],
    ) -> Result<(), DriverError> {
        let (Some(level), Some(&there)) = (image.levels.get(number), array.levels.get(number)) else {
            return Ok(());
        };
        let (here, there, extent) = sides(image, level, there, bytes.as_ptr().cast_mut());
        self.copy(image, level, bytes.len(), (here, there, extent))
    }

    /// Copies a level's texels from an array to their place in `bytes`.
    pub fn read_level(
        &self,
        array: &Array,
        image: &Image,
        number: usize,
        bytes: &mut [u8],
    ) -> Result<(), DriverError> {
        let (Some(level), Some(&there)) = (image.levels.get(number), array.levels.get(number)) else {
            return Ok(());
        };
        let (here, there, extent) = sides(image, level, there, bytes.as_mut_ptr());
        self.copy(image, level, bytes.len(), (there, here, extent))
    }

    fn copy(
        &self,
        image: &Image,
        level: &Level,
        bytes: usize,
        (from, to, [width, height, depth]): (Side, Side, [usize; 3]),
    ) -> Result<(), DriverError> {
        let call = "cuMemcpy3D";
        if image.bytes(level).is_none_or(|needed| needed > bytes as u64) {
            let detail = "the level exceeds its buffer".to_owned();
            return Err(DriverError { call, name: "CUDA_ERROR_INVALID_VALUE".to_owned(), detail });
        }
        let copy = Copy3d { from, to, width, height, depth };
        // SAFETY: the check above ensures that the buffer contains the whole level.
        self.check(call, unsafe { (self.functions.cuMemcpy3D_v2)(&raw const copy) })
    }

    /// Creates a texture object. Returns the handle.
    pub fn texture(&self, texels: &Texels<'_>, sampler: &Sampler) -> Result<u64, DriverError> {
        let texture = Texture {
            address: sampler.address,
            filter: sampler.filter,
            flags: sampler.flags,
            anisotropy: sampler.anisotropy,
            level_filter: sampler.level_filter,
            bias: sampler.bias,
            level_range: sampler.level_range,
            border: sampler.border,
            reserved: [0; 12],
        };
        let (resource, mut handle) = (texels.resource(), 0);
        // SAFETY: the descriptions and the output are valid; there is no view.
        let code = unsafe {
            (self.functions.cuTexObjectCreate)(
                &raw mut handle,
                &raw const resource,
                &raw const texture,
                null(),
            )
        };
        self.check("cuTexObjectCreate", code).map(|()| handle)
    }

    /// Creates a surface object. Returns the handle.
    pub fn surface(&self, array: &Array) -> Result<u64, DriverError> {
        let (resource, mut handle) = (Texels::Array(array).resource(), 0);
        // SAFETY: as for textures.
        let code = unsafe { (self.functions.cuSurfObjectCreate)(&raw mut handle, &raw const resource) };
        self.check("cuSurfObjectCreate", code).map(|()| handle)
    }

    /// Destroys unused objects and arrays.
    pub fn destroy(&self, textures: &[u64], surfaces: &[u64], arrays: &[Array]) -> Result<(), DriverError> {
        let call = &self.functions;
        for &handle in textures {
            // SAFETY: the handle is from this driver.
            self.check("cuTexObjectDestroy", unsafe { (call.cuTexObjectDestroy)(handle) })?;
        }
        for &handle in surfaces {
            // SAFETY: as above.
            self.check("cuSurfObjectDestroy", unsafe { (call.cuSurfObjectDestroy)(handle) })?;
        }
        for array in arrays {
            let destroy =
                if array.levels.len() == 1 { call.cuArrayDestroy } else { call.cuMipmappedArrayDestroy };
            // SAFETY: as above.
            let code = unsafe { destroy(array.whole) };
            self.check("cuArrayDestroy", code)?;
        }
        Ok(())
    }
}

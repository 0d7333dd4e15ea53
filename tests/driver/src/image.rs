//! Arrays, textures and surfaces.

use std::ffi::{CString, c_int, c_uint, c_void};

use crate::functions::{ArraySpec, CopySide, CopySpec, ResourceSpec, TextureSpec};
use crate::{Driver, DriverError, Module, check};

/// `CUDA_ARRAY3D_LAYERED`, `_SURFACE_LDST`, `_CUBEMAP` and `_TEXTURE_GATHER`.
const LAYERED: c_uint = 1;
const SURFACE: c_uint = 2;
const CUBE: c_uint = 4;
const GATHER: c_uint = 8;

/// `CU_MEMORYTYPE_HOST` and `_ARRAY`.
const HOST: c_uint = 1;
const ARRAY: c_uint = 3;

/// `CU_RESOURCE_TYPE_ARRAY`, `_MIPMAPPED_ARRAY` and `_LINEAR`.
const RESOURCE_ARRAY: c_uint = 0;
const RESOURCE_LEVELS: c_uint = 1;
const RESOURCE_LINEAR: c_uint = 2;

/// Flags of textures: `CU_TRSF_READ_AS_INTEGER`, `_NORMALIZED_COORDINATES`, `_SRGB` and `_SEAMLESS_CUBEMAP`.
const AS_INTEGERS: c_uint = 1;
const NORMALIZED: c_uint = 2;
const SRGB: c_uint = 0x10;
const SEAMLESS: c_uint = 0x40;

/// `CU_TRSA_OVERRIDE_FORMAT`: a reference takes the array's format.
const OVERRIDE_FORMAT: c_uint = 1;

/// Type of a channel and how many there are: a `CUarray_format`.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// `CUarray_format`.
    pub code: c_uint,
    /// Channels.
    pub channels: u32,
    /// Bytes of a texel.
    pub bytes: usize,
}

/// Shape of an array.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Width, height and depth in texels; what an array has not is zero.
    pub extent: [u32; 3],
    /// Layers, those of cubes by six; one without.
    pub layers: u32,
    /// Six layers make a cube.
    pub cube: bool,
    /// Levels of detail.
    pub levels: u32,
}

/// An array or device memory with texels.
#[derive(Debug, Clone, Copy)]
pub enum Image {
    /// One level of an array.
    Array(Array),
    /// An array with levels of detail.
    Levels(*mut c_void),
    /// Texels in a row.
    Linear {
        /// Where.
        address: u64,
        /// How many.
        texels: usize,
        /// Of which kind.
        format: Format,
    },
}

/// An array, or a level of one.
#[derive(Debug, Clone, Copy)]
pub struct Array(*mut c_void);

/// How coordinates outside are taken: a `CUaddress_mode`.
#[derive(Debug, Clone, Copy)]
#[repr(u32)]
pub enum Address {
    /// From the other side.
    Wrap,
    /// As the nearest inside.
    Clamp,
    /// Mirrored.
    Mirror,
    /// As the border's.
    Border,
}

/// Which texels are read: a `CUfilter_mode`.
#[derive(Debug, Clone, Copy)]
#[repr(u32)]
pub enum Filter {
    /// The nearest.
    Point,
    /// Those around, weighted.
    Linear,
}

/// How a texture is read.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// Of each coordinate.
    pub address: [Address; 3],
    /// Within a level.
    pub filter: Filter,
    /// Between levels.
    pub level_filter: Filter,
    /// Integers are read as they are.
    pub as_integers: bool,
    /// Coordinates go from 0 to 1.
    pub normalized: bool,
    /// Texels are in sRGB.
    pub srgb: bool,
    /// Filters go over the edges of cubes.
    pub seamless: bool,
    /// Most samples.
    pub anisotropy: u32,
    /// Added to the level.
    pub bias: f32,
    /// Least and most level.
    pub level_range: [f32; 2],
    /// What lies outside.
    pub border: [f32; 4],
}

impl Reading {
    fn flags(&self) -> c_uint {
        let flag = |is_set: bool, flag: c_uint| if is_set { flag } else { 0 };
        flag(self.as_integers, AS_INTEGERS)
            | flag(self.normalized, NORMALIZED)
            | flag(self.srgb, SRGB)
            | flag(self.seamless, SEAMLESS)
    }
}

/// A variable of a module that stands for a texture or surface.
#[derive(Debug, Clone, Copy)]
pub enum Reference {
    /// `.texref`.
    Texture(*mut c_void),
    /// `.surfref`.
    Surface(*mut c_void),
}

impl Image {
    fn resource(&self) -> ResourceSpec {
        let mut value = [0; 16];
        let kind = match *self {
            Image::Array(Array(array)) => {
                value[0] = array.addr() as u64;
                RESOURCE_ARRAY
            }
            Image::Levels(levels) => {
                value[0] = levels.addr() as u64;
                RESOURCE_LEVELS
            }
            Image::Linear { address, texels, format } => {
                value[0] = address;
                value[1] = u64::from(format.code) | u64::from(format.channels) << 32;
                value[2] = (texels * format.bytes) as u64;
                RESOURCE_LINEAR
            }
        };
        ResourceSpec { kind, value, flags: 0 }
    }
}

impl Driver {
    /// A new array, with all its levels.
    pub fn array(&self, shape: Shape, format: Format) -> Result<(Image, Vec<Array>), DriverError> {
        let [width, height, depth] = shape.extent.map(|extent| extent as usize);
        let layered = shape.layers > if shape.cube { 6 } else { 1 };
        let mut flags = SURFACE;
        if layered {
            flags |= LAYERED;
        }
        if shape.cube {
            flags |= CUBE;
        }
        if height != 0 && depth == 0 && shape.layers == 1 {
            flags |= GATHER;
        }
        let slices = if shape.layers > 1 { shape.layers as usize } else { depth };
        let Format { code, channels, .. } = format;
        let spec = ArraySpec { width, height, depth: slices, format: code, channels, flags };
        let mut made = std::ptr::null_mut();
        if shape.levels == 1 {
            // SAFETY: the structure lives during the call.
            check("cuArray3DCreate", unsafe { (self.functions.array)(&mut made, &spec) })?;
            return Ok((Image::Array(Array(made)), vec![Array(made)]));
        }
        // SAFETY: as above.
        let created = unsafe { (self.functions.levels)(&mut made, &spec, shape.levels) };
        check("cuMipmappedArrayCreate", created)?;
        let level = |number: u32| {
            let mut level = std::ptr::null_mut();
            // SAFETY: the array has this level.
            let found = unsafe { (self.functions.level)(&mut level, made, number) };
            check("cuMipmappedArrayGetLevel", found).map(|()| Array(level))
        };
        Ok((Image::Levels(made), (0..shape.levels).map(level).collect::<Result<_, _>>()?))
    }

    /// Fills a level with packed texels: `extent` are bytes of a row, rows of a slice, slices or layers.
    pub fn fill(&self, array: Array, extent: [usize; 3], bytes: &[u8]) -> Result<(), DriverError> {
        let spec = CopySpec { from: on_host(bytes.as_ptr().cast_mut(), extent), to: in_array(array), extent };
        assert_eq!(bytes.len(), extent.iter().product::<usize>(), "not the bytes of the level");
        // SAFETY: as many bytes as the extent has are there.
        check("cuMemcpy3D", unsafe { (self.functions.copy)(&spec) })
    }

    /// The packed texels of a level.
    pub fn contents(&self, array: Array, extent: [usize; 3]) -> Result<Vec<u8>, DriverError> {
        let mut bytes = vec![0; extent.iter().product()];
        let spec = CopySpec { from: in_array(array), to: on_host(bytes.as_mut_ptr(), extent), extent };
        // SAFETY: there is room for as many bytes as the extent has.
        check("cuMemcpy3D", unsafe { (self.functions.copy)(&spec) })?;
        Ok(bytes)
    }

    /// A texture object.
    pub fn texture(&self, image: Image, reading: &Reading) -> Result<u64, DriverError> {
        let spec = TextureSpec {
            address: reading.address.map(|mode| mode as c_uint),
            filter: reading.filter as c_uint,
            flags: reading.flags(),
            anisotropy: reading.anisotropy,
            level_filter: reading.level_filter as c_uint,
            bias: reading.bias,
            level_range: reading.level_range,
            border: reading.border,
            reserved: [0; 12],
        };
        let mut object = 0;
        let resource = image.resource();
        // SAFETY: the structures live during the call.
        let made = unsafe { (self.functions.texture)(&mut object, &resource, &spec, std::ptr::null()) };
        check("cuTexObjectCreate", made).map(|()| object)
    }

    /// A surface object.
    pub fn surface(&self, image: Image) -> Result<u64, DriverError> {
        let mut object = 0;
        // SAFETY: the structure lives during the call.
        let made = unsafe { (self.functions.surface)(&mut object, &image.resource()) };
        check("cuSurfObjectCreate", made).map(|()| object)
    }

    /// The module's reference of this name, if it has one.
    pub fn reference(&self, module: Module, name: &str, is_surface: bool) -> Option<Reference> {
        let name = CString::new(name).ok()?;
        let mut reference = std::ptr::null_mut();
        let functions = &self.functions;
        let get = if is_surface { functions.surface_reference } else { functions.texture_reference };
        // SAFETY: the name ends with a zero byte.
        let found = unsafe { get(&mut reference, module.0, name.as_ptr()) } == 0;
        let kind = if is_surface { Reference::Surface } else { Reference::Texture };
        found.then(|| kind(reference))
    }

    /// Binds a reference to an array.
    pub fn bind(&self, reference: Reference, image: Image, reading: &Reading) -> Result<(), DriverError> {
        let functions = &self.functions;
        // SAFETY: reference and array came from this driver.
        unsafe {
            match (reference, image) {
                (Reference::Surface(surface), Image::Array(Array(array))) => {
                    check("cuSurfRefSetArray", (functions.surface_array)(surface, array, 0))
                }
                (Reference::Texture(texture), Image::Array(Array(array))) => {
                    let bound = (functions.reference_array)(texture, array, OVERRIDE_FORMAT);
                    check("cuTexRefSetArray", bound)?;
                    self.read_so(texture, reading)
                }
                (Reference::Texture(texture), Image::Levels(levels)) => {
                    let bound = (functions.reference_levels)(texture, levels, OVERRIDE_FORMAT);
                    check("cuTexRefSetMipmappedArray", bound)?;
                    self.read_so(texture, reading)
                }
                _ => Err(DriverError::Library("a reference to this is not made here".to_owned())),
            }
        }
    }

    /// Sets how a reference is read.
    ///
    /// # Safety
    ///
    /// `texture` is a reference of this driver's.
    unsafe fn read_so(&self, texture: *mut c_void, reading: &Reading) -> Result<(), DriverError> {
        let functions = &self.functions;
        // SAFETY: it is a reference, as the caller says.
        unsafe {
            check("cuTexRefSetFlags", (functions.reference_flags)(texture, reading.flags()))?;
            let filtered = (functions.reference_filter)(texture, reading.filter as c_uint);
            check("cuTexRefSetFilterMode", filtered)?;
            for (axis, mode) in reading.address.iter().enumerate() {
                let set = (functions.reference_address)(texture, axis as c_int, *mode as c_uint);
                check("cuTexRefSetAddressMode", set)?;
            }
        }
        Ok(())
    }
}

/// The side of a copy that is packed bytes here.
fn on_host(bytes: *mut u8, [pitch, height, _]: [usize; 3]) -> CopySide {
    CopySide { memory: HOST, host: bytes.cast(), pitch, height, ..in_array(Array(std::ptr::null_mut())) }
}

/// The side of a copy that is an array from its first texel on.
fn in_array(Array(array): Array) -> CopySide {
    CopySide {
        offset: [0; 3],
        level: 0,
        memory: ARRAY,
        host: std::ptr::null_mut(),
        device: 0,
        array,
        reserved: std::ptr::null_mut(),
        pitch: 0,
        height: 0,
    }
}

//! Arrays (`cudaArray_t`, `CUarray`) and mipmapped arrays: images in device memory, named by
//! handle.

use crate::abi::error::{Error, Result};
use crate::abi::handle::DEVICE_SHIFT;
use crate::abi::{ArrayHandle, MipmappedArrayHandle};
use crate::objects::device::DeviceObjects;
use crate::objects::ownership::{self, Object};
use crate::objects::rows::{Extent as CopyExtent, Side};
use crate::profile::Attribute;
use functional::memory::AllocationKind;
use functional::texture::image::Extent;
use functional::texture::{Format, Image, Level};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use stream_engine::Scope;

/// Handle values lie outside the address space of any process.
const ARRAYS: usize = 0x5600_0000_0000_0000;
const MIPMAPPED_ARRAYS: usize = 0x5700_0000_0000_0000;

/// Flags of arrays (`cudaArray…`, `CUDA_ARRAY3D_…`).
pub(crate) const LAYERED: u32 = 0x01;
pub(crate) const SURFACE_LOAD_STORE: u32 = 0x02;
pub(crate) const CUBEMAP: u32 = 0x04;
pub(crate) const TEXTURE_GATHER: u32 = 0x08;
const COLOR_ATTACHMENT: u32 = 0x20;

/// An array.
#[derive(Debug)]
pub(crate) struct Array {
    handle: ArrayHandle,
    /// One level of texels.
    pub(crate) image: Image,
    /// Width, height, and depth or layers, as the program passed them.
    pub(crate) size: [usize; 3],
    /// Creation flags.
    pub(crate) flags: u32,
    /// Start of its memory, if the array owns it.
    allocation: Option<u64>,
    /// Set for a level of a mipmapped array, which owns it.
    is_level: bool,
}

/// A mipmapped array.
#[derive(Debug)]
pub(crate) struct MipmappedArray {
    /// Texels of the array.
    pub(crate) image: Image,
    /// The array of each level.
    levels: Vec<ArrayHandle>,
    /// Start of its memory, if the mipmapped array owns it.
    allocation: Option<u64>,
}

/// All arrays of a device.
#[derive(Default)]
pub(crate) struct Arrays {
    arrays: FxHashMap<ArrayHandle, Arc<Array>>,
    mipmapped: FxHashMap<MipmappedArrayHandle, Arc<MipmappedArray>>,
    created: usize,
}

/// Creation parameters of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrayShape {
    /// Format of a texel.
    pub(crate) format: Format,
    /// Width, height (0 for one dimension), and depth or layers (0 for fewer than three
    /// dimensions).
    pub(crate) size: [usize; 3],
    pub(crate) flags: u32,
}

/// A checked shape.
struct Sorted {
    extent: Extent,
    layers: u32,
    cube: bool,
}

impl Arrays {
    /// The table of one device. Handles are unique across devices.
    pub(crate) fn of_device(ordinal: usize) -> Self {
        Self { created: ordinal << DEVICE_SHIFT, ..Self::default() }
    }

    fn next(&mut self) -> usize {
        self.created += 1;
        self.created << 4
    }
}

impl Array {
    /// The only level of its image.
    pub(crate) fn level(&self) -> Result<Level> {
        self.image.level(0).copied().ok_or(Error::InvalidValue)
    }

    /// Bytes of a texel.
    pub(crate) fn texel_bytes(&self) -> usize {
        self.image.format.bytes() as usize
    }

    /// Bytes of a row.
    pub(crate) fn row_bytes(&self) -> Result<usize> {
        Ok(self.level()?.width as usize * self.texel_bytes())
    }

    /// The box of `extent` (bytes, rows, slices) at the byte, row and slice in `place`.
    pub(crate) fn side(&self, [x, y, z]: [usize; 3], extent: CopyExtent) -> Result<Side> {
        let level = self.level()?;
        let slices = (level.depth * self.image.layers) as usize;
        let fits = |start: usize, count: usize, size| start.checked_add(count).is_some_and(|end| end <= size);
        if !fits(x, extent.width, self.row_bytes()?)
            || !fits(y, extent.height, level.height as usize)
            || !fits(z, extent.depth, slices)
        {
            return Err(Error::InvalidValue);
        }
        let (pitch, slice) = (level.pitch as usize, level.slice as usize);
        let address = level.address as usize + z * slice + y * pitch + x;
        Ok(Side { address, pitch, slice, array: Some(self.handle), position: [x, y, z] })
    }
}

impl DeviceObjects {
    /// Parses a shape and checks it against the device's limits.
    fn sort(&self, shape: &ArrayShape, levels: u32) -> Result<Sorted> {
        let ArrayShape { size: [width, height, depth], flags, .. } = *shape;
        let known = LAYERED | SURFACE_LOAD_STORE | CUBEMAP | TEXTURE_GATHER | COLOR_ATTACHMENT;
        if flags & !known != 0 {
            return Err(Error::NotSupported);
        }
        let limit = |attribute| self.profile.amount(attribute) as usize;
        let (layered, cube, gather) =
            (flags & LAYERED != 0, flags & CUBEMAP != 0, flags & TEXTURE_GATHER != 0);
        use Attribute as Of;
        let limits = match (cube, layered, height, depth) {
            (true, false, ..) => [limit(Of::MaxTexturecubemapWidth), limit(Of::MaxTexturecubemapWidth), 6],
            (true, true, ..) => {
                let width = limit(Of::MaxTexturecubemapLayeredWidth);
                [width, width, limit(Of::MaxTexturecubemapLayeredLayers)]
            }
            (false, true, 0, _) => {
                [limit(Of::MaxTexture1dLayeredWidth), 0, limit(Of::MaxTexture1dLayeredLayers)]
            }
            (false, true, ..) => [
                limit(Of::MaxTexture2dLayeredWidth),
                limit(Of::MaxTexture2dLayeredHeight),
                limit(Of::MaxTexture2dLayeredLayers),
            ],
            (_, _, 0, 0) if levels > 1 => [limit(Of::MaxTexture1dMipmappedWidth), 0, 0],
            (_, _, 0, 0) => [limit(Of::MaxTexture1dWidth), 0, 0],
            (_, _, _, 0) if gather => {
                [limit(Of::MaxTexture2dGatherWidth), limit(Of::MaxTexture2dGatherHeight), 0]
            }
            (_, _, _, 0) => [limit(Of::MaxTexture2dWidth), limit(Of::MaxTexture2dHeight), 0],
            _ => [
                limit(Of::MaxTexture3dWidth),
                limit(Of::MaxTexture3dHeight),
                limit(Of::MaxTexture3dDepth).max(limit(Of::MaxTexture3dDepthAlternate)),
            ],
        };
        let within = [width, height, depth].into_iter().zip(limits).all(|(size, limit)| size <= limit);
        let cubes = !cube || (width == height && depth % 6 == 0 && (layered || depth == 6));
        let has_depth_or_layers = depth > 0 || !(layered || cube);
        let gathers = !gather || (height > 0 && (depth == 0 || layered || cube));
        let three = layered || cube || depth == 0 || height > 0;
        if width == 0 || !within || !cubes || !has_depth_or_layers || !gathers || !three {
            return Err(Error::InvalidValue);
        }
        let size = |size: usize| u32::try_from(size).map_err(|_| Error::InvalidValue);
        let (layers, depth) = if layered || cube { (size(depth)?, 0) } else { (1, size(depth)?) };
        let extent = Extent { width: size(width)?, height: size(height)?, depth };
        Ok(Sorted { extent, layers, cube })
    }

    /// Allocates an image of a shape. Returns the allocation, if the image owns its memory, and the
    /// image.
    fn allocate_image(&self, shape: &ArrayShape, levels: u32) -> Result<(Option<u64>, Image)> {
        self.check_unsafe_call()?;
        let sorted = self.sort(shape, levels)?;
        let image = Image::array(shape.format, sorted.extent, sorted.layers, sorted.cube, levels);
        let (image, bytes) = image.ok_or(Error::MemoryAllocation)?;
        if let Some(address) = self.device.places.next_array(&self.device.memory, bytes)? {
            return Ok((None, image.moved(address)));
        }
        let bytes = usize::try_from(bytes).map_err(|_| Error::MemoryAllocation)?;
        let address = self.allocate(bytes, AllocationKind::Array, 0)?;
        Ok((Some(address), image.moved(address)))
    }

    /// Creates an array.
    pub(crate) fn create_array(&self, shape: &ArrayShape) -> Result<ArrayHandle> {
        let (allocation, image) = self.allocate_image(shape, 1)?;
        let mut arrays = self.arrays.lock();
        let handle = ArrayHandle(ARRAYS | arrays.next());
        let (size, flags) = (shape.size, shape.flags);
        let array = Array { handle, image, size, flags, allocation, is_level: false };
        arrays.arrays.insert(handle, Arc::new(array));
        ownership::adopt(self.shared, Object::Array(handle));
        Ok(handle)
    }

    /// Creates a mipmapped array. Halving the size to one texel limits the number of levels.
    pub(crate) fn create_mipmapped_array(
        &self,
        shape: &ArrayShape,
        levels: u32,
    ) -> Result<MipmappedArrayHandle> {
        let sides = if shape.flags & (LAYERED | CUBEMAP) != 0 { 2 } else { 3 };
        let largest = shape.size.iter().take(sides).copied().max().unwrap_or(0).max(1);
        if levels == 0 || shape.flags & TEXTURE_GATHER != 0 && shape.size[1] == 0 {
            return Err(Error::InvalidValue);
        }
        let levels = levels.min(largest.ilog2() + 1);
        let (allocation, image) = self.allocate_image(shape, levels)?;
        let mut arrays = self.arrays.lock();
        let mut handles = Vec::new();
        for (number, level) in image.levels.iter().enumerate() {
            let halved = |size: usize| if size == 0 { 0 } else { (size >> number).max(1) };
            let [width, height, depth] = shape.size;
            let depth = if sides == 2 { depth } else { halved(depth) };
            let handle = ArrayHandle(ARRAYS | arrays.next());
            let array = Array {
                handle,
                image: Image { levels: vec![*level], ..image.clone() },
                size: [halved(width), halved(height), depth],
                flags: shape.flags,
                allocation: None,
                is_level: true,
            };
            arrays.arrays.insert(handle, Arc::new(array));
            handles.push(handle);
        }
        let handle = MipmappedArrayHandle(MIPMAPPED_ARRAYS | arrays.next());
        arrays.mipmapped.insert(handle, Arc::new(MipmappedArray { image, levels: handles, allocation }));
        Ok(handle)
    }

    /// The array with a handle.
    pub(crate) fn array(&self, handle: ArrayHandle) -> Result<Arc<Array>> {
        self.arrays.lock().arrays.get(&handle).cloned().ok_or(Error::InvalidResourceHandle)
    }

    /// The mipmapped array with a handle.
    pub(crate) fn mipmapped_array(&self, handle: MipmappedArrayHandle) -> Result<Arc<MipmappedArray>> {
        self.arrays.lock().mipmapped.get(&handle).cloned().ok_or(Error::InvalidResourceHandle)
    }

    /// The array for one level of a mipmapped array.
    pub(crate) fn level_of(&self, handle: MipmappedArrayHandle, level: u32) -> Result<ArrayHandle> {
        let mipmapped = self.mipmapped_array(handle)?;
        mipmapped.levels.get(level as usize).copied().ok_or(Error::InvalidValue)
    }

    /// Answers queries about planes, sparse arrays and deferred mapping: no array here supports
    /// them.
    pub(crate) fn special_array(&self, handle: ArrayHandle) -> Result<()> {
        self.array(handle)?;
        Err(Error::InvalidValue)
    }

    /// [`DeviceObjects::special_array`] for mipmapped arrays.
    pub(crate) fn special_mipmapped_array(&self, handle: MipmappedArrayHandle) -> Result<()> {
        self.mipmapped_array(handle)?;
        Err(Error::InvalidValue)
    }

    /// Frees an array after the device's work. A level is freed with its mipmapped array.
    pub(crate) fn free_array(&self, handle: ArrayHandle) -> Result<()> {
        self.check_unsafe_call()?;
        self.engine.synchronize(Scope::Context)?;
        let array = self.array(handle)?;
        if array.is_level {
            return Err(Error::InvalidValue);
        }
        self.arrays.lock().arrays.remove(&handle);
        ownership::disown(self.shared, Object::Array(handle));
        self.give_back(array.allocation)
    }

    /// Frees a mipmapped array and its levels after the device's work.
    pub(crate) fn free_mipmapped_array(&self, handle: MipmappedArrayHandle) -> Result<()> {
        self.check_unsafe_call()?;
        self.engine.synchronize(Scope::Context)?;
        let mut arrays = self.arrays.lock();
        let mipmapped = arrays.mipmapped.remove(&handle).ok_or(Error::InvalidResourceHandle)?;
        ownership::disown(self.shared, Object::MipmappedArray(handle));
        for level in &mipmapped.levels {
            arrays.arrays.remove(level);
        }
        self.give_back(mipmapped.allocation)
    }

    fn give_back(&self, allocation: Option<u64>) -> Result<()> {
        if let Some(address) = allocation {
            self.device.memory.free(address)?;
        }
        Ok(())
    }
}

/// Splits a range of an array's bytes, rows without gaps, into boxes: a partial first row, whole
/// rows, a partial last row. Each box comes with the number of bytes before it.
pub(crate) fn stretch(array: &Array, start: usize, count: usize) -> Result<Vec<(Side, CopyExtent, usize)>> {
    let row = array.row_bytes()?;
    let end = start.checked_add(count).ok_or(Error::InvalidValue)?;
    let mut boxes = Vec::new();
    let mut at = start;
    while at < end {
        let (y, x) = (at / row, at % row);
        let extent = if x == 0 && end - at >= row {
            CopyExtent { width: row, height: (end - at) / row, depth: 1 }
        } else {
            CopyExtent::row((row - x).min(end - at))
        };
        boxes.push((array.side([x, y, 0], extent)?, extent, at - start));
        at += extent.width * extent.height;
    }
    Ok(boxes)
}

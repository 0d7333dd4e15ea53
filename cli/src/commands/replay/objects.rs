//! The textures and surfaces of a captured launch, made anew.

use std::collections::HashMap;

use cuda_driver::{Array, Driver, DriverError, Module};
use launch_capture::{Capture, Image, Texels};

use super::placement::Placement;
use super::refused;
use crate::failure::Failure;

/// Arrays filled as they were, and handles.
pub(super) struct Objects {
    /// The arrays, with whether surfaces write to them.
    arrays: Vec<(Array, bool)>,
    textures: Vec<u64>,
    surfaces: Vec<u64>,
    /// Handles: old and new.
    pub(super) handles: HashMap<u64, u64>,
}

impl Objects {
    /// Makes them; what references of the module are bound to is bound again.
    pub(super) fn new(
        driver: &Driver,
        module: Module,
        capture: &Capture,
        placement: &Placement,
    ) -> Result<Objects, Failure> {
        let failed = |error: DriverError| refused(capture, error);
        let launch = capture.launch();
        let mut arrays = Vec::new();
        for (number, image) in launch.images.iter().enumerate() {
            let writable = launch.surfaces.iter().any(|surface| surface.image == number);
            let is_placed = place(driver, image, placement);
            let array = driver.array(image, writable).map_err(failed)?;
            // One that lies where its buffer does has what that is given.
            if !is_placed {
                fill(driver, capture, image, &array)?;
            }
            arrays.push((array, writable));
        }
        let mut handles = HashMap::new();
        let (mut textures, mut surfaces) = (Vec::new(), Vec::new());
        for texture in &launch.textures {
            let moved = |address| placement.moved(address).unwrap_or(address);
            let texels = match texture.texels {
                Texels::Image(number) => match arrays.get(number) {
                    Some((array, _)) => cuda_driver::Texels::Array(array),
                    None => continue,
                },
                Texels::Linear { address, format, channels, bytes } => {
                    cuda_driver::Texels::Linear { address: moved(address.0), format, channels, bytes }
                }
                Texels::Pitched { address, format, channels, size, pitch } => {
                    cuda_driver::Texels::Pitched { address: moved(address.0), format, channels, size, pitch }
                }
            };
            if let Some(name) = &texture.reference {
                driver.bind_texture(module, name, &texels, &texture.sampler).map_err(failed)?;
                continue;
            }
            let handle = driver.texture(&texels, &texture.sampler).map_err(failed)?;
            handles.insert(texture.handle.0, handle);
            textures.push(handle);
        }
        for surface in &launch.surfaces {
            let Some((array, _)) = arrays.get(surface.image) else { continue };
            if let Some(name) = &surface.reference {
                driver.bind_surface(module, name, array).map_err(failed)?;
            } else {
                let handle = driver.surface(array).map_err(failed)?;
                handles.insert(surface.handle.0, handle);
                surfaces.push(handle);
            }
        }
        Ok(Objects { arrays, textures, surfaces, handles })
    }

    /// Gives all of it back.
    pub(super) fn destroy(self, driver: &Driver) -> Result<(), DriverError> {
        let arrays: Vec<Array> = self.arrays.into_iter().map(|(array, _)| array).collect();
        driver.destroy(&self.textures, &self.surfaces, &arrays)
    }

    /// Changes the contents of buffer `buffer` to what surfaces have left in the arrays that lay
    /// there.
    pub(super) fn update(
        &self,
        driver: &Driver,
        capture: &Capture,
        buffer: usize,
        bytes: &mut [u8],
    ) -> Result<(), DriverError> {
        let ranges = capture.ranges();
        for (image, (array, writable)) in capture.launch().images.iter().zip(&self.arrays) {
            for (number, level) in image.levels.iter().enumerate().filter(|_| *writable) {
                let place = ranges.find(level.address.0).filter(|place| place.buffer == buffer);
                if let Some(texels) = place.and_then(|place| bytes.get_mut(place.offset as usize..)) {
                    driver.read_level(array, image, number, texels)?;
                }
            }
        }
        Ok(())
    }
}

/// Asks the driver for an image's old address, if the image's buffer keeps its own. True if the
/// next array gets that address.
fn place(driver: &Driver, image: &Image, placement: &Placement) -> bool {
    let first = image.levels.first().map(|level| level.address.0);
    let stays = first.is_some_and(|first| placement.moved(first) == Some(first));
    stays && first.is_some_and(|first| driver.place_array(first))
}

/// Copies the texels of an image from its buffer into the array.
fn fill(driver: &Driver, capture: &Capture, image: &Image, array: &Array) -> Result<(), Failure> {
    let ranges = capture.ranges();
    let place = |address| ranges.find(address);
    let Some(first) = image.levels.first().and_then(|level| place(level.address.0)) else {
        return Ok(());
    };
    let contents = capture.contents(first.buffer)?;
    for (number, level) in image.levels.iter().enumerate() {
        let from = place(level.address.0).map_or(0, |place| place.offset as usize);
        let texels = contents.get(from..).unwrap_or_default();
        driver.fill_level(array, image, number, texels).map_err(|error| refused(capture, error))?;
    }
    Ok(())
}

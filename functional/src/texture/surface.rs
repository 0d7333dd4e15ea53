//! Surfaces: address of an element, and handling of accesses outside (PTX manual 9.7.11).

use super::image::Image;

/// Handling of accesses outside of a surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    /// End the launch with a fault.
    Trap,
    /// Access the nearest element.
    Clamp,
    /// Read 0, write nothing.
    Zero,
}

/// Target of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// An address.
    Address(u64),
    /// No memory.
    Nothing,
    /// Outside of the surface: a fault.
    Outside,
}

/// An access of `bytes` bytes at `[x, y, z]` of a layer, with x in units of `unit` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElementAccess {
    /// Layer.
    pub layer: u32,
    /// Coordinates; 0 along absent axes.
    pub coordinates: [i32; 3],
    /// Bytes per unit of x.
    pub unit: u32,
    /// Bytes accessed.
    pub bytes: u32,
    /// Handling of accesses outside.
    pub boundary: Boundary,
}

/// Target of a surface access.
pub fn locate(surface: &Image, access: &ElementAccess) -> Target {
    let Some(level) = surface.level(0) else { return Target::Outside };
    let row = u64::from(level.width) * u64::from(surface.format.bytes());
    let [x, y, z] = access.coordinates.map(i64::from);
    let at = x * i64::from(access.unit);
    // Last position in a row with room for the access.
    let last = row as i64 - i64::from(access.bytes);
    let third =
        if surface.dimensions == 3 { (z, level.depth) } else { (access.layer.into(), surface.layers) };
    let last_row = i64::from(level.height) - 1;
    let last_slice = i64::from(third.1) - 1;
    let inside =
        (0..=last).contains(&at) && (0..=last_row).contains(&y) && (0..=last_slice).contains(&third.0);
    let (at, y, z) = match (inside, access.boundary) {
        (true, _) => (at, y, third.0),
        (false, Boundary::Clamp) if last >= 0 => {
            (at.clamp(0, last), y.clamp(0, last_row), third.0.clamp(0, last_slice))
        }
        (false, Boundary::Zero) => return Target::Nothing,
        _ => return Target::Outside,
    };
    let rows = level.pitch.wrapping_mul(y as u64).wrapping_add(level.slice.wrapping_mul(z as u64));
    Target::Address(level.address.wrapping_add(rows).wrapping_add(at as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texture::format::{Format, Numeric};
    use crate::texture::image::Extent;

    fn surface() -> Image {
        let format = Format::new(Numeric::Unsigned, 32, 1).unwrap();
        let extent = Extent { width: 5, height: 3, depth: 0 };
        Image::array(format, extent, 2, false, 1).unwrap().0.moved(1000)
    }

    fn at(coordinates: [i32; 3], layer: u32, boundary: Boundary) -> Target {
        locate(&surface(), &ElementAccess { layer, coordinates, unit: 1, bytes: 4, boundary })
    }

    #[test]
    fn surface_coordinates_address_bytes_rows_and_layers() {
        let level = surface().levels[0];
        let expected = 1000 + level.slice + 2 * level.pitch + 8;
        assert_eq!(at([8, 2, 0], 1, Boundary::Trap), Target::Address(expected));
    }

    #[test]
    fn outside_accesses_trap_vanish_or_clamp() {
        for coordinates in [[-1, 0, 0], [17, 0, 0], [0, 3, 0], [0, -1, 0], [i32::MAX, i32::MIN, 0]] {
            assert_eq!(at(coordinates, 0, Boundary::Trap), Target::Outside);
            assert_eq!(at(coordinates, 0, Boundary::Zero), Target::Nothing);
        }
        let level = surface().levels[0];
        assert_eq!(
            at([400, 400, 0], 9, Boundary::Clamp),
            Target::Address(1000 + level.slice + 2 * level.pitch + 16)
        );
    }
}

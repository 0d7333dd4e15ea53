//! Address modes for coordinates outside of an image (CUDA programming guide, texture memory).

/// Handling of a coordinate outside of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressMode {
    /// Repeat the image.
    Wrap,
    /// Nearest texel of the image.
    Clamp,
    /// Repeat the image, mirrored every other time.
    Mirror,
    /// Border colour.
    Border,
}

impl AddressMode {
    /// Effective mode: repetition requires normalized coordinates.
    pub fn of_coordinates(self, normalized: bool) -> AddressMode {
        match self {
            AddressMode::Wrap | AddressMode::Mirror if !normalized => AddressMode::Clamp,
            mode => mode,
        }
    }

    /// Texel, out of `size`, for index `index`; `None` for the border.
    #[inline]
    pub fn texel(self, index: i64, size: u32) -> Option<u32> {
        match u32::try_from(index) {
            Ok(inside) if inside < size => Some(inside),
            _ => self.outside(index, size),
        }
    }

    fn outside(self, index: i64, size: u32) -> Option<u32> {
        let size = i64::from(size.max(1));
        let texel = match self {
            AddressMode::Wrap => index.rem_euclid(size),
            AddressMode::Clamp => index.clamp(0, size - 1),
            AddressMode::Mirror => {
                let twice = index.rem_euclid(2 * size);
                if twice < size { twice } else { 2 * size - 1 - twice }
            }
            AddressMode::Border if (0..size).contains(&index) => index,
            AddressMode::Border => return None,
        };
        u32::try_from(texel).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The guide's definition, for the centre of a texel in units of the image.
    fn by_fraction(mode: AddressMode, index: i64, size: u32) -> u32 {
        let x = (index as f64 + 0.5) / f64::from(size);
        let fraction = x - x.floor();
        let place = match mode {
            AddressMode::Wrap => fraction,
            AddressMode::Mirror if x.floor().rem_euclid(2.0) == 0.0 => fraction,
            AddressMode::Mirror => 1.0 - fraction,
            _ => x.clamp(0.0, 1.0 - 0.5 / f64::from(size)),
        };
        (place * f64::from(size)).floor() as u32
    }

    #[test]
    fn address_modes_match_the_guides_definition() {
        for mode in [AddressMode::Wrap, AddressMode::Mirror, AddressMode::Clamp] {
            for size in [1, 2, 3, 8, 13] {
                for index in -40..40 {
                    let expected = by_fraction(mode, index, size);
                    assert_eq!(mode.texel(index, size), Some(expected), "{mode:?} {index} of {size}");
                }
            }
        }
    }

    #[test]
    fn border_mode_returns_no_texel_outside() {
        let texels = [-1, 0, 3, 4].map(|index| AddressMode::Border.texel(index, 4));
        assert_eq!(texels, [None, Some(0), Some(3), None]);
    }

    #[test]
    fn images_repeat_only_with_normalized_coordinates() {
        assert_eq!(AddressMode::Wrap.of_coordinates(false), AddressMode::Clamp);
        assert_eq!(AddressMode::Mirror.of_coordinates(true), AddressMode::Mirror);
        assert_eq!(AddressMode::Border.of_coordinates(false), AddressMode::Border);
    }
}

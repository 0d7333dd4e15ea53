//! Geometries of textures and surfaces (PTX manual 9.7.10.3): number and meaning of coordinates.

use super::{Modifier, ScalarType, Token};

/// Shape of a texture or surface that an instruction assumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Number of coordinates in a layer; a direction into a cube has three.
    pub dimensions: usize,
    /// True if the first element is a layer index.
    pub layered: bool,
    /// True if the coordinates are a direction into a cube.
    pub cube: bool,
    /// True if a sample number precedes the coordinates.
    pub multisample: bool,
}

impl Geometry {
    /// Geometry among an instruction's tokens.
    pub fn among(tokens: &[Option<Token>]) -> Option<Geometry> {
        let geometry =
            |dimensions, layered| Geometry { dimensions, layered, cube: false, multisample: false };
        tokens.iter().find_map(|token| {
            Some(match token {
                Some(Token::Modifier(Modifier::Geometry1d)) => geometry(1, false),
                Some(Token::Modifier(Modifier::Geometry2d)) => geometry(2, false),
                Some(Token::Modifier(Modifier::Geometry3d)) => geometry(3, false),
                Some(Token::Modifier(Modifier::Geometry4d)) => geometry(4, false),
                Some(Token::Modifier(Modifier::Geometry5d)) => geometry(5, false),
                Some(Token::Modifier(Modifier::GeometryA1d)) => geometry(1, true),
                Some(Token::Modifier(Modifier::GeometryA2d)) => geometry(2, true),
                Some(Token::Modifier(Modifier::GeometryCube)) => {
                    Geometry { cube: true, ..geometry(3, false) }
                }
                Some(Token::Modifier(Modifier::GeometryAcube)) => {
                    Geometry { cube: true, ..geometry(3, true) }
                }
                Some(Token::Modifier(Modifier::Geometry2dms)) => {
                    Geometry { multisample: true, ..geometry(2, false) }
                }
                Some(Token::Modifier(Modifier::GeometryA2dms)) => {
                    Geometry { multisample: true, ..geometry(2, true) }
                }
                _ => return None,
            })
        })
    }

    /// Number of used elements in the coordinate vector, whose length is the next power of two.
    pub fn elements(self) -> usize {
        usize::from(self.layered) + usize::from(self.multisample) + self.dimensions
    }

    /// Type of each of [`Geometry::elements`], for coordinates of type `coordinate`.
    pub fn types(self, coordinate: ScalarType) -> impl Iterator<Item = ScalarType> {
        let layer = self.layered.then_some(ScalarType::U32);
        let sample = self.multisample.then_some(ScalarType::S32);
        layer.into_iter().chain(sample).chain(std::iter::repeat_n(coordinate, self.dimensions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(word: &str) -> Vec<ScalarType> {
        let tokens = [Token::from_name(word)];
        Geometry::among(&tokens).unwrap().types(ScalarType::F32).collect()
    }

    #[test]
    fn layer_precedes_sample_and_coordinates() {
        use ScalarType::{F32, S32, U32};
        assert_eq!(types("2d"), [F32, F32]);
        assert_eq!(types("a1d"), [U32, F32]);
        assert_eq!(types("cube"), [F32, F32, F32]);
        assert_eq!(types("acube"), [U32, F32, F32, F32]);
        assert_eq!(types("a2dms"), [U32, S32, F32, F32]);
    }
}

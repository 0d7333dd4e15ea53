//! Tensor maps: what copies by coordinates know of a tensor in device memory (PTX manual 5.5, 9.7.9.26.5;
//! `cuTensorMapEncodeTiled`, `cuTensorMapEncodeIm2col`).
//!
//! A map is 128 opaque bytes, which programs pass on and change by `tensormap.replace` alone. Here they are, little-endian:
//!
//! | bytes | field |
//! |---|---|
//! | 0 | address of the tensor |
//! | 8 | bytes from one index to the next along dimensions 1 to 4, eight each |
//! | 40 | elements along dimensions 0 to 4, four each |
//! | 60 | elements of the box along dimensions 0 to 4, four each; of a column: channels and pixels |
//! | 80 | steps along dimensions 0 to 4, four each |
//! | 100 | rank less 1, element type, interleave, swizzle, atomicity of the swizzle, fill, all as `tensormap.replace` counts |
//! | 106 | mode |
//! | 108 | corners of a column's pixel box: lower and upper, two bytes for each of W, H and D |
//!
//! Zeros are a map of nothing: programs make maps on the device by setting each field of 128 zeros.

mod element;
mod traverse;

pub use element::Element;
pub use traverse::{Row, Walk};

/// Bytes of a map.
pub const BYTES: usize = 128;
/// Most dimensions.
pub const MAXIMUM_RANK: usize = 5;

/// Where a field of a map lies, and its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// First byte.
    pub offset: usize,
    /// Bytes.
    pub width: usize,
}

const fn field(offset: usize, width: usize) -> Field {
    Field { offset, width }
}

impl Field {
    /// Address of the tensor.
    pub const ADDRESS: Field = field(0, 8);
    /// Stride of dimension 1; the others follow.
    pub const STRIDE: Field = field(8, 8);
    /// Size of dimension 0; the others follow.
    pub const SIZE: Field = field(40, 4);
    /// Extent of the box along dimension 0; the others follow.
    pub const EXTENT: Field = field(60, 4);
    /// Step along dimension 0; the others follow.
    pub const STEP: Field = field(80, 4);
    /// Rank less 1.
    pub const RANK: Field = field(100, 1);
    /// Element type.
    pub const ELEMENT: Field = field(101, 1);
    /// Interleave.
    pub const INTERLEAVE: Field = field(102, 1);
    /// Swizzle.
    pub const SWIZZLE: Field = field(103, 1);
    /// What the swizzle keeps together.
    pub const ATOMICITY: Field = field(104, 1);
    /// Fill of what lies outside.
    pub const FILL: Field = field(105, 1);
    const MODE: Field = field(106, 1);
    const LOWER: Field = field(108, 2);
    const UPPER: Field = field(114, 2);

    /// The field of the same kind for another dimension.
    pub const fn nth(self, n: usize) -> Field {
        field(self.offset + n * self.width, self.width)
    }

    fn read(self, bytes: &[u8; BYTES]) -> u64 {
        let part = bytes.get(self.offset..self.offset + self.width).unwrap_or(&[]);
        part.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
    }

    fn write(self, bytes: &mut [u8; BYTES], value: u64) {
        if let Some(part) = bytes.get_mut(self.offset..self.offset + self.width) {
            part.copy_from_slice(&value.to_le_bytes()[..self.width]);
        }
    }
}

/// How channels lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interleave {
    /// Next to each other.
    None,
    /// In slices of 16 bytes, slice after slice.
    Bytes16,
    /// In slices of 32 bytes, slice after slice.
    Bytes32,
}

/// In which order the chunks of shared memory stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swizzle {
    /// As they are.
    None,
    /// Chunks of 16 bytes within 32.
    Span32,
    /// Chunks of 16 bytes within 64.
    Span64,
    /// Chunks of 16 bytes within 128.
    Span128,
    /// Chunks of 32 bytes within 128.
    Span128Atom32,
    /// The same, and in every other row the halves of 16 bytes change places.
    Span128Atom32Flip8,
    /// Chunks of 64 bytes within 128.
    Span128Atom64,
}

impl Swizzle {
    /// Bytes within which chunks change places; 0 without.
    pub fn span(self) -> u64 {
        match self {
            Swizzle::None => 0,
            Swizzle::Span32 => 32,
            Swizzle::Span64 => 64,
            _ => 128,
        }
    }

    /// Where the eight bytes lie that would lie at `address` without: bits of the address that count rows of 128 bytes
    /// are added, without carry, to those that count chunks.
    pub fn place(self, address: u64) -> u64 {
        match self {
            Swizzle::None => address,
            Swizzle::Span32 => address ^ (address >> 3 & 0x10),
            Swizzle::Span64 => address ^ (address >> 3 & 0x30),
            Swizzle::Span128 => address ^ (address >> 3 & 0x70),
            Swizzle::Span128Atom32 => address ^ (address >> 2 & 0x60),
            Swizzle::Span128Atom32Flip8 => address ^ (address >> 2 & 0x60) ^ (address >> 4 & 8),
            Swizzle::Span128Atom64 => address ^ (address >> 1 & 0x40),
        }
    }

    /// As `tensormap.replace` counts: swizzle, atomicity.
    fn codes(self) -> (u64, u64) {
        match self {
            Swizzle::None => (0, 0),
            Swizzle::Span32 => (1, 0),
            Swizzle::Span64 => (2, 0),
            Swizzle::Span128 => (3, 0),
            Swizzle::Span128Atom32 => (3, 1),
            Swizzle::Span128Atom32Flip8 => (3, 2),
            Swizzle::Span128Atom64 => (3, 3),
        }
    }

    fn from_codes(swizzle: u64, atomicity: u64) -> Option<Swizzle> {
        Some(match (swizzle, atomicity) {
            (0, _) => Swizzle::None,
            (1, 0) => Swizzle::Span32,
            (2, 0) => Swizzle::Span64,
            (3, 0) => Swizzle::Span128,
            (3, 1) => Swizzle::Span128Atom32,
            (3, 2) => Swizzle::Span128Atom32Flip8,
            (3, 3) => Swizzle::Span128Atom64,
            _ => return None,
        })
    }
}

/// The part of a tensor that a copy takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A box.
    Tiled,
    /// Channels of pixels one after another, within a box of pixels: corners along W, H and D.
    ImageToColumn {
        /// Offsets from the first pixel.
        lower: [i16; 3],
        /// Offsets from the last pixel.
        upper: [i16; 3],
    },
}

/// A tensor, and the part of it that copies take. Dimension 0 is the innermost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorMap {
    /// The part.
    pub mode: Mode,
    /// Dimensions, 1 to 5.
    pub rank: usize,
    /// Type of the elements.
    pub element: Element,
    /// How channels lie.
    pub interleave: Interleave,
    /// Order of chunks in shared memory.
    pub swizzle: Swizzle,
    /// Elements outside of the tensor become a NaN, not zero.
    pub fills_with_nan: bool,
    /// Address of the first element.
    pub address: u64,
    /// Elements along each dimension.
    pub sizes: [u32; MAXIMUM_RANK],
    /// Bytes from one index to the next, from dimension 1 on.
    pub strides: [u64; MAXIMUM_RANK - 1],
    /// Elements of the box along each dimension; of a column: channels and pixels.
    pub extents: [u32; MAXIMUM_RANK],
    /// Steps along each dimension.
    pub steps: [u32; MAXIMUM_RANK],
}

impl TensorMap {
    /// The opaque bytes.
    pub fn encode(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let mut put = |field: Field, value: u64| field.write(&mut bytes, value);
        put(Field::ADDRESS, self.address);
        for (n, stride) in self.strides.iter().enumerate() {
            put(Field::STRIDE.nth(n), *stride);
        }
        for n in 0..MAXIMUM_RANK {
            put(Field::SIZE.nth(n), self.sizes[n].into());
            put(Field::EXTENT.nth(n), self.extents[n].into());
            put(Field::STEP.nth(n), self.steps[n].into());
        }
        let (swizzle, atomicity) = self.swizzle.codes();
        put(Field::RANK, self.rank as u64 - 1);
        put(Field::ELEMENT, self.element.code());
        put(Field::INTERLEAVE, self.interleave as u64);
        put(Field::SWIZZLE, swizzle);
        put(Field::ATOMICITY, atomicity);
        put(Field::FILL, self.fills_with_nan.into());
        if let Mode::ImageToColumn { lower, upper } = self.mode {
            put(Field::MODE, 1);
            for n in 0..3 {
                put(Field::LOWER.nth(n), lower[n] as u64);
                put(Field::UPPER.nth(n), upper[n] as u64);
            }
        }
        bytes
    }

    /// From the opaque bytes; `None` if they are no map, or one with a field that nothing is known of.
    pub fn decode(bytes: &[u8; BYTES]) -> Option<TensorMap> {
        let get = |field: Field| field.read(bytes);
        let word = |field: Field| get(field) as u32;
        let rank = get(Field::RANK) as usize + 1;
        let corner = |field: Field| std::array::from_fn(|n| get(field.nth(n)) as i16);
        Some(TensorMap {
            mode: match get(Field::MODE) {
                0 => Mode::Tiled,
                1 if rank >= 3 => {
                    Mode::ImageToColumn { lower: corner(Field::LOWER), upper: corner(Field::UPPER) }
                }
                _ => return None,
            },
            rank: Some(rank).filter(|rank| *rank <= MAXIMUM_RANK)?,
            element: Element::from_code(get(Field::ELEMENT))?,
            interleave: match get(Field::INTERLEAVE) {
                0 => Interleave::None,
                1 if rank >= 3 => Interleave::Bytes16,
                2 if rank >= 3 => Interleave::Bytes32,
                _ => return None,
            },
            swizzle: Swizzle::from_codes(get(Field::SWIZZLE), get(Field::ATOMICITY))?,
            fills_with_nan: get(Field::FILL) != 0,
            address: get(Field::ADDRESS),
            sizes: std::array::from_fn(|n| word(Field::SIZE.nth(n))),
            strides: std::array::from_fn(|n| get(Field::STRIDE.nth(n))),
            extents: std::array::from_fn(|n| word(Field::EXTENT.nth(n))),
            steps: std::array::from_fn(|n| word(Field::STEP.nth(n)).max(1)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> TensorMap {
        TensorMap {
            mode: Mode::ImageToColumn { lower: [-1, -2, 3], upper: [4, -5, 6] },
            rank: 4,
            element: Element::Bf16,
            interleave: Interleave::Bytes32,
            swizzle: Swizzle::Span128Atom32Flip8,
            fills_with_nan: true,
            address: 0x1234_5678_9ab0,
            sizes: [1, 2, 3, 0x8000_0000, 5],
            strides: [16, 32, 1 << 39, 64],
            extents: [256, 1024, 1, 2, 3],
            steps: [1, 2, 3, 4, 8],
        }
    }

    #[test]
    fn a_map_is_read_as_it_was_written() {
        assert_eq!(TensorMap::decode(&map().encode()), Some(map()));
    }

    #[test]
    fn other_bytes_are_no_map() {
        assert_eq!(TensorMap::decode(&[0xff; BYTES]), None);
        let mut bytes = map().encode();
        Field::RANK.write(&mut bytes, 5);
        assert_eq!(TensorMap::decode(&bytes), None);
    }

    #[test]
    fn a_swizzle_permutes_the_chunks_of_each_span() {
        for swizzle in [Swizzle::Span32, Swizzle::Span64, Swizzle::Span128, Swizzle::Span128Atom32] {
            let mut places: Vec<u64> = (0..128).map(|chunk| swizzle.place(chunk * 16)).collect();
            let within =
                |(chunk, place): (usize, &u64)| chunk as u64 * 16 / swizzle.span() == place / swizzle.span();
            assert!(places.iter().enumerate().all(within), "{swizzle:?}");
            places.sort_unstable();
            assert!(places.iter().enumerate().all(|(chunk, place)| *place == chunk as u64 * 16));
        }
    }

    #[test]
    fn the_wide_swizzle_moves_chunks_by_the_row_of_128_bytes() {
        assert_eq!(Swizzle::Span128.place(0x80), 0x90);
        assert_eq!(Swizzle::Span128.place(0x3f0), 0x380);
        assert_eq!(Swizzle::Span32.place(0x80), 0x90);
        assert_eq!(Swizzle::Span128Atom32Flip8.place(0x80), 0xa8);
    }
}

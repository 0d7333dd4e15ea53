//! Tensor maps: descriptions of tensors in device memory for copies by coordinates (PTX manual 5.5,
//! 9.7.9.26.5; `cuTensorMapEncodeTiled`, `cuTensorMapEncodeIm2col`).
//!
//! A map is 128 opaque bytes, which programs pass on and change only by `tensormap.replace`. The format
//! here is little-endian:
//!
//! | bytes | field |
//! |---|---|
//! | 0 | address of the tensor |
//! | 8 | stride in bytes of dimensions 1 to 4, eight bytes each |
//! | 40 | elements along dimensions 0 to 4, four bytes each |
//! | 60 | elements of the box along dimensions 0 to 4, four bytes each; of a column: channels and pixels |
//! | 80 | steps along dimensions 0 to 4, four bytes each |
//! | 100 | rank - 1, element type, interleave, swizzle, swizzle atomicity, fill |
//! | 106 | mode |
//! | 108 | corners of a column's pixel box: lower and upper, two bytes for each of W, H and D |
//!
//! Values of fields are the numbers of `tensormap.replace`.
//!
//! All zeros are an invalid map: programs build maps on the device by setting each field of 128 zeros.

mod element;
mod traverse;

pub use element::Element;
pub use traverse::{Row, Walk};

/// Bytes per map.
pub const BYTES: usize = 128;
/// Maximum number of dimensions.
pub const MAXIMUM_RANK: usize = 5;

/// Position of a field in a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Offset in bytes.
    pub offset: usize,
    /// Width in bytes.
    pub width: usize,
}

const fn field(offset: usize, width: usize) -> Field {
    Field { offset, width }
}

impl Field {
    /// Address of the tensor.
    pub const ADDRESS: Field = field(0, 8);
    /// Stride of dimension 1, followed by the others.
    pub const STRIDE: Field = field(8, 8);
    /// Size of dimension 0, followed by the others.
    pub const SIZE: Field = field(40, 4);
    /// Extent of the box along dimension 0, followed by the others.
    pub const EXTENT: Field = field(60, 4);
    /// Step along dimension 0, followed by the others.
    pub const STEP: Field = field(80, 4);
    /// Rank - 1.
    pub const RANK: Field = field(100, 1);
    /// Element type.
    pub const ELEMENT: Field = field(101, 1);
    /// Interleave.
    pub const INTERLEAVE: Field = field(102, 1);
    /// Swizzle.
    pub const SWIZZLE: Field = field(103, 1);
    /// Atomicity of the swizzle.
    pub const ATOMICITY: Field = field(104, 1);
    /// Fill value of elements outside of the tensor.
    pub const FILL: Field = field(105, 1);
    const MODE: Field = field(106, 1);
    const LOWER: Field = field(108, 2);
    const UPPER: Field = field(114, 2);

    /// This field for another dimension.
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

/// Layout of channels in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interleave {
    /// Adjacent.
    None,
    /// In slices of 16 bytes, slice after slice.
    Bytes16,
    /// In slices of 32 bytes, slice after slice.
    Bytes32,
}

/// Permutation of chunks in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swizzle {
    /// No permutation.
    None,
    /// Chunks of 16 bytes within 32 bytes.
    Span32,
    /// Chunks of 16 bytes within 64 bytes.
    Span64,
    /// Chunks of 16 bytes within 128 bytes.
    Span128,
    /// Chunks of 32 bytes within 128 bytes.
    Span128Atom32,
    /// Chunks of 32 bytes within 128 bytes, with exchanged 16-byte halves in every other row.
    Span128Atom32Flip8,
    /// Chunks of 64 bytes within 128 bytes.
    Span128Atom64,
}

impl Swizzle {
    /// Bytes within which chunks are permuted; 0 without a swizzle.
    pub fn span(self) -> u64 {
        match self {
            Swizzle::None => 0,
            Swizzle::Span32 => 32,
            Swizzle::Span64 => 64,
            _ => 128,
        }
    }

    /// Swizzled address of the eight bytes at `address`: the address bits that count 128-byte rows are
    /// XORed into the bits that count chunks.
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

    /// Numbers for `tensormap.replace`: swizzle, atomicity.
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

/// Part of a tensor that a copy selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A box.
    Tiled,
    /// Channels of consecutive pixels within a box of pixels, given by corners along W, H and D.
    ImageToColumn {
        /// Offsets of the lower corner from the first pixel.
        lower: [i16; 3],
        /// Offsets of the upper corner from the last pixel.
        upper: [i16; 3],
    },
}

/// A tensor, and the part that copies select. Dimension 0 is innermost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorMap {
    /// Selected part.
    pub mode: Mode,
    /// Number of dimensions, 1 to 5.
    pub rank: usize,
    /// Element type.
    pub element: Element,
    /// Layout of channels.
    pub interleave: Interleave,
    /// Permutation of chunks in shared memory.
    pub swizzle: Swizzle,
    /// True if elements outside of the tensor become NaN instead of zero.
    pub fills_with_nan: bool,
    /// Address of the first element.
    pub address: u64,
    /// Elements along each dimension.
    pub sizes: [u32; MAXIMUM_RANK],
    /// Strides in bytes, from dimension 1 on.
    pub strides: [u64; MAXIMUM_RANK - 1],
    /// Elements of the box along each dimension; of a column: channels and pixels.
    pub extents: [u32; MAXIMUM_RANK],
    /// Steps along each dimension.
    pub steps: [u32; MAXIMUM_RANK],
}

impl TensorMap {
    /// Encodes the opaque bytes.
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

    /// Decodes the opaque bytes; `None` for an invalid map or an unknown field value.
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
    fn tensor_maps_round_trip() {
        assert_eq!(TensorMap::decode(&map().encode()), Some(map()));
    }

    #[test]
    fn invalid_bytes_are_no_tensor_map() {
        assert_eq!(TensorMap::decode(&[0xff; BYTES]), None);
        let mut bytes = map().encode();
        Field::RANK.write(&mut bytes, 5);
        assert_eq!(TensorMap::decode(&bytes), None);
    }

    #[test]
    fn swizzles_permute_chunks_within_spans() {
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
    fn wide_swizzle_permutes_by_the_128_byte_row() {
        assert_eq!(Swizzle::Span128.place(0x80), 0x90);
        assert_eq!(Swizzle::Span128.place(0x3f0), 0x380);
        assert_eq!(Swizzle::Span32.place(0x80), 0x90);
        assert_eq!(Swizzle::Span128Atom32Flip8.place(0x80), 0xa8);
    }
}

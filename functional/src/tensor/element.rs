//! Element types of a tensor, and their conversion by copies to shared memory (PTX manual 5.5.1).

use ptx_frontend::isa::ScalarType;

macro_rules! elements {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $scalar:expr;)*) => {
        /// Element type.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Element { $($(#[$doc])* $name,)* }

        impl Element {
            /// Number of the type for `tensormap.replace`.
            pub fn code(self) -> u64 {
                match self { $(Element::$name => $code,)* }
            }

            /// Type with this number.
            pub fn from_code(code: u64) -> Option<Element> {
                match code { $($code => Some(Element::$name),)* _ => None }
            }

            /// Scalar type of one element; `None` for packed elements.
            pub fn scalar(self) -> Option<ScalarType> {
                match self { $(Element::$name => $scalar,)* }
            }
        }
    };
}

elements! {
    /// 8 bits.
    U8 = 0, Some(ScalarType::U8);
    /// 16 bits.
    U16 = 1, Some(ScalarType::U16);
    /// 32 bits, unsigned.
    U32 = 2, Some(ScalarType::U32);
    /// 32 bits, signed.
    S32 = 3, Some(ScalarType::S32);
    /// 64 bits, unsigned.
    U64 = 4, Some(ScalarType::U64);
    /// 64 bits, signed.
    S64 = 5, Some(ScalarType::S64);
    /// Half precision.
    F16 = 6, Some(ScalarType::F16);
    /// Single precision.
    F32 = 7, Some(ScalarType::F32);
    /// Single precision; subnormals become zero.
    F32Ftz = 8, Some(ScalarType::F32);
    /// Double precision.
    F64 = 9, Some(ScalarType::F64);
    /// Upper half of single precision.
    Bf16 = 10, Some(ScalarType::Bf16);
    /// Single precision rounded to 10 fraction bits.
    Tf32 = 11, Some(ScalarType::F32);
    /// Single precision rounded to 10 fraction bits; subnormals become zero.
    Tf32Ftz = 12, Some(ScalarType::F32);
    /// Sixteen 4-bit elements in 8 bytes.
    B4x16 = 13, None;
    /// Sixteen 4-bit elements in 8 bytes, with a gap of 8 bytes in shared memory.
    B4x16P64 = 14, None;
    /// Sixteen 6-bit elements in 12 bytes, with a gap of 4 bytes in shared memory.
    B6x16P32 = 15, None;
}

impl Element {
    /// Number of elements packed together.
    pub fn packed(self) -> u64 {
        if self.scalar().is_some() { 1 } else { 16 }
    }

    /// Bytes of [`Element::packed`] elements in device memory.
    pub fn bytes(self) -> u64 {
        match self {
            Element::B4x16 | Element::B4x16P64 => 8,
            Element::B6x16P32 => 12,
            _ => self.scalar().map_or(1, |scalar| scalar.bytes().into()),
        }
    }

    /// Bytes of [`Element::packed`] elements in shared memory.
    pub fn shared_bytes(self) -> u64 {
        match self {
            Element::B4x16P64 | Element::B6x16P32 => 16,
            _ => self.bytes(),
        }
    }

    /// True for a floating-point type, whose NaN can fill elements outside of the tensor.
    pub fn is_float(self) -> bool {
        use Element::{Bf16, F16, F32, F32Ftz, F64, Tf32, Tf32Ftz};
        matches!(self, F16 | F32 | F32Ftz | F64 | Bf16 | Tf32 | Tf32Ftz)
    }

    /// Converts a row of elements for shared memory.
    pub fn convert(self, row: &mut [u8]) {
        let flushes = matches!(self, Element::F32Ftz | Element::Tf32Ftz);
        let rounds = matches!(self, Element::Tf32 | Element::Tf32Ftz);
        if !flushes && !rounds {
            return;
        }
        for bytes in row.chunks_exact_mut(4) {
            let mut word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            if flushes && word & 0x7f80_0000 == 0 {
                word &= 0x8000_0000;
            }
            if rounds {
                word = nearest_tf32(word);
            }
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
}

/// A single rounded to 10 fraction bits, ties to even; the low 13 bits are zero.
fn nearest_tf32(word: u32) -> u32 {
    if word & 0x7fff_ffff > 0x7f80_0000 {
        return (word | 0x0040_0000) & !0x1fff;
    }
    let even = word >> 13 & 1;
    word.wrapping_add(0xfff + even) & !0x1fff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tf32_is_rounded_to_nearest_even() {
        for (from, to) in [(0x3f80_1000, 0x3f80_0000), (0x3f80_3000, 0x3f80_4000), (0x3f80_1001, 0x3f80_2000)]
        {
            assert_eq!(nearest_tf32(from), to, "{from:#x}");
        }
        assert_eq!(nearest_tf32(0x7f80_0001), 0x7fc0_0000);
    }
}

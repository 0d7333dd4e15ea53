//! Texel formats: number, width and meaning of channels (CUDA runtime API, channel format descriptors).

use half::f16;

/// Meaning of a channel's bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Numeric {
    /// Two's complement.
    Signed,
    /// Unsigned integer.
    Unsigned,
    /// binary16 or binary32.
    Float,
    /// Unsigned integer that always reads as a number from 0 to 1.
    UnsignedNormalized,
    /// Signed integer that always reads as a number from -1 to 1.
    SignedNormalized,
}

/// Format of a texel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Format {
    /// Meaning of a channel's bits.
    pub numeric: Numeric,
    /// Bits per channel: 8, 16 or 32.
    pub bits: u32,
    /// Number of channels: 1, 2 or 4.
    pub channels: u32,
}

/// Sign-extends the low `bits` bits.
fn sign_extend(word: u32, bits: u32) -> u32 {
    let unused = 32 - bits.clamp(1, 32);
    ((word << unused).cast_signed() >> unused).cast_unsigned()
}

/// Unsigned bytes as numbers from 0 to 1.
const PARTS_OF_255: [f32; 256] = {
    let mut parts = [0.0; 256];
    let mut byte = 0;
    while byte < 256 {
        parts[byte] = (byte as f64 / 255.0) as f32;
        byte += 1;
    }
    parts
};

/// Linear colour of an sRGB value (IEC 61966-2-1).
fn linear_of_srgb(stored: f32) -> f32 {
    if stored <= 0.040_45 { stored / 12.92 } else { ((stored + 0.055) / 1.055).powf(2.4) }
}

impl Format {
    /// A supported texture format; `None` otherwise.
    pub fn new(numeric: Numeric, bits: u32, channels: u32) -> Option<Format> {
        let possible = match numeric {
            Numeric::Signed | Numeric::Unsigned => matches!(bits, 8 | 16 | 32),
            Numeric::Float => matches!(bits, 16 | 32),
            Numeric::UnsignedNormalized | Numeric::SignedNormalized => matches!(bits, 8 | 16),
        };
        (possible && matches!(channels, 1 | 2 | 4)).then_some(Format { numeric, bits, channels })
    }

    /// Bytes per texel.
    pub fn bytes(self) -> u32 {
        self.channels * self.bits / 8
    }

    /// True if channels read as floating-point numbers regardless of the texture's read mode.
    pub fn is_float(self) -> bool {
        !matches!(self.numeric, Numeric::Signed | Numeric::Unsigned)
    }

    /// Bits of an existing channel.
    #[inline(always)]
    fn stored(self, texel: u128, channel: usize) -> u32 {
        match self.bits {
            8 => (texel >> (8 * channel)) as u32 & 0xff,
            16 => (texel >> (16 * channel)) as u32 & 0xffff,
            _ => (texel >> (32 * channel)) as u32,
        }
    }

    /// Channel values; absent channels are 0, except the last, which is 1.
    #[inline]
    fn channels<T>(self, value: impl Fn(usize) -> T, zero: T, one: T) -> [T; 4]
    where
        T: Copy,
    {
        match self.channels {
            1 => [value(0), zero, zero, one],
            2 => [value(0), value(1), zero, one],
            _ => [value(0), value(1), value(2), value(3)],
        }
    }

    /// Channels as 32-bit integers; absent channels are 0, except the last, which is 1.
    #[inline]
    pub fn integers(self, texel: u128) -> [u32; 4] {
        let extended = |channel| {
            let word = self.stored(texel, channel);
            if self.numeric == Numeric::Signed { sign_extend(word, self.bits) } else { word }
        };
        self.channels(extended, 0, 1)
    }

    /// Channels as numbers, integers scaled to 0..1 or -1..1; absent channels are 0, except the last, which
    /// is 1. With `srgb`, 8-bit colours are converted from sRGB.
    #[inline]
    pub fn numbers(self, texel: u128, srgb: bool) -> [f32; 4] {
        let number = |channel| self.number(self.stored(texel, channel));
        if srgb && self.bits == 8 {
            let bent = |channel| if channel < 3 { linear_of_srgb(number(channel)) } else { number(channel) };
            return self.channels(bent, 0.0, 1.0);
        }
        if self.bits == 32 {
            return self.channels(|channel| f32::from_bits(self.stored(texel, channel)), 0.0, 1.0);
        }
        self.channels(number, 0.0, 1.0)
    }

    /// A channel of up to 16 bits, or a float, as a number.
    fn number(self, word: u32) -> f32 {
        match self.numeric {
            Numeric::Float if self.bits == 16 => f16::from_bits(word as u16).to_f32(),
            Numeric::Float => f32::from_bits(word),
            Numeric::Unsigned | Numeric::UnsignedNormalized if self.bits == 8 => {
                PARTS_OF_255[word as usize & 0xff]
            }
            Numeric::Unsigned | Numeric::UnsignedNormalized => {
                (f64::from(word) / ((1u64 << self.bits) - 1) as f64) as f32
            }
            Numeric::Signed | Numeric::SignedNormalized => {
                let value = f64::from(sign_extend(word, self.bits).cast_signed());
                (value / ((1u64 << (self.bits - 1)) - 1) as f64).max(-1.0) as f32
            }
        }
    }

    /// Texel for the words of a formatted store (`sust.p`), in the first [`Format::bytes`] bytes. Integers
    /// are clamped to the channel, and numbers are rounded.
    pub fn texel(self, words: [u32; 4]) -> [u8; 16] {
        let mut texel = [0; 16];
        let width = (self.bits / 8) as usize;
        for (bytes, word) in texel.chunks_exact_mut(width).zip(words).take(self.channels as usize) {
            bytes.copy_from_slice(&self.channel(word).to_le_bytes()[..width]);
        }
        texel
    }

    fn channel(self, word: u32) -> u32 {
        let scaled = |least: f32, steps: u32| {
            (f32::from_bits(word).clamp(least, 1.0) * steps as f32).round_ties_even() as i32
        };
        match self.numeric {
            Numeric::Float if self.bits == 16 => f16::from_f32(f32::from_bits(word)).to_bits().into(),
            Numeric::Float => word,
            Numeric::Unsigned => word.min(u32::MAX >> (32 - self.bits)),
            Numeric::Signed => {
                let most = i32::MAX >> (32 - self.bits);
                word.cast_signed().clamp(-most - 1, most).cast_unsigned()
            }
            Numeric::UnsignedNormalized => scaled(0.0, u32::MAX >> (32 - self.bits)).cast_unsigned(),
            Numeric::SignedNormalized => scaled(-1.0, u32::MAX >> (33 - self.bits)).cast_unsigned(),
        }
    }

    /// Result of `channel_data_type` queries (PTX manual, section 5.3, channel data types).
    pub fn data_type_code(self) -> u32 {
        match (self.numeric, self.bits) {
            (Numeric::SignedNormalized, 8) => 0x10d0,
            (Numeric::SignedNormalized, _) => 0x10d1,
            (Numeric::UnsignedNormalized, 8) => 0x10d2,
            (Numeric::UnsignedNormalized, _) => 0x10d3,
            (Numeric::Signed, 8) => 0x10d7,
            (Numeric::Signed, 16) => 0x10d8,
            (Numeric::Signed, _) => 0x10d9,
            (Numeric::Unsigned, 8) => 0x10da,
            (Numeric::Unsigned, 16) => 0x10db,
            (Numeric::Unsigned, _) => 0x10dc,
            (Numeric::Float, 16) => 0x10dd,
            (Numeric::Float, _) => 0x10de,
        }
    }

    /// Result of `channel_order` queries (PTX manual, section 5.3, channel orders).
    pub fn order_code(self) -> u32 {
        match self.channels {
            1 => 0x10b0,
            2 => 0x10b2,
            _ => 0x10b5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(numeric: Numeric, bits: u32, channels: u32) -> Format {
        Format::new(numeric, bits, channels).unwrap()
    }

    fn texel(bytes: &[u8]) -> u128 {
        let mut texel = [0xee; 16];
        texel[..bytes.len()].copy_from_slice(bytes);
        u128::from_le_bytes(texel)
    }

    #[test]
    fn integer_channels_are_sign_extended() {
        assert_eq!(format(Numeric::Signed, 8, 2).integers(texel(&[0xff, 0x7f])), [u32::MAX, 127, 0, 1]);
        assert_eq!(format(Numeric::Unsigned, 16, 1).integers(texel(&[0xff, 0xff])), [0xffff, 0, 0, 1]);
    }

    #[test]
    fn normalized_reads_span_the_unit_range() {
        let unsigned = format(Numeric::Unsigned, 8, 4).numbers(texel(&[0, 255, 51, 128]), false);
        assert_eq!(unsigned, [0.0, 1.0, 0.2, 128.0 / 255.0]);
        let signed = format(Numeric::Signed, 16, 2).numbers(texel(&[0x00, 0x80, 0xff, 0x7f]), false);
        assert_eq!(signed, [-1.0, 1.0, 0.0, 1.0]);
    }

    #[test]
    fn half_channels_read_as_singles() {
        assert_eq!(format(Numeric::Float, 16, 1).numbers(texel(&[0x00, 0x3e]), false)[0], 1.5);
    }

    #[test]
    fn srgb_converts_colours_but_not_alpha() {
        let [red, _, _, alpha] = format(Numeric::Unsigned, 8, 4).numbers(texel(&[188, 0, 0, 188]), true);
        assert!((red - 0.502_886).abs() < 1e-5, "{red}");
        assert_eq!(alpha, 188.0 / 255.0);
    }

    #[test]
    fn formatted_stores_clamp_to_the_channel() {
        let cut = |numeric, bits, word: u32| format(numeric, bits, 1).texel([word; 4])[..4].to_vec();
        assert_eq!(cut(Numeric::Unsigned, 8, 300), [255, 0, 0, 0]);
        assert_eq!(cut(Numeric::Signed, 8, (-300i32).cast_unsigned())[0], 0x80);
        assert_eq!(cut(Numeric::Float, 16, 1.5f32.to_bits())[..2], [0x00, 0x3e]);
        assert_eq!(cut(Numeric::UnsignedNormalized, 8, 0.5f32.to_bits())[0], 128);
        assert_eq!(cut(Numeric::SignedNormalized, 8, (-1.0f32).to_bits())[0], 0x81);
    }

    #[test]
    fn three_channels_and_wide_halves_are_rejected() {
        assert_eq!(Format::new(Numeric::Float, 8, 1), None);
        assert_eq!(Format::new(Numeric::Unsigned, 8, 3), None);
        assert_eq!(Format::new(Numeric::SignedNormalized, 32, 1), None);
    }
}

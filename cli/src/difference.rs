//! Where the results of two runs of a captured launch differ.

use std::fmt;
use std::str::FromStr;

use launch_capture::{Address, Capture, Ranges, ResultBuffer, Results, word_at};
use warp_stream::kernel_name::variable;

use crate::failure::Failure;

/// Floating-point values that differ by at most so many units in the last place count as equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tolerance {
    pub(crate) f16: u64,
    pub(crate) bf16: u64,
    pub(crate) f32: u64,
    pub(crate) f64: u64,
}

/// How the results differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// The launches ended in different ways.
    Outcome { a: String, b: String },
    /// A buffer has different contents.
    Buffer {
        /// Number in the manifest.
        number: usize,
        /// Where it was when the launch was captured, and what it is.
        address: Address,
        name: String,
        /// First byte that differs.
        offset: u64,
        /// How many do.
        bytes: u64,
        /// The aligned word around the first one.
        a: Vec<u8>,
        b: Vec<u8>,
    },
}

/// Compares the results of two runs. Pointers to the same place of the same buffer are equal; so
/// are addresses of device functions, and handles of textures and surfaces.
pub(crate) fn between(
    capture: &Capture,
    a: &Results,
    b: &Results,
    tolerance: &Tolerance,
) -> Result<Vec<Difference>, Failure> {
    let [(list_a, ranges_a), (list_b, ranges_b)] = [a, b].map(|results| (results.list(), results.ranges()));
    if list_a.outcome != list_b.outcome {
        return Ok(vec![Difference::Outcome { a: list_a.outcome.clone(), b: list_b.outcome.clone() }]);
    }
    let mut differences = Vec::new();
    for (number, (in_a, in_b)) in list_a.buffers.iter().zip(&list_b.buffers).enumerate() {
        if in_a.blake3 == in_b.blake3 {
            continue;
        }
        let (contents_a, contents_b) = (a.contents(in_a)?, b.contents(in_b)?);
        let comparison = Comparison { tolerance, ranges_a: &ranges_a, ranges_b: &ranges_b };
        let captured = capture.launch().buffers.get(number);
        let handles = captured.map(|buffer| [&buffer.functions, &buffer.objects]);
        let mut first = None;
        let mut bytes = 0;
        for (offset, one, other) in words(in_a, &contents_a, &contents_b) {
            let is_handle = handles.is_some_and(|words| words.iter().any(|words| words.cover(offset)));
            if one == other || is_handle || comparison.same(one, other) {
                continue;
            }
            let different = one.iter().zip(other).filter(|(one, other)| one != other).count();
            bytes += (different + one.len().abs_diff(other.len())) as u64;
            first.get_or_insert((offset, one.to_vec(), other.to_vec()));
        }
        if let Some((offset, one, other)) = first {
            let name = captured.map(|buffer| match &buffer.variable {
                Some(name) => variable(name).into_owned(),
                None => buffer.kind.clone(),
            });
            let address = captured.map_or(in_a.address, |buffer| buffer.address);
            let name = name.unwrap_or_default();
            differences.push(Difference::Buffer { number, address, name, offset, bytes, a: one, b: other });
        }
    }
    Ok(differences)
}

/// The aligned words of a buffer in both runs, with their offsets; shorter ones at its start and
/// end.
fn words<'a>(
    buffer: &ResultBuffer,
    a: &'a [u8],
    b: &'a [u8],
) -> impl Iterator<Item = (u64, &'a [u8], &'a [u8])> {
    let head = (buffer.address.0.wrapping_neg() % 8) as usize;
    let longest = a.len().max(b.len());
    let starts = (head > 0).then_some(0).into_iter().chain((head..longest).step_by(8));
    starts.map(move |start| {
        let end = if start < head { head } else { start + 8 };
        let part = |bytes: &'a [u8]| bytes.get(start..end.min(bytes.len())).unwrap_or_default();
        (start as u64, part(a), part(b))
    })
}

struct Comparison<'a> {
    tolerance: &'a Tolerance,
    ranges_a: &'a Ranges,
    ranges_b: &'a Ranges,
}

impl Comparison<'_> {
    /// Do words that have different bits mean the same?
    fn same(&self, a: &[u8], b: &[u8]) -> bool {
        let (Some(a), Some(b)) = (word_at(a, 0), word_at(b, 0)) else { return false };
        same_place(self.ranges_a, a, self.ranges_b, b) || self.tolerance.accepts_word(a, b)
    }
}

/// Are these addresses of the same place of the same buffer?
pub(crate) fn same_place(ranges_a: &Ranges, a: u64, ranges_b: &Ranges, b: u64) -> bool {
    matches!((ranges_a.find(a), ranges_b.find(b)), (Some(a), Some(b)) if a == b)
}

/// Units in the last place between two numbers of `bits` bits with this many bits of fraction; NaNs
/// are 0 apart.
fn distance(a: u64, b: u64, bits: u32, fraction: u32) -> u64 {
    let sign = 1_u64 << (bits - 1);
    let infinity = (sign - 1) & !((1_u64 << fraction) - 1);
    let is_nan = |value: u64| value & (sign - 1) > infinity;
    // Numbers in order, from the most negative one; both zeros are one.
    let rank = |value: u64| {
        let magnitude = i128::from(value & (sign - 1));
        if value & sign != 0 { -magnitude } else { magnitude }
    };
    match (is_nan(a), is_nan(b)) {
        (true, true) => 0,
        (false, false) => u64::try_from((rank(a) - rank(b)).unsigned_abs()).unwrap_or(u64::MAX),
        _ => u64::MAX,
    }
}

/// A floating-point format that a tolerance can be given for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    F16,
    Bf16,
    F32,
    F64,
}

impl Tolerance {
    fn of(&self, format: Format) -> (u64, u32, u32) {
        match format {
            Format::F16 => (self.f16, 16, 10),
            Format::Bf16 => (self.bf16, 16, 7),
            Format::F32 => (self.f32, 32, 23),
            Format::F64 => (self.f64, 64, 52),
        }
    }

    /// Are these bits equal, as far as the tolerance for this format goes? Without one they have to
    /// be the same.
    pub(crate) fn accepts(&self, format: Format, a: u64, b: u64) -> bool {
        let (ulps, bits, fraction) = self.of(format);
        let mask = u64::MAX >> (64 - bits);
        let (a, b) = (a & mask, b & mask);
        a == b || (ulps > 0 && distance(a, b, bits, fraction) <= ulps)
    }

    /// As [`Tolerance::accepts`] for each of the numbers of this format side by side in a word of
    /// `bits` bits.
    pub(crate) fn accepts_each(&self, format: Format, bits: u32, a: u64, b: u64) -> bool {
        let (_, width, _) = self.of(format);
        (0..bits).step_by(width as usize).all(|shift| self.accepts(format, a >> shift, b >> shift))
    }

    /// Can the word, whose type nobody knows, be read as numbers that are equal as far as the
    /// tolerance goes?
    fn accepts_word(&self, a: u64, b: u64) -> bool {
        [Format::F64, Format::F32, Format::F16, Format::Bf16]
            .into_iter()
            .any(|format| self.of(format).0 > 0 && self.accepts_each(format, 64, a, b))
    }
}

impl FromStr for Tolerance {
    type Err = String;

    /// `f32=2,f64=0`.
    fn from_str(text: &str) -> Result<Tolerance, String> {
        let mut tolerance = Tolerance::default();
        for part in text.split(',') {
            let wrong = || format!("`{part}` is no tolerance; write f16=N, bf16=N, f32=N or f64=N");
            let (format, ulps) = part.split_once('=').ok_or_else(wrong)?;
            let place = match format.trim() {
                "f16" => &mut tolerance.f16,
                "bf16" => &mut tolerance.bf16,
                "f32" => &mut tolerance.f32,
                "f64" => &mut tolerance.f64,
                _ => return Err(wrong()),
            };
            *place = ulps.trim().parse().map_err(|_| wrong())?;
        }
        Ok(tolerance)
    }
}

impl Difference {
    /// The difference as text, with names for the two runs.
    pub(crate) fn between(&self, a: &str, b: &str) -> impl fmt::Display {
        match self {
            Difference::Outcome { a: in_a, b: in_b } => {
                format!("the launch ends differently: {a} {in_a}, {b} {in_b}")
            }
            Difference::Buffer {
                number,
                address: Address(address),
                name,
                offset,
                bytes,
                a: in_a,
                b: in_b,
            } => {
                format!(
                    "buffer {number} ({name} at {address:#x}): {bytes} bytes differ, first at byte {offset}: \
                     {a} {}, {b} {}",
                    hexadecimal(in_a),
                    hexadecimal(in_b)
                )
            }
        }
    }
}

/// Bytes in the order of memory.
fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

impl From<launch_capture::Error> for Failure {
    fn from(error: launch_capture::Error) -> Self {
        Failure::new(&error).remedy(error.remedy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerance_counts_units_in_the_last_place_across_zero() {
        let tolerance: Tolerance = "f32=2".parse().unwrap();
        let close = |a: f32, b: f32| tolerance.accepts(Format::F32, a.to_bits().into(), b.to_bits().into());
        assert!(close(1.0, 1.0 + 2.0 * f32::EPSILON) && !close(1.0, 1.0 + 3.0 * f32::EPSILON));
        assert!(close(0.0, -0.0) && close(f32::from_bits(1), -f32::from_bits(1)));
        assert!(close(f32::MAX, f32::INFINITY) && !close(f32::MAX, f32::NAN));
        assert!(close(f32::NAN, f32::from_bits(0x7fc0_0001)));
    }

    #[test]
    fn without_a_tolerance_only_the_same_bits_are_equal() {
        let none = Tolerance::default();
        assert!(!none.accepts(Format::F64, 0.0_f64.to_bits(), (-0.0_f64).to_bits()));
        assert!(!none.accepts_word(1, 2));
    }

    #[test]
    fn a_tolerance_that_cannot_be_read_names_its_part() {
        assert!("f32=2,f99=1".parse::<Tolerance>().unwrap_err().contains("`f99=1`"));
        assert!("f32".parse::<Tolerance>().is_err());
    }

    #[test]
    fn a_buffer_is_taken_apart_at_aligned_addresses() {
        let buffer = |address| ResultBuffer {
            address: Address(address),
            size: 0,
            file: String::new(),
            blake3: String::new(),
        };
        let bytes = [0; 20];
        let cut = |address| {
            words(&buffer(address), &bytes, &bytes).map(|(at, part, _)| (at, part.len())).collect::<Vec<_>>()
        };
        assert_eq!(cut(0), [(0, 8), (8, 8), (16, 4)]);
        assert_eq!(cut(5), [(0, 3), (3, 8), (11, 8), (19, 1)]);
    }
}

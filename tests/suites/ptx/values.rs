//! Values of PTX types in file tests.

use half::{bf16, f16};

use crate::expression;

/// Type of a buffer's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    name: &'static str,
    /// Bytes of an element.
    pub(crate) size: usize,
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Integer,
    /// Floating-point type with its exponent and fraction widths.
    Float {
        exponent: u32,
        fraction: u32,
    },
}

const fn float(exponent: u32, fraction: u32) -> Format {
    Format::Float { exponent, fraction }
}

const KINDS: [(&str, usize, Format); 18] = [
    ("u8", 1, Format::Integer),
    ("s8", 1, Format::Integer),
    ("b8", 1, Format::Integer),
    ("u16", 2, Format::Integer),
    ("s16", 2, Format::Integer),
    ("b16", 2, Format::Integer),
    ("u32", 4, Format::Integer),
    ("s32", 4, Format::Integer),
    ("b32", 4, Format::Integer),
    ("u64", 8, Format::Integer),
    ("s64", 8, Format::Integer),
    ("b64", 8, Format::Integer),
    ("f16x2", 4, Format::Integer),
    ("bf16x2", 4, Format::Integer),
    ("f16", 2, float(5, 10)),
    ("bf16", 2, float(8, 7)),
    ("f32", 4, float(8, 23)),
    ("f64", 8, float(11, 52)),
];

/// Value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    /// Exact bits.
    Bits(u64),
    /// Any NaN; a quiet NaN as input.
    Nan,
    /// Any value; zero as input.
    Anything,
}

pub(crate) type Values = Vec<Value>;

/// Tolerance of a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Tolerance {
    /// Units in the last place.
    Ulp(u64),
    /// Relative to the expected value. Adds half a unit in the last place for its rounding.
    Relative(f64),
    /// Absolute difference. Adds half a unit in the last place.
    Absolute(f64),
}

impl Tolerance {
    /// Parses `2 ulp`, `2^-22 relative` or `2^-20.5 absolute`.
    pub(crate) fn from_text(text: &str) -> Option<Tolerance> {
        let (amount, measure) = text.split_once(' ')?;
        let power = || Some(amount.strip_prefix("2^")?.parse::<f64>().ok()?.exp2());
        match measure {
            "ulp" => amount.parse().ok().map(Tolerance::Ulp),
            "relative" => power().map(Tolerance::Relative),
            "absolute" => power().map(Tolerance::Absolute),
            _ => None,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ValueError {
    #[error("`{text}` is not a value of type {kind}")]
    NotAValue { text: String, kind: &'static str },
    #[error("{given} values for {count} elements")]
    TooMany { given: usize, count: usize },
    #[error("expression: {0}")]
    Expression(#[from] expression::ExpressionError),
    #[error("nothing to repeat")]
    NothingToRepeat,
}

impl Kind {
    pub(crate) fn from_name(name: &str) -> Option<Kind> {
        KINDS.iter().find(|(known, ..)| *known == name.trim()).map(|&(name, size, format)| Kind {
            name,
            size,
            format,
        })
    }

    fn cut(self, value: i128) -> Value {
        Value::Bits(value as u64 & (u64::MAX >> (64 - 8 * self.size)))
    }

    /// Rounds a number to the nearest value of the type.
    fn round(self, text: &str) -> Option<u64> {
        Some(match self.name {
            "f16" => u64::from(f16::from_f64(text.parse().ok()?).to_bits()),
            "bf16" => u64::from(bf16::from_f64(text.parse().ok()?).to_bits()),
            "f32" => u64::from(text.parse::<f32>().ok()?.to_bits()),
            _ => text.parse::<f64>().ok()?.to_bits(),
        })
    }

    fn value(self, text: &str) -> Option<Value> {
        match (text, self.format) {
            ("_", _) => return Some(Value::Anything),
            ("nan", Format::Float { .. }) => return Some(Value::Nan),
            _ => {}
        }
        if let Some(digits) = text.strip_prefix("0x") {
            return u64::from_str_radix(digits, 16).ok().map(|bits| self.cut(i128::from(bits)));
        }
        match self.format {
            Format::Integer => text.parse().ok().map(|value| self.cut(value)),
            Format::Float { .. } => self.round(text).map(Value::Bits),
        }
    }

    /// Returns the bytes of an input.
    pub(crate) fn bytes(self, value: Value) -> Vec<u8> {
        let bits = match (value, self.format) {
            (Value::Bits(bits), _) => bits,
            (Value::Nan, Format::Float { exponent, fraction }) => {
                ((1 << (exponent + 1)) - 1) << (fraction - 1)
            }
            _ => 0,
        };
        bits.to_le_bytes()[..self.size].to_vec()
    }

    fn is_nan(self, bits: u64) -> bool {
        match self.format {
            Format::Integer => false,
            Format::Float { exponent, fraction } => {
                let ones = (1 << exponent) - 1;
                bits >> fraction & ones == ones && bits & ((1 << fraction) - 1) != 0
            }
        }
    }

    /// Returns the position of a floating-point value in the order of its type; neighbours differ by 1.
    fn rank(self, bits: u64) -> i128 {
        let sign = 1u64 << (8 * self.size - 1);
        let magnitude = i128::from(bits & (sign - 1));
        if bits & sign == 0 { magnitude } else { -magnitude }
    }

    /// Returns whether the found bytes match the expected value.
    pub(crate) fn agrees(self, expected: Value, found: &[u8], tolerance: Tolerance) -> bool {
        let found = self.bits(found);
        match expected {
            Value::Anything => true,
            Value::Nan => self.is_nan(found),
            Value::Bits(bits) => bits == found || self.is_near(bits, found, tolerance),
        }
    }

    /// Returns whether floating-point values differ by at most the tolerance. The sign of zero is
    /// significant.
    fn is_near(self, expected: u64, found: u64, tolerance: Tolerance) -> bool {
        let (near, far) = (self.number(expected), self.number(found));
        if !near.is_finite() || far.is_nan() || near == 0.0 {
            return false;
        }
        let bound = match tolerance {
            Tolerance::Ulp(ulp) => {
                return (self.rank(expected) - self.rank(found)).abs() <= i128::from(ulp);
            }
            Tolerance::Relative(bound) => bound * near.abs(),
            Tolerance::Absolute(bound) => bound,
        };
        let half_ulp = (near - self.number(expected - 1)).abs() / 2.0;
        (near - far).abs() <= bound + half_ulp
    }

    fn number(self, bits: u64) -> f64 {
        match self.name {
            "f16" => f16::from_bits(bits as u16).to_f64(),
            "bf16" => bf16::from_bits(bits as u16).to_f64(),
            "f32" => f64::from(f32::from_bits(bits as u32)),
            "f64" => f64::from_bits(bits),
            _ => f64::NAN,
        }
    }

    fn bits(self, bytes: &[u8]) -> u64 {
        bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
    }

    /// Formats a value for a message.
    pub(crate) fn show(self, value: Value) -> String {
        match value {
            Value::Bits(bits) => self.show_bits(bits),
            Value::Nan => "nan".to_owned(),
            Value::Anything => "_".to_owned(),
        }
    }

    pub(crate) fn show_bytes(self, bytes: &[u8]) -> String {
        self.show_bits(self.bits(bytes))
    }

    fn show_bits(self, bits: u64) -> String {
        let width = 2 + 2 * self.size;
        let number = match self.format {
            Format::Float { .. } => format!("{:e}", self.number(bits)),
            Format::Integer => bits.to_string(),
        };
        format!("{bits:#0width$x} ({number})")
    }
}

/// Parses a list of values for `count` elements.
pub(crate) fn parse_values(text: &str, kind: Kind, count: usize) -> Result<Values, ValueError> {
    let mut values = Values::new();
    let (text, expression) = match text.split_once("lanes ") {
        Some((text, expression)) => (text, Some(expression)),
        None => (text, None),
    };
    let mut repeated = None;
    for word in text.split_whitespace() {
        if word == "repeat" {
            repeated = Some(values.len());
            continue;
        }
        let (word, times) = match word.split_once('*') {
            Some((word, times)) => (word, times.parse().ok()),
            None => (word, Some(1)),
        };
        let value = kind.value(word).zip(times);
        let (value, times) =
            value.ok_or_else(|| ValueError::NotAValue { text: word.to_owned(), kind: kind.name })?;
        values.extend(std::iter::repeat_n(value, times));
    }
    if let Some(from) = repeated {
        let pattern = values.split_off(from.min(values.len()));
        if pattern.is_empty() {
            return Err(ValueError::NothingToRepeat);
        }
        let missing = count.saturating_sub(values.len());
        values.extend(pattern.iter().copied().cycle().take(missing));
    }
    if let Some(expression) = expression {
        let expression = expression::parse(expression)?;
        for index in values.len()..count {
            values.push(kind.cut(expression.value(index as i128)?));
        }
    }
    if values.len() > count {
        return Err(ValueError::TooMany { given: values.len(), count });
    }
    values.resize(count, Value::Bits(0));
    Ok(values)
}

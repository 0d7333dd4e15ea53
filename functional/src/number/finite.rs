//! Exact integer arithmetic on finite numbers: the slow path of directed roundings and the definition of
//! `cvt`.

use std::cmp::Ordering;

use super::{Format, Round};

/// The number ± significand × 2^exponent. If a result does not fit, its lowest bit is the OR of the bits
/// that were cut off ("sticky"). Enough bits always remain above it for correct rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Finite {
    /// True below zero, and for -0.
    pub(crate) negative: bool,
    /// Exponent of the significand's lowest bit.
    pub(crate) exponent: i32,
    /// Magnitude without exponent.
    pub(crate) significand: u128,
}

/// Highest bit of a normalised significand, with two spare bits for the carry of a sum.
const TOP: u32 = 125;

/// `x` shifted right, with a sticky lowest bit.
fn shift_right_sticky(x: u128, by: u32) -> u128 {
    match x.checked_shr(by) {
        Some(kept) => kept | u128::from(kept << by != x),
        None => u128::from(x != 0),
    }
}

impl Finite {
    /// Number for an integer's sign and magnitude.
    pub(crate) fn integer(negative: bool, magnitude: u64) -> Finite {
        Finite { negative, exponent: 0, significand: u128::from(magnitude) }
    }

    /// Number encoded by `bits` in `format`; `None` for infinities and NaN.
    pub(crate) fn decode(bits: u64, format: Format) -> Option<Finite> {
        let field = ((bits & format.infinity()) >> format.fraction) as i32;
        if field == (1 << format.exponent) - 1 {
            return None;
        }
        let fraction = bits & ((1 << format.fraction) - 1);
        let hidden = if field > 0 { 1 << format.fraction } else { 0 };
        Some(Finite {
            negative: bits & format.sign() != 0,
            exponent: format.quantum() + (field - 1).max(0),
            significand: u128::from(fraction | hidden),
        })
    }

    /// Rounds to `format` in the direction of `round` and encodes the result. Overflow gives infinity or
    /// the largest number, as in IEEE 754.
    pub(crate) fn encode(self, format: Format, round: Round) -> u64 {
        let length = 128 - self.significand.leading_zeros() as i32;
        let precision = format.fraction as i32 + 1;
        let unit = (self.exponent + length - precision).max(format.quantum());
        let kept = self.round_to(unit, round) as u64;
        let sign = if self.negative { format.sign() } else { 0 };
        if kept == 0 {
            return sign;
        }
        // The hidden bit of a normal number adds the missing 1 to the exponent field.
        let field = (unit - format.quantum()) as u64;
        let overflows = field >= (1 << format.exponent) - 1;
        let magnitude = (field << format.fraction).wrapping_add(kept);
        if !overflows && magnitude < format.infinity() {
            return sign | magnitude;
        }
        let to_infinity = match round {
            Round::Nearest | Round::NearestAway => true,
            Round::Zero => false,
            Round::Down => self.negative,
            Round::Up => !self.negative,
        };
        sign | (format.infinity() - u64::from(!to_infinity))
    }

    /// The magnitude as a multiple of 2^unit, rounded. If `unit` is below the number's own exponent, the
    /// result must fit into 128 bits.
    pub(crate) fn round_to(self, unit: i32, round: Round) -> u128 {
        let cut = unit - self.exponent;
        if cut <= 0 {
            return self.significand << -cut;
        }
        let cut = cut as u32;
        let kept = self.significand.checked_shr(cut).unwrap_or(0);
        let rest = self.significand - kept.checked_shl(cut).unwrap_or(0);
        let half = if cut > 128 { Ordering::Less } else { rest.cmp(&(1 << (cut - 1))) };
        kept + u128::from(round.rounds_up(self.negative, kept & 1 == 1, half, rest != 0))
    }

    /// The number with its highest bit at [`TOP`].
    fn full_length(self) -> Finite {
        let shift = self.significand.leading_zeros() as i32 - (127 - TOP as i32);
        if self.significand == 0 || shift <= 0 {
            return self;
        }
        Finite { exponent: self.exponent - shift, significand: self.significand << shift, ..self }
    }

    /// -self.
    pub(crate) fn negate(self) -> Finite {
        Finite { negative: !self.negative, ..self }
    }

    /// self + other, for significands of at most 106 bits. An exact zero has the sign of IEEE 754 under
    /// `round`.
    pub(crate) fn add(self, other: Finite, round: Round) -> Finite {
        if self.significand == 0 && other.significand == 0 {
            let negative = if round == Round::Down {
                self.negative || other.negative
            } else {
                self.negative && other.negative
            };
            return Finite { negative, exponent: 0, significand: 0 };
        }
        if self.significand == 0 {
            return other;
        }
        if other.significand == 0 {
            return self;
        }
        let (a, b) = (self.full_length(), other.full_length());
        let a_is_larger = (a.exponent, a.significand) >= (b.exponent, b.significand);
        let (large, small) = if a_is_larger { (a, b) } else { (b, a) };
        let aligned = shift_right_sticky(small.significand, (large.exponent - small.exponent) as u32);
        if large.negative == small.negative {
            return Finite { significand: large.significand + aligned, ..large };
        }
        let significand = large.significand - aligned;
        let negative = if significand == 0 { round == Round::Down } else { large.negative };
        Finite { negative, significand, ..large }
    }

    /// self × other, for significands of at most 64 bits.
    pub(crate) fn multiply(self, other: Finite) -> Finite {
        Finite {
            negative: self.negative != other.negative,
            exponent: self.exponent + other.exponent,
            significand: self.significand * other.significand,
        }
    }

    /// self ÷ other, for significands of at most 53 bits and a nonzero divisor.
    pub(crate) fn divide(self, other: Finite) -> Finite {
        let dividend = self.full_length();
        let quotient = dividend.significand / other.significand;
        let rest = dividend.significand % other.significand;
        Finite {
            negative: self.negative != other.negative,
            exponent: dividend.exponent - other.exponent,
            significand: quotient | u128::from(rest != 0),
        }
    }

    /// √self, for a nonnegative number with a significand of at most 53 bits.
    pub(crate) fn square_root(self) -> Finite {
        let full = self.full_length();
        let odd = full.exponent & 1;
        let radicand = full.significand << odd;
        let root = radicand.isqrt();
        Finite {
            negative: self.negative,
            exponent: (full.exponent - odd) / 2,
            significand: root | u128::from(root * root != radicand),
        }
    }
}

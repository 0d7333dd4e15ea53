//! Directed roundings built on the host's rounding to nearest.
//!
//! The rounded result `r` of an exact value x is x or one of its two neighbours. Given the sign of r - x,
//! at most one step in the last place leads to the directed result. Bits of a magnitude count up through
//! subnormals and binades to infinity, so the step is ±1 on the bits.

/// A rounding (PTX manual 9.4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Round {
    /// `.rn`: to nearest, ties to even.
    Nearest,
    /// `.rna`: to nearest, ties away from zero.
    NearestAway,
    /// `.rz`.
    Zero,
    /// `.rm`: toward -∞.
    Down,
    /// `.rp`: toward +∞.
    Up,
}

impl Round {
    /// Every rounding, indexed by its discriminant.
    pub(crate) const ALL: [Round; 5] =
        [Round::Nearest, Round::NearestAway, Round::Zero, Round::Down, Round::Up];

    /// True if the magnitude `kept + rest/2^n` rounds up to `kept + 1`, for 0 <= rest/2^n < 1. `half`
    /// compares the rest with one half; `inexact` says that the rest is nonzero.
    pub(crate) fn rounds_up(
        self,
        negative: bool,
        odd: bool,
        half: std::cmp::Ordering,
        inexact: bool,
    ) -> bool {
        match self {
            Round::Nearest => half.is_gt() || (half.is_eq() && odd),
            Round::NearestAway => half.is_ge(),
            Round::Zero => false,
            Round::Down => negative && inexact,
            Round::Up => !negative && inexact,
        }
    }
}

/// A rounding as a type, for a warp-wide function of its own.
pub(crate) trait Rounding: 'static {
    /// The rounding.
    const ROUND: Round;
}

/// `.rn`.
pub(crate) struct Nearest;
/// `.rz`.
pub(crate) struct Zero;
/// `.rm`.
pub(crate) struct Down;
/// `.rp`.
pub(crate) struct Up;

impl Rounding for Nearest {
    const ROUND: Round = Round::Nearest;
}
impl Rounding for Zero {
    const ROUND: Round = Round::Zero;
}
impl Rounding for Down {
    const ROUND: Round = Round::Down;
}
impl Rounding for Up {
    const ROUND: Round = Round::Up;
}

/// Converts the result to nearest into the result of `R`. `excess` has the sign of r - x, and is NaN if r
/// is no rounding of a number.
#[inline(always)]
pub(crate) fn redirect<R: Rounding>(r: f32, excess: f64) -> f32 {
    let negative = r.is_sign_negative();
    let outward = if negative { excess < 0.0 } else { excess > 0.0 };
    let (step, wanted) = match R::ROUND {
        Round::Nearest | Round::NearestAway => return r,
        Round::Zero => (-1, outward),
        Round::Down => (if negative { 1 } else { -1 }, excess > 0.0),
        Round::Up => (if negative { -1 } else { 1 }, excess < 0.0),
    };
    f32::from_bits(r.to_bits().wrapping_add(if wanted { step as u32 } else { 0 }))
}

/// Moves an inexact result to the neighbour with an odd last bit. Rounding that to a format at least two
/// bits shorter equals rounding the exact value.
#[inline(always)]
pub(crate) fn make_odd(r: f32, excess: f64) -> f32 {
    let bits = r.to_bits();
    let outward = if r.is_sign_negative() { excess < 0.0 } else { excess > 0.0 };
    let inexact = excess < 0.0 || excess > 0.0;
    let step = if outward { u32::MAX } else { 1 };
    f32::from_bits(bits.wrapping_add(if inexact && bits & 1 == 0 { step } else { 0 }))
}

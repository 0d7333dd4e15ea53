//! Results required by the PTX manual's text and pseudocode.

mod approximate;
mod compare;
mod convert;
mod extended;
mod float;
mod integer;
mod logic;
mod narrow;
pub mod reference;
mod video;

use ptx_frontend::isa::{OpLine, ScalarType, TypeClass};

pub use approximate::{Bound, Function, Near, ulp};

use crate::format::Format;
use crate::kernel::{BEFORE, Carry, guard_holds};
use crate::operands::mask;
use crate::variant::{Setting, Variant, VariantOperand};

/// Allowed value of one result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answer {
    /// Exact bits.
    Bits(u64),
    /// One of two values, where the manual is ambiguous.
    Either(u64, u64),
    /// Any NaN.
    Nan(Format),
    /// Two elements, each of which may be any NaN if it is a NaN.
    PairWithNan {
        /// Format of the elements.
        format: Format,
        /// Low element.
        low: u64,
        /// High element.
        high: u64,
    },
    /// Number near the exact one.
    Near(Near),
    /// Two numbers near exact ones, low first.
    NearPair(Near, Near),
    /// 1 ÷ √ of this double.
    ReciprocalRoot {
        /// Bits of the double.
        of: u64,
    },
}

impl Answer {
    /// Returns whether a result is allowed.
    pub fn allows(&self, bits: u64) -> bool {
        match self {
            Answer::Bits(wanted) => *wanted == bits,
            Answer::Either(one, other) => [*one, *other].contains(&bits),
            Answer::Nan(format) => format.is_nan(bits),
            Answer::PairWithNan { format, low, high } => {
                let width = format.bits();
                [(*low, bits & mask(width)), (*high, bits >> width)].iter().all(|(wanted, found)| {
                    wanted == found || (format.is_nan(*wanted) && format.is_nan(*found))
                })
            }
            Answer::Near(near) => near.allows(bits),
            Answer::NearPair(low, high) => {
                let width = low.format.bits();
                low.allows(bits & mask(width)) && high.allows(bits >> width)
            }
            Answer::ReciprocalRoot { of } => approximate::is_reciprocal_root(bits, *of),
        }
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Answer::Bits(bits) => write!(f, "{bits:#x}"),
            Answer::Either(one, other) => write!(f, "{one:#x} or {other:#x}"),
            Answer::Nan(_) => write!(f, "a NaN"),
            Answer::PairWithNan { format, low, high } => write!(f, "{:#x}", high << format.bits() | low),
            Answer::Near(near) => write!(f, "{near}"),
            Answer::NearPair(low, high) => write!(f, "{high} above {low}"),
            Answer::ReciprocalRoot { of } => write!(f, "1/√{:e}", f64::from_bits(*of)),
        }
    }
}

/// Function from a row of operands to the allowed results of a variant, with the carry last.
pub type Judge = Box<dyn Fn(&[u64]) -> Vec<Answer> + Send + Sync>;

/// Reason why there is no judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unjudged {
    /// The manual does not define this combination of types, modifiers and operands, although the op table
    /// admits it.
    NotInManual,
    /// No judge has been written.
    Unknown,
}

/// Returns the judge of a variant.
pub fn judge(variant: &Variant) -> Result<Judge, Unjudged> {
    let carry = Carry::of(variant);
    match variant.line.group {
        "integer" if carry.written || carry.read => extended::judge(variant),
        "integer" => integer::judge(variant),
        "logic" | "memory" => logic::judge(variant),
        "compare" => compare::judge(variant),
        "float" => float::judge(variant),
        "convert" => convert::judge(variant),
        "video" => video::judge(variant),
        _ => Err(Unjudged::Unknown),
    }
}

/// Returns the allowed results of a row: the judge's, or the previous value if a guard is false.
pub fn answers(variant: &Variant, judge: &Judge, row: usize, x: &[u64]) -> Vec<Answer> {
    if variant.setting != Setting::Guarded || guard_holds(row) {
        return judge(x);
    }
    let before = |place: &VariantOperand| match place.register {
        ScalarType::Pred => 0,
        register => BEFORE & mask(register.bits()),
    };
    variant.results().map(|place| Answer::Bits(before(place))).collect()
}

/// Mnemonics without an oracle, by group, with the reason.
pub const UNJUDGED: &[(&str, &[&str], &str)] = &[
    ("memory", &["ld", "ldu", "st", "cp", "tensormap", "multimem"], "reads or writes memory"),
    ("memory", &["prefetch", "prefetchu", "applypriority", "discard"], "has no result"),
    ("memory", &["createpolicy"], "its result is opaque"),
    ("memory", &["alloca", "stacksave", "stackrestore"], "depends on the stack"),
    ("memory", &["mapa", "getctarank", "isspacep", "cvta"], "depends on where memory lies"),
    ("control", &["bra", "brx", "call", "ret", "exit", "trap", "brkpt"], "goes elsewhere"),
    ("control", &["nanosleep", "pmevent", "griddepcontrol", "setmaxnreg"], "has no result"),
    ("parallel", &["bar", "barrier", "membar", "fence", "mbarrier", "cp"], "waits for other threads"),
    ("parallel", &["vote", "match", "activemask", "redux", "shfl", "elect"], "depends on other lanes"),
    ("atomic", &["atom", "red"], "reads and writes memory"),
    ("matrix", &["wmma", "mma", "wgmma", "ldmatrix", "stmatrix", "movmatrix"], "depends on other lanes"),
    (
        "texture",
        &["tex", "tld4", "txq", "istypep", "suld", "sust", "sured", "suq"],
        "depends on memory and on what handles stand for",
    ),
];

/// Returns the reason why a form has no oracle; `None` if it has one.
pub fn reason_for_none(line: &OpLine) -> Option<&'static str> {
    let mnemonic = line.parsed().mnemonic;
    if ["mov_vector", "stochastic_narrow"].contains(&line.name) {
        return Some("its operands are vectors");
    }
    let named = |(group, mnemonics, _): &&(&str, &[&str], &str)| {
        *group == line.group && mnemonics.contains(&mnemonic)
    };
    UNJUDGED.iter().find(named).map(|(_, _, reason)| *reason)
}

/// Returns the low bits of a register as an integer of a type.
fn integer(bits: u64, ty: ScalarType) -> i128 {
    signed_or_not(bits, ty.bits(), ty.class() == TypeClass::Signed)
}

/// Returns the low bits as a signed or unsigned integer.
fn signed_or_not(bits: u64, width: u32, signed: bool) -> i128 {
    let value = i128::from(bits & mask(width));
    if signed && value >> (width - 1) & 1 == 1 { value - (1 << width) } else { value }
}

/// Returns the minimum and maximum of a width.
fn range(width: u32, signed: bool) -> (i128, i128) {
    if signed { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) }
}

/// Returns the low bits.
fn wrapped(value: i128, width: u32) -> u64 {
    value as u64 & mask(width)
}

/// Returns a judge with a single exact result.
fn one(of: impl Fn(&[u64]) -> u64 + Send + Sync + 'static) -> Judge {
    Box::new(move |x| vec![Answer::Bits(of(x))])
}

/// Applies a function to each half of packed operands.
fn halves(
    width: u32,
    of: impl Fn(&[u64]) -> u64 + Send + Sync + 'static,
) -> impl Fn(&[u64]) -> u64 + Send + Sync + 'static {
    move |x| {
        let [low, high] = [0, width].map(|shift| {
            let half: Vec<u64> = x.iter().map(|word| word >> shift & mask(width)).collect();
            of(&half) & mask(width)
        });
        high << width | low
    }
}

//! What an instruction must give, from the PTX manual's text and pseudocode.

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
use crate::variant::{Place, Setting, Variant};

/// What one result may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answer {
    /// These bits.
    Bits(u64),
    /// One of these: the manual can be read in two ways.
    Either(u64, u64),
    /// Any NaN.
    Nan(Format),
    /// Two elements, where for a NaN any NaN will do.
    PairWithNan {
        /// The elements' format.
        format: Format,
        /// The low element.
        low: u64,
        /// The high element.
        high: u64,
    },
    /// A number close to the exact one.
    Near(Near),
    /// Two such numbers, the low one first.
    NearPair(Near, Near),
    /// 1 ÷ √ of this double.
    ReciprocalRoot {
        /// Its bits.
        of: u64,
    },
}

impl Answer {
    /// May the result be this?
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

/// The results of one variant for a row of operands, the carry last.
pub type Judge = Box<dyn Fn(&[u64]) -> Vec<Answer> + Send + Sync>;

/// Why there is no judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unjudged {
    /// The manual has no such combination of types, modifiers and operands, though the op table's line admits it.
    NotInManual,
    /// Nobody has written down what it gives.
    Unknown,
}

/// The judge of a variant.
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

/// The results of a row: what the judge says, or what was there before where a guard does not hold.
pub fn answers(variant: &Variant, judge: &Judge, row: usize, x: &[u64]) -> Vec<Answer> {
    if variant.setting != Setting::Guarded || guard_holds(row) {
        return judge(x);
    }
    let before = |place: &Place| match place.register {
        ScalarType::Pred => 0,
        register => BEFORE & mask(register.bits()),
    };
    variant.results().map(|place| Answer::Bits(before(place))).collect()
}

/// Mnemonics of the forms that no oracle judges, by group, with the reason.
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

/// Why no oracle judges a form; `None` if one does.
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

/// The integer that the low bits of a register are for a type.
fn integer(bits: u64, ty: ScalarType) -> i128 {
    signed_or_not(bits, ty.bits(), ty.class() == TypeClass::Signed)
}

/// The low bits as a number.
fn signed_or_not(bits: u64, width: u32, signed: bool) -> i128 {
    let value = i128::from(bits & mask(width));
    if signed && value >> (width - 1) & 1 == 1 { value - (1 << width) } else { value }
}

/// The least and greatest of a width.
fn range(width: u32, signed: bool) -> (i128, i128) {
    if signed { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) }
}

/// Its low bits.
fn wrapped(value: i128, width: u32) -> u64 {
    value as u64 & mask(width)
}

/// One result that depends on the row.
fn one(of: impl Fn(&[u64]) -> u64 + Send + Sync + 'static) -> Judge {
    Box::new(move |x| vec![Answer::Bits(of(x))])
}

/// Each half of a packed result from the same half of its operands.
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

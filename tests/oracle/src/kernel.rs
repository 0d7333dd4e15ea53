//! PTX that executes one instruction on many rows of operands.
//!
//! The kernel `one` takes the addresses of operands and results, and the number of rows. A row has a 64-bit
//! word for each operand, then the carry if the instruction reads one. A row of results has the same
//! format.

use ptx_frontend::isa::{ScalarType, Target};

use crate::operands::mask;
use crate::variant::{Setting, Variant, VariantOperand};

/// Initial value of a guarded instruction's result register, truncated to its width. Predicates start as 0.
pub const BEFORE: u64 = 0x5a5a_5a5a_5a5a_5a5a;

/// Returns whether the guard is true in a row.
pub fn guard_holds(row: usize) -> bool {
    !row.is_multiple_of(3)
}

/// Use of the flag CC.CF by an extended-precision instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carry {
    /// The flag is a borrow.
    pub borrow: bool,
    /// The instruction reads the flag.
    pub read: bool,
    /// The instruction writes the flag.
    pub written: bool,
}

impl Carry {
    /// Returns the flag use of a variant.
    pub fn of(variant: &Variant) -> Carry {
        let mnemonic = variant.line.parsed().mnemonic;
        Carry {
            borrow: mnemonic.starts_with("sub"),
            read: matches!(mnemonic, "addc" | "subc" | "madc"),
            written: variant.has(ptx_frontend::isa::Modifier::Cc),
        }
    }
}

/// Returns the number of words in a row of operands and a row of results.
pub fn widths(variant: &Variant) -> (usize, usize) {
    let carry = Carry::of(variant);
    (
        variant.inputs().count() + usize::from(carry.read),
        variant.results().count() + usize::from(carry.written),
    )
}

/// Oldest target of the modules.
const OLDEST_TARGET: Target = Target { number: 70, specific: false };

/// Returns the text of the module with its kernel `one`.
pub fn text(variant: &Variant) -> String {
    let needed = variant.line.requirement(&variant.tokens);
    let (major, minor) = needed.ptx.max((6, 4));
    let target = needed.target.max(OLDEST_TARGET);
    let (operands, results) = widths(variant);
    let mut body = String::new();
    for place in variant.places.iter().filter(|place| place.constant.is_none()) {
        body += &format!("    .reg .{} %{};\n", place.register.name(), place.syntax.name);
    }
    for (number, place) in variant.inputs().enumerate().filter(|(_, place)| place.immediate.is_none()) {
        body += &load(place, number * 8);
    }
    let guarded = variant.setting == Setting::Guarded;
    if guarded {
        body += "    .reg .pred %guard;\n    rem.u32 %word, %row, 3;\n    setp.ne.u32 %guard, %word, 0;\n";
        for place in variant.results() {
            body += &before(place);
        }
    }
    let carry = Carry::of(variant);
    if carry.read {
        body += &format!("    ld.global.b32 %word, [%from+{}];\n", variant.inputs().count() * 8);
        // 1 + 0xffffffff carries, and 0 - 1 borrows.
        body += match carry.borrow {
            true => "    sub.cc.u32 %word, 0, %word;\n",
            false => "    add.cc.u32 %word, %word, 0xffffffff;\n",
        };
    }
    body += &format!("    {}{};\n", if guarded { "@%guard " } else { "" }, variant.instruction());
    if carry.written {
        let name = if carry.borrow { "subc" } else { "addc" };
        body += &format!("    {name}.u32 %word, 0, 0;\n");
        body += &format!("    st.global.b32 [%to+{}], %word;\n", variant.results().count() * 8);
    }
    for (number, place) in variant.results().enumerate() {
        body += &store(place, variant.register_name(place), number * 8);
    }
    format!(
        "// {instruction}
.version {major}.{minor}
.target {target}
.address_size 64
.visible .entry one(.param .u64 operands, .param .u64 results, .param .u32 rows)
{{
    .reg .b32 %row, %block, %threads, %rows, %word;
    .reg .b64 %from, %to, %offset;
    .reg .pred %beyond;
    mov.u32 %row, %tid.x;
    mov.u32 %block, %ctaid.x;
    mov.u32 %threads, %ntid.x;
    mad.lo.s32 %row, %block, %threads, %row;
    ld.param.u32 %rows, [rows];
    setp.ge.u32 %beyond, %row, %rows;
    @%beyond ret;
    ld.param.u64 %from, [operands];
    ld.param.u64 %to, [results];
    mul.wide.u32 %offset, %row, {from};
    add.s64 %from, %from, %offset;
    mul.wide.u32 %offset, %row, {to};
    add.s64 %to, %to, %offset;
{body}    ret;
}}
",
        instruction = variant.instruction(),
        from = operands * 8,
        to = results * 8,
    )
}

fn load(place: &VariantOperand, offset: usize) -> String {
    let name = place.syntax.name;
    match place.register {
        ScalarType::Pred => {
            format!("    ld.global.b32 %word, [%from+{offset}];\n    setp.ne.u32 %{name}, %word, 0;\n")
        }
        register => format!("    ld.global.{} %{name}, [%from+{offset}];\n", register.name()),
    }
}

fn before(place: &VariantOperand) -> String {
    let name = place.syntax.name;
    match place.register {
        ScalarType::Pred => format!("    setp.ne.u32 %{name}, 0, 0;\n"),
        register => {
            let bits = BEFORE & mask(register.bits());
            format!("    mov.{} %{name}, {bits:#x};\n", register.name())
        }
    }
}

fn store(place: &VariantOperand, name: &str, offset: usize) -> String {
    match place.register {
        ScalarType::Pred => {
            format!("    selp.u32 %word, 1, 0, %{name};\n    st.global.b32 [%to+{offset}], %word;\n")
        }
        register => format!("    st.global.{} [%to+{offset}], %{name};\n", register.name()),
    }
}

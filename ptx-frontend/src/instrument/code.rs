//! Inserted PTX: a thread finds its part of the log at the start of a function and appends to it after each
//! write.

use super::log::VARIABLE;
use crate::isa::ScalarType;

/// Prefix of inserted register names.
pub(super) const PREFIX: &str = "%voltsim_";

/// Adds the prefix to names written `~name`; PTX names cannot contain this character.
fn with_names(code: &str) -> String {
    code.replace('~', PREFIX)
}

/// Declarations, and the thread's part of the log: `slot`, and its capacity in entries. A thread outside of
/// the window gets the last part, without capacity.
pub(super) fn prologue() -> String {
    with_names(
        " .reg .b64 ~slot, ~at, ~x; .reg .b32 ~n, ~i, ~y, ~first, ~capacity; .reg .pred ~p, ~g;
        mov.u32 ~n, %ctaid.z; mov.u32 ~i, %nctaid.y; mov.u32 ~y, %ctaid.y; mad.lo.u32 ~n, ~n, ~i, ~y;
        mov.u32 ~i, %nctaid.x; mov.u32 ~y, %ctaid.x; cvt.u64.u32 ~x, ~y; mad.wide.u32 ~at, ~n, ~i, ~x;
        mov.u32 ~n, %tid.z; mov.u32 ~i, %ntid.y; mov.u32 ~y, %tid.y; mad.lo.u32 ~n, ~n, ~i, ~y;
        mov.u32 ~i, %ntid.x; mov.u32 ~y, %tid.x; mad.lo.u32 ~n, ~n, ~i, ~y;
        mov.u32 ~y, %ntid.y; mul.lo.u32 ~i, ~i, ~y; mov.u32 ~y, %ntid.z; mul.lo.u32 ~i, ~i, ~y;
        cvt.u64.u32 ~x, ~i; cvt.u64.u32 ~slot, ~n; mad.lo.u64 ~at, ~at, ~x, ~slot;
        ld.global.u64 ~x, [LOG+8]; sub.u64 ~at, ~at, ~x;
        ld.global.u64 ~x, [LOG+16]; min.u64 ~at, ~at, ~x; setp.lt.u64 ~p, ~at, ~x;
        ld.global.u32 ~first, [LOG+24]; ld.global.u32 ~capacity, [LOG+32];
        mul.wide.u32 ~x, ~capacity, 16; add.u64 ~x, ~x, 16;
        ld.global.u64 ~slot, [LOG]; mad.lo.u64 ~slot, ~at, ~x, ~slot; @!~p mov.u32 ~capacity, 0; ",
    )
    .replace("LOG", VARIABLE)
    .replace('\n', " ")
}

/// Saves an instruction's guard, which the instruction may change.
pub(super) fn keep_guard(predicate: &str, negated: bool) -> String {
    with_names(&format!("{} ~g, {predicate}; ", if negated { "not.pred" } else { "mov.pred" }))
}

/// Appends a register's value, or one half of a 128-bit register.
pub(super) fn record(number: usize, register: &str, ty: ScalarType, upper: bool, guarded: bool) -> String {
    let (guard, and_guard) = if guarded { ("@~g ", " and.pred ~p, ~p, ~g;") } else { ("", "") };
    let value = match ty.bits() {
        1 => format!("selp.b32 ~y, 1, 0, {register}; @~p st.global.b32 [~at+24], ~y;"),
        128 => {
            let halves = if upper { "_, ~x" } else { "~x, _" };
            format!("mov.b128 {{{halves}}}, {register}; @~p st.global.b64 [~at+24], ~x;")
        }
        bits => format!("@~p st.global.b{bits} [~at+24], {register};"),
    };
    with_names(&format!(
        " ld.global.u32 ~n, [~slot]; sub.u32 ~i, ~n, ~first; setp.lt.u32 ~p, ~i, ~capacity;{and_guard} \
         mad.wide.u32 ~at, ~i, 16, ~slot; @~p st.global.u32 [~at+16], {number}; {value} \
         add.u32 ~n, ~n, 1; {guard}st.global.u32 [~slot], ~n;"
    ))
}

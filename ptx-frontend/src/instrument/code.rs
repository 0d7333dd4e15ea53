//! The PTX that is inserted: a thread finds its part of the log where a function begins, and appends to it behind each
//! write.

use super::log::VARIABLE;
use crate::isa::ScalarType;

/// What the names of our registers begin with.
pub(super) const PREFIX: &str = "%voltsim_";

/// Puts the prefix into names written `%v.name`, and the variable's name for `LOG`.
fn with_names(code: &str) -> String {
    code.replace("%v.", PREFIX).replace("LOG", VARIABLE).replace('\n', " ")
}

/// Declarations, and the thread's part of the log: `slot`, and how many entries it has room for. A thread outside of the
/// window gets the part behind all others, without room.
pub(super) fn prologue() -> String {
    with_names(
        " .reg .b64 %v.slot, %v.at, %v.x; .reg .b32 %v.n, %v.i, %v.y, %v.first, %v.capacity; .reg .pred %v.p, %v.g;
        mov.u32 %v.n, %ctaid.z; mov.u32 %v.i, %nctaid.y; mov.u32 %v.y, %ctaid.y; mad.lo.u32 %v.n, %v.n, %v.i, %v.y;
        mov.u32 %v.i, %nctaid.x; mov.u32 %v.y, %ctaid.x; cvt.u64.u32 %v.x, %v.y; mad.wide.u32 %v.at, %v.n, %v.i, %v.x;
        mov.u32 %v.n, %tid.z; mov.u32 %v.i, %ntid.y; mov.u32 %v.y, %tid.y; mad.lo.u32 %v.n, %v.n, %v.i, %v.y;
        mov.u32 %v.i, %ntid.x; mov.u32 %v.y, %tid.x; mad.lo.u32 %v.n, %v.n, %v.i, %v.y;
        mov.u32 %v.y, %ntid.y; mul.lo.u32 %v.i, %v.i, %v.y; mov.u32 %v.y, %ntid.z; mul.lo.u32 %v.i, %v.i, %v.y;
        cvt.u64.u32 %v.x, %v.i; cvt.u64.u32 %v.slot, %v.n; mad.lo.u64 %v.at, %v.at, %v.x, %v.slot;
        ld.global.u64 %v.x, [LOG+8]; sub.u64 %v.at, %v.at, %v.x;
        ld.global.u64 %v.x, [LOG+16]; min.u64 %v.at, %v.at, %v.x; setp.lt.u64 %v.p, %v.at, %v.x;
        ld.global.u32 %v.first, [LOG+24]; ld.global.u32 %v.capacity, [LOG+32];
        mul.wide.u32 %v.x, %v.capacity, 16; add.u64 %v.x, %v.x, 16;
        ld.global.u64 %v.slot, [LOG]; mad.lo.u64 %v.slot, %v.at, %v.x, %v.slot; @!%v.p mov.u32 %v.capacity, 0; ",
    )
}

/// Keeps an instruction's guard, which the instruction may change.
pub(super) fn keep_guard(predicate: &str, negated: bool) -> String {
    with_names(&format!("{} %v.g, {predicate}; ", if negated { "not.pred" } else { "mov.pred" }))
}

/// Appends a register's value. Of a register with 128 bits it is one half.
pub(super) fn record(number: usize, register: &str, ty: ScalarType, upper: bool, guarded: bool) -> String {
    let (guard, and_guard) = if guarded { ("@%v.g ", " and.pred %v.p, %v.p, %v.g;") } else { ("", "") };
    let value = match ty.bits() {
        1 => format!("selp.b32 %v.y, 1, 0, {register}; @%v.p st.global.b32 [%v.at+24], %v.y;"),
        128 => {
            let halves = if upper { "_, %v.x" } else { "%v.x, _" };
            format!("mov.b128 {{{halves}}}, {register}; @%v.p st.global.b64 [%v.at+24], %v.x;")
        }
        bits => format!("@%v.p st.global.b{bits} [%v.at+24], {register};"),
    };
    with_names(&format!(
        " ld.global.u32 %v.n, [%v.slot]; sub.u32 %v.i, %v.n, %v.first; setp.lt.u32 %v.p, %v.i, %v.capacity;{and_guard} \
         mad.wide.u32 %v.at, %v.i, 16, %v.slot; @%v.p st.global.u32 [%v.at+16], {number}; {value} \
         add.u32 %v.n, %v.n, 1; {guard}st.global.u32 [%v.slot], %v.n;"
    ))
}

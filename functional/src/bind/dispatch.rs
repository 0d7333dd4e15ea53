//! Maps each form of the op table to its binding function: `integer.add` to `ops::integer::add`.
//!
//! The match is generated from the op table, so a form without semantics does not compile.

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::Op;
use ptx_frontend::{
    atomic_ops, compare_ops, control_ops, convert_ops, float_ops, integer_ops, logic_ops, matrix_ops,
    memory_ops, parallel_ops, texture_ops, video_ops,
};

use super::{BindError, Binder};

macro_rules! match_group {
    ($binder:ident, $instruction:ident, $op:ident, $group:ident, $enum_name:ident [
        $(
            $(#[$doc:meta])* $name:ident : $($syntax:literal, $ptx:literal, $target:literal)/+,
            $unit:ident, $effect:ident, $section:literal;
        )*
    ]) => {
        match $op { $(ptx_frontend::isa::$enum_name::$name => crate::ops::$group::$name($binder, $instruction),)* }
    };
}

/// Appends the ops of one instruction.
pub(super) fn bind_instruction(
    binder: &mut Binder<'_, '_>,
    instruction: &Instruction,
) -> Result<(), BindError> {
    let i = instruction;
    match instruction.op {
        Op::Integer(op) => integer_ops! { match_group binder, i, op, integer, Integer },
        Op::Float(op) => float_ops! { match_group binder, i, op, float, Float },
        Op::Compare(op) => compare_ops! { match_group binder, i, op, compare, Compare },
        Op::Logic(op) => logic_ops! { match_group binder, i, op, logic, Logic },
        Op::Memory(op) => memory_ops! { match_group binder, i, op, memory, Memory },
        Op::Convert(op) => convert_ops! { match_group binder, i, op, convert, Convert },
        Op::Control(op) => control_ops! { match_group binder, i, op, control, Control },
        Op::Parallel(op) => parallel_ops! { match_group binder, i, op, parallel, Parallel },
        Op::Matrix(op) => matrix_ops! { match_group binder, i, op, matrix, Matrix },
        Op::Texture(op) => texture_ops! { match_group binder, i, op, texture, Texture },
        Op::Atomic(op) => atomic_ops! { match_group binder, i, op, atomic, Atomic },
        Op::Video(op) => video_ops! { match_group binder, i, op, video, Video },
    }
}

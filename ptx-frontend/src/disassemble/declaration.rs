//! Text of variables, parameter lists and performance directives.

use std::fmt::Write;

use super::constant;
use crate::ir::{Function, Initial, Linkage, Parameter, Space, Variable};
use crate::isa::TypeClass;

/// Directive of a linkage, followed by a blank.
pub(super) fn linkage(linkage: Linkage) -> &'static str {
    match linkage {
        Linkage::Internal => "",
        Linkage::Visible => ".visible ",
        Linkage::Extern => ".extern ",
        Linkage::Weak => ".weak ",
        Linkage::Common => ".common ",
    }
}

/// `(.param .align 8 .b8 a[12], .reg .b32 b)`.
pub(super) fn formals(list: &[Parameter]) -> String {
    let texts: Vec<String> = list
        .iter()
        .map(|parameter| {
            let Parameter { name, ty, size, align, in_register, .. } = parameter;
            let ty_name = ty.name();
            match size / ty.bytes().max(1) {
                1 if *in_register => format!(".reg .{ty_name} {name}"),
                count if *in_register => format!(".reg .v{count} .{ty_name} {name}"),
                1 => format!(".param .align {align} .{ty_name} {name}"),
                0 => format!(".param .align {align} .{ty_name} {name}[]"),
                count => format!(".param .align {align} .{ty_name} {name}[{count}]"),
            }
        })
        .collect();
    format!("({})", texts.join(", "))
}

/// Launch bounds and `.noreturn`, one per line.
pub(super) fn performance(function: &Function) -> String {
    let mut text = String::new();
    let mut directive = |name: &str, values: Option<&[u32]>| {
        if let Some(values) = values {
            let values: Vec<_> = values.iter().map(u32::to_string).collect();
            let _ = write!(text, "\n{}", format!(".{name} {}", values.join(", ")).trim_end());
        }
    };
    let bounds = &function.bounds;
    directive("maxntid", bounds.maximum_threads.as_ref().map(<[u32; 3]>::as_slice));
    directive("reqntid", bounds.required_threads.as_ref().map(<[u32; 3]>::as_slice));
    directive("minnctapersm", bounds.minimum_ctas_per_sm.as_ref().map(std::slice::from_ref));
    directive("maxnreg", bounds.maximum_registers.as_ref().map(std::slice::from_ref));
    directive("reqnctapercluster", bounds.required_cluster.as_ref().map(<[u32; 3]>::as_slice));
    directive("maxclusterrank", bounds.maximum_cluster_ctas.as_ref().map(std::slice::from_ref));
    directive("explicitcluster", bounds.needs_clusters.then_some(&[]));
    directive("blocksareclusters", bounds.blocks_are_clusters.then_some(&[]));
    if function.no_return {
        text.push_str("\n.noreturn");
    }
    text
}

/// Declaration of a variable.
pub fn variable(variable: &Variable) -> String {
    let space = match variable.space {
        Space::Global => "global",
        Space::Const => "const",
        Space::Shared => "shared",
        Space::Local => "local",
        Space::Param => "param",
    };
    let Variable { name, ty, align, .. } = variable;
    let managed = if variable.managed { " .attribute(.managed)" } else { "" };
    let mut text =
        format!("{}.{space}{managed} .align {align} .{} {name}", linkage(variable.linkage), ty.name());
    match variable.size / u64::from(ty.bytes()).max(1) {
        1 => {}
        0 => text.push_str("[]"),
        count => {
            let _ = write!(text, "[{count}]");
        }
    }
    if variable.ty.class() == TypeClass::Opaque && !variable.initial.is_empty() {
        let _ = write!(text, " = {{{}}}", properties(variable).join(", "));
    } else if !variable.initial.is_empty() {
        let values = initial_values(variable).join(", ");
        let is_array = variable.size != u64::from(ty.bytes());
        let _ = if is_array { write!(text, " = {{{values}}}") } else { write!(text, " = {values}") };
    }
    text.push(';');
    text
}

/// Properties `name = value` of an opaque variable.
fn properties(variable: &Variable) -> Vec<String> {
    let properties = variable.initial.iter().filter_map(|initial| match initial {
        Initial::Property { name, value } => Some(format!("{name} = {value}")),
        _ => None,
    });
    properties.collect()
}

/// One text per element, up to the last nonzero one.
fn initial_values(variable: &Variable) -> Vec<String> {
    let width = u64::from(variable.ty.bytes()).max(1);
    let mut values: Vec<String> = Vec::new();
    let mut at = 0;
    for initial in &variable.initial {
        let offset = match initial {
            Initial::Bytes { offset, .. } | Initial::Address { offset, .. } => *offset,
            Initial::Property { .. } => continue,
        };
        while at < offset {
            values.push("0".to_owned());
            at += width;
        }
        match initial {
            Initial::Bytes { bytes, .. } => {
                for element in bytes.chunks(variable.ty.bytes().max(1) as usize) {
                    let mut eight = [0; 8];
                    for (to, from) in eight.iter_mut().zip(element) {
                        *to = *from;
                    }
                    let bits = extend(u64::from_le_bytes(eight), variable);
                    values.push(constant(bits, Some(variable.ty)));
                    at += width;
                }
            }
            Initial::Address { symbol, addend, width: stored, shift, generic, .. } => {
                let plain = if *generic { format!("generic({symbol})") } else { symbol.clone() };
                let plain = if *addend == 0 { plain } else { format!("{plain}{addend:+}") };
                let masked = *stored == 1 || *shift > 0;
                values.push(if masked {
                    format!("{:#X}({plain})", 0xFFu64 << shift.min(&56))
                } else {
                    plain
                });
                at += width;
            }
            Initial::Property { .. } => {}
        }
    }
    values
}

/// Stored bits as a constant, sign-extended for signed types.
fn extend(bits: u64, variable: &Variable) -> u64 {
    let unused = 64u32.saturating_sub(variable.ty.bits());
    if variable.ty.is_signed() { ((bits << unused).cast_signed() >> unused).cast_unsigned() } else { bits }
}

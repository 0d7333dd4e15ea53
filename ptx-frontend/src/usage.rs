//! Resource usage of a module's kernels, in the format of the assembler (`ptxas -v`). Registers are an
//! estimate, the maximum live at once; nothing is ever spilled.

use std::fmt::Write as _;

use crate::analyse::{ControlFlow, Liveness};
use crate::ir::{Function, Space, Variable};
use crate::module::Module;

fn bytes_in(variables: &[Variable], space: Space) -> u64 {
    let wanted = variables.iter().filter(|variable| variable.space == space);
    wanted.fold(0, |sum, variable| sum.saturating_add(variable.size))
}

/// Lines for the module and each readable kernel, compiled for `target` (`sm_70`) with at most
/// `most_registers` registers per thread.
pub fn usage(module: &Module, target: &str, most_registers: Option<u32>) -> String {
    let global = bytes_in(module.variables(), Space::Global);
    let constant = bytes_in(module.variables(), Space::Const);
    let constants = if constant > 0 { format!(", {constant} bytes cmem[3]") } else { String::new() };
    let mut text = format!("ptxas info    : {global} bytes gmem{constants}\n");
    for function in module.kernels().filter_map(|name| module.checked(name).ok()) {
        let _ = kernel(&mut text, &function, target, most_registers);
    }
    text
}

fn kernel(text: &mut String, function: &Function, target: &str, most: Option<u32>) -> std::fmt::Result {
    let name = &function.name;
    let live = Liveness::of(function, &ControlFlow::of(function)).maximum_live();
    let registers = most.map_or(live, |most| live.min(most)).max(1);
    let stack = bytes_in(&function.variables, Space::Local);
    let shared = bytes_in(&function.variables, Space::Shared);
    let shared = if shared > 0 { format!(", {shared} bytes smem") } else { String::new() };
    writeln!(text, "ptxas info    : Compiling entry function '{name}' for '{target}'")?;
    writeln!(text, "ptxas info    : Function properties for {name}")?;
    writeln!(text, "    {stack} bytes stack frame, 0 bytes spill stores, 0 bytes spill loads")?;
    writeln!(
        text,
        "ptxas info    : Used {registers} registers, used 0 barriers{shared}, {} bytes cmem[0]",
        function.parameter_bytes
    )
}

//! What `-v` prints. Registers are an estimate, the most that are live at once; nothing is ever spilled.

use crate::options::Options;
use ptx_frontend::Module;
use ptx_frontend::analyse::{ControlFlow, Liveness};
use ptx_frontend::ir::{Function, Space, Variable};

fn bytes_in(variables: &[Variable], space: Space) -> u64 {
    let wanted = variables.iter().filter(|variable| variable.space == space);
    wanted.fold(0, |sum, variable| sum.saturating_add(variable.size))
}

/// The module's variables.
pub(crate) fn module(module: &Module) {
    let global = bytes_in(module.variables(), Space::Global);
    let constant = bytes_in(module.variables(), Space::Const);
    let constants = if constant > 0 { format!(", {constant} bytes cmem[3]") } else { String::new() };
    eprintln!("ptxas info    : {global} bytes gmem{constants}");
}

/// A kernel's registers and memory.
pub(crate) fn kernel(function: &Function, options: &Options) {
    let (name, target) = (&function.name, &options.target);
    let live = Liveness::of(function, &ControlFlow::of(function)).maximum_live();
    let registers = options.max_registers.map_or(live, |most| live.min(most)).max(1);
    let stack = bytes_in(&function.variables, Space::Local);
    let shared = bytes_in(&function.variables, Space::Shared);
    let shared = if shared > 0 { format!(", {shared} bytes smem") } else { String::new() };
    eprintln!("ptxas info    : Compiling entry function '{name}' for '{target}'");
    eprintln!("ptxas info    : Function properties for {name}");
    eprintln!("    {stack} bytes stack frame, 0 bytes spill stores, 0 bytes spill loads");
    eprintln!(
        "ptxas info    : Used {registers} registers, used 0 barriers{shared}, {} bytes cmem[0]",
        function.parameter_bytes
    );
}

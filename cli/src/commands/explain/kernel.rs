//! `voltsim explain kernel` and `explain registers`: the registers of a kernel and their origin.

use std::io::Write;

use crate::failure::Failure;

/// Names of the sections.
pub(super) const SECTIONS: [&str; 2] = ["kernel", "registers"];

/// Writes the key of `--set` and the field of statistics.
pub(super) fn section(out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(
        out,
        "kernel.registers: Registers per thread of a kernel, for `--set kernel.registers=NAME:N`.\n  \
         NAME is the mangled name, or the name or signature of the source; N is 1 to 255.\n\
         registers.source: Origin of a launch's number of registers, in JSON and CSV.\n  \
         lowering: Voltsim's own lowering of the PTX\n  \
         machine code: the program's machine code for exactly the modelled architecture\n  \
         option: `--set kernel.registers`\n\
         Static shared memory comes from the same machine code, and from the PTX without it."
    )?;
    Ok(())
}

//! Writes a recording as a trace that Accel-Sim reads.

use std::fmt::Write as _;
use std::io::{self, Write};

use warp_stream::{Execution, KernelSource, MachineInstruction, MemorySpace, Registers};

use super::{addresses, opcode};
use crate::Recording;
use crate::recording::{Cursor, Step, WarpScript};

/// Start of generic addresses of shared and of local memory.
const SHARED_BASE: u64 = 0x7f00_0000_0000;
const LOCAL_BASE: u64 = 0x7f10_0000_0000;

/// Writes a recording as a trace of Volta instructions: one opcode for each class and access.
///
/// The format cannot express further registers of an operand, predicates, texels, and the times at
/// which instructions took effect. Local memory appears as global memory at device addresses.
///
/// # Errors
/// The output fails, or the recording does not decode.
pub fn write_kernel(recording: &Recording, out: &mut dyn Write) -> io::Result<()> {
    let kernel = recording.kernel();
    let triple = |[x, y, z]: [u32; 3]| format!("({x},{y},{z})");
    writeln!(out, "-kernel name = {}", kernel.name)?;
    writeln!(out, "-kernel id = {}", kernel.launch)?;
    writeln!(out, "-grid dim = {}", triple(kernel.shape.grid))?;
    writeln!(out, "-block dim = {}", triple(kernel.shape.block))?;
    writeln!(out, "-shmem = {}", kernel.shared_bytes)?;
    writeln!(out, "-nregs = {}", kernel.registers)?;
    writeln!(out, "-binary version = 70")?;
    writeln!(out, "-cuda stream id = {}", kernel.stream)?;
    writeln!(out, "-shmem base_addr = 0x{SHARED_BASE:016x}")?;
    writeln!(out, "-local mem base_addr = 0x{LOCAL_BASE:016x}")?;
    writeln!(out, "-accelsim tracer version = 3\n")?;
    writeln!(out, "#address mask destinations opcode sources width addresses")?;
    for cta in 0..kernel.shape.cta_count() {
        let script = recording.script(cta).map_err(io::Error::other)?;
        let [x, y, z] = kernel.shape.cta_at(cta);
        writeln!(out, "\n#BEGIN_TB\n\nthread block = {x},{y},{z}")?;
        for (number, warp) in script.warps.iter().enumerate() {
            writeln!(out, "\nwarp = {number}\ninsts = {}", warp.steps.len())?;
            write_warp(warp, &kernel.code.instructions, out)?;
        }
        writeln!(out, "\n#END_TB")?;
    }
    Ok(())
}

fn write_warp(warp: &WarpScript, code: &[MachineInstruction], out: &mut dyn Write) -> io::Result<()> {
    let mut cursor = Cursor::default();
    let mut execution = Execution::default();
    for step in &warp.steps {
        let few = || io::Error::other("the recording has fewer addresses than its instructions need");
        warp.execution(&mut cursor, step, &mut execution).ok_or_else(few)?;
        writeln!(out, "{}", line(step, &code[step.position as usize], &mut execution))?;
    }
    Ok(())
}

fn line(step: &Step, instruction: &MachineInstruction, execution: &mut Execution) -> String {
    let mut text = format!("{:04x} {:08x}", instruction.address, step.active);
    let add = |text: &mut String, operands: &[Registers]| {
        let operands = operands.iter().filter(|registers| registers.count > 0);
        // Writing to a string cannot fail.
        let _ = write!(text, " {}", operands.clone().count());
        operands.for_each(|registers| {
            let _ = write!(text, " R{}", registers.first.min(254));
        });
    };
    add(&mut text, &[instruction.destination]);
    let _ = write!(text, " {}", opcode::name(instruction.class, instruction.memory));
    add(&mut text, &instruction.sources);
    match (instruction.memory, step.space) {
        (Some(operation), Some(space)) if !matches!(space, MemorySpace::Texture) => {
            if operation.space == MemorySpace::Generic && space == MemorySpace::Shared {
                execution
                    .addresses
                    .iter_mut()
                    .for_each(|address| *address = address.wrapping_add(SHARED_BASE));
            }
            let _ =
                write!(text, " {} {}", operation.width, addresses::write(step.active, &execution.addresses));
        }
        _ => text.push_str(" 0"),
    }
    text
}

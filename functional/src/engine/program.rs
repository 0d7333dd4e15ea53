//! A kernel ready to run on this host: ops of the kernel and of every reachable function.

use crate::assembled::Assembled;
use std::ops::Range;
use std::sync::Arc;

use ptx_frontend::ir::{self, InstructionIndex};
use ptx_frontend::isa::{ScalarType, SpecialRegister};
use ptx_frontend::{Module, disassemble};

use super::constants::Constants;
use super::frame::FrameLayout;
use super::lane::Bits;
use super::machine::Machine;
use super::native::NativeCode;
use super::op::Op;
use super::probe::{Region, Site};
use crate::fault::Spot;
use crate::memory::Memory;
use crate::ops::matrix::Matrices;
use crate::ops::texture::Accesses;

/// Location of a device function's parameter or result in a frame.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ParameterPlace {
    /// Total bytes.
    pub size: u32,
    /// Pieces of the value, lowest bytes first.
    pub pieces: Vec<Piece>,
}

/// Contiguous part of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Bytes of the piece.
    pub bytes: u32,
    /// Location of the piece.
    pub place: PiecePlace,
}

/// Location in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PiecePlace {
    /// Local memory, in bytes from the frame's local base.
    Local(u32),
    /// A 32-bit row, by byte offset. Smaller registers are zero-extended.
    Words(u32),
    /// A 64-bit row, by byte offset.
    DoubleWords(u32),
    /// A predicate word, by number. The value is a byte, 0 or 1.
    Predicate(u32),
}

impl ParameterPlace {
    /// Location of a value in local memory.
    pub(crate) fn in_memory(offset: u32, size: u32) -> ParameterPlace {
        ParameterPlace { size, pieces: vec![Piece { bytes: size, place: PiecePlace::Local(offset) }] }
    }

    /// Location of a value in registers: row or predicate, and type of each.
    pub(crate) fn in_registers(registers: impl Iterator<Item = (u32, ScalarType)>) -> ParameterPlace {
        let mut pieces = Vec::new();
        for (row, ty) in registers {
            let bytes = ty.bytes();
            match ty.bits() {
                _ if ty == ScalarType::Pred => {
                    pieces.push(Piece { bytes: 1, place: PiecePlace::Predicate(row) });
                }
                0..=32 => pieces.push(Piece { bytes, place: PiecePlace::Words(row) }),
                33..=64 => pieces.push(Piece { bytes, place: PiecePlace::DoubleWords(row) }),
                _ => pieces.extend(
                    [0, u64::ROW].map(|half| Piece { bytes: 8, place: PiecePlace::DoubleWords(row + half) }),
                ),
            }
        }
        ParameterPlace { size: pieces.iter().map(|piece| piece.bytes).sum(), pieces }
    }
}

/// A variable in shared or local memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedVariable {
    /// Name.
    pub name: String,
    /// Shared or local memory.
    pub region: Region,
    /// Bytes from the start of the CTA's memory, or from the frame's local base.
    pub offset: u32,
    /// Bytes; 0 for dynamic shared memory.
    pub size: u32,
}

/// A bound function.
#[derive(Debug)]
pub struct BoundFunction {
    /// Name.
    pub name: String,
    /// First op.
    pub entry: u32,
    /// One past the last op.
    pub end: u32,
    /// Layout of a new frame.
    pub layout: FrameLayout,
    /// Byte offset of each register's row; word number of each predicate.
    pub rows: Vec<u32>,
    /// First op of each instruction, and the end of the last; empty if ops have another order.
    pub starts: Vec<u32>,
    /// Special registers kept in rows: (register, byte offset of the row).
    pub specials: Vec<(SpecialRegister, u32)>,
    /// Bytes of local memory per frame.
    pub local_bytes: u32,
    /// 32-bit registers per thread.
    pub registers: u32,
    /// Locations of parameters.
    pub parameters: Vec<ParameterPlace>,
    /// Locations of results.
    pub returns: Vec<ParameterPlace>,
    /// Typed form, for messages.
    pub source: Arc<ir::Function>,
    /// PTX text of the function.
    pub text: Option<Arc<Module>>,
    /// Local variables.
    pub variables: Vec<PlacedVariable>,
}

/// A call site, with the locations of arguments and results.
#[derive(Debug, Clone)]
pub struct CallSite {
    /// Callee of a direct call.
    pub function: Option<u32>,
    /// Arguments in the caller's local memory or registers.
    pub arguments: Vec<ParameterPlace>,
    /// Results.
    pub results: Vec<ParameterPlace>,
}

/// A kernel with all its callees.
#[derive(Debug)]
pub struct Program {
    /// Unique number in the process.
    pub number: u64,
    /// Ops of all functions in sequence.
    pub code: Vec<Op>,
    /// Functions; the kernel is first.
    pub functions: Vec<BoundFunction>,
    /// Constants of ops.
    pub constants: Constants,
    /// Generic address ranges of constant variables, ascending, if the program needs them.
    pub variables_in_constant_memory: Vec<Range<u64>>,
    /// Call sites, by the index in call ops.
    pub call_sites: Vec<CallSite>,
    /// Target lists of `brx.idx`, as op numbers.
    pub branch_targets: Vec<Vec<u32>>,
    /// Op ranges of spin loops, per function.
    pub wait_loops: Vec<Range<u32>>,
    /// Operands of matrix instructions, by the index in their ops.
    pub matrices: Matrices,
    /// Texture and surface accesses, by the index in their ops.
    pub textures: Accesses,
    /// Probes, by the index in probe ops.
    pub sites: Vec<Site>,
    /// Possible targets of indirect calls, (address, function), sorted by address.
    pub function_addresses: Vec<(u64, u32)>,
    /// Shared variables, by offset.
    pub shared_variables: Vec<PlacedVariable>,
    /// Bytes of static shared memory.
    pub static_shared: u32,
    /// Bytes of reserved shared memory after all other; 0 if no function asks for its address.
    pub reserved_shared: u32,
    /// Bytes of parameters.
    pub parameter_bytes: u32,
    /// True if the kernel uses a parameter's generic address.
    pub needs_parameter_address: bool,
    /// True if a function calls another, or moves the stack pointer.
    pub needs_stack: bool,
    /// 32-bit registers per thread: allocated as by an assembler under a timing model, else the maximum
    /// live at once.
    pub registers: u32,
    /// Resources that replace those of the lowered code in a timing model.
    pub assembled: Option<Assembled>,
    /// Launch bounds of the kernel.
    pub bounds: ir::LaunchBounds,
    /// Machine code, if bound for a timing model.
    pub machine: Option<Machine>,
    /// Machine code for the host, once a launch has wanted it.
    pub(crate) native: NativeCode,
}

/// Maximum registers per thread for a CTA of `warps` warps, given `registers` registers. Each of four
/// sub-cores allocates its warps' registers in units of 256.
pub fn fitting_registers(registers: u32, warps: u32) -> u32 {
    registers / (warps.max(1).next_multiple_of(4) * 32) / 8 * 8
}

/// Maximum registers per thread, out of `registers`, that leave room for the CTAs of the launch bounds on
/// an SM with `of_sm`.
pub fn registers_within_bounds(bounds: &ir::LaunchBounds, registers: u32, of_sm: u32) -> u32 {
    let threads = bounds.maximum_threads.or(bounds.required_threads);
    let threads = threads.map(|extents| extents.into_iter().fold(1_u32, u32::saturating_mul));
    let fitting = threads.map(|threads| {
        let ctas = bounds.minimum_ctas_per_sm.unwrap_or(1).max(1);
        fitting_registers(of_sm / ctas, threads.div_ceil(32))
    });
    let limits = [bounds.maximum_registers, fitting].into_iter().flatten();
    limits.fold(registers, u32::min).max(1)
}

impl Program {
    /// Allocates the device address of the machine code; `false` without code or if already allocated.
    /// Addresses of a device follow the order of these calls.
    pub fn place_code(&self, memory: &Memory) -> bool {
        self.machine.as_ref().is_some_and(|machine| machine.take_place(memory))
    }

    /// The kernel.
    pub fn kernel(&self) -> &BoundFunction {
        &self.functions[0]
    }

    /// True if op `pc` belongs to a spin loop.
    pub(crate) fn waits_at(&self, pc: u32) -> bool {
        self.wait_loops.iter().any(|ops| ops.contains(&pc))
    }

    /// Function that contains op `pc`.
    pub fn function_at(&self, pc: u32) -> &BoundFunction {
        self.functions
            .iter()
            .find(|function| (function.entry..function.end).contains(&pc))
            .unwrap_or(self.kernel())
    }

    /// Position of op `pc` in the program's texts.
    pub fn spot_at(&self, pc: u32) -> Spot {
        let number = self.code.get(pc as usize).map_or(0, |op| op.instruction);
        spot_in(self.function_at(pc), InstructionIndex(number))
    }

    /// Positions of all instructions in the program's texts, function by function.
    pub fn spots(&self) -> impl Iterator<Item = Spot> + '_ {
        self.functions.iter().flat_map(|function| {
            let all = (0..function.source.instructions.len()).filter(|at| function.source.has_text(*at));
            all.map(|at| spot_in(function, InstructionIndex(at as u32)))
        })
    }

    /// Position of a probe in the program's texts.
    pub fn spot_of(&self, site: &Site) -> Spot {
        spot_in(self.functions.get(site.function as usize).unwrap_or(self.kernel()), site.instruction)
    }
}

/// Position of a function's instruction in the program's texts.
pub(crate) fn spot_in(function: &BoundFunction, number: InstructionIndex) -> Spot {
    let Some(instruction) = function.source.instructions.get(number.0 as usize) else {
        return Spot { function: function.name.clone(), ..Spot::default() };
    };
    let file = |number| function.text.as_ref().and_then(|text| text.source_file(number)).unwrap_or_default();
    let callers = function.source.callers(instruction.location);
    let mut places = callers.map(|place| (file(place.file), place.line));
    let inner = places.next().unwrap_or_default();
    // The last position is in the function itself.
    let shown = match is_of_toolkit(inner.0) {
        true => places.reduce(|found, outer| if is_of_toolkit(found.0) { outer } else { found }),
        false => None,
    };
    let (file, line) = shown.unwrap_or(inner);
    Spot {
        function: function.name.clone(),
        instruction: disassemble::instruction(&function.source, number),
        place: instruction.place,
        file: file.to_owned(),
        line,
        inlined: shown.map(|_| (inner.0.to_owned(), inner.1)),
    }
}

/// True for a header of a compiler or toolkit, as opposed to the program's own files.
fn is_of_toolkit(file: &str) -> bool {
    const FOLDERS: [&str; 5] = ["/cuda", "/nvidia/", "/x86_64-linux/", "/usr/", "/cccl/"];
    file.contains("/include/") && FOLDERS.iter().any(|folder| file.contains(folder))
}

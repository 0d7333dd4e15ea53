//! A kernel ready to run on this host: the ops of it and of every function it can reach.

use std::ops::Range;
use std::sync::Arc;

use ptx_frontend::ir::{self, InstructionIndex};
use ptx_frontend::isa::{ScalarType, SpecialRegister};
use ptx_frontend::{Module, disassemble};

use super::constants::Constants;
use super::frame::FrameLayout;
use super::lane::Bits;
use super::machine::Machine;
use super::op::Op;
use super::probe::{Region, Site};
use crate::fault::Spot;
use crate::ops::matrix::Matrices;
use crate::ops::texture::Accesses;

/// Where the value of a parameter or result of a device function lies in a frame.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ParameterPlace {
    /// Bytes of all pieces.
    pub size: u32,
    /// Pieces, the value's lowest bytes first.
    pub pieces: Vec<Piece>,
}

/// A part of a value that lies in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Bytes.
    pub bytes: u32,
    /// The place.
    pub place: PiecePlace,
}

/// A place in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PiecePlace {
    /// Local memory: bytes from the frame's local base.
    Local(u32),
    /// A row of words, by its byte offset. Registers of less than 32 bits are zero-extended.
    Words(u32),
    /// A row of double words, by its byte offset.
    DoubleWords(u32),
    /// A word of predicates, by its number. The value is a byte, 0 or 1.
    Predicate(u32),
}

impl ParameterPlace {
    /// The place of a value in local memory.
    pub(crate) fn in_memory(offset: u32, size: u32) -> ParameterPlace {
        ParameterPlace { size, pieces: vec![Piece { bytes: size, place: PiecePlace::Local(offset) }] }
    }

    /// The place of a value that lies in these registers: the row or predicate of each, and its type.
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

/// Where a variable lies that has no address of its own in device memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedVariable {
    /// Name.
    pub name: String,
    /// Shared or local memory.
    pub region: Region,
    /// Bytes from the start of the CTA's memory, or from the frame's local base.
    pub offset: u32,
    /// Bytes; 0 for the launch's dynamic part.
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
    /// What a new frame looks like.
    pub layout: FrameLayout,
    /// Special registers kept in rows: (register, byte offset of the row).
    pub specials: Vec<(SpecialRegister, u32)>,
    /// Bytes of local memory of a frame.
    pub local_bytes: u32,
    /// 32-bit registers of a thread in it.
    pub registers: u32,
    /// Parameters.
    pub parameters: Vec<ParameterPlace>,
    /// Results.
    pub returns: Vec<ParameterPlace>,
    /// The source form, for messages.
    pub source: Arc<ir::Function>,
    /// The text it was read from.
    pub text: Option<Arc<Module>>,
    /// Its local variables.
    pub variables: Vec<PlacedVariable>,
}

/// A call site: where arguments come from and results go.
#[derive(Debug, Clone)]
pub struct CallSite {
    /// The function, for direct calls.
    pub function: Option<u32>,
    /// Arguments: places in the caller's local area or registers.
    pub arguments: Vec<ParameterPlace>,
    /// Results.
    pub results: Vec<ParameterPlace>,
}

/// A kernel with all it calls.
#[derive(Debug)]
pub struct Program {
    /// Tells it from every other program of the process.
    pub number: u64,
    /// Ops of all functions, one after another.
    pub code: Vec<Op>,
    /// Functions; the kernel is the first.
    pub functions: Vec<BoundFunction>,
    /// Constants that ops read.
    pub constants: Constants,
    /// Generic addresses of variables in constant memory, in order, if the program asks for them.
    pub variables_in_constant_memory: Vec<Range<u64>>,
    /// Call sites, named by index from call ops.
    pub call_sites: Vec<CallSite>,
    /// Lists of `brx.idx`: op numbers.
    pub branch_targets: Vec<Vec<u32>>,
    /// Ops of loops that only wait for memory, function by function.
    pub wait_loops: Vec<Range<u32>>,
    /// Operands of matrix instructions, named by index from their ops.
    pub matrices: Matrices,
    /// Accesses of textures and surfaces, named by index from their ops.
    pub textures: Accesses,
    /// Who is told of instructions reached, named by index from probe ops.
    pub sites: Vec<Site>,
    /// Addresses of functions that can be called through a register: (address, function), by address.
    pub function_addresses: Vec<(u64, u32)>,
    /// Variables in shared memory, by offset.
    pub shared_variables: Vec<PlacedVariable>,
    /// Bytes of shared memory with a size known before the launch.
    pub static_shared: u32,
    /// Bytes of shared memory behind all other that are not the program's: 0 if no function asks where they are.
    pub reserved_shared: u32,
    /// Bytes of parameters.
    pub parameter_bytes: u32,
    /// The kernel takes the generic address of a parameter.
    pub needs_parameter_address: bool,
    /// Some function calls another, or moves the stack pointer.
    pub needs_stack: bool,
    /// 32-bit registers of a thread: as an assembler allots them, if it was bound for a timing model, else those that are live at once.
    pub registers: u32,
    /// Launch bounds.
    pub bounds: ir::LaunchBounds,
    /// Its machine code, if it was bound for a timing model.
    pub machine: Option<Machine>,
}

/// Registers that threads of a CTA of so many warps can have, of so many registers. A warp's come from its sub-core, of which there are
/// four, in units of 256.
pub fn fitting_registers(registers: u32, warps: u32) -> u32 {
    registers / (warps.max(1).next_multiple_of(4) * 32) / 8 * 8
}

/// Of so many registers of a thread those that leave room for the CTAs that the launch bounds ask for on an SM with `of_sm`.
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
    /// Gives machine code a place in memory; `false` if there is none, or it has one. Programs lie one behind the other in the order of
    /// these calls.
    pub fn place_code(&self) -> bool {
        self.machine.as_ref().is_some_and(Machine::take_place)
    }

    /// The kernel.
    pub fn kernel(&self) -> &BoundFunction {
        &self.functions[0]
    }

    /// Does this op belong to a loop that only waits for memory?
    pub(crate) fn waits_at(&self, pc: u32) -> bool {
        self.wait_loops.iter().any(|ops| ops.contains(&pc))
    }

    /// The function that op `pc` belongs to.
    pub fn function_at(&self, pc: u32) -> &BoundFunction {
        self.functions
            .iter()
            .find(|function| (function.entry..function.end).contains(&pc))
            .unwrap_or(self.kernel())
    }

    /// The place in the program's texts of op `pc`.
    pub fn spot_at(&self, pc: u32) -> Spot {
        let number = self.code.get(pc as usize).map_or(0, |op| op.instruction);
        spot_in(self.function_at(pc), InstructionIndex(number))
    }

    /// The place in the program's texts that a probe stands at.
    pub fn spot_of(&self, site: &Site) -> Spot {
        spot_in(self.functions.get(site.function as usize).unwrap_or(self.kernel()), site.instruction)
    }
}

/// The place in the program's texts of a function's instruction.
pub(crate) fn spot_in(function: &BoundFunction, number: InstructionIndex) -> Spot {
    let Some(instruction) = function.source.instructions.get(number.0 as usize) else {
        return Spot { function: function.name.clone(), ..Spot::default() };
    };
    let file = |number| function.text.as_ref().and_then(|text| text.source_file(number)).unwrap_or_default();
    let callers = function.source.callers(instruction.location);
    let mut places = callers.map(|place| (file(place.file), place.line));
    let inner = places.next().unwrap_or_default();
    // The last one is in the function itself.
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

/// Is a file a header that comes with compilers, and not one of the program's own?
fn is_of_toolkit(file: &str) -> bool {
    const FOLDERS: [&str; 5] = ["/cuda", "/nvidia/", "/x86_64-linux/", "/usr/", "/cccl/"];
    file.contains("/include/") && FOLDERS.iter().any(|folder| file.contains(folder))
}

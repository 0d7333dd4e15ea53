//! Machine instructions: what is left of PTX when an assembler has been over it, as far as timing goes.

use serde::{Deserialize, Serialize};

/// The execution unit of a sub-core that an instruction occupies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[repr(u8)]
pub enum Unit {
    /// 32-bit integer and logic pipeline.
    #[default]
    Integer,
    /// Single-precision (and packed half-precision) pipeline.
    Fp32,
    /// Double-precision pipeline.
    Fp64,
    /// Transcendental functions, reciprocal, square root.
    SpecialFunction,
    /// Matrix multiply-accumulate.
    Tensor,
    /// Loads, stores, atomics: address calculation and the memory pipeline.
    Memory,
    /// Texture and surface pipeline.
    Texture,
    /// Branches, calls, exits.
    Branch,
    /// CTA and warp barriers, fences.
    Barrier,
}

impl Unit {
    /// How many there are.
    pub const COUNT: usize = Unit::Barrier as usize + 1;
}

/// Machine instructions that a unit treats alike: each has its own latency and initiation interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum OperationClass {
    /// `IADD3, LOP3, SHF, LEA, SEL, PRMT, ISETP, PLOP3`: sums, logic, shifts, selection, comparison.
    Integer,
    /// `MOV`, `S2UR` and other moves between registers.
    Move,
    /// `IMAD`: products of integers.
    IntegerMultiply,
    /// `IMNMX, IABS, VABSDIFF`.
    IntegerExtremum,
    /// `IDP`: dot products of bytes and half words.
    DotProduct,
    /// `POPC`.
    PopulationCount,
    /// `FLO, BREV`.
    BitSearch,
    /// `FADD, FMUL, FFMA`.
    Fp32,
    /// `FMNMX, FSETP, FSEL, FSET, FCHK`.
    Fp32Compare,
    /// `HADD2, HMUL2, HFMA2, HSETP2, HMNMX2`.
    Half,
    /// `DADD, DMUL, DFMA`.
    Fp64,
    /// `DSETP`.
    Fp64Compare,
    /// `MUFU`: reciprocal, root, sine, exponential, logarithm.
    SpecialFunction,
    /// `F2F, F2I, I2F, FRND` between types of 32 bits or fewer.
    Conversion,
    /// The same from or to 64 bits.
    WideConversion,
    /// `HMMA`: products of matrices of floating-point numbers.
    Tensor,
    /// `IMMA, BMMA`: products of matrices of integers.
    TensorInteger,
    /// `VOTE, MATCH, REDUX`.
    Vote,
    /// `SHFL`.
    Shuffle,
    /// `S2R, CS2R`: reads of special registers and clocks.
    SpecialRegister,
    /// `LDC`: a load of a constant bank.
    LoadConstant,
    /// `LD, LDG, LDL, LDS`: loads.
    Load,
    /// `ST, STG, STL, STS`: stores.
    Store,
    /// `ATOM, ATOMG, ATOMS, CAS`: atomic operations with an answer.
    Atomic,
    /// `RED`: atomic operations without an answer.
    Reduction,
    /// `TEX, TLD, TLD4, TXQ`.
    Texture,
    /// `SULD, SUST, SURED`.
    Surface,
    /// `BRA, BRX, BSSY, BSYNC, BREAK, CALL, RET`.
    Branch,
    /// `EXIT`: the lanes end.
    Exit,
    /// `BAR`: CTA-wide barriers.
    Barrier,
    /// `WARPSYNC, NANOSLEEP, YIELD`.
    WarpBarrier,
    /// `MEMBAR, ERRBAR, CCTL`: waits until earlier accesses are seen.
    Fence,
    /// `NOP`, and what has no effect on timing of its own.
    Nothing,
}

impl OperationClass {
    /// All classes, in the order of their numbers.
    pub const ALL: [OperationClass; 33] = {
        use OperationClass::*;
        [
            Integer,
            Move,
            IntegerMultiply,
            IntegerExtremum,
            DotProduct,
            PopulationCount,
            BitSearch,
            Fp32,
            Fp32Compare,
            Half,
            Fp64,
            Fp64Compare,
            SpecialFunction,
            Conversion,
            WideConversion,
            Tensor,
            TensorInteger,
            Vote,
            Shuffle,
            SpecialRegister,
            LoadConstant,
            Load,
            Store,
            Atomic,
            Reduction,
            Texture,
            Surface,
            Branch,
            Exit,
            Barrier,
            WarpBarrier,
            Fence,
            Nothing,
        ]
    };

    /// The unit that executes it.
    pub fn unit(self) -> Unit {
        use OperationClass::*;
        match self {
            Integer | Move | IntegerMultiply | IntegerExtremum | DotProduct | Vote => Unit::Integer,
            Fp32 | Fp32Compare | Half => Unit::Fp32,
            Fp64 | Fp64Compare => Unit::Fp64,
            PopulationCount | BitSearch | SpecialFunction | Conversion | WideConversion | SpecialRegister => {
                Unit::SpecialFunction
            }
            Tensor | TensorInteger => Unit::Tensor,
            Shuffle | LoadConstant | Load | Store | Atomic | Reduction => Unit::Memory,
            Texture | Surface => Unit::Texture,
            Branch | Exit | Nothing => Unit::Branch,
            Barrier | WarpBarrier | Fence => Unit::Barrier,
        }
    }
}

/// The memory an access goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MemorySpace {
    /// Device memory through L1 and L2.
    Global,
    /// Per-CTA scratchpad.
    Shared,
    /// Per-thread memory, backed by device memory.
    Local,
    /// Constant banks, kernel parameters among them.
    Constant,
    /// Texture and surface path.
    Texture,
    /// Global, shared or local: the address tells, so only an [`Execution`](crate::Execution) knows.
    Generic,
}

/// What a memory instruction does with its location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes indivisibly, answered.
    Atomic,
    /// Reads and writes indivisibly, not answered (`red`).
    Reduction,
}

/// Which caches an access may use (PTX manual, cache operators and memory consistency).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CacheOperator {
    /// `.ca`, `.wb`: as the card has it.
    Default,
    /// `.cg`: in L2 only.
    GlobalOnly,
    /// `.cs`, `.lu`: likely not needed again.
    Streaming,
    /// `.nc`: read-only data.
    ReadOnly,
    /// `.cv`, `.wt`, `volatile`, and accesses with a scope beyond the CTA: not from L1.
    Coherent,
}

/// The memory side of a machine instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MemoryOperation {
    /// Where.
    pub space: MemorySpace,
    /// What.
    pub kind: AccessKind,
    /// Bytes per lane, 1 to 32.
    pub width: u8,
    /// Through which caches.
    pub cache: CacheOperator,
}

/// Consecutive 32-bit registers of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Registers {
    /// The first.
    pub first: u16,
    /// How many; 0 for none.
    pub count: u8,
}

impl Registers {
    /// None.
    pub const NONE: Registers = Registers { first: 0, count: 0 };

    /// The numbers.
    pub fn iter(self) -> impl Iterator<Item = u16> {
        self.first..self.first + u16::from(self.count)
    }
}

/// One machine instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineInstruction {
    /// Bytes from the start of the kernel's code.
    pub address: u32,
    /// What it is.
    pub class: OperationClass,
    /// Registers written.
    pub destination: Registers,
    /// Registers read, an operand each.
    pub sources: [Registers; 4],
    /// Predicates read, one bit each, the guard's among them.
    pub predicates_read: u32,
    /// Predicates written, one bit each.
    pub predicates_written: u32,
    /// Memory side, if any.
    pub memory: Option<MemoryOperation>,
    /// Line of the PTX text it came from, or of the trace file, from 1; 0 where there is none.
    pub line: u32,
    /// Instructions of PTX that take effect with it; 0 where it was not made of PTX.
    pub ptx: u16,
}

/// The machine instructions of a kernel and of the functions it calls.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MachineCode {
    /// By address.
    pub instructions: Vec<MachineInstruction>,
    /// Bytes of one instruction: 16 from Volta on.
    pub instruction_bytes: u32,
}

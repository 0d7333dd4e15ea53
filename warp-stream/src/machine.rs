//! Machine instructions: the assembler's output, reduced to the properties that determine timing.

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
    /// Number of units.
    pub const COUNT: usize = Unit::Barrier as usize + 1;
}

/// Instructions that share one unit, latency and initiation interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum OperationClass {
    /// `IADD3, LOP3, SHF, LEA, SEL, PRMT, ISETP, PLOP3`: sums, logic, shifts, selection, comparison.
    Integer,
    /// `MOV`, `S2UR` and other moves between registers.
    Move,
    /// `IMAD`: integer multiplication.
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
    /// `F2F, F2I, I2F, FRND` from or to 64 bits.
    WideConversion,
    /// `HMMA`: floating-point matrix multiply-accumulate.
    Tensor,
    /// `IMMA, BMMA`: integer matrix multiply-accumulate.
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
    /// `ATOM, ATOMG, ATOMS, CAS`: atomic operations that return the old value.
    Atomic,
    /// `RED`: atomic operations without a result.
    Reduction,
    /// `TEX, TLD, TLD4, TXQ`.
    Texture,
    /// `SULD, SUST, SURED`.
    Surface,
    /// `BRA, BRX, BSSY, BSYNC, BREAK, CALL, RET`.
    Branch,
    /// `EXIT`: ends lanes.
    Exit,
    /// `BAR`: CTA-wide barriers.
    Barrier,
    /// `WARPSYNC, NANOSLEEP, YIELD`.
    WarpBarrier,
    /// `MEMBAR, ERRBAR, CCTL`: waits until earlier accesses are visible.
    Fence,
    /// `NOP`, and instructions without an effect on timing.
    Nothing,
}

impl OperationClass {
    /// All classes in numeric order.
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

    /// Unit that executes the class.
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

/// Memory space of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MemorySpace {
    /// Device memory through L1 and L2.
    Global,
    /// Scratchpad of a CTA.
    Shared,
    /// Memory of a thread, backed by device memory.
    Local,
    /// Constant banks, which include kernel parameters.
    Constant,
    /// Texture and surface path.
    Texture,
    /// Global, shared or local by address: only an [`Execution`](crate::Execution) knows the space.
    Generic,
}

/// Direction of a memory access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes atomically and returns the old value.
    Atomic,
    /// Reads and writes atomically without a result (`red`).
    Reduction,
}

/// Caches that an access may use (PTX manual, cache operators and memory consistency).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CacheOperator {
    /// `.ca`, `.wb`: the GPU's default.
    Default,
    /// `.cg`: L2 only.
    GlobalOnly,
    /// `.cs`, `.lu`: unlikely to be reused.
    Streaming,
    /// `.nc`: read-only data.
    ReadOnly,
    /// `.cv`, `.wt`, `volatile`, and accesses with a scope beyond the CTA: bypass L1.
    Coherent,
}

/// The memory side of a machine instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MemoryOperation {
    /// Memory space.
    pub space: MemorySpace,
    /// Load, store or atomic.
    pub kind: AccessKind,
    /// Bytes per lane, 1 to 32.
    pub width: u8,
    /// Caches that may hold the data.
    pub cache: CacheOperator,
}

/// Consecutive 32-bit registers of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Registers {
    /// First register.
    pub first: u16,
    /// Number of registers; 0 for none.
    pub count: u8,
}

impl Registers {
    /// No registers.
    pub const NONE: Registers = Registers { first: 0, count: 0 };

    /// Register numbers in ascending order.
    pub fn iter(self) -> impl Iterator<Item = u16> {
        self.first..self.first + u16::from(self.count)
    }
}

/// A machine instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineInstruction {
    /// Bytes from the start of the kernel's code.
    pub address: u32,
    /// Operation class.
    pub class: OperationClass,
    /// Registers that the instruction writes.
    pub destination: Registers,
    /// Registers that the instruction reads, one range per operand.
    pub sources: [Registers; 4],
    /// Predicates that the instruction reads, including its guard; one bit each.
    pub predicates_read: u32,
    /// Predicates that the instruction writes; one bit each.
    pub predicates_written: u32,
    /// Memory access, if any.
    pub memory: Option<MemoryOperation>,
    /// Line of the PTX text or trace file, from 1; 0 if unknown.
    pub line: u32,
    /// PTX instructions that take effect with this one; 0 for code not made from PTX.
    pub ptx: u16,
}

/// Machine instructions of a kernel and the functions that the kernel calls.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MachineCode {
    /// Instructions in address order.
    pub instructions: Vec<MachineInstruction>,
    /// Bytes of one instruction: 16 from Volta on.
    pub instruction_bytes: u32,
}

//! Execution units of a sub-core: how often they take an instruction, and how long they take for it.

use serde::{Deserialize, Serialize};
use warp_stream::{OperationClass, Unit, WARP_SIZE};

use crate::specification::{Document, SpecificationError};

/// The longest latency that a unit may have, so that results can be reserved ahead. Core cycles.
const MAXIMUM_LATENCY: u32 = 48;

/// The shortest: issue, operand read, dispatch. Core cycles.
const MINIMUM_LATENCY: u32 = 3;

/// How many pipes there are.
pub const PIPES: usize = 9;

/// What takes one instruction at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[repr(u8)]
pub enum Pipe {
    /// Integer and logic.
    #[default]
    Integer,
    /// Single precision.
    Fp32,
    /// Double precision.
    Fp64,
    /// Special functions.
    SpecialFunction,
    /// Matrices.
    Tensor,
    /// Memory.
    Memory,
    /// Textures and surfaces.
    Texture,
    /// Branches.
    Branch,
    /// Barriers.
    Barrier,
}

impl Pipe {
    /// The one that executes a class.
    pub fn of(class: OperationClass) -> Pipe {
        match class.unit() {
            Unit::Integer => Pipe::Integer,
            Unit::Fp32 => Pipe::Fp32,
            Unit::Fp64 => Pipe::Fp64,
            Unit::SpecialFunction => Pipe::SpecialFunction,
            Unit::Tensor => Pipe::Tensor,
            Unit::Memory => Pipe::Memory,
            Unit::Texture => Pipe::Texture,
            Unit::Branch => Pipe::Branch,
            Unit::Barrier => Pipe::Barrier,
        }
    }
}

crate::specification! {
    /// Execution units of a sub-core.
    pub struct ExecutionSpec in "execution" {
        /// Integer and logic.
        integer: u32 ["lanes"],
        /// Single precision.
        fp32: u32 ["lanes"],
        /// Double precision.
        fp64: u32 ["lanes"],
        /// Special functions.
        special_function: u32 ["lanes"],
        /// Matrices.
        tensor: u32 ["lanes"],
        /// Loads, stores, atomic operations, textures.
        memory: u32 ["lanes"],
    }
}

impl ExecutionSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let units = [
            ("integer", self.integer),
            ("fp32", self.fp32),
            ("fp64", self.fp64),
            ("special_function", self.special_function),
            ("tensor", self.tensor),
            ("memory", self.memory),
        ];
        match units.iter().find(|(_, lanes)| *lanes == 0) {
            Some((name, _)) => Err(document.wrong("execution", name, "nothing could ever be done")),
            None => Ok(()),
        }
    }

    /// Cycles that a warp's instruction occupies a pipe.
    pub fn interval(&self, pipe: Pipe) -> u32 {
        let lanes = match pipe {
            Pipe::Integer => self.integer,
            Pipe::Fp32 => self.fp32,
            Pipe::Fp64 => self.fp64,
            Pipe::SpecialFunction => self.special_function,
            Pipe::Tensor => self.tensor,
            Pipe::Memory | Pipe::Texture => self.memory,
            Pipe::Branch | Pipe::Barrier => WARP_SIZE as u32,
        };
        (WARP_SIZE as u32).div_ceil(lanes)
    }
}

crate::specification! {
    /// From the issue of an instruction to that of one that needs its result; of control instructions, to the warp's next
    /// one. Those of memory are in the sections of its structures.
    pub struct LatencySpec in "latency" {
        /// Sums, logic, shifts, selection, comparison of integers.
        integer: u32 ["core cycles"],
        /// Moves between registers.
        mov: u32 ["core cycles"],
        /// Products of integers.
        integer_multiply: u32 ["core cycles"],
        /// Extrema of integers.
        integer_extremum: u32 ["core cycles"],
        /// Dot products of bytes and half words.
        dot_product: u32 ["core cycles"],
        /// Population count.
        population_count: u32 ["core cycles"],
        /// Leading one, bit reversal.
        bit_search: u32 ["core cycles"],
        /// Single-precision sums and products.
        fp32: u32 ["core cycles"],
        /// Single-precision comparison and extrema.
        fp32_compare: u32 ["core cycles"],
        /// Half precision.
        half: u32 ["core cycles"],
        /// Double-precision sums and products.
        fp64: u32 ["core cycles"],
        /// Double-precision comparison.
        fp64_compare: u32 ["core cycles"],
        /// Special functions.
        special_function: u32 ["core cycles"],
        /// Conversions within 32 bits.
        conversion: u32 ["core cycles"],
        /// Conversions from or to 64 bits.
        wide_conversion: u32 ["core cycles"],
        /// Products of matrices of floating-point numbers.
        tensor: u32 ["core cycles"],
        /// Products of matrices of integers.
        tensor_integer: u32 ["core cycles"],
        /// Votes.
        vote: u32 ["core cycles"],
        /// Reads of special registers.
        special_register: u32 ["core cycles"],
        /// Branches, calls.
        branch: u32 ["core cycles"],
        /// Barriers of CTAs: from the last warp's arrival.
        barrier: u32 ["core cycles"],
        /// Barriers of warps.
        warp_barrier: u32 ["core cycles"],
        /// Fences, when the warp's accesses have ended.
        fence: u32 ["core cycles"],
    }
}

impl LatencySpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let wrong = OperationClass::ALL
            .into_iter()
            .filter_map(|class| Some((self.key(class)?, class)))
            .find(|(_, class)| !(MINIMUM_LATENCY..=MAXIMUM_LATENCY).contains(&self.of(*class)));
        match wrong {
            Some((name, _)) => Err(document.wrong("latency", name, "there are 3 to 48 cycles")),
            None => Ok(()),
        }
    }

    /// The key of a class; none for those that have a latency of their own elsewhere.
    fn key(&self, class: OperationClass) -> Option<&'static str> {
        use OperationClass::*;
        Some(match class {
            Integer => "integer",
            Move => "mov",
            IntegerMultiply => "integer_multiply",
            IntegerExtremum => "integer_extremum",
            DotProduct => "dot_product",
            PopulationCount => "population_count",
            BitSearch => "bit_search",
            Fp32 => "fp32",
            Fp32Compare => "fp32_compare",
            Half => "half",
            Fp64 => "fp64",
            Fp64Compare => "fp64_compare",
            SpecialFunction => "special_function",
            Conversion => "conversion",
            WideConversion => "wide_conversion",
            Tensor => "tensor",
            TensorInteger => "tensor_integer",
            Vote => "vote",
            SpecialRegister => "special_register",
            Branch => "branch",
            Barrier => "barrier",
            WarpBarrier => "warp_barrier",
            Fence => "fence",
            Shuffle | LoadConstant | Load | Store | Atomic | Reduction | Texture | Surface | Exit
            | Nothing => {
                return None;
            }
        })
    }

    /// Of a class. Core cycles; 1 for those that have a latency of their own elsewhere.
    pub fn of(&self, class: OperationClass) -> u32 {
        use OperationClass::*;
        match class {
            Integer => self.integer,
            Move => self.mov,
            IntegerMultiply => self.integer_multiply,
            IntegerExtremum => self.integer_extremum,
            DotProduct => self.dot_product,
            PopulationCount => self.population_count,
            BitSearch => self.bit_search,
            Fp32 => self.fp32,
            Fp32Compare => self.fp32_compare,
            Half => self.half,
            Fp64 => self.fp64,
            Fp64Compare => self.fp64_compare,
            SpecialFunction => self.special_function,
            Conversion => self.conversion,
            WideConversion => self.wide_conversion,
            Tensor => self.tensor,
            TensorInteger => self.tensor_integer,
            Vote => self.vote,
            SpecialRegister => self.special_register,
            Branch => self.branch,
            Barrier => self.barrier,
            WarpBarrier => self.warp_barrier,
            Fence => self.fence,
            Shuffle | LoadConstant | Load | Store | Atomic | Reduction | Texture | Surface | Exit
            | Nothing => 1,
        }
    }
}

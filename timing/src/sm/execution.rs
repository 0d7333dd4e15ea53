//! Execution units of a sub-core: initiation intervals and latencies.

use warp_stream::{OperationClass, Unit, WARP_SIZE};

use crate::gpu_file::{Document, SpecificationError};

/// Longest latency of an execution unit in core cycles, limited by the reservation horizon.
const MAXIMUM_LATENCY: u32 = 48;

/// Shortest latency in core cycles: issue, operand read, dispatch.
const MINIMUM_LATENCY: u32 = 3;

crate::specification! {
    /// Execution units of a sub-core.
    pub struct ExecutionSpec in "execution" {
        /// Integer and logic units.
        integer: u32 ["lanes"],
        /// Single-precision units.
        fp32: u32 ["lanes"],
        /// Double-precision units.
        fp64: u32 ["lanes"],
        /// Special-function units.
        special_function: u32 ["lanes"],
        /// Tensor units.
        tensor: u32 ["lanes"],
        /// Load/store and texture units.
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
            Some((name, _)) => Err(document.wrong("execution", name, "must be at least 1")),
            None => Ok(()),
        }
    }

    /// Initiation interval of a warp instruction in cycles.
    pub fn interval(&self, unit: Unit) -> u32 {
        let lanes = match unit {
            Unit::Integer => self.integer,
            Unit::Fp32 => self.fp32,
            Unit::Fp64 => self.fp64,
            Unit::SpecialFunction => self.special_function,
            Unit::Tensor => self.tensor,
            Unit::Memory | Unit::Texture => self.memory,
            Unit::Branch | Unit::Barrier => WARP_SIZE as u32,
        };
        (WARP_SIZE as u32).div_ceil(lanes)
    }
}

crate::specification! {
    /// Issue of an instruction to issue of one that needs its result; for control instructions, to
    /// the warp's next instruction. Memory latencies are in the sections of the memory structures.
    pub struct LatencySpec in "latency" {
        /// Integer additions, logic, shifts, selections, comparisons.
        integer: u32 ["core cycles"],
        /// Register moves.
        mov: u32 ["core cycles"],
        /// Integer multiplications.
        integer_multiply: u32 ["core cycles"],
        /// Integer minimum and maximum.
        integer_extremum: u32 ["core cycles"],
        /// Dot products of bytes and half words.
        dot_product: u32 ["core cycles"],
        /// Population count.
        population_count: u32 ["core cycles"],
        /// Find leading one, bit reversal.
        bit_search: u32 ["core cycles"],
        /// Single-precision additions and multiplications.
        fp32: u32 ["core cycles"],
        /// Single-precision comparisons, minimum and maximum.
        fp32_compare: u32 ["core cycles"],
        /// Half-precision arithmetic.
        half: u32 ["core cycles"],
        /// Double-precision additions and multiplications.
        fp64: u32 ["core cycles"],
        /// Double-precision comparisons.
        fp64_compare: u32 ["core cycles"],
        /// Special functions.
        special_function: u32 ["core cycles"],
        /// Conversions between types of up to 32 bits.
        conversion: u32 ["core cycles"],
        /// Conversions from or to 64-bit types.
        wide_conversion: u32 ["core cycles"],
        /// Floating-point matrix multiplications.
        tensor: u32 ["core cycles"],
        /// Integer matrix multiplications.
        tensor_integer: u32 ["core cycles"],
        /// Warp votes.
        vote: u32 ["core cycles"],
        /// Special-register reads.
        special_register: u32 ["core cycles"],
        /// Branches and calls.
        branch: u32 ["core cycles"],
        /// CTA barriers, from the last warp's arrival.
        barrier: u32 ["core cycles"],
        /// Warp barriers.
        warp_barrier: u32 ["core cycles"],
        /// Fences, from the end of the warp's accesses.
        fence: u32 ["core cycles"],
        /// Minimum latency of a result that is an address or datum of a memory instruction or
        /// shuffle.
        to_memory: u32 ["core cycles"],
        /// Minimum latency of a predicate that guards an instruction.
        to_guard: u32 ["core cycles"],
    }
}

impl LatencySpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let wrong = OperationClass::ALL
            .into_iter()
            .filter_map(|class| self.entry(class))
            .find(|(_, cycles)| !(MINIMUM_LATENCY..=MAXIMUM_LATENCY).contains(cycles));
        let late = [("to_memory", self.to_memory), ("to_guard", self.to_guard)];
        let wrong = wrong.or(late.into_iter().find(|(_, cycles)| *cycles > MAXIMUM_LATENCY));
        match wrong {
            Some((name, _)) => Err(document.wrong("latency", name, "must be 3 to 48 cycles")),
            None => Ok(()),
        }
    }

    /// Key and value of a class; `None` for classes whose latency is defined elsewhere.
    fn entry(&self, class: OperationClass) -> Option<(&'static str, u32)> {
        use OperationClass::*;
        Some(match class {
            Integer => ("integer", self.integer),
            Move => ("mov", self.mov),
            IntegerMultiply => ("integer_multiply", self.integer_multiply),
            IntegerExtremum => ("integer_extremum", self.integer_extremum),
            DotProduct => ("dot_product", self.dot_product),
            PopulationCount => ("population_count", self.population_count),
            BitSearch => ("bit_search", self.bit_search),
            Fp32 => ("fp32", self.fp32),
            Fp32Compare => ("fp32_compare", self.fp32_compare),
            Half => ("half", self.half),
            Fp64 => ("fp64", self.fp64),
            Fp64Compare => ("fp64_compare", self.fp64_compare),
            SpecialFunction => ("special_function", self.special_function),
            Conversion => ("conversion", self.conversion),
            WideConversion => ("wide_conversion", self.wide_conversion),
            Tensor => ("tensor", self.tensor),
            TensorInteger => ("tensor_integer", self.tensor_integer),
            Vote => ("vote", self.vote),
            SpecialRegister => ("special_register", self.special_register),
            Branch => ("branch", self.branch),
            Barrier => ("barrier", self.barrier),
            WarpBarrier => ("warp_barrier", self.warp_barrier),
            Fence => ("fence", self.fence),
            Shuffle | LoadConstant | Load | Store | Atomic | Reduction | Texture | Surface | Exit
            | Nothing => return None,
        })
    }

    /// Latency of a class in core cycles; 1 for classes whose latency is defined elsewhere.
    pub fn of(&self, class: OperationClass) -> u32 {
        self.entry(class).map_or(1, |(_, cycles)| cycles)
    }
}

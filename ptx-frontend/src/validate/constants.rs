//! Checks of operands that must be constants, and of their values.

use super::{Check, Result, ValidationError};
use crate::ir::Operand;
use crate::isa::{Control, Integer, Logic, Matrix, Memory, Modifier, Op, Parallel};

/// Maximum arrivals of a barrier in shared memory.
const MOST_ARRIVALS: u64 = (1 << 20) - 1;

impl Check<'_> {
    /// Checks the instruction's constants.
    pub(super) fn constants(&self) -> Result {
        match self.instruction.op {
            Op::Logic(Logic::lop3) => self.constant(4, "the truth table").map(drop),
            Op::Logic(Logic::lop3_predicate) => self.constant(5, "the truth table").map(drop),
            Op::Integer(Integer::bfe) => {
                self.range(2, "the position", 0, 255)?;
                self.range(3, "the length", 0, 255)
            }
            Op::Integer(Integer::bfi) => {
                self.range(3, "the position", 0, 255)?;
                self.range(4, "the length", 0, 255)
            }
            Op::Control(Control::pmevent) => self.range(0, "the event", 0, 15),
            Op::Control(Control::pmevent_mask) => self.range(0, "the events", 0, 0xffff),
            Op::Control(Control::setmaxnreg) => {
                self.multiple(0, "the number of registers", "a multiple of 8", 8)?;
                self.range(0, "the number of registers", 24, 256)
            }
            Op::Memory(form) => self.memory_constants(form),
            Op::Parallel(form) => self.barrier_constants(form),
            Op::Matrix(Matrix::wgmma_wait_group) => self.range(0, "the number of groups", 0, i32::MAX as u64),
            _ => Ok(()),
        }
    }

    fn memory_constants(&self, form: Memory) -> Result {
        match form {
            Memory::applypriority | Memory::discard => self.exactly(1, 128),
            Memory::tensormap_cp_fenceproxy => self.exactly(2, 128),
            Memory::st_bulk => {
                self.multiple(1, "the number of bytes", "a multiple of 8", 8)?;
                self.exactly(2, 0)
            }
            Memory::cp_async | Memory::cp_async_hint => {
                let bytes = self.copied_at_once()?;
                self.range(3, "the number of bytes to be read", 0, bytes)
            }
            Memory::cp_async_ignore | Memory::cp_async_ignore_hint => self.copied_at_once().map(drop),
            Memory::cp_async_bulk_prefetch => self.units(1),
            Memory::cp_async_bulk_load_inside => {
                self.units(2)?;
                self.range(3, "the number of bytes left out", 0, 15)?;
                self.range(4, "the number of bytes left out", 0, 15)
            }
            Memory::cp_async_bulk_load
            | Memory::cp_async_bulk_multicast
            | Memory::cp_async_bulk_shared
            | Memory::cp_async_bulk_store
            | Memory::cp_async_bulk_store_masked
            | Memory::cp_async_bulk_store_masked_hint
            | Memory::multimem_cp_async_bulk
            | Memory::multimem_cp_async_bulk_masked
            | Memory::multimem_cp_reduce_async_bulk
            | Memory::cp_reduce_async_bulk
            | Memory::cp_reduce_async_bulk_shared => self.units(2),
            Memory::createpolicy_fractional => self.fraction(1),
            Memory::createpolicy_range => {
                let total = self.immediate(3).unwrap_or(u32::MAX.into());
                self.range(2, "the size of the first range", 0, total)
            }
            Memory::alloca => self.power_of_two(2),
            _ => Ok(()),
        }
    }

    fn barrier_constants(&self, form: Parallel) -> Result {
        match form {
            Parallel::bar_sync | Parallel::barrier_sync => self.range(0, "the barrier", 0, 15),
            Parallel::bar_arrive | Parallel::barrier_arrive => {
                self.range(0, "the barrier", 0, 15)?;
                self.range(1, "the number of threads at a barrier", 1, u32::MAX.into())
            }
            Parallel::bar_red
            | Parallel::bar_red_popc
            | Parallel::barrier_red
            | Parallel::barrier_red_popc => self.range(1, "the barrier", 0, 15),
            Parallel::mbarrier_init => self.range(1, "the number of arrivals", 1, MOST_ARRIVALS),
            Parallel::mbarrier_arrive_count
            | Parallel::mbarrier_arrive_no_complete
            | Parallel::mbarrier_drop_count
            | Parallel::mbarrier_drop_no_complete => {
                self.range(2, "the number of arrivals", 1, u32::MAX.into())
            }
            Parallel::fence_proxy_tensormap_acquire => self.exactly(1, 128),
            _ => Ok(()),
        }
    }

    /// Checks the fraction of accesses with a cache policy's first priority.
    fn fraction(&self, n: usize) -> Result {
        match self.immediate(n).map(|bits| f32::from_bits(bits as u32)) {
            Some(fraction) if !(fraction > 0.0 && fraction <= 1.0) => Err(ValidationError::Together {
                what: "the fraction of a cache policy",
                rule: "above 0 and at most 1",
            }),
            _ => Ok(()),
        }
    }

    fn power_of_two(&self, n: usize) -> Result {
        match self.immediate(n) {
            Some(alignment) if !alignment.is_power_of_two() => {
                Err(ValidationError::Together { what: "an alignment", rule: "a power of two" })
            }
            _ => Ok(()),
        }
    }

    /// Bytes of a copy to shared memory that is no bulk copy.
    fn copied_at_once(&self) -> Result<u64> {
        match self.constant(2, "the number of bytes")? {
            16 => Ok(16),
            bytes @ (4 | 8) if !self.instruction.has(Modifier::Cg) => Ok(bytes),
            _ => Err(ValidationError::Together {
                what: "the number of bytes",
                rule: "4, 8 or 16, with .cg 16",
            }),
        }
    }

    /// Checks the bytes of a bulk copy.
    fn units(&self, n: usize) -> Result {
        self.multiple(n, "the number of bytes", "a multiple of 16", 16)
    }

    fn immediate(&self, n: usize) -> Option<u64> {
        match self.instruction.operands.get(n) {
            Some(Operand::Immediate(value)) => Some(*value),
            _ => None,
        }
    }

    fn constant(&self, n: usize, what: &'static str) -> Result<u64> {
        self.immediate(n).ok_or(ValidationError::NotConstant { what })
    }

    fn range(&self, n: usize, what: &'static str, least: u64, most: u64) -> Result {
        match self.immediate(n) {
            Some(value) if value < least || value > most => {
                Err(ValidationError::Range { what, value, least, most })
            }
            _ => Ok(()),
        }
    }

    /// Checks that the operand is exactly this constant.
    fn exactly(&self, n: usize, value: u64) -> Result {
        self.constant(n, "the number of bytes")?;
        self.range(n, "the number of bytes", value, value)
    }

    fn multiple(&self, n: usize, what: &'static str, rule: &'static str, of: u64) -> Result {
        match self.immediate(n) {
            Some(value) if !value.is_multiple_of(of) => Err(ValidationError::Together { what, rule }),
            _ => Ok(()),
        }
    }
}

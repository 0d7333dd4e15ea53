//! A kernel decoded for the SMs of a GPU.

use std::sync::Arc;

use warp_stream::{
    AccessKind, Kernel, MachineInstruction, MemoryOperation, MemorySpace, OperationClass, Registers, Unit,
};

use super::operands::BankCounts;
use super::scoreboard::{late, own};
use crate::fidelity::{Arithmetic, LevelRates, LoadRates};
use crate::specification::GpuSpec;

/// Dependency class of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The result is available after a fixed latency.
    Fixed,
    /// Handled by the memory unit.
    Memory,
    /// Without a result; the warp's next instruction waits for its latency.
    Control,
    /// Like control, but also waits for the warp's outstanding accesses.
    Fence,
}

impl Kind {
    fn of(instruction: &MachineInstruction) -> Kind {
        use OperationClass::*;
        match instruction.class {
            Shuffle | Texture | Surface | LoadConstant | Load | Store | Atomic | Reduction => Kind::Memory,
            Branch | Exit | Barrier | WarpBarrier | Nothing => Kind::Control,
            Fence => Kind::Fence,
            _ => Kind::Fixed,
        }
    }
}

/// Range of an instruction's list in the shared array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct List {
    start: u32,
    length: u32,
}

impl List {
    fn add<T: Copy>(all: &mut Vec<T>, items: &[T]) -> List {
        let start = all.len() as u32;
        all.extend(items);
        List { start, length: items.len() as u32 }
    }

    fn of<T>(self, all: &[T]) -> &[T] {
        &all[self.start as usize..][..self.length as usize]
    }
}

/// A decoded instruction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decoded {
    /// Byte offset in the kernel's code.
    pub address: u32,
    pub class: OperationClass,
    pub kind: Kind,
    pub unit: Unit,
    /// Initiation interval in cycles.
    pub interval: u32,
    /// Issue-to-dependent-issue latency in core cycles.
    pub latency: u32,
    /// Additional latency of late register and predicate uses, in core cycles.
    pub lags: [u32; 2],
    /// Source registers by bank.
    pub reads: BankCounts,
    /// Source registers reused from the preceding instruction's same operand, if not overwritten.
    pub reused: BankCounts,
    /// Set if a bank needs more than one cycle for the reads.
    pub reads_long: bool,
    /// Destination registers by bank.
    pub writes: BankCounts,
    pub memory: Option<MemoryOperation>,
    /// Set for an atomic operation on global memory, if known.
    pub atomic: bool,
    /// PTX line; 0 if unknown.
    pub line: u32,
    /// PTX instructions covered by this one.
    pub ptx: u16,
    needs: List,
    results: List,
}

impl Decoded {
    /// The instruction is a load that looks lines up in L1, as far as the code tells.
    pub(super) fn loads_l1(&self) -> bool {
        let of_l1 = |memory: MemoryOperation| {
            let elsewhere = matches!(memory.space, MemorySpace::Shared | MemorySpace::Constant);
            memory.kind == AccessKind::Load && !elsewhere
        };
        self.memory.is_some_and(of_l1)
    }
}

/// A kernel decoded for a GPU.
#[derive(Debug, Clone)]
pub struct Program {
    /// Kernel of the launch.
    pub kernel: Kernel,
    instructions: Vec<Decoded>,
    /// Register and predicate uses (`scoreboard`) of all instructions.
    uses: Vec<u32>,
    /// Register and predicate numbers of all instructions.
    numbers: Vec<u16>,
    /// Rates of loads by position; empty if they are not given.
    rates: Vec<Option<LevelRates>>,
    /// First predicate number; lower numbers are registers.
    first_predicate: u16,
    /// Number of registers and predicates.
    count: usize,
}

impl Program {
    /// Decodes a kernel for a GPU.
    pub fn new(gpu: &GpuSpec, kernel: &Kernel) -> Arc<Program> {
        let code = &kernel.code.instructions;
        let all = |instruction: &MachineInstruction| {
            instruction.sources.into_iter().chain([instruction.destination])
        };
        let end = |registers: Registers| registers.first.saturating_add(u16::from(registers.count));
        let registers = code.iter().flat_map(all).filter(|registers| registers.count > 0).map(end).max();
        let first_predicate = registers.unwrap_or(0);
        let predicates =
            code.iter().map(|instruction| instruction.predicates_read | instruction.predicates_written);
        let predicates = u32::BITS - predicates.fold(0, |all, mask| all | mask).leading_zeros();
        let mut program = Program {
            kernel: kernel.clone(),
            instructions: Vec::with_capacity(code.len()),
            uses: Vec::new(),
            numbers: Vec::new(),
            rates: Vec::new(),
            first_predicate,
            count: usize::from(first_predicate) + predicates as usize,
        };
        let mut previous = None;
        for instruction in code {
            let decoded = program.decode(gpu, instruction, previous);
            program.instructions.push(decoded);
            previous = Some(instruction);
        }
        Arc::new(program)
    }

    fn decode(
        &mut self,
        gpu: &GpuSpec,
        instruction: &MachineInstruction,
        previous: Option<&MachineInstruction>,
    ) -> Decoded {
        let class = instruction.class;
        let unit = class.unit();
        let mut reads = BankCounts::default();
        let mut reused = BankCounts::default();
        for (operand, registers) in instruction.sources.into_iter().enumerate() {
            registers.iter().for_each(|register| reads.count(gpu.operands.bank(register)));
            let again = previous.is_some_and(|previous| {
                previous.sources[operand] == registers && !overlap(previous.destination, registers)
            });
            if again {
                registers.iter().for_each(|register| reused.count(gpu.operands.bank(register)));
            }
        }
        let read = if gpu.operands.reuse { reads.without(reused) } else { reads };
        let mut writes = BankCounts::default();
        instruction.destination.iter().for_each(|register| writes.count(gpu.operands.bank(register)));
        let results = instruction.destination.iter().chain(self.predicates(instruction.predicates_written));
        let results: Vec<u16> = results.collect();
        let kind = Kind::of(instruction);
        let operand = if kind == Kind::Memory { late } else { own };
        let guard = if takes_predicates_late(class) { late } else { own };
        let sources = instruction.sources.iter().flat_map(|registers| registers.iter()).map(operand);
        let predicates = self.predicates(instruction.predicates_read).map(guard);
        let mut needs: Vec<u32> = sources.chain(predicates).collect();
        needs.extend(results.iter().map(|number| own(*number)));
        needs.sort_unstable();
        needs.dedup();
        let latency = gpu.latency.of(class);
        let lag = |late: u32| if kind == Kind::Fixed { late.saturating_sub(latency) } else { 0 };
        Decoded {
            address: instruction.address,
            class,
            kind,
            unit,
            interval: gpu.execution.interval(unit),
            latency,
            lags: [gpu.latency.to_memory, gpu.latency.to_guard].map(lag),
            reads,
            reused,
            reads_long: gpu.fidelity.arithmetic == Arithmetic::Detailed && read.most() > gpu.operands.ports,
            writes,
            memory: instruction.memory,
            atomic: matches!(class, OperationClass::Atomic | OperationClass::Reduction)
                && instruction.memory.is_none_or(|operation| operation.space != MemorySpace::Shared),
            line: instruction.line,
            ptx: instruction.ptx,
            needs: List::add(&mut self.uses, &needs),
            results: List::add(&mut self.numbers, &results),
        }
    }

    fn predicates(&self, mask: u32) -> impl Iterator<Item = u16> + use<> {
        let first = self.first_predicate;
        (0..32).filter(move |bit| mask >> bit & 1 != 0).map(move |bit| first + bit)
    }

    pub(super) fn instructions(&self) -> &[Decoded] {
        &self.instructions
    }

    /// The program with rates of its loads.
    pub fn with_rates(self: Arc<Program>, source: &dyn LoadRates) -> Arc<Program> {
        let mut program = Arc::unwrap_or_clone(self);
        program.rates = (0..program.length()).map(|place| source.rates(&program.kernel, place)).collect();
        Arc::new(program)
    }

    /// Rates of the load at a position, if they are given; a load without rates misses all caches.
    pub(super) fn rates(&self, position: u32) -> Option<LevelRates> {
        self.rates.get(position as usize).map(|rates| rates.unwrap_or_default())
    }

    /// Number of instructions.
    pub(super) fn length(&self) -> u32 {
        self.instructions.len() as u32
    }

    /// Device address of an instruction.
    pub(super) fn address(&self, position: u32) -> u64 {
        let offset = self.instructions.get(position as usize).map_or(0, |decoded| decoded.address);
        self.kernel.code_address + u64::from(offset)
    }

    /// Device address of the end of the code.
    pub(super) fn end_address(&self) -> u64 {
        let bytes = self.kernel.code.instruction_bytes;
        self.instructions
            .last()
            .map_or(0, |last| self.kernel.code_address + u64::from(last.address) + u64::from(bytes))
    }

    /// Register and predicate uses of an instruction.
    pub(super) fn needs(&self, decoded: &Decoded) -> &[u32] {
        decoded.needs.of(&self.uses)
    }

    /// Destination registers and predicates of an instruction.
    pub(super) fn results(&self, decoded: &Decoded) -> &[u16] {
        decoded.results.of(&self.numbers)
    }

    /// Additional latency of a late use of a result, in core cycles.
    pub(super) fn lag(&self, decoded: &Decoded, number: u16) -> u32 {
        decoded.lags[usize::from(number >= self.first_predicate)]
    }

    /// Number of registers and predicates.
    pub(super) fn scoreboard_size(&self) -> usize {
        self.count
    }

    /// The register or predicate with a number.
    pub(super) fn named(&self, number: u16) -> Named {
        number.checked_sub(self.first_predicate).map_or(Named::Register(number), Named::Predicate)
    }
}

/// Meaning of a scoreboard number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Register(u16),
    Predicate(u16),
}

/// Tells whether the predicates of an instruction class act as guards. For integer operations and
/// comparisons they may be operands (carries, selections, combined conditions) and count as such.
fn takes_predicates_late(class: OperationClass) -> bool {
    use OperationClass::*;
    !matches!(class, Integer | IntegerExtremum | Fp32Compare | Fp64Compare)
}

fn overlap(a: Registers, b: Registers) -> bool {
    a.iter().any(|register| b.iter().any(|other| other == register))
}

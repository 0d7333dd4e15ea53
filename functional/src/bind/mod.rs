//! Binder from the typed intermediate form to ops. Registers, constants and special registers get rows,
//! variables get addresses, and each instruction gets the warp-wide function of this host's level.
//!
//! The binder makes the engine's unchecked accesses sound. Every offset in an op was allocated here. Every
//! row has the width that the op's function expects. Every target is the start of an op.

mod calls;
mod dispatch;
mod indirect;
mod linker;
mod machine;
mod operands;
mod resources;
mod rows;
mod variables;
mod wait_loops;
mod watch;

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ptx_frontend::analyse::{BlockId, ControlFlow, Liveness};
use ptx_frontend::ir::{self, Instruction, InstructionIndex, TextPosition};
use ptx_frontend::isa::{Control, Effect, Memory, Op as Form, ScalarType, SpecialRegister};
use ptx_frontend::lower::{Replacements, contract, lower, rewrite_contracted};

use crate::engine::divergence::NONE;
use crate::engine::frame::FrameLayout;
use crate::engine::op::{Flow, Op, PREDICATE_FIRST, PredicateSource, Run};
use crate::engine::probe::Probe;
use crate::engine::program::{BoundFunction, ParameterPlace, Program};
use crate::engine::warp_context::WarpContext;
use crate::fault::FaultKind;
use crate::ops::matrix::Matrices;
use crate::ops::texture::Accesses;

pub(crate) use linker::Linker;
pub use resources::KernelResources;
pub(crate) use resources::{KnownFunctions, resources};
pub(crate) use rows::rows_of;
pub(crate) use variables::FramePlace;
pub use variables::{ModuleAddresses, SymbolAddress, static_name};

/// Reason for which a kernel cannot be bound.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// A known instruction in an unsupported form.
    #[error("{function}, PTX line {}: {reason}", place.line)]
    Instruction {
        /// Function that contains the instruction.
        function: String,
        /// Position in the PTX text.
        place: TextPosition,
        /// Cause.
        reason: String,
    },
    /// A symbol that no module defines.
    #[error("{function} uses `{symbol}`, which no loaded module defines")]
    Unresolved {
        /// Function that uses the symbol.
        function: String,
        /// Name of the symbol.
        symbol: String,
    },
    /// A memory demand above the limit of every device.
    #[error("{function} cannot run: {bytes} bytes of {space} memory; the limit is {limit}")]
    TooLarge {
        /// Function that declares the memory.
        function: String,
        /// Bytes declared.
        bytes: u64,
        /// Memory space.
        space: &'static str,
        /// Limit in bytes.
        limit: u64,
    },
    /// The front end rejected the function.
    #[error("{0}")]
    Frontend(String),
}

/// Binds `kernel` and all functions reachable from it.
pub fn bind(kernel: Arc<ir::Function>, addresses: &dyn ModuleAddresses) -> Result<Program, BindError> {
    let watchers = addresses.watchers().iter().filter(|watcher| watcher.watches(&kernel));
    let watchers = watchers.cloned().collect();
    bind_functions(kernel, Linker::new(addresses, addresses.is_timed(), watchers))?.finish()
}

fn bind_functions<'a>(kernel: Arc<ir::Function>, mut linker: Linker<'a>) -> Result<Linker<'a>, BindError> {
    linker.want_all(kernel)?;
    for number in 0..linker.wanted.len() {
        let function = linker.bind_function(number)?;
        linker.functions.push(function);
    }
    Ok(linker)
}

/// Binder of one function.
pub(crate) struct Binder<'l, 'a> {
    pub(crate) linker: &'l mut Linker<'a>,
    pub(crate) source: Arc<ir::Function>,
    flow: ControlFlow,
    replacements: Replacements,
    meeting_points: HashSet<InstructionIndex>,
    entry: u32,
    /// Byte offset of each register's row; word number of each predicate.
    registers: Vec<u32>,
    layout: FrameLayout,
    specials: Vec<(SpecialRegister, u32)>,
    places: variables::FramePlaces,
    /// Branch targets to patch: (op, half of the immediate, target instruction).
    fixups: Vec<(usize, Half, InstructionIndex)>,
    list_fixups: Vec<(usize, Vec<InstructionIndex>)>,
    starts: Vec<u32>,
    current: usize,
    next_slot: u32,
    /// Row of the stack pointers on entry, if the function moves them.
    kept_stack: Option<u32>,
    /// For each register, whether an instruction reads it; computed on first use.
    read: OnceCell<Vec<bool>>,
    /// Notes for the timing model on the current instruction, if a model runs.
    noted: Option<machine::Noted>,
    /// Probes for the texels of the current instruction.
    texel_probes: Vec<Arc<dyn Probe>>,
    /// Reconvergence ops that are not the first op of their block.
    meetings: HashMap<InstructionIndex, u32>,
}

/// Half of an op's immediate that holds a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    /// Branch target.
    Target,
    /// Reconvergence point.
    Meet,
}

impl<'l, 'a> Binder<'l, 'a> {
    fn new(linker: &'l mut Linker<'a>, mut source: Arc<ir::Function>) -> Result<Binder<'l, 'a>, BindError> {
        let mut flow = ControlFlow::of(&source);
        let mut replacements = match linker.addresses.contracts() {
            true => contract(&mut source, &flow),
            false => Replacements::new(),
        };
        if linker.machine.is_some() {
            rewrite_contracted(&mut source, &mut replacements);
            flow = ControlFlow::of(&source);
        }
        let meeting_points = meeting_points(&source, &flow);
        let entry = linker.code.len() as u32;
        let mut registers = Vec::with_capacity(source.registers.len());
        let mut predicate_words = PREDICATE_FIRST;
        for ty in &source.registers {
            if *ty == ScalarType::Pred {
                registers.push(predicate_words);
                predicate_words += 1;
            } else {
                registers.push(0);
            }
        }
        let predicate_rows = predicate_words.div_ceil(32) as usize;
        let places = variables::FramePlaces::of(&source, linker)?;
        let noted = linker.machine.as_ref().map(|_| machine::Noted::default());
        Ok(Binder {
            linker,
            flow,
            replacements,
            meeting_points,
            entry,
            registers,
            layout: FrameLayout { predicate_rows, ..FrameLayout::default() },
            specials: Vec::new(),
            places,
            fixups: Vec::new(),
            list_fixups: Vec::new(),
            starts: Vec::with_capacity(source.instructions.len() + 1),
            current: 0,
            next_slot: 0,
            kept_stack: None,
            read: OnceCell::new(),
            noted,
            texel_probes: Vec::new(),
            meetings: HashMap::new(),
            source,
        })
    }

    fn run(mut self) -> Result<BoundFunction, BindError> {
        let source = Arc::clone(&self.source);
        let lowered = self.is_timed().then(|| {
            let addresses = self.linker.shared_addresses(&source);
            lower(&source, &self.flow, &self.replacements, &addresses, self.linker.addresses.target())
        });
        let assembled = lowered.as_ref().map(|lowered| lowered.registers);
        let liveness = Liveness::of(&source, &self.flow);
        self.share_rows(lowered.as_ref(), &liveness);
        self.keep_stack();
        if let Some(lowered) = lowered {
            self.bind_in_machine_order(&lowered)?;
        } else {
            for number in 0..source.instructions.len() {
                self.current = number;
                self.starts.push(self.linker.code.len() as u32);
                if self.meeting_points.contains(&InstructionIndex(number as u32)) {
                    self.push_meeting_point();
                }
                self.bind_at(number)?;
            }
        }
        // A function whose text ends without `ret` returns (PTX manual 9.7.12.6).
        self.starts.push(self.linker.code.len() as u32);
        self.current = source.instructions.len().saturating_sub(1);
        let end = self.unguarded(crate::ops::control::leave);
        self.release_stack(end.guard);
        self.push(end);
        self.place_between();
        self.patch();
        if assembled.is_none() {
            // In machine order, the ops of a loop need not be adjacent.
            let op = |instruction: usize| self.starts[instruction];
            let loops = wait_loops::wait_loops(&source).into_iter();
            self.linker.wait_loops.extend(loops.map(|range| op(range.start)..op(range.end)));
        }
        let registers = assembled.unwrap_or_else(|| liveness.maximum_live());
        self.layout.unwritten_rows = self.unwritten_rows(&liveness);
        let bound = BoundFunction {
            name: source.name.clone(),
            entry: self.entry,
            end: self.linker.code.len() as u32,
            layout: self.layout,
            starts: if assembled.is_none() { self.starts } else { Vec::new() },
            specials: self.specials,
            local_bytes: self.places.local_bytes(),
            registers,
            parameters: places_of(&source.parameters, &self.registers, &source),
            returns: places_of(&source.returns, &self.registers, &source),
            text: self.linker.addresses.text_of(&source.name),
            variables: self.places.local_variables(&source),
            rows: self.registers,
            source,
        };
        for watcher in &self.linker.watchers {
            watcher.bound(&bound, &liveness);
        }
        Ok(bound)
    }

    /// Appends the ops of instruction `number` and of its probes.
    fn bind_at(&mut self, number: usize) -> Result<(), BindError> {
        let source = Arc::clone(&self.source);
        let Some(instruction) = source.instructions.get(number) else { return Ok(()) };
        self.current = number;
        self.push_probes(instruction);
        self.watch_texels(instruction);
        self.forget_notes();
        match self.replacements.remove(&number) {
            Some(others) => others.iter().try_for_each(|other| dispatch::bind_instruction(self, other))?,
            None => dispatch::bind_instruction(self, instruction)?,
        }
        self.push_texel_probes();
        Ok(())
    }

    /// Saves the stack pointer on entry, if the function moves it.
    fn keep_stack(&mut self) {
        let moves = |i: &Instruction| matches!(i.op, Form::Memory(Memory::alloca | Memory::stackrestore));
        if self.source.instructions.iter().any(moves) {
            self.linker.needs_stack = true;
            self.kept_stack = Some(crate::ops::memory::bind_keep(self));
        }
    }

    /// Restores the stack pointer of the lanes that are about to return.
    pub(crate) fn release_stack(&mut self, returning: PredicateSource) {
        if let Some(kept) = self.kept_stack {
            crate::ops::memory::bind_release(self, kept, returning);
        }
    }

    /// Rows of the registers that are live on entry.
    fn unwritten_rows(&self, liveness: &Liveness) -> Vec<usize> {
        let registers = liveness.live_in(BlockId(0)).map(|register| register.0 as usize);
        let rows = registers
            .filter(|&register| self.source.registers[register] != ScalarType::Pred)
            .flat_map(|register| {
                let first = self.registers[register] as usize / ROW_BYTES;
                first..first + rows::rows_of(self.source.registers[register])
            });
        rows.collect()
    }

    fn patch(&mut self) {
        for (op, half, to) in self.fixups.drain(..) {
            let start = self.starts[to.0 as usize];
            let target = u64::from(match half {
                Half::Target => start,
                Half::Meet => self.meetings.get(&to).copied().unwrap_or(start),
            });
            let immediate = &mut self.linker.code[op].immediate;
            *immediate = match half {
                Half::Target => (*immediate & !0xffff_ffff) | target,
                Half::Meet => (*immediate & 0xffff_ffff) | target << 32,
            };
        }
        for (list, targets) in self.list_fixups.drain(..) {
            self.linker.branch_targets[list] = targets.iter().map(|to| self.starts[to.0 as usize]).collect();
        }
    }

    /// An op of the current instruction with zero fields and the instruction's guard.
    pub(crate) fn op(&self, run: Run) -> Op {
        let instruction = self.source.instructions.get(self.current);
        let guard = match instruction.and_then(|instruction| instruction.guard) {
            Some(guard) => PredicateSource::new(self.registers[guard.register.0 as usize], guard.negated),
            None => PredicateSource::TRUE,
        };
        Op {
            run,
            guard,
            d: 0,
            a: 0,
            b: 0,
            c: 0,
            e: 0,
            immediate: 0,
            slot: 0,
            instruction: self.current as u32,
        }
    }

    /// An op like [`Binder::op`] without a guard.
    pub(crate) fn unguarded(&self, run: Run) -> Op {
        Op { guard: PredicateSource::TRUE, ..self.op(run) }
    }

    /// Appends an op.
    pub(crate) fn push(&mut self, op: Op) {
        self.linker.code.push(op);
    }

    /// Appends a branch to `target`. Lanes that diverge meet at the branch's immediate post-dominator.
    pub(crate) fn push_branch(&mut self, mut op: Op, target: Option<InstructionIndex>) {
        let number = self.linker.code.len();
        op.immediate = u64::from(NONE) << 32;
        if let Some(target) = target {
            self.fixups.push((number, Half::Target, target));
        }
        if let Some(meet) = self.flow.reconvergence_point(InstructionIndex(self.current as u32)) {
            self.fixups.push((number, Half::Meet, meet));
        }
        self.linker.code.push(op);
    }

    /// Adds a target list, patched at the end of the function.
    pub(crate) fn target_list(&mut self, targets: &[InstructionIndex]) -> u32 {
        let number = self.linker.branch_targets.len();
        self.linker.branch_targets.push(Vec::new());
        self.list_fixups.push((number, targets.to_vec()));
        number as u32
    }

    /// Allocates the next memory op's slot in the cache of allocations.
    pub(crate) fn next_slot(&mut self) -> u32 {
        self.next_slot += 1;
        self.next_slot % crate::engine::view::SLOTS as u32
    }

    /// Makes the program carry the addresses of its constant variables.
    pub(crate) fn need_constants(&mut self) {
        self.linker.needs_constants = true;
    }

    /// Operands of the program's matrix instructions.
    pub(crate) fn matrices(&mut self) -> &mut Matrices {
        &mut self.linker.matrices
    }

    /// Texture and surface accesses of the program.
    pub(crate) fn textures(&mut self) -> &mut Accesses {
        &mut self.linker.textures
    }

    /// Addresses and code of the loaded modules.
    pub(crate) fn linker_addresses(&self) -> &dyn ModuleAddresses {
        self.linker.addresses
    }

    /// Appends a reconvergence op.
    pub(crate) fn push_meeting_point(&mut self) {
        let op = self.unguarded(reconverge);
        self.push(op);
    }

    /// An error at the current instruction.
    pub(crate) fn error(&self, reason: impl Into<String>) -> BindError {
        let place = self.source.instructions.get(self.current).map(|i| i.place).unwrap_or_default();
        BindError::Instruction { function: self.source.name.clone(), place, reason: reason.into() }
    }

    /// Type of the instruction; an error for a form without a type.
    pub(crate) fn last_type(&self, instruction: &Instruction) -> Result<ScalarType, BindError> {
        instruction.last_type().ok_or_else(|| self.error("the instruction has no type"))
    }
}

pub(crate) const ROW_BYTES: usize = 128;

fn places_of(parameters: &[ir::Parameter], registers: &[u32], source: &ir::Function) -> Vec<ParameterPlace> {
    parameters
        .iter()
        .map(|parameter| match parameter.register {
            Some(_) => ParameterPlace::in_registers(
                parameter.registers().map(|r| (registers[r.0 as usize], source.registers[r.0 as usize])),
            ),
            None => ParameterPlace::in_memory(parameter.offset, parameter.size),
        })
        .collect()
}

/// Placeholder body of a function that could not be bound.
fn unbound(w: &mut WarpContext<'_>, _: &Op) -> Flow {
    let name = &w.grid.program.function_at(w.pc).name;
    w.fault(FaultKind::Unsupported(format!("call of {name}")))
}

/// Reconvergence points of the function's divergent branches.
fn meeting_points(source: &ir::Function, flow: &ControlFlow) -> HashSet<InstructionIndex> {
    let parts = |i: &Instruction| {
        matches!(i.op, Form::Control(Control::brx_idx))
            || (i.guard.is_some() && matches!(i.op.line().effect, Effect::Branch | Effect::Exit))
    };
    let branches = source.instructions.iter().enumerate().filter(|(_, i)| parts(i));
    branches.filter_map(|(number, _)| flow.reconvergence_point(InstructionIndex(number as u32))).collect()
}

/// Reconvergence op, which is no instruction of the program.
pub(crate) fn reconverge(w: &mut WarpContext<'_>, _: &Op) -> Flow {
    w.discount();
    w.reconverge()
}

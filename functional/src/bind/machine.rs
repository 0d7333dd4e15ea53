//! Binding for a timing model, in the order of machine instructions. Ops take effect in the order of the
//! lowered form, and each op records its position in the machine code.

use std::sync::Arc;

use ptx_frontend::analyse::{ControlFlow, reads, writes};
use ptx_frontend::ir::{Instruction, InstructionIndex, Operand};
use ptx_frontend::isa::{Effect, Memory, Modifier, Op, ScalarType};
use ptx_frontend::lower::{LoweredFunction, Target};
use warp_stream::{MachineCode, MachineInstruction, OperationClass, Registers};

use super::{BindError, Binder};
use crate::engine::lane::Bits;
use crate::engine::machine::{
    AccessKind, Addresses, CodePlace, Deferral, Machine, ModelInput, Needs, Note, OpAccess, OpPlace,
};
use crate::engine::probe::SiteAddress;
use crate::ops::address_operand::{AccessSpace, AddressOperand, named_space};
use crate::ops::control;

/// Machine code of the program's functions, under construction.
#[derive(Debug, Default)]
pub(super) struct MachineBuilder {
    target: Target,
    instructions: Vec<MachineInstruction>,
    places: Vec<OpPlace>,
    /// Ops with plain accesses, in op order.
    accesses: Vec<(usize, OpAccess)>,
    /// Machine instructions with atomic operations on memory that other SMs can reach.
    atomics: Vec<u32>,
    needs_sm_order: bool,
    note_of: Vec<u32>,
    notes: Vec<Note>,
    needs: Vec<Needs>,
    touched_from: Vec<u32>,
    touched: Vec<u32>,
}

impl MachineBuilder {
    pub(super) fn new(target: Target) -> MachineBuilder {
        MachineBuilder { target, ..MachineBuilder::default() }
    }

    /// End of the code so far, which is the start of the next function, in bytes.
    fn end(&self) -> u32 {
        let end = self.instructions.last().map_or(0, |last| last.address + self.target.instruction_bytes());
        end.next_multiple_of(self.target.alignment())
    }

    /// Adds a one-op placeholder for a function without code.
    pub(super) fn add_missing(&mut self, ops: usize) {
        let position = self.instructions.len() as u32;
        self.instructions.push(MachineInstruction {
            address: self.end() + self.target.address(0),
            class: OperationClass::Branch,
            destination: Registers::NONE,
            sources: [Registers::NONE; 4],
            predicates_read: 0,
            predicates_written: 0,
            memory: None,
            line: 0,
            ptx: 0,
        });
        self.note_of.push(Machine::NOTHING);
        self.needs.push(Needs::Time);
        self.touched_from.push(self.touched.len() as u32);
        self.places.resize(ops, OpPlace::within(position).as_first());
    }

    /// Removes all entries from op `ops` and machine instruction `instructions` on.
    pub(super) fn truncate(&mut self, ops: usize, instructions: usize) {
        self.places.truncate(ops);
        self.accesses.retain(|(op, _)| *op < ops);
        self.atomics.retain(|position| (*position as usize) < instructions);
        self.instructions.truncate(instructions);
        self.note_of.truncate(instructions);
        self.needs.truncate(instructions);
        self.touched_from.truncate(instructions);
    }

    /// Number of machine instructions.
    pub(super) fn len(&self) -> usize {
        self.instructions.len()
    }

    pub(super) fn finish(mut self) -> Machine {
        self.touched_from.push(self.touched.len() as u32);
        let bytes = u64::from(self.end());
        let mut accesses = vec![OpAccess::NONE; self.places.len()];
        for (op, access) in &self.accesses {
            if let Some(place) = accesses.get_mut(*op) {
                *place = *access;
            }
        }
        let is_deferred = |position: &u32| {
            let note = self.note_of.get(*position as usize).and_then(|note| self.notes.get(*note as usize));
            matches!(note, Some(Note { told: ModelInput::Access(_, Some(_)), .. }))
        };
        Machine {
            needs_sm_order: self.needs_sm_order || !self.atomics.iter().all(is_deferred),
            accesses,
            code: Arc::new(MachineCode {
                instructions: self.instructions,
                instruction_bytes: self.target.instruction_bytes(),
            }),
            place: CodePlace::of(bytes),
            places: self.places,
            note_of: self.note_of,
            notes: self.notes,
            needs: self.needs,
            touched_from: self.touched_from,
            touched: self.touched,
        }
    }
}

/// Properties of the current instruction's ops, collected while the instruction is bound.
#[derive(Debug, Default)]
pub(super) struct Noted {
    access: Option<Note>,
    deferral: Option<(u32, Deferral)>,
    other: Option<Note>,
}

impl Noted {
    /// Takes the note after `ops` bound ops. Only an instruction's last op can be deferred.
    fn take(&mut self, ops: usize) -> Option<Note> {
        let Noted { access, deferral, other } = std::mem::take(self);
        let note = match (access, deferral) {
            (Some(Note { told: ModelInput::Access(addresses, _), .. }), Some((op, deferral)))
                if op as usize + 1 == ops =>
            {
                Some(Note { op, told: ModelInput::Access(addresses, Some(deferral)) })
            }
            (access, _) => access,
        };
        other.or(note)
    }
}

impl Binder<'_, '_> {
    /// True if a timing model observes the ops.
    pub(crate) fn is_timed(&self) -> bool {
        self.noted.is_some()
    }

    fn note(&mut self, told: ModelInput) -> Note {
        Note { op: self.linker.code.len() as u32, told }
    }

    /// Notes an access of the current instruction to `place`; its rows are valid from the next op on.
    pub(crate) fn note_access(&mut self, place: &AddressOperand) {
        let addresses = match *place {
            AddressOperand::Rows { space, row, wide, offset } => {
                Addresses::Row(SiteAddress { space, row, wide, offset })
            }
            AddressOperand::Parameter(at) => Addresses::Parameter(at),
        };
        let note = self.note(ModelInput::Access(addresses, None));
        if let Some(noted) = &mut self.noted {
            noted.access = Some(note);
        }
    }

    /// Notes that the next op accesses tile number `tile`, whose addresses were noted before.
    pub(crate) fn note_tile(&mut self, tile: u32) {
        let op = self.linker.code.len() as u32;
        if let Some(Noted { access: Some(Note { op: at, told: ModelInput::Access(addresses, _) }), .. }) =
            &mut self.noted
            && let Addresses::Row(site) = *addresses
        {
            (*at, *addresses) = (op, Addresses::Tile { site, tile });
        }
    }

    /// Notes that the next op makes the current instruction's access and can be deferred.
    pub(crate) fn note_deferral(&mut self, deferral: Deferral) {
        let op = self.linker.code.len() as u32;
        if let Some(noted) = &mut self.noted {
            noted.deferral = Some((op, deferral));
        }
    }

    /// Notes that the next op makes a plain access: `count` elements of `element` bytes, at the addresses
    /// of a 64-bit row.
    pub(crate) fn note_plain(&mut self, kind: AccessKind, space: AccessSpace, element: u32, count: usize) {
        let op = self.linker.code.len();
        let is_generic = match space {
            AccessSpace::Global => false,
            AccessSpace::Generic => true,
            AccessSpace::Shared | AccessSpace::Local => return,
        };
        let (element, width) = (element as u8, element as u8 * count as u8);
        if let Some(machine) = &mut self.linker.machine {
            machine.accesses.push((op, OpAccess { kind, is_generic, element, width }));
        }
    }

    /// Notes that the current instruction needs SMs to run one after the other.
    pub(crate) fn note_order(&mut self) {
        if let Some(machine) = &mut self.linker.machine {
            machine.needs_sm_order = true;
        }
    }

    /// Records whether `number`, which takes effect with the machine instruction at `position`, accesses
    /// memory shared between SMs in an order that matters.
    fn keep_order(&mut self, position: u32, number: InstructionIndex) {
        let Some(instruction) = self.source.instructions.get(number.0 as usize) else { return };
        let reach = reach(instruction);
        if let Some(machine) = &mut self.linker.machine {
            match reach {
                Reach::Held => {}
                Reach::Deferred => machine.atomics.push(position),
                Reach::Ordered => machine.needs_sm_order = true,
            }
        }
    }

    /// Notes that the next op records the texels that it reads.
    pub(crate) fn note_texels(&mut self) {
        let note = self.note(ModelInput::Texels);
        if let Some(noted) = &mut self.noted {
            noted.other = Some(note);
        }
    }

    /// Notes that the next op puts lanes to sleep for the nanoseconds in row `row`.
    pub(crate) fn note_sleep(&mut self, row: u32) {
        let note = self.note(ModelInput::Sleep(row));
        if let Some(noted) = &mut self.noted {
            noted.other = Some(note);
        }
    }

    /// Discards the notes of the current instruction.
    pub(super) fn forget_notes(&mut self) {
        if let Some(noted) = &mut self.noted {
            *noted = Noted::default();
        }
    }

    /// Binds all instructions in the order of the function's machine code.
    pub(super) fn bind_in_machine_order(&mut self, lowered: &LoweredFunction) -> Result<(), BindError> {
        // Every target must be an op of the function, even if the lowered form is wrong.
        self.starts = vec![self.entry; self.source.instructions.len()];
        let mut blocks = blocks_by_position(&self.flow, lowered).into_iter().peekable();
        let first = self.extend_code(lowered);
        for (number, effects) in lowered.effects.iter().enumerate() {
            let position = first + number as u32;
            let mut meeting = None;
            while let Some((_, start)) = blocks.next_if(|&(at, _)| at <= number as u32) {
                let waits = effects.is_empty()
                    && lowered.instructions.get(number).is_some_and(|i| i.class == OperationClass::Branch);
                meeting = self.begin_block(start, waits);
            }
            let first_op = self.linker.code.len();
            let effects = lowered.order.get(effects.start as usize..effects.end as usize).unwrap_or_default();
            self.keep_touched(effects);
            self.keep_needs(position, effects);
            for &instruction in effects {
                self.forbid_deferral(position);
                self.bind_at(instruction.0 as usize)?;
                self.keep_order(position, instruction);
                self.keep_note(position, number, instruction, lowered);
            }
            if self.linker.code.len() == first_op {
                let nothing = self.unguarded(control::uncounted_nothing);
                self.push(nothing);
            }
            if let Some(start) = meeting {
                self.meetings.insert(start, self.linker.code.len() as u32);
                self.push_meeting_point();
            }
            self.place_ops(first_op, position);
        }
        Ok(())
    }

    /// Appends the function's machine instructions; returns the position of the first.
    fn extend_code(&mut self, lowered: &LoweredFunction) -> u32 {
        let Some(machine) = &mut self.linker.machine else { return 0 };
        let first = machine.instructions.len() as u32;
        machine.places.resize(self.linker.code.len(), OpPlace::BETWEEN);
        let start = machine.end();
        let moved = |i: &MachineInstruction| MachineInstruction { address: i.address + start, ..*i };
        machine.instructions.extend(lowered.instructions.iter().map(moved));
        machine.note_of.resize(machine.instructions.len(), Machine::NOTHING);
        machine.needs.resize(machine.instructions.len(), Needs::Time);
        first
    }

    /// Starts a block at the next op. Lanes may reconverge there at a machine instruction that waits
    /// (`BSYNC`). Each fragment then issues that instruction before it joins the others, and the block is
    /// returned.
    fn begin_block(&mut self, start: InstructionIndex, waits: bool) -> Option<InstructionIndex> {
        if let Some(slot) = self.starts.get_mut(start.0 as usize) {
            *slot = self.linker.code.len() as u32;
        }
        self.current = start.0 as usize;
        let meets = self.meeting_points.contains(&start);
        if meets && !waits {
            self.push_meeting_point();
        }
        self.place_between();
        (meets && waits).then_some(start)
    }

    /// Assigns the ops from `first` on to the machine instruction at `position`.
    fn place_ops(&mut self, first: usize, position: u32) {
        let to = self.linker.code.len();
        if let Some(machine) = &mut self.linker.machine {
            machine.places.resize(to, OpPlace::within(position));
            if let Some(place) = machine.places.get_mut(first) {
                *place = place.as_first();
            }
        }
    }

    /// Marks ops without a position as belonging to no machine instruction.
    pub(super) fn place_between(&mut self) {
        let ops = self.linker.code.len();
        if let Some(machine) = &mut self.linker.machine {
            machine.places.resize(ops, OpPlace::BETWEEN);
        }
    }

    /// Forbids deferral of the ops bound so far, because more takes effect with the machine instruction at
    /// `position`.
    fn forbid_deferral(&mut self, position: u32) {
        if let Some(machine) = &mut self.linker.machine
            && let Some(&note) = machine.note_of.get(position as usize)
            && let Some(Note { told: ModelInput::Access(_, deferral), .. }) =
                machine.notes.get_mut(note as usize)
        {
            *deferral = None;
        }
    }

    /// Records the warps' state that the machine instruction at `position` depends on. Branches depend on
    /// nothing outside: the target of each lane follows from the warp alone.
    fn keep_needs(&mut self, position: u32, effects: &[InstructionIndex]) {
        let needs = |instruction: &Instruction| match instruction.op.line().effect {
            _ if instruction.operands.iter().any(|operand| matches!(operand, Operand::Special(_))) => {
                Needs::Time
            }
            Effect::Pure if !matches!(instruction.op, Op::Control(_)) => Needs::Registers,
            Effect::Branch => Needs::Registers,
            Effect::Load | Effect::Store if is_plain_access(instruction) => Needs::Memory,
            _ => Needs::Time,
        };
        let of_effects: Vec<Needs> = effects
            .iter()
            .map(|number| self.source.instructions.get(number.0 as usize).map_or(Needs::Time, needs))
            .collect();
        if let Some(machine) = &mut self.linker.machine
            && let Some(instruction) = machine.instructions.get(position as usize)
            && let Some(slot) = machine.needs.get_mut(position as usize)
        {
            let waits = matches!(
                instruction.class,
                OperationClass::Barrier
                    | OperationClass::WarpBarrier
                    | OperationClass::Fence
                    | OperationClass::Exit
                    | OperationClass::SpecialRegister
            );
            *slot = match instruction.memory {
                _ if waits || position >= Machine::EARLY_POSITIONS || of_effects.contains(&Needs::Time) => {
                    Needs::Time
                }
                Some(_) => Needs::Memory,
                None => Needs::Registers,
            };
        }
    }

    /// Records the rows that the next machine instruction touches.
    fn keep_touched(&mut self, effects: &[InstructionIndex]) {
        let Some(machine) = &mut self.linker.machine else { return };
        machine.touched_from.push(machine.touched.len() as u32);
        for instruction in effects.iter().filter_map(|number| self.source.instructions.get(number.0 as usize))
        {
            for register in reads(instruction).into_iter().chain(writes(instruction)) {
                let (row, ty) = (register.0 as usize, self.source.registers[register.0 as usize]);
                let (row, count) = (self.registers[row], ty.bits() / u64::BITS);
                if ty != ScalarType::Pred {
                    machine.touched.extend((0..count.max(1)).map(|half| row + half * u64::ROW));
                }
            }
        }
    }

    /// Stores the note of the instruction just bound, if its machine instruction uses the note.
    fn keep_note(
        &mut self,
        position: u32,
        number: usize,
        instruction: InstructionIndex,
        lowered: &LoweredFunction,
    ) {
        let ops = self.linker.code.len();
        let note = self.noted.as_mut().and_then(|noted| noted.take(ops));
        let (Some(mut note), Some(machine)) = (note, &mut self.linker.machine) else { return };
        let known = machine.note_of.get(position as usize).and_then(|&note| machine.notes.get(note as usize));
        if let Some(Note { told: ModelInput::Access(Addresses::Within(_), _), .. }) = known {
            // The note already covers the accesses of the others.
            return;
        }
        if let ModelInput::Access(Addresses::Row(site), _) = note.told
            && lowered.joined.binary_search(&instruction).is_ok()
        {
            note.told = ModelInput::Access(Addresses::Within(site), None);
        }
        let accesses = lowered.instructions.get(number).is_some_and(|i| i.memory.is_some());
        if accesses || !matches!(note.told, ModelInput::Access(..)) {
            if let Some(slot) = machine.note_of.get_mut(position as usize) {
                *slot = machine.notes.len() as u32;
            }
            machine.notes.push(note);
        }
    }
}

/// True for a load or store without ordering. Threads that share such memory without synchronization cannot
/// rely on any order.
fn is_plain_access(instruction: &Instruction) -> bool {
    let is_access =
        matches!(instruction.op, Op::Memory(Memory::ld | Memory::ld_nc | Memory::ldu | Memory::st));
    let passes_l1 = |modifier| matches!(modifier, Modifier::Cg | Modifier::Cv | Modifier::Wt);
    is_access && !instruction.is_ordered() && !instruction.modifiers().any(passes_l1)
}

/// Way in which an instruction reaches memory shared between SMs.
enum Reach {
    /// No access, a plain access, or a load that need not see the kernel's own stores.
    Held,
    /// An operation that takes effect in the order of the memory side, if deferrable.
    Deferred,
    /// Immediate access.
    Ordered,
}

fn reach(instruction: &Instruction) -> Reach {
    use Memory::{cp_async, cp_async_hint, ld, ld_nc, ldu, st, st_async, st_async_release};
    let effect = instruction.op.line().effect;
    let is_shared = || named_space(instruction) == Some(AccessSpace::Shared);
    let is_whole = || instruction.operands.get(3).is_none_or(|part| *part == Operand::Absent);
    match instruction.op {
        Op::Memory(ld | ld_nc | ldu | st | st_async | st_async_release) => Reach::Held,
        Op::Memory(cp_async | cp_async_hint) if is_whole() => Reach::Held,
        // `mbarrier` objects lie in shared memory.
        Op::Parallel(_) => Reach::Held,
        // A kernel that writes texels may still read their old values (PTX manual, "Texture Instructions").
        Op::Texture(_) if effect == Effect::Load => Reach::Held,
        Op::Matrix(_) if is_shared() => Reach::Held,
        Op::Atomic(_) if is_shared() => Reach::Held,
        Op::Atomic(_) => Reach::Deferred,
        _ if matches!(effect, Effect::Load | Effect::Store | Effect::Atomic) => Reach::Ordered,
        _ => Reach::Held,
    }
}

/// First instruction of each block of a function, with the block's position in the machine code.
fn blocks_by_position(flow: &ControlFlow, lowered: &LoweredFunction) -> Vec<(u32, InstructionIndex)> {
    let begin = |start: InstructionIndex| lowered.position.get(start.0 as usize).copied().unwrap_or(u32::MAX);
    flow.blocks().iter().map(|block| (begin(block.start), block.start)).collect()
}

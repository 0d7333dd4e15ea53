//! Instrumentation: rewrites a kernel so that it records every value written to a register in global
//! memory.
//!
//! The text is changed only by insertions without new lines, so line numbers stay valid. Inserted
//! instructions follow each register write and append (number of the write, value) to the thread's log
//! ([`log`]). They change no register, predicate or flag of the program. Products that may be contracted
//! with their sums are not recorded (see `contraction.rs`), nor are registers of asynchronous products.

mod code;
mod contraction;
pub mod log;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::ir::{Function, Instruction, Operand, RegisterId, TextPosition};
use crate::isa::{Effect, OperandSyntax, ScalarType};
use crate::module::{Error, Module};
use crate::parse::comment::blank_comments;
use crate::parse::grammar::{self, SyntaxError};
use crate::parse::tree::{self, Statement};
use crate::parse::{FunctionItem, FunctionKind};
use crate::resolve::operand_type;
use crate::source::{Span, narrow};

/// Reason for which a kernel cannot be instrumented.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InstrumentError {
    /// The kernel, or a function that it may call, has errors.
    #[error(transparent)]
    Function(#[from] Error),
    /// A function cannot be parsed again.
    #[error("`{function}`: {error}")]
    Syntax {
        /// Function name.
        function: String,
        /// Cause.
        error: SyntaxError,
    },
    /// The text is already instrumented, as its names show.
    #[error("{module} is already instrumented: it uses the name `{}`", log::VARIABLE)]
    NameTaken {
        /// Module name.
        module: String,
    },
    /// The text uses 32-bit addresses.
    #[error("{module} has no `.address_size 64`")]
    AddressSize {
        /// Module name.
        module: String,
    },
}

/// A register write of an instruction. The index in [`Instrumented::writes`] is the number in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// Function name.
    pub function: String,
    /// Position of the instruction.
    pub place: TextPosition,
    /// Text line of the instruction.
    pub line: String,
    /// Register name.
    pub register: String,
    /// Bits of the register.
    pub bits: u32,
    /// Type of the written value if it is as wide as the register; else untyped bits.
    pub ty: ScalarType,
    /// True for the upper 64 bits of a 128-bit register.
    pub upper: bool,
    /// True if the instruction reads memory, so that another thread may have caused a wrong value.
    pub loads: bool,
}

/// Instrumented PTX.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instrumented {
    /// PTX text.
    pub text: String,
    /// Recorded writes, by number.
    pub writes: Vec<Write>,
}

/// Instruments a kernel and all functions of the module that it may call.
pub fn instrument(module: &Module, kernel: &str) -> Result<Instrumented, InstrumentError> {
    let text = module.source().text();
    if text.contains(log::VARIABLE) || text.contains(code::PREFIX) {
        return Err(InstrumentError::NameTaken { module: module.name().to_owned() });
    }
    if module.outline().address_size != Some(64) {
        return Err(InstrumentError::AddressSize { module: module.name().to_owned() });
    }
    let mut rewriter = Rewriter { module, edits: Vec::new(), writes: Vec::new() };
    for name in reachable(module, kernel)? {
        rewriter.function(&name)?;
    }
    if let Some(first) = module.outline().functions.first() {
        rewriter.insert(first.header.start, log::declaration() + " ");
    }
    let Rewriter { edits, writes, .. } = rewriter;
    Ok(Instrumented { text: apply(text, edits), writes })
}

/// The kernel and the defined functions that it may call. A call through a register may reach every device
/// function.
fn reachable(module: &Module, kernel: &str) -> Result<BTreeSet<String>, Error> {
    let has_body = |name: &str| module.function_item(name).is_some_and(|item| item.body.is_some());
    let mut wanted = vec![kernel.to_owned()];
    let mut reached = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        if !reached.insert(name.clone()) {
            continue;
        }
        let function = module.function(&name)?;
        wanted.extend(function.externals.iter().map(|one| one.name.clone()).filter(|name| has_body(name)));
        if function.instructions.iter().any(calls_through_register) {
            let is_device = |name: &&str| {
                module.function_item(name).is_some_and(|item| item.kind == FunctionKind::Device)
            };
            // A function with errors spoils only the launches that call it.
            let sound = |name: &&str| module.function(name).is_ok();
            wanted.extend(module.functions().filter(is_device).filter(sound).map(str::to_owned));
        }
    }
    Ok(reached)
}

fn calls_through_register(instruction: &Instruction) -> bool {
    instruction.op.line().effect == Effect::Call
        && matches!(instruction.operands.get(1), Some(Operand::Register(_)))
}

/// Text to insert at a byte offset.
type Edit = (u32, String);

fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    // Insertions at one offset keep their order.
    edits.sort_by_key(|(at, _)| *at);
    let mut result =
        String::with_capacity(text.len() + edits.iter().map(|(_, new)| new.len()).sum::<usize>());
    let mut copied = 0;
    for (at, new) in edits {
        result.push_str(Span { start: copied, end: at }.of(text));
        result.push_str(&new);
        copied = at;
    }
    result.push_str(text.get(copied as usize..).unwrap_or(""));
    result
}

struct Rewriter<'a> {
    module: &'a Module,
    edits: Vec<Edit>,
    writes: Vec<Write>,
}

impl Rewriter<'_> {
    fn insert(&mut self, at: u32, text: String) {
        self.edits.push((at, text));
    }

    fn function(&mut self, name: &str) -> Result<(), InstrumentError> {
        let module = self.module;
        let function = module.function(name)?;
        let Some(FunctionItem { body: Some(body), .. }) = module.function_item(name) else { return Ok(()) };
        let code = blank_comments(body.of(module.source().text()));
        let failed = |error| InstrumentError::Syntax { function: name.to_owned(), error };
        let statements = grammar::body(&code, body.start).map_err(failed)?;
        self.insert(body.start, code::prologue());
        let texts = statements.iter().filter_map(|statement| match statement {
            Statement::Instruction(instruction) => Some(instruction),
            _ => None,
        });
        let unrecorded = contraction::unrecorded(&function);
        let of_text = function.instructions.iter().enumerate();
        let of_text = of_text.filter(|(position, _)| function.has_text(*position));
        for ((position, instruction), text) in of_text.zip(texts) {
            if !unrecorded.contains(&position) {
                self.instruction(&function, instruction, text, &code, body.start);
            }
        }
        Ok(())
    }

    fn instruction(
        &mut self,
        function: &Arc<Function>,
        instruction: &Instruction,
        text: &tree::Instruction<'_>,
        code: &str,
        base: u32,
    ) {
        let registers = written(instruction);
        if registers.is_empty() {
            return;
        }
        let within = |at: u32| at.saturating_sub(base) as usize;
        let behind = code.get(within(text.opcode.at)..).and_then(|rest| rest.find(';'));
        let Some(length) = behind else { return };
        let guard = text.guard.map(|(name, negated)| (name.text, negated));
        if let Some((name, negated)) = guard {
            let at = text.guard.map_or(0, |(word, _)| word.at);
            let start = code.get(..within(at)).and_then(|before| before.rfind('@'));
            let Some(start) = start else { return };
            self.insert(base.saturating_add(narrow(start)), code::keep_guard(name, negated));
        }
        let mut inserted = String::new();
        for (register, ty) in registers {
            let Some(declared) = function.registers.get(register.0 as usize).copied() else { continue };
            let name = function.register_names.get(register.0 as usize).cloned().unwrap_or_default();
            let halves = if declared.bits() > 64 { &[false, true][..] } else { &[false] };
            for upper in halves.iter().copied() {
                inserted.push_str(&code::record(self.writes.len(), &name, declared, upper, guard.is_some()));
                self.writes.push(Write {
                    function: function.name.clone(),
                    place: instruction.place,
                    line: self.module.source().line(instruction.place.line).trim().to_owned(),
                    register: name.clone(),
                    bits: declared.bits().min(64),
                    ty: ty.filter(|ty| ty.bits() == declared.bits()).unwrap_or(declared),
                    upper,
                    loads: matches!(instruction.op.line().effect, Effect::Load | Effect::Atomic),
                });
            }
        }
        self.insert(text.opcode.at.saturating_add(narrow(length)).saturating_add(1), inserted);
    }
}

/// Registers that an instruction writes, with the types of the written values.
fn written(instruction: &Instruction) -> Vec<(RegisterId, Option<ScalarType>)> {
    let mut registers = Vec::new();
    let syntax = instruction.op.line().parsed();
    // Registers of an asynchronous product must not be accessed before the wait for it.
    if syntax.mnemonic == "wgmma" {
        return registers;
    }
    let places = &syntax.operands;
    for (operand, place) in instruction.operands.iter().zip(places) {
        let is_result = place.written && !place.address;
        if is_result {
            collect(operand, type_in(instruction, operand, place), &mut registers);
        }
    }
    registers
}

/// Type of a result. Parts of a vector without `.v2 .v4 .v8` (`mov.b64 {a, b}, c`) have their own types.
fn type_in(instruction: &Instruction, operand: &Operand, place: &OperandSyntax) -> Option<ScalarType> {
    let ty = operand_type(place, &instruction.tokens);
    match operand {
        Operand::Vector(parts) if parts.len() > 1 && instruction.vector_length() == 1 => None,
        _ => ty,
    }
}

fn collect(operand: &Operand, ty: Option<ScalarType>, registers: &mut Vec<(RegisterId, Option<ScalarType>)>) {
    match operand {
        Operand::Register(register) => registers.push((*register, ty)),
        Operand::Part { of, .. } => collect(of, ty, registers),
        Operand::Vector(parts) | Operand::Parameters(parts) => {
            parts.iter().for_each(|part| collect(part, ty, registers));
        }
        _ => {}
    }
}

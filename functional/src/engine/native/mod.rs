//! Native tier: machine code of a bound program for a host with AVX-512.
//!
//! The interpreter stays the reference and the way out. Compiled code runs ops as long as the active lanes
//! stay the same. Rows live in vector registers inside a block, and in memory wherever the code can be left.
//! A form that the emitter does not know calls the interpreter's op.
//!
//! Heads are ops at which compiled code is entered. Their function is replaced in a copy of the program's
//! ops, so that the interpreter's loop needs no question for the tier. The copy differs in nothing else:
//! program counters, places and rows are those of the interpreter.

mod access;
mod budget;
mod compile;
mod emitter;
mod entry;
mod facts;
mod forms;
mod groups;
mod lanewise;
mod layout;
mod liveness;
mod numbers;
mod rows;
mod updates;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use executable_memory::{ExecutableError, ExecutableMemory};
use iced_x86::IcedError;

use super::op::{Flow, Op};
use super::program::Program;
use super::warp_context::WarpContext;
use crate::device::{Device, Tier};
use crate::host;
use crate::launch::LaunchError;
use crate::memory::{code_begins, code_ends};
pub(crate) use access::{Access, Element, Space};
pub(crate) use budget::CodeBudget;
use budget::Share;
use compile::{Head, compile};
use emitter::exit;
pub(crate) use forms::{Combine, Form, Forms};
pub(crate) use numbers::{Approximation, Sign};
pub(crate) use updates::{Update, UpdateKind};

/// Reason for which a program has no machine code.
#[derive(Debug, thiserror::Error)]
pub enum NativeError {
    /// The host lacks instructions that compiled code uses.
    #[error(
        "compiled code needs AVX-512 (F, BW, CD, DQ, VL), which this host lacks or VOLTSIM_HOST_LEVEL \
         forbids; use the tier `interpreter` or `auto`"
    )]
    NoVectors,
    /// The assembler refused an instruction.
    #[error(
        "the assembler refused the code of {kernel}: {error}; report this, and use the tier `interpreter`"
    )]
    Encoding {
        /// Kernel.
        kernel: String,
        /// Error of the assembler.
        error: IcedError,
    },
    /// The machine code of the device would exceed its limit.
    #[error(
        "{bytes} bytes of machine code more than the device's limit of {limit} bytes; use the tier \
         `interpreter` or `auto`"
    )]
    Full {
        /// Bytes of the kernel's code.
        bytes: u64,
        /// Limit.
        limit: u64,
    },
    /// The host gave no executable memory.
    #[error(transparent)]
    Executable(#[from] ExecutableError),
}

/// Compiled code: context, place to begin, first op of the program, function that executes an op.
type Entry = unsafe extern "C" fn(*mut WarpContext<'_>, *const u8, *const Op, Call) -> u32;

/// Executes an op and returns its flow.
type Call = unsafe extern "C" fn(*mut WarpContext<'_>, *const Op) -> u32;

/// Machine code of a program.
#[derive(Debug)]
pub struct NativeProgram {
    /// The program's ops with the heads replaced.
    code: Vec<Op>,
    memory: ExecutableMemory,
    entry: usize,
    heads: Vec<Head>,
    _share: Share,
}

/// Instructions of a program after which [`Tier::Auto`] compiles it: the interpreter takes longer for
/// them than the compiler for a large kernel.
const HOT: u64 = 1 << 20;

/// Machine code of a program, made at most once, and the work that the program has done.
#[derive(Debug, Default)]
pub(crate) struct NativeCode {
    made: OnceLock<Option<NativeProgram>>,
    /// Executed warp instructions.
    heat: AtomicU64,
    /// True once a thread has begun to compile.
    has_begun: AtomicBool,
}

impl NativeCode {
    /// The code, if made.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&NativeProgram> {
        self.made.get().and_then(Option::as_ref)
    }
}

/// Counts executed warp instructions under [`Tier::Auto`]. Once they are many, a thread of its own compiles
/// the program beside the launch, whose next time slices run the code.
pub(crate) fn warm_up(device: &Device, program: &Arc<Program>, instructions: u64) {
    let code = &program.native;
    let heat = code.heat.fetch_add(instructions, Ordering::Relaxed) + instructions;
    if heat < HOT || code.has_begun.swap(true, Ordering::Relaxed) {
        return;
    }
    let compiler = std::thread::Builder::new().name("native".to_owned());
    let (program, budget) = (Arc::clone(program), Arc::clone(&device.code_budget));
    let mut work = Some(move || drop(program.native.made.set(NativeProgram::new(&program, &budget).ok())));
    let mut compiler = Some(compiler);
    (device.settings.start_threads)(&mut || {
        if let (Some(compiler), Some(work)) = (compiler.take(), work.take()) {
            // Without a thread, the interpreter goes on.
            drop(compiler.spawn(work));
        }
    });
}

/// Use of machine code by a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// The interpreter alone.
    Never,
    /// Once the code is made beside the program.
    WhenHot,
    /// From the start.
    Always,
}

/// Use of machine code that the device's settings want for a launch; makes the code if they demand it.
///
/// # Errors
/// [`Tier::Native`] is set, and the host executes no compiled code.
pub(crate) fn wanted(device: &Device, program: &Program) -> Result<Use, LaunchError> {
    let is_watched = device.checker().is_some() || !program.sites.is_empty() || program.machine.is_some();
    match device.settings.tier {
        _ if is_watched => Ok(Use::Never),
        Tier::Interpreter => Ok(Use::Never),
        Tier::Auto if is_supported() => Ok(Use::WhenHot),
        Tier::Auto => Ok(Use::Never),
        Tier::Native => {
            if program.native.made.get().is_none() {
                match NativeProgram::new(program, &device.code_budget) {
                    Ok(made) => drop(program.native.made.set(Some(made))),
                    Err(error) => {
                        let kernel = program.kernel().name.clone();
                        return Err(LaunchError::Native { kernel, error });
                    }
                }
            }
            Ok(Use::Always)
        }
    }
}

/// True if this host can execute compiled code.
pub fn is_supported() -> bool {
    host::has_avx512()
}

impl NativeProgram {
    /// Compiles a program that was bound without a timing model.
    ///
    /// # Errors
    /// The host lacks AVX-512 or refuses executable memory, an instruction cannot be encoded, or the code
    /// exceeds the budget.
    pub(crate) fn new(program: &Program, budget: &Arc<CodeBudget>) -> Result<NativeProgram, NativeError> {
        if !is_supported() {
            return Err(NativeError::NoVectors);
        }
        let compiled = compile(program)
            .map_err(|error| NativeError::Encoding { kernel: program.kernel().name.clone(), error })?;
        let bytes = compiled.bytes.len() as u64;
        let full = || NativeError::Full { bytes, limit: budget.limit() };
        let share = budget.take(bytes).ok_or_else(full)?;
        let memory = ExecutableMemory::new(&compiled.bytes)?;
        let mut code = program.code.clone();
        for (number, head) in (0..).zip(&compiled.heads) {
            if let Some(op) = code.get_mut(head.pc as usize) {
                *op = Op { immediate: number, ..Op::new(enter, op.instruction) };
            }
        }
        if let Some(range) = range(&memory) {
            code_begins(&range);
        }
        Ok(NativeProgram { code, memory, entry: compiled.entry, heads: compiled.heads, _share: share })
    }

    /// The program's ops, whose heads enter compiled code.
    pub(crate) fn code(&self) -> &[Op] {
        &self.code
    }

    /// Bytes of machine code.
    pub fn bytes(&self) -> usize {
        self.memory.len()
    }

    /// Entry of the code, and the place of a head for these active lanes.
    fn places(&self, head: u64, active: u32) -> Option<(Entry, *const u8)> {
        let head = self.heads.get(head as usize)?;
        let target = if active == u32::MAX { head.full } else { head.any };
        let (entry, target) = (self.memory.address(self.entry)?, self.memory.address(target)?);
        // SAFETY: the code at the entry has this signature, and lives as long as the program.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(entry.as_ptr().cast_const()) };
        Some((entry, target.as_ptr().cast_const()))
    }
}

impl Drop for NativeProgram {
    fn drop(&mut self) {
        if let Some(range) = range(&self.memory) {
            code_ends(range.start);
        }
    }
}

/// Addresses of the code.
fn range(memory: &ExecutableMemory) -> Option<Range<u64>> {
    let start = memory.address(0)?.as_ptr() as u64;
    Some(start..start + memory.len() as u64)
}

/// Op at a head: runs compiled code until the warp leaves it.
///
/// # Safety
/// As for [`super::op::Run`].
unsafe fn enter(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // The head is no instruction of the program. Compiled code counts what it executes.
    w.discount();
    let grid = w.grid;
    let program = &*grid.program;
    let places = grid.native().and_then(|native| native.places(op.immediate, w.active));
    let Some((entry, target)) = places else {
        // SAFETY: guaranteed by the caller.
        return unsafe { interpret(w, program) };
    };
    // SAFETY: the code was compiled from this program for this host, and the context is that of one of its
    // warps at the head.
    let left = unsafe { entry(&raw mut *w, target, program.code.as_ptr(), execute) };
    match left {
        // SAFETY: guaranteed by the caller.
        exit::DECLINED => unsafe { interpret(w, program) },
        exit::OUT_OF_FUEL => w.out_of_fuel(),
        exit::JUMP => Flow::Jump,
        exit::PANICKED => match w.panic.take() {
            Some(panic) => resume_unwind(panic),
            None => Flow::Stop,
        },
        _ => Flow::Stop,
    }
}

/// Executes the op at the program counter in the interpreter.
///
/// # Safety
/// As for [`super::op::Run`].
#[cold]
unsafe fn interpret(w: &mut WarpContext<'_>, program: &Program) -> Flow {
    let op = &program.code[w.pc as usize];
    // SAFETY: the guard is a word of the frame's predicate area.
    w.mask = w.active & unsafe { w.predicate(op.guard) };
    w.instructions = w.instructions.wrapping_add(1);
    w.lane_instructions = w.lane_instructions.wrapping_add(u64::from(w.mask.count_ones()));
    // SAFETY: guaranteed by the caller.
    let flow = if w.mask == 0 { Flow::Next } else { unsafe { (op.run)(w, op) } };
    if flow == Flow::Next {
        w.pc += 1;
        return Flow::Jump;
    }
    flow
}

/// Executes an op for compiled code, which a panic cannot cross: [`enter`] resumes it.
///
/// # Safety
/// As for [`super::op::Run`].
unsafe extern "C" fn execute(w: *mut WarpContext<'_>, op: *const Op) -> u32 {
    let run = || {
        // SAFETY: compiled code passes the context that it was given, and an op of its program.
        unsafe {
            let (w, op) = (&mut *w, &*op);
            (op.run)(w, op) as u32
        }
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(flow) => flow,
        Err(panic) => {
            // SAFETY: as above; the op has ended.
            unsafe { (*w).panic = Some(panic) };
            exit::PANICKED
        }
    }
}

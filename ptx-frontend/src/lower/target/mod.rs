//! Targets of lowering: the machine code of one generation of GPUs each.
//!
//! A file of this folder describes a generation: the size of its instructions, its registers, and the
//! forms that it expands differently from Volta. Figures are those of the vendor's assembler, `ptxas`
//! 12.9, counted in the machine code of kernels with a single instruction and of 200 kernels of
//! HeCBench, the CUDA samples and PolyBench. `ptxas` no longer knows `sm_20`, whose figures are published.

mod ampere;
mod fermi;
mod pascal;
mod turing;
mod volta;

use warp_stream::OperationClass;

use crate::ir::Instruction;

use super::combine::Shape;
use super::expansion::Expansion;

/// Machine code that lowering makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Target {
    /// Fermi and Kepler.
    Sm20,
    /// Maxwell and Pascal.
    Sm60,
    /// Volta.
    #[default]
    Sm70,
    /// Turing.
    Sm75,
    /// Ampere with HBM: A100.
    Sm80,
    /// Ampere with GDDR6, and later GPUs.
    Sm86,
}

impl Target {
    /// All targets, the oldest first.
    pub const ALL: [Target; 6] =
        [Target::Sm20, Target::Sm60, Target::Sm70, Target::Sm75, Target::Sm80, Target::Sm86];

    /// Target of a GPU with compute capability `capability / 10`: the newest one that is not above.
    pub fn of_capability(capability: u32) -> Target {
        let fits = |target: &&Target| target.machine().since <= capability;
        Target::ALL.iter().rev().find(fits).copied().unwrap_or(Target::Sm20)
    }

    /// Target with the name that `ptxas` takes, such as `sm_75`.
    pub fn named(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.name() == name)
    }

    /// Name of the architecture for `ptxas`, such as `sm_75`.
    pub fn name(self) -> &'static str {
        self.machine().name
    }

    /// Address of a machine instruction of a function, in bytes from the function's start.
    pub fn address(self, instruction: u32) -> u32 {
        let machine = self.machine();
        let position = match machine.control_word_before {
            Some(group) => instruction + instruction / group + 1,
            None => instruction,
        };
        position * machine.instruction_bytes
    }

    /// Bytes of a machine instruction.
    pub fn instruction_bytes(self) -> u32 {
        self.machine().instruction_bytes
    }

    /// Alignment of a function's start, in bytes.
    pub fn alignment(self) -> u32 {
        let machine = self.machine();
        (machine.control_word_before.unwrap_or(0) + 1) * machine.instruction_bytes
    }

    pub(super) fn machine(self) -> &'static Machine {
        match self {
            Target::Sm20 => &fermi::MACHINE,
            Target::Sm60 => &pascal::MACHINE,
            Target::Sm70 => &volta::MACHINE,
            Target::Sm75 => &turing::MACHINE,
            Target::Sm80 => &ampere::WITH_HBM,
            Target::Sm86 => &ampere::WITH_GDDR6,
        }
    }
}

/// Machine code of a generation.
pub(super) struct Machine {
    /// Name of the architecture for `ptxas`.
    name: &'static str,
    /// Lowest compute capability, times ten.
    since: u32,
    instruction_bytes: u32,
    /// Instructions that share a word of control codes, which precedes them.
    control_word_before: Option<u32>,
    /// Instructions that begin each kernel. The first one sets the stack pointer.
    pub(super) prologue: &'static [OperationClass],
    /// Instructions that set the reconvergence point of a branch.
    pub(super) reconvergence: &'static [OperationClass],
    pub(super) registers: Registers,
    /// Can sums and logic have three sources (`IADD3`, `LOP3`)?
    pub(super) three_sources: bool,
    /// Shape of the sum of 64 bits and a wide product that takes several instructions.
    pub(super) wide_sum: Shape,
    /// Expansion of a form that differs from Volta's. The second argument is the value of the second
    /// source, if that is a constant.
    pub(super) expansion: fn(&Instruction, Option<u64>) -> Option<Expansion>,
}

/// Registers of a thread.
pub(super) struct Registers {
    /// Addressable registers, except the constant zero register.
    pub(super) most: usize,
    /// Registers that `ptxas` adds to those that the code names.
    pub(super) hidden: u32,
    /// Registers up to which all warps of an SM can be resident.
    pub(super) all_warps: u32,
    /// Unit of allocation (CUDA's occupancy calculator).
    pub(super) unit: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_takes_the_newest_target_not_above_it() {
        let of = [20, 35, 52, 61, 70, 72, 75, 80, 86, 89, 120].map(Target::of_capability);
        let names = of.map(Target::name);
        assert_eq!(
            names,
            [
                "sm_20", "sm_20", "sm_60", "sm_60", "sm_70", "sm_70", "sm_75", "sm_80", "sm_86", "sm_86",
                "sm_86"
            ]
        );
    }

    #[test]
    fn a_control_word_precedes_three_pascal_instructions() {
        let addresses = [0, 1, 2, 3, 4].map(|instruction| Target::Sm60.address(instruction));
        assert_eq!(addresses, [0x08, 0x10, 0x18, 0x28, 0x30]);
        assert_eq!(Target::Sm60.alignment(), 0x20);
    }

    #[test]
    fn names_of_targets_are_read_back() {
        assert!(Target::ALL.iter().all(|target| Target::named(target.name()) == Some(*target)));
    }
}

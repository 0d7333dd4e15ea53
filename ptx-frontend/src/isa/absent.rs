//! Instructions that PTX has and the op table has not: by name, with the reason.
//!
//! They are parsed like any other; a kernel that holds one is refused when it is launched.

use super::State;

/// An instruction without a line in the op table.
#[derive(Debug, Clone, Copy)]
pub struct Absent {
    /// The opcode's first word.
    pub mnemonic: &'static str,
    /// [`State::Refused`], with the reason.
    pub state: State,
    /// Section of the PTX manual.
    pub section: &'static str,
}

const fn refused(mnemonic: &'static str, reason: &'static str, section: &'static str) -> Absent {
    Absent { mnemonic, state: State::Refused(reason), section }
}

const TENSOR_MEMORY: &str = "needs the tensor memory of sm_100, which no simulated device has";

/// All of them, in the manual's order.
pub const ABSENT: &[Absent] = &[
    refused(
        "multimem",
        "needs memory of several devices behind one address, which no simulated device has",
        "9.7.9.14",
    ),
    refused("tcgen05", TENSOR_MEMORY, "9.7.16"),
    refused("fabric", "needs devices joined by a fabric, which no simulated device has", "9.7.9"),
    refused("clusterlaunchcontrol", "needs sm_100", "9.7.13.18"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::forms_of;

    #[test]
    fn an_absent_instruction_has_no_line_in_the_op_table() {
        for absent in ABSENT {
            assert!(forms_of(absent.mnemonic).is_empty(), "{} is in the table", absent.mnemonic);
        }
    }
}

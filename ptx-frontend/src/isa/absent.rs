//! PTX instructions without a line in the op table, by name and reason.
//!
//! The parser accepts them; a kernel with such an instruction is refused at launch.

use super::Support;

/// An instruction without a line in the op table.
#[derive(Debug, Clone, Copy)]
pub struct Absent {
    /// First word of the opcode.
    pub mnemonic: &'static str,
    /// Modifiers (no dots) common to all these instructions; empty if the table has no instruction with
    /// this mnemonic.
    pub modifiers: &'static [&'static str],
    /// [`Support::Refused`] or [`Support::Missing`], with the reason.
    pub state: Support,
    /// Section of the PTX manual.
    pub section: &'static str,
}

impl Absent {
    /// Entry for an opcode with these modifiers (no dots), if any.
    pub fn of(mnemonic: &str, modifiers: &[&str]) -> Option<&'static Absent> {
        ABSENT.iter().find(|absent| {
            absent.mnemonic == mnemonic && absent.modifiers.iter().all(|known| modifiers.contains(known))
        })
    }

    /// Opcode, as far as it is specified.
    pub fn opcode(&self) -> String {
        self.modifiers.iter().fold(self.mnemonic.to_owned(), |opcode, modifier| opcode + "." + modifier)
    }
}

const fn refused(
    mnemonic: &'static str,
    modifiers: &'static [&'static str],
    reason: &'static str,
    section: &'static str,
) -> Absent {
    Absent { mnemonic, modifiers, state: Support::Refused(reason), section }
}

const TENSOR_MEMORY: &str = "needs the tensor memory of sm_100, which no simulated device has";
const NEEDS_100: &str = "needs sm_100";
const NEEDS_100A: &str = "needs sm_100a";
const NEEDS_107A: &str = "needs sm_107a";
const NEEDS_120A: &str = "needs sm_120a";

/// All entries, in the manual's order.
pub const ABSENT: &[Absent] = &[
    refused("add", &["sat", "u16x2"], NEEDS_120A, "9.7.1"),
    refused("add", &["sat", "s16x2"], NEEDS_120A, "9.7.1"),
    refused("add", &["sat", "u32"], NEEDS_120A, "9.7.1"),
    refused("sub", &["sat", "u16x2"], NEEDS_120A, "9.7.1"),
    refused("sub", &["sat", "s16x2"], NEEDS_120A, "9.7.1"),
    refused("add", &["u8x4"], NEEDS_120A, "9.7.1"),
    refused("add", &["s8x4"], NEEDS_120A, "9.7.1"),
    refused("sub", &["u8x4"], NEEDS_120A, "9.7.1"),
    refused("sub", &["s8x4"], NEEDS_120A, "9.7.1"),
    refused("min", &["u8x4"], NEEDS_120A, "9.7.1"),
    refused("min", &["s8x4"], NEEDS_120A, "9.7.1"),
    refused("max", &["u8x4"], NEEDS_120A, "9.7.1"),
    refused("max", &["s8x4"], NEEDS_120A, "9.7.1"),
    refused("tcgen05", &[], TENSOR_MEMORY, "9.7.16"),
    refused("fabric", &[], "needs devices joined by a fabric, which no simulated device has", "9.7.9"),
    refused("clusterlaunchcontrol", &[], NEEDS_100, "9.7.13.18"),
    refused("applypriority", &["async"], NEEDS_107A, "9.7.9.16"),
    refused("cvt", &["ue5m3x2"], NEEDS_107A, "9.7.9.20"),
    refused("cvt", &["rz", "e2m3x2"], NEEDS_107A, "9.7.9.20"),
    refused("cvt", &["rz", "e3m2x2"], NEEDS_107A, "9.7.9.20"),
    refused("cp", &["async", "bulk", "multicast::cluster::32b"], NEEDS_107A, "9.7.9.26.4"),
    refused("cp", &["async", "bulk", "override::global_address"], NEEDS_107A, "9.7.9.26.5"),
    refused("mbarrier", &["multicast::cluster::32b"], NEEDS_107A, "9.7.13.15"),
    refused("cp", &["async", "bulk", "tensor", "im2col::w"], NEEDS_100A, "9.7.9.26.5"),
    refused("cp", &["async", "bulk", "tensor", "im2col::w::128"], NEEDS_100A, "9.7.9.26.5"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{Token, forms_of};

    #[test]
    fn absent_instructions_are_not_in_the_op_table() {
        for absent in ABSENT {
            let forms = forms_of(absent.mnemonic);
            let tokens: Option<Vec<Token>> =
                absent.modifiers.iter().map(|name| Token::from_name(name)).collect();
            let has_all = |tokens: &Vec<Token>| {
                let mut spellings = forms.iter().flat_map(|form| &form.parsed().spellings);
                spellings.any(|slots| {
                    tokens.iter().all(|token| slots.iter().any(|slot| slot.choices.contains(token)))
                })
            };
            let is_there = if absent.modifiers.is_empty() {
                !forms.is_empty()
            } else {
                tokens.as_ref().is_some_and(has_all)
            };
            assert!(!is_there, "{} is in the table", absent.opcode());
        }
    }

    #[test]
    fn absent_instructions_match_all_their_modifiers() {
        assert!(Absent::of("tcgen05", &["fence"]).is_some());
        assert!(Absent::of("cp", &["async", "bulk", "tensor", "3d", "im2col::w"]).is_some());
        assert!(Absent::of("cp", &["async", "bulk", "tensor", "3d", "im2col"]).is_none());
        assert_eq!(
            Absent::of("add", &["sat", "u16x2"]).map(Absent::opcode).as_deref(),
            Some("add.sat.u16x2")
        );
    }
}

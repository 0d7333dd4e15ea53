//! Machine instructions of cubins from `sm_70` on, counted by class.
//!
//! An instruction has 16 bytes. The low nine bits of the first word are the opcode, and the next
//! three select the forms of the operands. The opcodes were read from disassemblies by `nvdisasm` 12.

use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind};
use std::collections::BTreeMap;

/// Number of instructions of each class.
pub(crate) type Counts = BTreeMap<&'static str, u32>;

/// Bytes of an instruction.
const BYTES: usize = 16;

/// Number of the register that is always zero.
const ZERO: u64 = 255;

/// True if the instructions of a target's cubins can be counted.
pub(crate) fn knows(target: &str) -> bool {
    // Words of older GPUs have eight bytes, and some are control codes.
    target != "sm_60"
}

/// Instructions of the kernels in a cubin, by the kernel's name. Subroutines behind a kernel's code, such as
/// the slow paths of divisions, are not counted; neither is the filling behind its end.
pub(crate) fn of_cubin(bytes: &[u8]) -> object::Result<BTreeMap<String, Counts>> {
    let file = ElfFile64::<Endianness>::parse(bytes)?;
    let mut counts = BTreeMap::new();
    for section in file.sections() {
        let Some(kernel) = section.name()?.strip_prefix(".text.") else { continue };
        let subroutine = file
            .symbols()
            .filter(|symbol| symbol.section_index() == Some(section.index()))
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.address() > 0)
            .map(|symbol| symbol.address() as usize)
            .min();
        let data = section.data()?;
        let end = subroutine.unwrap_or(data.len()).min(data.len());
        counts.insert(kernel.to_owned(), of_code(&data[..end]));
    }
    Ok(counts)
}

fn of_code(code: &[u8]) -> Counts {
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    let mut words: Vec<(u64, u64)> =
        code.chunks_exact(BYTES).map(|bytes| (word(&bytes[..8]), word(&bytes[8..]))).collect();
    let opcode = |words: &[(u64, u64)]| words.last().map(|(first, _)| first & 0x1ff);
    while opcode(&words) == Some(0x118) {
        words.pop();
    }
    // A branch to itself follows the last instruction.
    if opcode(&words) == Some(0x147) {
        words.pop();
    }
    let mut counts = Counts::new();
    for (first, second) in words {
        *counts.entry(class(first, second)).or_default() += 1;
    }
    counts
}

/// Class of an instruction.
fn class(first: u64, second: u64) -> &'static str {
    match first & 0x1ff {
        0x07..=0x0c | 0x10..=0x1f | 0x45 => "ALU",
        0x82..=0xbf | 0x1c2 | 0x1c3 => "uniform",
        0x24 => multiplication(first, second),
        0x20..=0x23 | 0x25..=0x27 | 0x30..=0x35 => "FMA",
        0x28..=0x2b => "double",
        0x36..=0x3f => "tensor",
        0x100 | 0x101 | 0x108 | 0x109 => "MUFU",
        0x103..=0x107 | 0x110..=0x113 => "conversion",
        0x02..=0x05 | 0x119 => "move",
        // Every kernel has one that no lane executes (`@!PT SHFL`).
        0x189 if first >> 12 & 15 == 15 => "control",
        0x06 | 0x189 | 0x1a1 | 0x1c4 => "exchange",
        0x180 | 0x181 | 0x185 | 0x186 | 0x18a | 0x18e | 0x1a8 | 0x1a9 => "global",
        0x184 | 0x188 | 0x18c | 0x18d => "shared",
        0x183 | 0x187 => "local",
        0x182 => "constant",
        0x160..=0x166 | 0x199 | 0x19d => "texture",
        _ => "control",
    }
}

/// `IMAD` also moves (`IMAD.MOV`), adds (`IMAD.IADD`, `IMAD.X`) and shifts (`IMAD.SHL`).
fn multiplication(first: u64, second: u64) -> &'static str {
    let [form, factor, immediate] = [first >> 9 & 7, first >> 24 & 255, first >> 32];
    let carries = second >> 10 & 1 == 1;
    let adds_zero = second & 255 == ZERO;
    let is_immediate = form == 4;
    match factor == ZERO {
        true if carries => "ALU",
        true => "move",
        false if is_immediate && (immediate == 1 || adds_zero && immediate.is_power_of_two()) => "ALU",
        false => "FMA",
    }
}

/// Class of lowered code, with the space of an access, as the example `lower` prints it.
pub(crate) fn of_lowered(class: &str) -> &'static str {
    let (class, space) = class.split_once('.').unwrap_or((class, ""));
    match (class, space) {
        ("Integer" | "Fp32Compare" | "IntegerExtremum", _) => "ALU",
        ("Fp32" | "IntegerMultiply" | "Half" | "DotProduct", _) => "FMA",
        ("Fp64" | "Fp64Compare", _) => "double",
        ("SpecialFunction" | "PopulationCount" | "BitSearch", _) => "MUFU",
        ("Conversion" | "WideConversion", _) => "conversion",
        ("Tensor" | "TensorInteger", _) => "tensor",
        ("Move" | "SpecialRegister", _) => "move",
        ("Vote" | "Shuffle", _) => "exchange",
        ("LoadConstant", _) | (_, "Constant") => "constant",
        ("Texture" | "Surface", _) => "texture",
        ("Load" | "Store" | "Atomic" | "Reduction", "Shared") => "shared",
        ("Load" | "Store" | "Atomic" | "Reduction", "Local") => "local",
        ("Load" | "Store" | "Atomic" | "Reduction", _) => "global",
        _ => "control",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multiplication_by_zero_moves_a_register() {
        // `IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28]` and `IMAD R6, R6, c[0x0][0x0], R3`.
        assert_eq!(class(0x0000_0a00_ff01_7624, 0x000f_e400_078e_00ff), "move");
        assert_eq!(class(0x0000_0000_0606_7a24, 0x001f_ca00_078e_0203), "FMA");
    }
}

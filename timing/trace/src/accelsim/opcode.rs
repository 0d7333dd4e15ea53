//! Opcodes of Volta, Turing and Ampere, and their classes in the timing model.
//!
//! Names are those of NVIDIA's "CUDA Binary Utilities". The table is sorted for binary search.

use warp_stream::OperationClass::{self, *};
use warp_stream::{AccessKind, CacheOperator, MemoryOperation, MemorySpace, Registers};

/// Name, class, and the first binary version that has it.
const OPCODES: [(&str, OperationClass, u32); 174] = [
    ("ATOM", Atomic, 70),
    ("ATOMG", Atomic, 70),
    ("ATOMS", Atomic, 70),
    ("B2R", SpecialRegister, 70),
    ("BAR", Barrier, 70),
    ("BMMA", TensorInteger, 75),
    ("BMOV", Branch, 70),
    ("BMSK", Integer, 70),
    ("BPT", Branch, 70),
    ("BRA", Branch, 70),
    ("BREAK", Branch, 70),
    ("BREV", BitSearch, 70),
    ("BRX", Branch, 70),
    ("BRXU", Branch, 75),
    ("BSSY", Branch, 70),
    ("BSYNC", Branch, 70),
    ("CALL", Branch, 70),
    ("CCTL", Fence, 70),
    ("CCTLL", Fence, 70),
    ("CCTLT", Nothing, 70),
    ("CS2R", SpecialRegister, 70),
    ("CSMTEST", Nothing, 70),
    ("DADD", Fp64, 70),
    ("DEPBAR", Nothing, 70),
    ("DFMA", Fp64, 70),
    ("DMMA", Tensor, 80),
    ("DMUL", Fp64, 70),
    ("DSETP", Fp64Compare, 70),
    ("ERRBAR", Fence, 70),
    ("EXIT", Exit, 70),
    ("F2F", Conversion, 70),
    ("F2FP", Conversion, 75),
    ("F2I", Conversion, 70),
    ("F2IP", Conversion, 80),
    ("FADD", Fp32, 70),
    ("FADD32I", Fp32, 70),
    ("FCHK", Fp32Compare, 70),
    ("FFMA", Fp32, 70),
    ("FFMA32I", Fp32, 70),
    ("FLO", BitSearch, 70),
    ("FMNMX", Fp32Compare, 70),
    ("FMUL", Fp32, 70),
    ("FMUL32I", Fp32, 70),
    ("FRND", Conversion, 70),
    ("FSEL", Fp32Compare, 70),
    ("FSET", Fp32Compare, 70),
    ("FSETP", Fp32Compare, 70),
    ("FSWZADD", Fp32, 70),
    ("GETLMEMBASE", Nothing, 70),
    ("HADD2", Half, 70),
    ("HADD2_32I", Half, 70),
    ("HFMA2", Half, 70),
    ("HFMA2_32I", Half, 70),
    ("HMMA", Tensor, 70),
    ("HMNMX2", Half, 80),
    ("HMUL2", Half, 70),
    ("HMUL2_32I", Half, 70),
    ("HSET2", Half, 70),
    ("HSETP2", Half, 70),
    ("I2F", Conversion, 70),
    ("I2FP", Conversion, 80),
    ("I2I", Conversion, 70),
    ("I2IP", Conversion, 70),
    ("IABS", IntegerExtremum, 70),
    ("IADD", Integer, 70),
    ("IADD3", Integer, 70),
    ("IADD32I", Integer, 70),
    ("IDP", DotProduct, 70),
    ("IDP4A", DotProduct, 70),
    ("IMAD", IntegerMultiply, 70),
    ("IMMA", TensorInteger, 70),
    ("IMNMX", IntegerExtremum, 70),
    ("IMUL", IntegerMultiply, 70),
    ("IMUL32I", IntegerMultiply, 70),
    ("ISCADD", Integer, 70),
    ("ISCADD32I", Integer, 70),
    ("ISETP", Integer, 70),
    ("JMP", Branch, 70),
    ("JMX", Branch, 70),
    ("JMXU", Branch, 75),
    ("KILL", Branch, 70),
    ("LD", Load, 70),
    ("LDC", LoadConstant, 70),
    ("LDG", Load, 70),
    ("LDGDEPBAR", Nothing, 80),
    ("LDGSTS", Load, 80),
    ("LDL", Load, 70),
    ("LDS", Load, 70),
    ("LDSM", Load, 75),
    ("LEA", Integer, 70),
    ("LEPC", Nothing, 70),
    ("LOP", Integer, 70),
    ("LOP3", Integer, 70),
    ("LOP32I", Integer, 70),
    ("MATCH", Vote, 70),
    ("MEMBAR", Fence, 70),
    ("MOV", Move, 70),
    ("MOV32I", Move, 70),
    ("MOVM", Move, 75),
    ("MUFU", SpecialFunction, 70),
    ("NANOSLEEP", WarpBarrier, 70),
    ("NOP", Nothing, 70),
    ("P2R", Integer, 70),
    ("PLOP3", Integer, 70),
    ("PMTRIG", Nothing, 70),
    ("POPC", PopulationCount, 70),
    ("PRMT", Integer, 70),
    ("PSETP", Integer, 70),
    ("QSPC", Nothing, 70),
    ("R2B", SpecialRegister, 70),
    ("R2P", Integer, 70),
    ("R2UR", Move, 75),
    ("RED", Reduction, 70),
    ("REDUX", Vote, 80),
    ("RET", Branch, 70),
    ("RPCMOV", Branch, 70),
    ("RTT", Branch, 70),
    ("S2R", SpecialRegister, 70),
    ("S2UR", SpecialRegister, 75),
    ("SEL", Integer, 70),
    ("SETCTAID", Nothing, 70),
    ("SETLMEMBASE", Nothing, 70),
    ("SGXT", Integer, 70),
    ("SHF", Integer, 70),
    ("SHFL", Shuffle, 70),
    ("SHL", Integer, 75),
    ("SHR", Integer, 70),
    ("ST", Store, 70),
    ("STG", Store, 70),
    ("STL", Store, 70),
    ("STS", Store, 70),
    ("SUATOM", Surface, 75),
    ("SULD", Surface, 75),
    ("SUQUERY", Surface, 80),
    ("SURED", Surface, 75),
    ("SUST", Surface, 75),
    ("TEX", Texture, 70),
    ("TLD", Texture, 70),
    ("TLD4", Texture, 70),
    ("TMML", Texture, 70),
    ("TXD", Texture, 70),
    ("TXQ", Texture, 70),
    ("UBMSK", Integer, 75),
    ("UBREV", BitSearch, 75),
    ("UCLEA", Integer, 75),
    ("UF2FP", Conversion, 80),
    ("UFLO", BitSearch, 75),
    ("UIADD3", Integer, 75),
    ("UIMAD", IntegerMultiply, 75),
    ("UISETP", Integer, 75),
    ("ULDC", LoadConstant, 75),
    ("ULEA", Integer, 75),
    ("ULOP", Integer, 75),
    ("ULOP3", Integer, 75),
    ("ULOP32I", Integer, 75),
    ("UMOV", Move, 75),
    ("UP2UR", Integer, 75),
    ("UPLOP3", Integer, 75),
    ("UPOPC", PopulationCount, 75),
    ("UPRMT", Integer, 75),
    ("UPSETP", Integer, 75),
    ("UR2UP", Integer, 75),
    ("USEL", Integer, 75),
    ("USGXT", Integer, 75),
    ("USHF", Integer, 75),
    ("USHL", Integer, 75),
    ("USHR", Integer, 75),
    ("VABSDIFF", IntegerExtremum, 70),
    ("VABSDIFF4", IntegerExtremum, 70),
    ("VOTE", Vote, 70),
    ("VOTEU", Vote, 75),
    ("VOTE_VTG", Vote, 70),
    ("WARPSYNC", WarpBarrier, 70),
    ("YIELD", WarpBarrier, 70),
];

/// Class, registers and memory operation of an opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opcode {
    pub class: OperationClass,
    pub memory: Option<MemoryOperation>,
    /// 32-bit registers of the destination and of each source.
    destination: u8,
    sources: [u8; 4],
}

impl Opcode {
    /// Parses a dotted opcode name.
    pub fn parse(text: &str, binary_version: u32) -> Result<Opcode, String> {
        let mut tokens = text.split('.');
        let name = tokens.next().unwrap_or_default();
        let index = OPCODES.binary_search_by_key(&name, |(name, ..)| name);
        let known =
            index.ok().and_then(|index| OPCODES.get(index)).filter(|(.., first)| *first <= binary_version);
        let &(_, class, _) =
            known.ok_or_else(|| format!("binary version {binary_version} has no opcode `{name}`"))?;
        let tokens: Vec<&str> = tokens.collect();
        let of_64_bits = tokens.iter().any(|token| ["F64", "S64", "U64"].contains(token));
        let class = if class == Conversion && of_64_bits { WideConversion } else { class };
        let memory = memory(name, class, &tokens);
        let (destination, sources) = registers(name, class, &tokens, memory);
        Ok(Opcode { class, memory, destination, sources })
    }

    /// Destination registers from `first` on; none for `RZ`.
    pub fn destination(&self, first: u16) -> Registers {
        registers_from(first, self.destination)
    }

    /// Registers of a source from `first` on.
    pub fn source(&self, index: usize, first: u16) -> Registers {
        registers_from(first, self.sources[index.min(3)])
    }
}

fn registers_from(first: u16, count: u8) -> Registers {
    if first >= 255 { Registers::NONE } else { Registers { first, count } }
}

fn memory(name: &str, class: OperationClass, tokens: &[&str]) -> Option<MemoryOperation> {
    let kind = match class {
        Load | LoadConstant | Texture => AccessKind::Load,
        Store => AccessKind::Store,
        Atomic => AccessKind::Atomic,
        Reduction => AccessKind::Reduction,
        Surface if name == "SUST" => AccessKind::Store,
        Surface => AccessKind::Load,
        _ => return None,
    };
    let space = match name {
        "LDS" | "STS" | "ATOMS" | "LDSM" => MemorySpace::Shared,
        "LDL" | "STL" => MemorySpace::Local,
        "LD" | "ST" | "ATOM" => MemorySpace::Generic,
        _ => match class {
            LoadConstant => MemorySpace::Constant,
            Texture | Surface => MemorySpace::Texture,
            _ => MemorySpace::Global,
        },
    };
    let has = |wanted: &str| tokens.contains(&wanted);
    let cache = if has("STRONG") && (has("GPU") || has("SYS")) {
        CacheOperator::Coherent
    } else if has("CONSTANT") {
        CacheOperator::ReadOnly
    } else if has("EF") || has("LU") {
        CacheOperator::Streaming
    } else {
        CacheOperator::Default
    };
    Some(MemoryOperation { space, kind, width: width(tokens), cache })
}

/// Bytes per lane: the first token that is a bit width, possibly after `U` or `S`.
fn width(tokens: &[&str]) -> u8 {
    let bits = |token: &&str| token.trim_start_matches(['U', 'S']).parse::<u32>().ok();
    match tokens.iter().find_map(bits) {
        Some(8) => 1,
        Some(16) => 2,
        Some(64) => 8,
        Some(128) => 16,
        _ => 4,
    }
}

/// Registers of the destination and of each source.
fn registers(
    name: &str,
    class: OperationClass,
    tokens: &[&str],
    memory: Option<MemoryOperation>,
) -> (u8, [u8; 4]) {
    let data = memory.map_or(1, |operation| operation.width.div_ceil(4));
    // Addresses take two registers in device memory, one in shared and local memory.
    let address = match memory.map(|operation| operation.space) {
        Some(MemorySpace::Global | MemorySpace::Generic) => 2,
        _ => 1,
    };
    let wide = |token: &str| tokens.contains(&token);
    match class {
        Load if name == "LDGSTS" => (1, [1, address, 1, 1]),
        Load | LoadConstant => (data, [address, 1, 1, 1]),
        Store | Atomic | Reduction => (data, [address, data, data, 1]),
        Fp64 | Fp64Compare => (2, [2; 4]),
        IntegerMultiply if wide("WIDE") => (2, [1, 1, 2, 1]),
        Tensor if name == "DMMA" => (4, [2, 2, 4, 1]),
        Tensor if wide("F32") => (4, [2, 1, 4, 1]),
        Tensor | TensorInteger => (2, [2, 1, 2, 1]),
        WideConversion => (2, [2; 4]),
        _ => (1, [1; 4]),
    }
}

/// Dotted opcode name of a class and memory operation.
pub(super) fn name(class: OperationClass, memory: Option<MemoryOperation>) -> String {
    let base = match class {
        Integer => "IADD3",
        Move => "MOV",
        IntegerMultiply => "IMAD",
        IntegerExtremum => "IMNMX",
        DotProduct => "IDP",
        PopulationCount => "POPC",
        BitSearch => "FLO",
        Fp32 => "FFMA",
        Fp32Compare => "FSETP",
        Half => "HFMA2",
        Fp64 => "DFMA",
        Fp64Compare => "DSETP",
        SpecialFunction => "MUFU",
        Conversion => "F2I",
        WideConversion => "F2F.F64",
        Tensor => "HMMA",
        TensorInteger => "IMMA",
        Vote => "VOTE",
        Shuffle => "SHFL",
        SpecialRegister => "S2R",
        LoadConstant => "LDC",
        Load | Store | Atomic | Reduction => return access(memory),
        Texture | Surface => "TEX",
        Branch => "BRA",
        Exit => "EXIT",
        Barrier => "BAR.SYNC",
        WarpBarrier => "WARPSYNC",
        Fence => "MEMBAR",
        Nothing => "NOP",
    };
    base.to_owned()
}

/// Opcode name of an access. Local memory is written as global: recorded addresses are device
/// addresses.
fn access(memory: Option<MemoryOperation>) -> String {
    let Some(MemoryOperation { space, kind, width, cache }) = memory else { return "NOP".to_owned() };
    let base = match (kind, space) {
        (AccessKind::Load, MemorySpace::Shared) => "LDS",
        (AccessKind::Load, MemorySpace::Generic) => "LD.E",
        (AccessKind::Load, _) => "LDG.E",
        (AccessKind::Store, MemorySpace::Shared) => "STS",
        (AccessKind::Store, MemorySpace::Generic) => "ST.E",
        (AccessKind::Store, _) => "STG.E",
        (AccessKind::Atomic | AccessKind::Reduction, MemorySpace::Shared) => "ATOMS.ADD",
        (AccessKind::Atomic, MemorySpace::Generic) => "ATOM.E.ADD",
        (AccessKind::Atomic, _) => "ATOMG.E.ADD",
        (AccessKind::Reduction, _) => "RED.E.ADD",
    };
    let width = match width {
        1 => ".U8",
        2 => ".U16",
        8 => ".64",
        16.. => ".128",
        _ => "",
    };
    let cache = match cache {
        CacheOperator::Coherent | CacheOperator::GlobalOnly => ".STRONG.GPU",
        CacheOperator::ReadOnly => ".CONSTANT",
        CacheOperator::Streaming => ".EF",
        CacheOperator::Default => "",
    };
    format!("{base}{width}{cache}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(OPCODES.is_sorted_by(|(a, ..), (b, ..)| a < b));
    }

    #[test]
    fn uniform_instructions_start_with_turing() {
        assert!(Opcode::parse("UMOV", 70).is_err());
        assert_eq!(Opcode::parse("UMOV", 75).map(|opcode| opcode.class), Ok(Move));
    }

    #[test]
    fn opcode_name_gives_the_access_width() {
        for (name, bytes) in
            [("LDG.E.SYS", 4), ("LDG.E.U8.SYS", 1), ("STG.E.64", 8), ("LDS.U.128", 16), ("LDG.E.S16", 2)]
        {
            let opcode = Opcode::parse(name, 70).unwrap();
            assert_eq!(opcode.memory.map(|operation| operation.width), Some(bytes), "{name}");
        }
    }

    #[test]
    fn wide_load_writes_all_its_registers() {
        let opcode = Opcode::parse("LDG.E.128.SYS", 70).unwrap();
        assert_eq!(opcode.destination(4), Registers { first: 4, count: 4 });
        assert_eq!(opcode.source(0, 2), Registers { first: 2, count: 2 });
    }

    #[test]
    fn strong_access_bypasses_l1() {
        let opcode = Opcode::parse("LDG.E.STRONG.GPU", 70).unwrap();
        assert_eq!(opcode.memory.map(|operation| operation.cache), Some(CacheOperator::Coherent));
    }

    #[test]
    fn every_class_has_a_volta_opcode() {
        for class in OperationClass::ALL {
            assert!(Opcode::parse(&name(class, None), 70).is_ok(), "{class:?}");
        }
    }
}

//! Resource usage of the kernels in a cubin: registers, static shared memory, local memory.
//!
//! The assembler writes the figures into `.nv.info`, a list of attributes. An attribute has a format
//! (1 byte), a number (1 byte), and with the format [`SIZED`] a length (2 bytes) and a value. The
//! values used here are a symbol's index and a figure, 4 bytes each. Static shared memory is the size
//! of the section `.nv.shared.KERNEL`. The layout was read from cubins of `ptxas` 11.8 to 13.5.

use std::collections::{BTreeMap, HashMap};

use object::LittleEndian;
use object::elf;
use object::read::elf::{ElfFile64, FileHeader, SectionHeader};

use super::cubin::{is_cubin, is_kernel};
use super::error::{ContainerError, Location};

/// Resources that a kernel's machine code occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceUsage {
    /// 32-bit registers per thread.
    pub registers: u32,
    /// Bytes of static shared memory per CTA.
    pub static_shared: u32,
    /// Bytes of local memory per thread, of the kernel and the functions that it calls.
    pub local_bytes: u32,
}

/// Format of an attribute with a length and a value.
const SIZED: u8 = 4;

/// Numbers of attributes.
mod attribute {
    pub(super) const MIN_STACK_SIZE: u8 = 0x12;
    pub(super) const REGISTERS: u8 = 0x2f;
}

/// Section of the attributes of all functions.
const INFO: &[u8] = b".nv.info";
/// Start of the name of a section with a kernel's code.
const CODE: &[u8] = b".text.";
/// Start of the name of a section with a kernel's static shared memory.
const SHARED: &[u8] = b".nv.shared.";

/// Resource usage by kernel of the cubin `bytes`, from the entry at `place`. A cubin that a linker has not
/// completed gives none, since its registers do not count the functions of other files.
pub(super) fn resource_usage_at(
    bytes: &[u8],
    place: &Location,
) -> Result<BTreeMap<String, ResourceUsage>, ContainerError> {
    let damaged = |reason: String| ContainerError::Elf { place: place.clone(), reason };
    let failed = |error: object::Error| damaged(error.to_string());
    let file = ElfFile64::<LittleEndian>::parse(bytes).map_err(failed)?;
    if !is_cubin(bytes) {
        return Err(damaged("not a CUDA device file".into()));
    }
    let endian = LittleEndian;
    if file.elf_header().e_type(endian) != elf::ET_EXEC {
        return Ok(BTreeMap::new());
    }
    let table = file.elf_section_table();
    let (mut stated, mut stacks) = (HashMap::new(), HashMap::new());
    let (mut shared, mut headers) = (HashMap::new(), HashMap::new());
    for section in table.iter() {
        let name = table.section_name(endian, section).map_err(failed)?;
        if name == INFO {
            let info = section.data(endian, bytes).map_err(failed)?;
            for (number, symbol, figure) in attributes(info) {
                match number {
                    attribute::REGISTERS => _ = stated.insert(symbol, figure),
                    attribute::MIN_STACK_SIZE => _ = stacks.insert(symbol, figure),
                    _ => {}
                }
            }
        } else if let Some(kernel) = name.strip_prefix(SHARED) {
            shared.insert(kernel, u32::try_from(section.sh_size(endian)).unwrap_or(u32::MAX));
        } else if let Some(kernel) = name.strip_prefix(CODE) {
            // The high byte of `sh_info` repeats the registers.
            headers.insert(kernel, section.sh_info(endian) >> 24);
        }
    }
    let symbols = file.elf_symbol_table();
    let mut usage = BTreeMap::new();
    for (index, symbol) in symbols.iter().enumerate().filter(|(_, symbol)| is_kernel(symbol)) {
        let name = symbols.symbol_name(endian, symbol).map_err(failed)?;
        let index = index as u32;
        let registers = stated.get(&index).or_else(|| headers.get(name)).copied().unwrap_or(0);
        if registers > 0 {
            let of_kernel = ResourceUsage {
                registers,
                static_shared: shared.get(name).copied().unwrap_or(0),
                local_bytes: stacks.get(&index).copied().unwrap_or(0),
            };
            usage.insert(String::from_utf8_lossy(name).into_owned(), of_kernel);
        }
    }
    Ok(usage)
}

/// Attributes that give a symbol a figure: number, symbol index, figure. A list that ends inside an
/// attribute gives those before.
fn attributes(info: &[u8]) -> impl Iterator<Item = (u8, u32, u32)> {
    let mut rest = info;
    let next = move || {
        let (&[format, number, low, high], behind) = rest.split_first_chunk()?;
        let length = if format == SIZED { usize::from(u16::from_le_bytes([low, high])) } else { 0 };
        let (value, behind) = behind.split_at_checked(length)?;
        rest = behind;
        Some((number, value))
    };
    let word = |bytes: &[u8]| bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    std::iter::from_fn(next)
        .filter_map(move |(number, value)| Some((number, word(value)?, word(value.get(4..)?)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_without_a_figure_are_skipped() {
        let info = [
            &[3, 0x19, 0x18, 0][..],
            &[4, 0x0a, 4, 0, 1, 2, 3, 4],
            &[4, 0x2f, 8, 0, 11, 0, 0, 0, 32, 0, 0, 0],
        ]
        .concat();
        assert_eq!(attributes(&info).collect::<Vec<_>>(), [(0x2f, 11, 32)]);
    }

    #[test]
    fn truncated_attributes_end_the_list() {
        let info = [4, 0x2f, 8, 0, 11, 0, 0, 0, 32, 0, 0, 0, 4, 0x2f, 8, 0, 1];
        assert_eq!(attributes(&info).collect::<Vec<_>>(), [(0x2f, 11, 32)]);
    }
}

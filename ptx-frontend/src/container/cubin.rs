//! Kernel names in a cubin (an ELF file of machine code, kind [`EntryKind::Elf`](super::EntryKind)).
//!
//! Voltsim cannot run machine code. The names serve to report the kernels that exist in no other form;
//! [`resource_usage`](super::resource_usage) reads the resources that the code occupies.

use object::LittleEndian;
use object::elf;
use object::read::elf::{ElfFile64, FileHeader, Sym};

use super::error::{ContainerError, Location, Origin};
use super::region::Region;

/// Bit of `st_other` that marks a kernel, as opposed to a device function.
const STO_CUDA_ENTRY: elf::SymbolOther = elf::SymbolOther(0x10);

type FileHeader64 = elf::FileHeader64<LittleEndian>;

/// Names of the kernels in the cubin `bytes`, in symbol-table order.
pub fn kernel_names(bytes: &[u8], origin: Origin) -> Result<Vec<String>, ContainerError> {
    kernel_names_at(bytes, &Region::new(bytes, origin).place(0))
}

/// [`kernel_names`] of a cubin that was decompressed from the entry at `place`.
pub(super) fn kernel_names_at(bytes: &[u8], place: &Location) -> Result<Vec<String>, ContainerError> {
    let damaged =
        |error: object::Error| ContainerError::Elf { place: place.clone(), reason: error.to_string() };
    let file = ElfFile64::<LittleEndian>::parse(bytes).map_err(damaged)?;
    if !is_cubin(bytes) {
        return Err(ContainerError::Elf { place: place.clone(), reason: "not a CUDA device file".into() });
    }
    let symbols = file.elf_symbol_table();
    let mut names = Vec::new();
    for symbol in symbols.iter().filter(|symbol| is_kernel(symbol)) {
        let name = symbols.symbol_name(LittleEndian, symbol).map_err(damaged)?;
        names.push(String::from_utf8_lossy(name).into_owned());
    }
    Ok(names)
}

/// True if the symbol is a kernel of this file.
pub(super) fn is_kernel(symbol: &elf::Sym64<LittleEndian>) -> bool {
    let is_entry = symbol.st_type() == elf::STT_FUNC && symbol.st_other() & STO_CUDA_ENTRY == STO_CUDA_ENTRY;
    is_entry && symbol.st_shndx(LittleEndian) != elf::SHN_UNDEF
}

/// True if the ELF file `bytes` is device code; false if it is host code or damaged.
pub(super) fn is_cubin(bytes: &[u8]) -> bool {
    FileHeader64::parse(bytes).is_ok_and(|header| header.e_machine(LittleEndian) == elf::EM_CUDA)
}

/// Length in bytes of the ELF file that starts with `header`, computed from its tables. A module loading
/// function receives an image without its length.
pub fn elf_size(header: &[u8; 64], origin: Origin) -> Result<u64, ContainerError> {
    let region = Region::new(header, origin);
    let file_header = FileHeader64::parse(header.as_slice())
        .map_err(|error| ContainerError::Elf { place: region.place(0), reason: error.to_string() })?;
    let table = |offset: u64, entry_size: u16, count: u16| {
        offset.checked_add(u64::from(entry_size) * u64::from(count))
    };
    let endian = LittleEndian;
    let sections =
        table(file_header.e_shoff(endian), file_header.e_shentsize(endian), file_header.e_shnum(endian));
    let segments =
        table(file_header.e_phoff(endian), file_header.e_phentsize(endian), file_header.e_phnum(endian));
    match (sections, segments) {
        (Some(sections), Some(segments)) => Ok(sections.max(segments).max(header.len() as u64)),
        _ => Err(ContainerError::Elf {
            place: region.place(0),
            reason: "its tables exceed the address space".into(),
        }),
    }
}

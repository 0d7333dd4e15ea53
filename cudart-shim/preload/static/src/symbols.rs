//! The functions of the CUDA runtime in the program's own symbol table.

use object::elf::{FileHeader64, SHN_UNDEF, SHT_SYMTAB, STT_FUNC};
use object::read::elf::{FileHeader as _, Sym as _};
use object::{Endianness, Error};

/// A function of the program with the name of a runtime function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocalFunction {
    /// `cudaMalloc`.
    pub(crate) name: String,
    /// Address in the running program.
    pub(crate) address: usize,
    /// Size of the code in bytes.
    pub(crate) size: usize,
}

/// Runtime functions in the running program's file; empty if it is stripped or without CUDA.
pub(crate) fn runtime_functions(file: &[u8]) -> Result<Vec<LocalFunction>, Error> {
    let header = FileHeader64::<Endianness>::parse(file)?;
    let endian = header.endian()?;
    let symbols = header.sections(endian, file)?.symbols(endian, file, SHT_SYMTAB)?;
    // SAFETY: getauxval has no precondition.
    let entry = unsafe { libc::getauxval(libc::AT_ENTRY) };
    let bias = entry.wrapping_sub(header.e_entry(endian));
    let mut functions = Vec::new();
    for symbol in symbols.iter() {
        if symbol.st_type() != STT_FUNC || symbol.st_shndx(endian) == SHN_UNDEF {
            continue;
        }
        let name = symbols.symbol_name(endian, symbol)?;
        if !name.starts_with(b"cuda") && !name.starts_with(b"__cuda") {
            continue;
        }
        functions.push(LocalFunction {
            name: String::from_utf8_lossy(name).into_owned(),
            address: symbol.st_value(endian).wrapping_add(bias) as usize,
            size: usize::try_from(symbol.st_size(endian)).unwrap_or(0),
        });
    }
    Ok(functions)
}

//! Host executables and shared libraries: their fat binaries, and their linkage to the CUDA runtime.

use object::elf;
use object::read::elf::{ElfFile64, Sym};
use object::{LittleEndian, Object, ObjectSection};
use serde::Serialize;

use super::error::{ContainerError, Origin};
use super::fatbin::{Container, Containers};
use super::region::Region;

/// Kind of containers in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Whole programs, which need no other containers (`.nv_fatbin`).
    WholePrograms,
    /// Relocatable device code, linked into one program (`__nv_relfatbin`, from `nvcc -rdc=true`).
    Relocatable,
}

impl Section {
    const ALL: [Self; 2] = [Self::WholePrograms, Self::Relocatable];

    fn name(self) -> &'static str {
        match self {
            Self::WholePrograms => ".nv_fatbin",
            Self::Relocatable => "__nv_relfatbin",
        }
    }
}

/// A host ELF file (64-bit, little endian): executable, shared library or object file.
#[derive(Debug)]
pub struct HostFile<'a> {
    file: ElfFile64<'a, LittleEndian>,
    region: Region<'a>,
}

/// An undefined dynamic symbol of the CUDA runtime or driver API.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImportedSymbol {
    /// Name of the function.
    pub name: String,
    /// Version node of the symbol (`libcudart.so.12`).
    pub version: Option<String>,
    /// Soname of the library that must provide the version.
    pub library: Option<String>,
}

/// Linkage of a host file to the CUDA runtime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuntimeLinkage {
    /// The file imports the runtime from a shared library.
    Shared,
    /// The runtime is part of the file, and the symbol table contains `functions` of its API functions.
    Static {
        /// Number of runtime API functions.
        functions: usize,
    },
    /// The file has device code but neither runtime imports nor a symbol table: it is stripped.
    StaticStripped,
    /// The file does not use the runtime.
    None,
}

impl<'a> HostFile<'a> {
    /// Parses the headers of an ELF file.
    pub fn parse(bytes: &'a [u8], origin: Origin) -> Result<Self, ContainerError> {
        Self::from_region(Region::new(bytes, origin))
    }

    pub(super) fn from_region(region: Region<'a>) -> Result<Self, ContainerError> {
        match ElfFile64::parse(region.bytes) {
            Ok(file) => Ok(Self { file, region }),
            Err(error) => Err(ContainerError::Elf { place: region.place(0), reason: error.to_string() }),
        }
    }

    /// Sections of fat binaries, with their containers.
    pub fn sections(&self) -> impl Iterator<Item = (Section, Containers<'a>)> {
        let content =
            |section: Section| Some((section, Containers::in_region(self.section(section.name())?)));
        Section::ALL.into_iter().filter_map(content)
    }

    /// Containers of all sections, in file order within each.
    pub fn containers(&self) -> impl Iterator<Item = Result<Container<'a>, ContainerError>> {
        self.sections().flat_map(|(_, containers)| containers)
    }

    /// Content of section `name`, if it exists.
    fn section(&self, name: &str) -> Option<Result<Region<'a>, ContainerError>> {
        let (offset, size) = self.file.section_by_name(name)?.file_range()?;
        Some(self.region.slice(offset, size, "section of fat binaries"))
    }

    /// Sonames of the libraries that the file loads directly (`DT_NEEDED`), in order.
    pub fn needed_libraries(&self) -> Result<Vec<String>, ContainerError> {
        self.dynamic_strings(&[elf::DT_NEEDED])
    }

    /// Library search folders of the file, separated by colons (`DT_RUNPATH`, `DT_RPATH`).
    pub fn library_paths(&self) -> Result<Vec<String>, ContainerError> {
        self.dynamic_strings(&[elf::DT_RUNPATH, elf::DT_RPATH])
    }

    fn dynamic_strings(&self, tags: &[elf::DynamicTag]) -> Result<Vec<String>, ContainerError> {
        let table = self.file.elf_dynamic_table().map_err(|error| self.damaged(error))?;
        let strings = table.iter().filter(|dynamic| tags.contains(&dynamic.tag));
        strings.map(|dynamic| Ok(text(table.string(dynamic).map_err(|error| self.damaged(error))?))).collect()
    }

    /// Functions of the CUDA runtime and driver API that the file imports, sorted by name.
    pub fn cuda_imports(&self) -> Result<Vec<ImportedSymbol>, ContainerError> {
        let symbols = self.file.elf_dynamic_symbol_table();
        let versions = self
            .file
            .elf_section_table()
            .versions(LittleEndian, self.region.bytes)
            .map_err(|error| self.damaged(error))?;
        let mut imports = Vec::new();
        for (index, symbol) in symbols.enumerate() {
            if symbol.st_shndx(LittleEndian) != elf::SHN_UNDEF {
                continue;
            }
            let name = symbols.symbol_name(LittleEndian, symbol).map_err(|error| self.damaged(error))?;
            if !is_runtime_name(name) && !is_driver_name(name) {
                continue;
            }
            let version = match &versions {
                Some(table) => table
                    .version(table.version_index(LittleEndian, index).index())
                    .map_err(|error| self.damaged(error))?,
                None => None,
            };
            imports.push(ImportedSymbol {
                name: text(name),
                version: version.map(|version| text(version.name())),
                library: version.and_then(|version| version.file()).map(text),
            });
        }
        imports.sort();
        Ok(imports)
    }

    /// Linkage of the file to the CUDA runtime.
    pub fn runtime_linkage(&self) -> Result<RuntimeLinkage, ContainerError> {
        if self.cuda_imports()?.iter().any(|symbol| is_runtime_name(symbol.name.as_bytes())) {
            return Ok(RuntimeLinkage::Shared);
        }
        match self.defined_runtime_functions()? {
            0 if self.is_stripped() && self.has_device_code() => Ok(RuntimeLinkage::StaticStripped),
            0 => Ok(RuntimeLinkage::None),
            functions => Ok(RuntimeLinkage::Static { functions }),
        }
    }

    fn is_stripped(&self) -> bool {
        self.file.elf_symbol_table().is_empty()
    }

    /// True for nonempty containers: nvcc also adds an empty container to programs that use the driver
    /// alone.
    fn has_device_code(&self) -> bool {
        self.containers().any(|found| found.map_or(true, |container| container.entries().next().is_some()))
    }

    /// Number of runtime API functions defined in the file's symbol table.
    fn defined_runtime_functions(&self) -> Result<usize, ContainerError> {
        let symbols = self.file.elf_symbol_table();
        let mut functions = 0;
        for symbol in symbols.iter() {
            let is_function = symbol.st_type() == elf::STT_FUNC;
            if is_function && symbol.st_shndx(LittleEndian) != elf::SHN_UNDEF {
                let name = symbols.symbol_name(LittleEndian, symbol).map_err(|error| self.damaged(error))?;
                functions += usize::from(is_runtime_name(name));
            }
        }
        Ok(functions)
    }

    fn damaged(&self, error: object::Error) -> ContainerError {
        ContainerError::Elf { place: self.region.place(0), reason: error.to_string() }
    }
}

/// True for `cudaMalloc`, `__cudaRegisterFatBinary`; false for `cudnnCreate`.
fn is_runtime_name(name: &[u8]) -> bool {
    let name = name.strip_prefix(b"__").unwrap_or(name);
    name.strip_prefix(b"cuda").is_some_and(starts_upper_case)
}

/// True for `cuInit`; false for `cublasCreate_v2`.
fn is_driver_name(name: &[u8]) -> bool {
    name.strip_prefix(b"cu").is_some_and(starts_upper_case)
}

fn starts_upper_case(rest: &[u8]) -> bool {
    rest.first().is_some_and(u8::is_ascii_uppercase)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

//! Host executables and shared libraries: their fat binaries and how they reach the CUDA runtime.

use object::elf;
use object::read::elf::{ElfFile64, Sym};
use object::{LittleEndian, Object, ObjectSection};
use serde::Serialize;

use super::error::{ContainerError, Origin};
use super::fatbin::{Container, Containers};
use super::region::Region;

/// What the containers of a section are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Whole programs: nothing in one needs another (`.nv_fatbin`).
    WholePrograms,
    /// Relocatable device code, which is linked into one program (`__nv_relfatbin`, of `nvcc -rdc=true`).
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

/// A host ELF file (64 bit, little endian): executable, shared library or object file.
#[derive(Debug)]
pub struct HostFile<'a> {
    file: ElfFile64<'a, LittleEndian>,
    region: Region<'a>,
}

/// An undefined dynamic symbol with a name of the CUDA runtime or driver API.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImportedSymbol {
    /// Name of the function.
    pub name: String,
    /// Version node it is bound to (`libcudart.so.12`).
    pub version: Option<String>,
    /// Soname of the library the version is required from.
    pub library: Option<String>,
}

/// How a host file reaches the CUDA runtime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuntimeLinkage {
    /// It imports the runtime's functions from a shared library.
    Shared,
    /// The runtime is part of the file, and `functions` of its API functions are in the symbol table.
    Static {
        /// Number of functions with a name of the runtime API.
        functions: usize,
    },
    /// It has device code, the runtime is not imported, and there is no symbol table: the file is stripped.
    StaticStripped,
    /// It does not use the runtime.
    None,
}

impl<'a> HostFile<'a> {
    /// Reads the headers of an ELF file.
    pub fn parse(bytes: &'a [u8], origin: Origin) -> Result<Self, ContainerError> {
        Self::from_region(Region::new(bytes, origin))
    }

    pub(super) fn from_region(region: Region<'a>) -> Result<Self, ContainerError> {
        match ElfFile64::parse(region.bytes) {
            Ok(file) => Ok(Self { file, region }),
            Err(error) => Err(ContainerError::Elf { place: region.place(0), reason: error.to_string() }),
        }
    }

    /// The sections that hold fat binaries, with their containers.
    pub fn sections(&self) -> impl Iterator<Item = (Section, Containers<'a>)> {
        let content =
            |section: Section| Some((section, Containers::in_region(self.section(section.name())?)));
        Section::ALL.into_iter().filter_map(content)
    }

    /// The containers of all sections, in file order within each.
    pub fn containers(&self) -> impl Iterator<Item = Result<Container<'a>, ContainerError>> {
        self.sections().flat_map(|(_, containers)| containers)
    }

    /// The content of the section `name`, if the file has one.
    fn section(&self, name: &str) -> Option<Result<Region<'a>, ContainerError>> {
        let (offset, size) = self.file.section_by_name(name)?.file_range()?;
        Some(self.region.slice(offset, size, "section of fat binaries"))
    }

    /// Sonames of the libraries the file loads directly (`DT_NEEDED`), in their order.
    pub fn needed_libraries(&self) -> Result<Vec<String>, ContainerError> {
        self.dynamic_strings(&[elf::DT_NEEDED])
    }

    /// Folders, separated by colons, in which the file asks the loader to look for libraries (`DT_RUNPATH`, `DT_RPATH`).
    pub fn library_paths(&self) -> Result<Vec<String>, ContainerError> {
        self.dynamic_strings(&[elf::DT_RUNPATH, elf::DT_RPATH])
    }

    fn dynamic_strings(&self, tags: &[elf::DynamicTag]) -> Result<Vec<String>, ContainerError> {
        let table = self.file.elf_dynamic_table().map_err(|error| self.damaged(error))?;
        let strings = table.iter().filter(|dynamic| tags.contains(&dynamic.tag));
        strings.map(|dynamic| Ok(text(table.string(dynamic).map_err(|error| self.damaged(error))?))).collect()
    }

    /// The functions of the CUDA runtime and driver API that the file imports, sorted by name.
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

    /// How the file reaches the CUDA runtime.
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

    /// A program that uses the driver alone has a container with nothing in it if nvcc links it.
    fn has_device_code(&self) -> bool {
        self.containers().any(|found| found.map_or(true, |container| container.entries().next().is_some()))
    }

    /// Number of functions defined in the file's symbol table with names of the runtime API.
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

/// `cudaMalloc`, `__cudaRegisterFatBinary`; not `cudnnCreate`.
fn is_runtime_name(name: &[u8]) -> bool {
    let name = name.strip_prefix(b"__").unwrap_or(name);
    name.strip_prefix(b"cuda").is_some_and(starts_upper_case)
}

/// `cuInit`; not `cublasCreate_v2`.
fn is_driver_name(name: &[u8]) -> bool {
    name.strip_prefix(b"cu").is_some_and(starts_upper_case)
}

fn starts_upper_case(rest: &[u8]) -> bool {
    rest.first().is_some_and(u8::is_ascii_uppercase)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

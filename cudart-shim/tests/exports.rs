//! Each front library exports the same soname, names and symbol versions as the original. Every
//! function can be called.

#![allow(clippy::expect_used)]

mod common;

use api_table::Library;
use object::elf::{FileHeader64, SHN_UNDEF};
use object::read::elf::{Dyn as _, FileHeader as _, SectionHeader as _, Sym as _};
use object::{Endianness, elf};
use std::collections::BTreeSet;
use std::path::Path;

type Header = FileHeader64<Endianness>;

/// All defined dynamic symbols as `name@node` or `name`.
fn exported(file: &[u8]) -> BTreeSet<String> {
    let header = Header::parse(file).expect("an ELF file");
    let endian = header.endian().expect("a byte order");
    let sections = header.sections(endian, file).expect("sections");
    let symbols = sections.symbols(endian, file, elf::SHT_DYNSYM).expect("dynamic symbols");
    let versions = sections.versions(endian, file).expect("symbol versions").expect("a version table");
    let mut names = BTreeSet::new();
    for (index, symbol) in symbols.enumerate() {
        let name = symbols.symbol_name(endian, symbol).expect("a name");
        if symbol.st_shndx(endian) == SHN_UNDEF || name.is_empty() {
            continue;
        }
        let version = versions.version(versions.version_index(endian, index).into()).expect("a version");
        let name = String::from_utf8_lossy(name).into_owned();
        names.insert(match version {
            Some(version) => format!("{name}@{}", String::from_utf8_lossy(version.name())),
            None => name,
        });
    }
    names
}

fn soname(file: &[u8]) -> String {
    let header = Header::parse(file).expect("an ELF file");
    let endian = header.endian().expect("a byte order");
    let sections = header.sections(endian, file).expect("sections");
    let (entries, strings) = sections
        .iter()
        .find_map(|section| section.dynamic(endian, file).expect("a dynamic section"))
        .expect("a dynamic section");
    let strings = sections.strings(endian, file, strings).expect("names");
    let entry = entries.iter().find(|entry| entry.tag(endian) == elf::DT_SONAME).expect("a soname");
    String::from_utf8_lossy(entry.string(endian, strings).expect("a name")).into_owned()
}

#[test]
fn front_exports_match_the_api_table() {
    for library in Library::ALL {
        let path = common::libraries().join(library_folder::name_of(library));
        let file = std::fs::read(&path).expect("the front");
        let expected: BTreeSet<String> = api_table::exports(library)
            .expect("the table")
            .iter()
            .map(|function| match library.version_node() {
                Some(node) => format!("{}@{node}", function.name),
                None => function.name.to_owned(),
            })
            .collect();
        assert_eq!(exported(&file), expected, "{}", library.soname());
        assert_eq!(soname(&file), library.soname());
    }
}

#[test]
fn core_exports_only_its_interface() {
    let file = std::fs::read(common::libraries().join(library_folder::CORE)).expect("the core");
    assert_eq!(
        exported(&file),
        BTreeSet::from(
            [
                "InitializeInjectionNvtx2",
                "voltsim_core_bind",
                "voltsim_core_claim",
                "voltsim_core_heap",
                "voltsim_core_narrow",
                "voltsim_core_place_array",
                "voltsim_core_place_variables",
                "voltsim_core_read",
                "voltsim_core_last",
                "voltsim_core_recall",
                "voltsim_core_transfer",
                "voltsim_core_write",
                "voltsim_refused_kernel",
            ]
            .map(str::to_owned)
        )
    );
}

/// Tells whether a function returns a structure. The caller must provide its memory, which is not
/// an argument to be checked.
fn returns_structure(function: &api_table::Function) -> bool {
    api_table::Signature::parse(function.signature)
        .is_some_and(|signature| matches!(signature.result, api_table::Class::Struct(_)))
}

#[test]
fn every_function_returns_from_a_call_with_zeros() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings/zeros.c");
    let program = common::compile(&source).expect("the program compiles");
    for library in Library::ALL {
        let exports = api_table::exports(library).expect("the table");
        let mut command = common::command(&program);
        command.arg(common::libraries().join(library_folder::name_of(library)));
        let names =
            exports.iter().filter(|function| !returns_structure(function)).map(|function| function.name);
        let output = command.args(names).output().expect("it starts");
        assert!(output.status.success(), "{}", output.status);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{}", library.soname());
    }
}

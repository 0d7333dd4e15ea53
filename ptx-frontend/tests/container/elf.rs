//! Host programs, made by hand or compiled by the C compiler that Rust needs for linking.

use std::path::{Path, PathBuf};
use std::process::Command;

use ptx_frontend::container::elf::{HostFile, ImportedSymbol, RuntimeLinkage};
use ptx_frontend::container::{Container, ContainerError, Origin};
use tempfile::TempDir;

use super::builder::{EntryBuilder, container, host_elf};

/// Substitute for the runtime with the functions that the test programs call.
const RUNTIME: &str = "int cudaMalloc(void **p, unsigned long n) { return 0; }
    void *__cudaRegisterFatBinary(void *w) { return w; }";
const PROGRAM: &str = "int cudaMalloc(void **, unsigned long); void *__cudaRegisterFatBinary(void *);
    int main(void) { __cudaRegisterFatBinary(0); return cudaMalloc(0, 1); }";

struct Toolbox {
    folder: TempDir,
}

impl Toolbox {
    /// Creates a folder with a versioned `libcudart.so.12`, for linking with `-L. -lcudart`.
    fn new() -> Self {
        let toolbox = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::write(toolbox.path("versions"), "libcudart.so.12 { global: *; };").unwrap();
        let library = toolbox.compile(
            RUNTIME,
            "libcudart.so",
            &["-shared", "-fPIC", "-Wl,-soname,libcudart.so.12", "-Wl,--version-script=versions"],
        );
        assert!(library.exists());
        toolbox
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn compile(&self, source: &str, output: &str, options: &[&str]) -> PathBuf {
        std::fs::write(self.path("source.c"), source).unwrap();
        let mut command = Command::new("cc");
        command.current_dir(self.folder.path()).args(["-o", output, "source.c"]).args(options);
        let result = command.output().unwrap();
        assert!(result.status.success(), "{command:?}: {}", String::from_utf8_lossy(&result.stderr));
        self.path(output)
    }
}

fn inspect<R>(path: &Path, question: impl FnOnce(&HostFile<'_>) -> Result<R, ContainerError>) -> R {
    let bytes = std::fs::read(path).unwrap();
    let file = HostFile::parse(&bytes, Origin::file(path)).unwrap();
    question(&file).unwrap()
}

/// Returns C source that embeds a fat binary in the program.
fn embedded_fat_binary() -> String {
    let bytes = container(&[EntryBuilder::ptx(75, ".version 7.0")]);
    let list: Vec<_> = bytes.iter().map(u8::to_string).collect();
    format!(
        "__attribute__((section(\".nv_fatbin\"), used, aligned(8))) static const unsigned char fatbin[] = {{{}}};",
        list.join(",")
    )
}

#[test]
fn both_fat_binary_sections_have_file_offsets() {
    let whole = container(&[EntryBuilder::ptx(75, "")]);
    let relocatable = container(&[EntryBuilder::ptx(75, ""), EntryBuilder::ptx(80, "")]);
    let bytes = host_elf(&[(".nv_fatbin", &whole), ("other", &[1, 2, 3]), ("__nv_relfatbin", &relocatable)]);
    let file = HostFile::parse(&bytes, Origin::file("program")).unwrap();
    let containers: Vec<Container<'_>> = file.containers().map(Result::unwrap).collect();
    assert_eq!(containers.iter().map(|found| found.entries().count()).collect::<Vec<_>>(), [1, 2]);
    for container in &containers {
        let begin = container.place().offset as usize;
        assert_eq!(&bytes[begin..begin + container.bytes().len()], container.bytes());
    }
}

#[test]
fn damage_in_one_section_does_not_hide_the_other() {
    let intact = container(&[]);
    let bytes = host_elf(&[(".nv_fatbin", &[0xff; 32]), ("__nv_relfatbin", &intact)]);
    let file = HostFile::parse(&bytes, Origin::file("program")).unwrap();
    assert_eq!(file.containers().map(|found| found.is_ok()).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn host_only_programs_have_no_containers_and_no_runtime() {
    let path = std::env::current_exe().unwrap();
    inspect(&path, |file| {
        assert_eq!(file.containers().count(), 0);
        assert_eq!(file.runtime_linkage()?, RuntimeLinkage::None);
        assert!(file.needed_libraries()?.contains(&"libc.so.6".to_owned()));
        Ok(())
    });
}

#[test]
fn a_shared_runtime_is_found_with_its_versioned_imports() {
    let toolbox = Toolbox::new();
    let program = toolbox.compile(PROGRAM, "program", &["-L.", "-lcudart", "-Wl,-rpath,/somewhere"]);
    inspect(&program, |file| {
        let import = |name: &str| ImportedSymbol {
            name: name.into(),
            version: Some("libcudart.so.12".into()),
            library: Some("libcudart.so.12".into()),
        };
        assert_eq!(file.cuda_imports()?, [import("__cudaRegisterFatBinary"), import("cudaMalloc")]);
        assert_eq!(file.runtime_linkage()?, RuntimeLinkage::Shared);
        assert_eq!(file.needed_libraries()?.first().map(String::as_str), Some("libcudart.so.12"));
        assert_eq!(file.library_paths()?, ["/somewhere"]);
        Ok(())
    });
}

#[test]
fn a_static_runtime_is_found_by_its_local_functions() {
    let toolbox = Toolbox::new();
    let runtime = RUNTIME.replace("int cuda", "static int cuda").replace("void *__", "static void *__");
    let main = "int main(void) { __cudaRegisterFatBinary(0); return cudaMalloc(0, 1); }";
    let source = format!("{runtime} {main} {}", embedded_fat_binary());
    let program = toolbox.compile(&source, "program", &["-O0"]);
    assert_eq!(inspect(&program, |file| file.runtime_linkage()), RuntimeLinkage::Static { functions: 2 });
    let stripped = toolbox.compile(&source, "stripped", &["-O0", "-s"]);
    assert_eq!(inspect(&stripped, |file| file.runtime_linkage()), RuntimeLinkage::StaticStripped);
}

#[test]
fn driver_api_programs_have_no_runtime() {
    let toolbox = Toolbox::new();
    let source = format!("int main(void) {{ return 0; }} {}", embedded_fat_binary());
    let program = toolbox.compile(&source, "program", &[]);
    assert_eq!(inspect(&program, |file| file.runtime_linkage()), RuntimeLinkage::None);
    let empty = container(&[]);
    let stripped = host_elf(&[(".nv_fatbin", &empty)]);
    let file = HostFile::parse(&stripped, Origin::file("program")).unwrap();
    assert_eq!(file.runtime_linkage().unwrap(), RuntimeLinkage::None);
}

#[test]
fn similar_library_names_are_not_the_runtime() {
    let toolbox = Toolbox::new();
    let source = "void cudnnCreate(void) {} void cublasCreate(void) {} void cudaless(void) {} int main(void) { return 0; }";
    let program = toolbox.compile(source, "program", &[]);
    assert_eq!(inspect(&program, |file| file.runtime_linkage()), RuntimeLinkage::None);
}

#[test]
fn an_elf_file_of_another_kind_is_an_error() {
    let mut bytes = host_elf(&[]);
    bytes[4] = 1;
    let error = HostFile::parse(&bytes, Origin::file("program32")).unwrap_err();
    assert!(error.to_string().starts_with("program32 at offset 0x0: ELF: "), "{error}");
}

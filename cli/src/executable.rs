//! Files that a command is about to start: what keeps the system from running one, before it tries.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};

use crate::failure::Failure;

/// Bytes of a file that are looked at: headers, and the path of the loader, stand at the start.
const LOOKED_AT: u64 = 64 << 10;

/// Machines by their numbers in ELF files.
const MACHINES: &[(elf::Machine, &str)] = &[
    (elf::EM_X86_64, "x86-64"),
    (elf::EM_386, "x86 of 32 bits"),
    (elf::EM_AARCH64, "AArch64 (64-bit Arm)"),
    (elf::EM_ARM, "32-bit Arm"),
    (elf::EM_PPC64, "POWER (ppc64)"),
    (elf::EM_PPC, "32-bit PowerPC"),
    (elf::EM_RISCV, "RISC-V"),
    (elf::EM_S390, "IBM Z (s390x)"),
    (elf::EM_MIPS, "MIPS"),
    (elf::EM_LOONGARCH, "LoongArch"),
    (elf::EM_SPARCV9, "SPARC"),
    (elf::EM_IA_64, "Itanium"),
];

/// Beginnings of programs that are no ELF files.
const FOREIGN: &[(&[u8], &str)] = &[
    (b"MZ", "a program for Windows"),
    (&[0xcf, 0xfa, 0xed, 0xfe], "a program for macOS"),
    (&[0xce, 0xfa, 0xed, 0xfe], "a program for macOS"),
    (&[0xca, 0xfe, 0xba, 0xbe], "a program for macOS or a Java class"),
    (b"\0asm", "a WebAssembly module"),
    (b"!<arch>", "an archive of object files"),
    (&[0x50, 0xed, 0x55, 0xba], "a fat binary of device code"),
    (&[0x1f, 0x8b], "a packed file"),
    (b"PK\x03\x04", "a packed file"),
];

/// Endings of source files, and the command that makes something of them that runs.
const SOURCES: &[(&str, &str)] = &[
    ("cu", "compile it: nvcc -cudart shared -o program FILE"),
    ("c", "compile it first"),
    ("cc", "compile it first"),
    ("cpp", "compile it first"),
    ("cxx", "compile it first"),
    ("rs", "compile it first"),
    ("py", "start it with its interpreter: voltsim run -- python3 FILE"),
    ("jl", "start it with its interpreter: voltsim run -- julia FILE"),
    ("ptx", "it is device code: load it from a program, or look at it with voltsim doctor"),
];

/// The machine that this command was built for.
fn own_machine() -> elf::Machine {
    match std::env::consts::ARCH {
        "aarch64" => elf::EM_AARCH64,
        _ => elf::EM_X86_64,
    }
}

/// The name of this machine's architecture.
pub(crate) fn own_machine_name() -> String {
    machine_name(own_machine())
}

fn machine_name(machine: elf::Machine) -> String {
    let known = MACHINES.iter().find(|(known, _)| *known == machine);
    known.map_or_else(|| format!("another machine (number {})", machine.0), |(_, name)| (*name).to_owned())
}

/// The headers of an ELF file.
struct Headers {
    kind: elf::FileType,
    machine: elf::Machine,
    entry: u64,
    is_64_bit: bool,
    /// The loader that the file names.
    loader: Option<PathBuf>,
}

impl Headers {
    fn read(bytes: &[u8]) -> Option<Headers> {
        if !bytes.starts_with(&elf::ELFMAG) {
            return None;
        }
        match bytes.get(4).copied() {
            Some(1) => Headers::of(FileHeader32::<Endianness>::parse(bytes).ok()?, bytes, false),
            _ => Headers::of(FileHeader64::<Endianness>::parse(bytes).ok()?, bytes, true),
        }
    }

    fn of<H: FileHeader<Endian = Endianness>>(header: &H, bytes: &[u8], is_64_bit: bool) -> Option<Headers> {
        let endian = header.endian().ok()?;
        let segments = header.program_headers(endian, bytes).unwrap_or_default();
        let loader = segments.iter().find_map(|segment| segment.interpreter(endian, bytes).ok().flatten());
        Some(Headers {
            kind: header.e_type(endian),
            machine: header.e_machine(endian),
            entry: header.e_entry(endian).into(),
            is_64_bit,
            loader: loader.map(|path| PathBuf::from(OsStr::from_bytes(path))),
        })
    }
}

/// The machine that an ELF file is for, if this machine does not run it.
pub(crate) fn foreign_machine(file: &Path) -> Option<String> {
    let Headers { machine, is_64_bit, .. } = Headers::read(&beginning(file).ok()?)?;
    // Device code is no program of any machine.
    let is_device_code = machine == elf::EM_CUDA;
    let is_other = machine != own_machine() || !is_64_bit;
    (is_other && !is_device_code).then(|| machine_name(machine))
}

fn beginning(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(LOOKED_AT).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Fails, with the reason, if the system cannot start a file. `given` is the program as the user
/// has named it, and `path` the search path that it is going to have.
pub(crate) fn check(file: &Path, given: &OsStr, path: &OsStr) -> Result<(), Failure> {
    let refused = |what: &dyn fmt::Display| Failure::in_file(Path::new(given), what);
    let data = match file.metadata() {
        Ok(data) => data,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(missing(file)),
        Err(error) => return Err(refused(&error).remedy("check the path and its permissions")),
    };
    if data.is_dir() {
        return Err(refused(&"this is a folder, and no program").remedy("name a program in it"));
    }
    if data.permissions().mode() & 0o111 == 0 {
        let remedy = match source_remedy(file) {
            Some(remedy) => remedy,
            None => format!("make it executable: chmod +x {}", file.display()),
        };
        return Err(refused(&"the file is not executable").remedy(remedy));
    }
    let Ok(bytes) = beginning(file) else { return Ok(()) };
    if let Some(headers) = Headers::read(&bytes) {
        return judge(&headers, &refused);
    }
    if let Some(line) = bytes.strip_prefix(b"#!") {
        return judge_script(line, path, &refused);
    }
    if let Some((_, what)) = FOREIGN.iter().find(|(begin, _)| bytes.starts_with(begin)) {
        return Err(refused(&format_args!("this is {what}, and no program of this system")));
    }
    match source_remedy(file) {
        Some(remedy) => Err(refused(&"this is source text, and no program").remedy(remedy)),
        None if bytes.is_empty() => Err(refused(&"the file is empty").remedy("build it again")),
        None if bytes.contains(&0) => Err(refused(&"this is no program of a known form")
            .remedy("build it for Linux on this machine; scripts begin with #! and their interpreter")),
        None => Err(refused(&"this is text that names no interpreter")
            .remedy("begin it with #! and its interpreter, or start that: voltsim run -- sh FILE")),
    }
}

fn source_remedy(file: &Path) -> Option<String> {
    let ending = file.extension()?.to_str()?;
    let (_, remedy) = SOURCES.iter().find(|(known, _)| *known == ending)?;
    Some(remedy.replace("FILE", &file.display().to_string()))
}

/// The first part of a path that is not there.
fn missing(file: &Path) -> Failure {
    let folders: Vec<&Path> =
        file.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()).collect();
    match folders.into_iter().rev().find(|folder| !folder.exists()) {
        Some(folder) => Failure::in_file(file, format_args!("the folder {} is not there", folder.display())),
        None => Failure::in_file(file, "there is no such file"),
    }
    .remedy("check the path; programs on the search path are named without one")
}

fn judge(headers: &Headers, refused: &dyn Fn(&dyn fmt::Display) -> Failure) -> Result<(), Failure> {
    if headers.machine == elf::EM_CUDA {
        return Err(refused(&"this is machine code of a GPU (a cubin), and no program")
            .remedy("name the program that loads it"));
    }
    if headers.machine != own_machine() || !headers.is_64_bit {
        let (machine, own) = (machine_name(headers.machine), machine_name(own_machine()));
        return Err(refused(&format_args!("the program is for {machine}, and this machine is {own}"))
            .remedy(format!("build it for {own}, or name such a build of it")));
    }
    if headers.kind == elf::ET_REL {
        return Err(refused(&"this is an object file, and no program").remedy("link it first"));
    }
    if headers.kind == elf::ET_CORE {
        return Err(refused(&"this is a core dump, and no program"));
    }
    if headers.kind == elf::ET_DYN && headers.loader.is_none() && headers.entry == 0 {
        return Err(
            refused(&"this is a shared library, and no program").remedy("name the program that loads it")
        );
    }
    match headers.loader.as_deref().filter(|loader| !loader.exists()) {
        Some(loader) => {
            let what = format_args!("the program needs the loader {}, which is not there", loader.display());
            Err(refused(&what).remedy("install the C library that it was built with, or build it here"))
        }
        None => Ok(()),
    }
}

/// The interpreter of a script: the rest of its first line.
fn judge_script(
    line: &[u8],
    path: &OsStr,
    refused: &dyn Fn(&dyn fmt::Display) -> Failure,
) -> Result<(), Failure> {
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if line.ends_with(b"\r") {
        return Err(refused(&"the script's lines end with carriage returns (as on Windows)")
            .remedy("convert it: sed -i 's/\\r$//' FILE"));
    }
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let Some(interpreter) = words.next().map(|word| PathBuf::from(OsStr::from_bytes(word))) else {
        return Err(refused(&"the script names no interpreter behind #!"));
    };
    if !interpreter.exists() {
        let what = format_args!("the script's interpreter {} is not there", interpreter.display());
        return Err(refused(&what).remedy("install it, or start the script by one that is there"));
    }
    if interpreter.file_name().is_some_and(|name| name == "env") {
        let options = |word: &&[u8]| word.starts_with(b"-") || word.contains(&b'=');
        let named = words.find(|word| !options(word)).map(|word| Path::new(OsStr::from_bytes(word)));
        let is_found = |named: &Path| {
            named.components().count() > 1
                || std::env::split_paths(path).any(|folder| folder.join(named).is_file())
        };
        if let Some(named) = named.filter(|named| !is_found(named)) {
            let what =
                format_args!("the script's interpreter `{}` is not on the search path", named.display());
            return Err(refused(&what).remedy("install it, or start the script by one that is there"));
        }
    }
    Ok(())
}

/// A program that is not on the search path.
pub(crate) fn not_found(program: &Path) -> Failure {
    let here = Path::new(".").join(program);
    let failure =
        Failure::new(format_args!("`{}`: there is no such program on the search path", program.display()));
    match here.is_file() {
        true => failure.remedy(format!("name the file in this folder: {}", here.display())),
        false => failure.remedy("check its name; a program elsewhere is named by its path"),
    }
}

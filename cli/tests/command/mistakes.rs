//! Mistakes in command lines: each one gets an exit status and a message with place, value and
//! remedy.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{Workplace, ptx};

const TABLE: &str = include_str!("mistakes/table.tsv");

/// Numbers of machines in ELF files.
const MACHINES: [(&str, u16, u8); 3] = [("arm", 183, 2), ("power", 21, 2), ("i386", 3, 1)];

/// The header of an ELF file of a machine, of 64 bits if `class` is 2, with this kind and no segments.
fn elf_header(machine: u16, class: u8, kind: u16) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1, 1]);
    bytes[16..18].copy_from_slice(&kind.to_le_bytes());
    bytes[18..20].copy_from_slice(&machine.to_le_bytes());
    bytes[20] = 1;
    let size = if class == 2 { 52 } else { 40 };
    bytes[size..size + 2].copy_from_slice(&64_u16.to_le_bytes());
    bytes
}

/// An executable file of x86-64 that names a loader.
fn with_loader(loader: &str) -> Vec<u8> {
    let mut bytes = elf_header(62, 2, 3);
    let start = 64 + 56;
    bytes[24] = 1;
    bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
    bytes[54..56].copy_from_slice(&56_u16.to_le_bytes());
    bytes[56..58].copy_from_slice(&1_u16.to_le_bytes());
    let mut segment = vec![0; 56];
    segment[0] = 3;
    segment[8..16].copy_from_slice(&(start as u64).to_le_bytes());
    segment[32..40].copy_from_slice(&(loader.len() as u64 + 1).to_le_bytes());
    bytes.extend(segment);
    bytes.extend(loader.as_bytes());
    bytes.push(0);
    bytes
}

fn executable(place: &Workplace, name: &str, bytes: impl AsRef<[u8]>) {
    place.write(name, bytes);
    std::fs::set_permissions(place.path(name), PermissionsExt::from_mode(0o755)).unwrap();
}

/// A folder with what the table's command lines name.
fn workplace() -> Workplace {
    let place = Workplace::new();
    for folder in ["folder", "full", "raw"] {
        std::fs::create_dir(place.path(folder)).unwrap();
    }
    executable(&place, "good", "#!/bin/sh\necho started\n");
    executable(&place, "empty", "");
    executable(&place, "script", "#!/nowhere/python3\n");
    executable(&place, "env-script", "#!/usr/bin/env -S no-such-python -u\n");
    executable(&place, "no-interpreter", "echo started\n");
    executable(&place, "crlf", "#!/bin/sh\r\necho\r\n");
    executable(&place, "windows.exe", b"MZ\x90\0\x03");
    executable(&place, "program.py", "print('started')\n");
    executable(&place, "object.o", elf_header(62, 2, 1));
    executable(&place, "lib.so", elf_header(62, 2, 3));
    executable(&place, "loader", with_loader("/nowhere/ld.so"));
    executable(&place, "kernel.cubin", elf_header(190, 2, 2));
    for (name, machine, class) in MACHINES {
        executable(&place, name, elf_header(machine, class, 2));
    }
    place.write("notes.txt", "some notes\n");
    place.write("full/file", "");
    place.write("kernel.cu", "__global__ void k() {}\n");
    place.write("broken.toml", "= 1\n");
    place.write("broken.json", "{");
    place.write("card.csv", "kernel_derived,hw_cycles_gpc_max\nk,1\n");
    place.write("raw/kernelslist", "kernel-1.trace\n");
    let (first, second) = (ptx("first", ""), ptx("second", ""));
    place.write("two.ptx", [first.as_str(), &second[second.find(".visible").unwrap()..]].concat());
    place
}

/// The difference between what is said of a line of the table and what is to be said.
fn complaint(place: &Workplace, line: &str) -> Option<String> {
    let mut fields = line.split('\t');
    let (status, arguments) = (fields.next()?, fields.next()?);
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let outcome = place.run(Path::new(env!("CARGO_BIN_EXE_voltsim")), &arguments);
    let said = format!("{}{}", outcome.stdout, outcome.stderr);
    let missing: Vec<&str> = fields.filter(|part| !said.contains(part)).collect();
    let started = said.contains("started");
    let is_right = outcome.status.to_string() == status && missing.is_empty() && !started;
    // An error number of the system says nothing.
    (!is_right || said.contains("os error")).then(|| {
        format!(
            "voltsim {}\n  status {}, without {missing:?}:\n  {}",
            arguments.join(" "),
            outcome.status,
            said.trim()
        )
    })
}

#[test]
fn each_mistake_is_told_with_what_where_and_remedy() {
    let place = workplace();
    let lines = TABLE.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let complaints: Vec<String> = lines.clone().filter_map(|line| complaint(&place, line)).collect();
    assert!(complaints.is_empty(), "{} of {}:\n{}", complaints.len(), lines.count(), complaints.join("\n"));
}

//! Pages of machine code: their contents, their rights, and their end.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::fs;

use executable_memory::{ExecutableError, ExecutableMemory};

/// Rights of the mapping that holds an address, as `/proc/self/maps` writes them.
fn rights(address: usize) -> Option<String> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let bound = |text| usize::from_str_radix(text, 16).ok();
        (bound(start)?..bound(end)?).contains(&address).then(|| rest[..4].to_owned())
    })
}

#[test]
#[cfg(target_arch = "x86_64")]
fn code_returns_its_value() {
    // mov eax, 42; ret
    let code = ExecutableMemory::new(&[0xb8, 42, 0, 0, 0, 0xc3]).unwrap();
    let entry = code.address(0).unwrap();
    // SAFETY: the code follows the C calling convention, and lives until the end of the test.
    let function: extern "C" fn() -> u32 = unsafe { std::mem::transmute(entry) };
    assert_eq!(function(), 42);
}

#[test]
fn pages_are_executable_and_never_writable() {
    let code = ExecutableMemory::new(&[0xc3; 5000]).unwrap();
    let places = [0, 4999].map(|offset| rights(code.address(offset).unwrap().as_ptr() as usize));
    assert!(places.iter().all(|rights| rights.as_deref() == Some("r-xp")), "{places:?}");
}

#[test]
fn addresses_end_with_the_code() {
    let code = ExecutableMemory::new(&[0xc3; 3]).unwrap();
    assert!(code.address(2).is_some() && code.address(3).is_none());
    assert!(ExecutableMemory::new(&[]).unwrap().address(0).is_none());
}

#[test]
fn errors_name_the_remedy() {
    let error = || std::io::Error::from_raw_os_error(libc::EACCES);
    assert!(ExecutableError::Refused { error: error() }.to_string().contains("execmem"));
    assert!(ExecutableError::NoMemory { bytes: 7, error: error() }.to_string().contains("7 bytes"));
}

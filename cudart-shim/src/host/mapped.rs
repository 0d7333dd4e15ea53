//! Readable ranges and mapped files of the process. A header with a wrong length then causes an
//! error instead of a crash.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_void};
use std::io::{BufRead, BufReader};

/// Readable bytes from `address` on; unlimited if the system does not tell.
pub(crate) fn readable_from(address: usize) -> usize {
    let Ok(maps) = std::fs::File::open("/proc/self/maps") else { return usize::MAX - address };
    let mut end = address;
    for line in BufReader::new(maps).lines().map_while(Result::ok) {
        let Some((start, stop)) = readable_range(&line) else { continue };
        if (start..stop).contains(&end) {
            end = stop;
        } else if start > end {
            break;
        }
    }
    end - address
}

/// File of the program or library that contains an address.
pub(crate) fn file_at(address: usize) -> Option<String> {
    let mut information = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr accepts any address and fills the structure when it returns non-zero.
    let found = unsafe { libc::dladdr(address as *const c_void, information.as_mut_ptr()) };
    // SAFETY: zeroed above, and all-zero is a valid value of this structure of pointers.
    let name = unsafe { information.assume_init() }.dli_fname;
    if found == 0 || name.is_null() {
        return None;
    }
    // SAFETY: the loader keeps the name alive while the library is loaded.
    Some(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}

/// Files of the program and libraries that contain the addresses, under the system's names.
pub(crate) fn files_at(addresses: &[usize]) -> BTreeSet<String> {
    let Ok(maps) = std::fs::File::open("/proc/self/maps") else { return BTreeSet::new() };
    let lines = BufReader::new(maps).lines().map_while(Result::ok);
    let files = lines.filter_map(|line| {
        let (start, stop) = readable_range(&line)?;
        addresses.iter().any(|address| (start..stop).contains(address)).then_some(())?;
        path_of(&line)
    });
    files.collect()
}

/// Paths of all files mapped by the process.
pub(crate) fn mapped_files() -> BTreeSet<String> {
    let Ok(maps) = std::fs::File::open("/proc/self/maps") else { return BTreeSet::new() };
    let lines = BufReader::new(maps).lines().map_while(Result::ok);
    lines.filter_map(|line| path_of(&line)).collect()
}

/// File of a line of `/proc/self/maps`, after range, rights, offset, device and inode.
fn path_of(line: &str) -> Option<String> {
    let path = line.splitn(6, ' ').nth(5)?.trim_start();
    path.starts_with('/').then(|| path.to_owned())
}

/// Range of a line of `/proc/self/maps` (proc(5)), if readable.
fn readable_range(line: &str) -> Option<(usize, usize)> {
    let (range, rest) = line.split_once(' ')?;
    let (start, stop) = range.split_once('-')?;
    let bounds = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(stop, 16).ok()?);
    rest.starts_with('r').then_some(bounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffer_is_readable_and_the_first_page_is_not() {
        let buffer = vec![0_u8; 100_000];
        assert!(readable_from(buffer.as_ptr() as usize) >= buffer.len());
        assert_eq!(readable_from(8), 0);
    }

    #[test]
    fn code_has_a_file_and_a_buffer_has_none() {
        let buffer = vec![0_u8; 100_000];
        let program = std::env::current_exe().unwrap().to_string_lossy().into_owned();
        assert_eq!(files_at(&[readable_from as *const () as usize]), BTreeSet::from([program]));
        assert_eq!(files_at(&[buffer.as_ptr() as usize]), BTreeSet::new());
    }

    #[test]
    fn ranges_parse_from_the_systems_lines() {
        assert_eq!(readable_range("1000-2f00 r-xp 00000000 08:01 7  /lib/x"), Some((0x1000, 0x2f00)));
        assert_eq!(readable_range("1000-2f00 ---p 00000000 08:01 7  /lib/x"), None);
    }
}

//! The process's own mappings, as listed in `/proc/self/maps`, for a signal handler: without locks and
//! allocations.

use std::ffi::c_int;
use std::ops::Range;

/// Bytes of a line that hold range and rights: `start-end rwxp`.
const HEAD: usize = 40;

/// A mapping of the process.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) range: Range<u64>,
    /// `PROT_READ`, `PROT_WRITE` and `PROT_EXEC`.
    pub(super) rights: c_int,
}

/// The mapping that holds an address; `None` if no mapping does, or the list cannot be read.
pub(super) fn mapping_at(address: u64) -> Option<Mapping> {
    // SAFETY: the path is a string with its end.
    let list = unsafe { libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if list < 0 {
        return None;
    }
    let mut lines = Lines { head: [0; HEAD], length: 0 };
    let mut buffer = [0_u8; 1024];
    let mut found = None;
    while found.is_none() {
        // SAFETY: the buffer has this many bytes.
        let count = unsafe { libc::read(list, buffer.as_mut_ptr().cast(), buffer.len()) };
        let Some(read) = usize::try_from(count).ok().and_then(|count| buffer.get(..count)) else { break };
        if read.is_empty() {
            break;
        }
        found = read.iter().find_map(|byte| lines.add(*byte).filter(|found| found.range.contains(&address)));
    }
    // SAFETY: the file was opened above and has no other user.
    unsafe { libc::close(list) };
    found
}

/// Heads of the lines read so far.
struct Lines {
    head: [u8; HEAD],
    length: usize,
}

impl Lines {
    /// Adds a byte of the list. Returns the mapping of a line that it ends.
    fn add(&mut self, byte: u8) -> Option<Mapping> {
        if byte == b'\n' {
            let length = std::mem::take(&mut self.length);
            return parse(self.head.get(..length)?);
        }
        if let Some(place) = self.head.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
        None
    }
}

fn parse(line: &[u8]) -> Option<Mapping> {
    let mut parts = line.split(|byte| matches!(byte, b'-' | b' '));
    let start = hexadecimal(parts.next()?)?;
    let end = hexadecimal(parts.next()?)?;
    // The rights themselves may hold dashes.
    let rights = line.split(|byte| *byte == b' ').nth(1)?;
    let flags = [(b'r', libc::PROT_READ), (b'w', libc::PROT_WRITE), (b'x', libc::PROT_EXEC)];
    let given = flags.iter().zip(rights).filter(|((letter, _), found)| letter == *found);
    Some(Mapping { range: start..end, rights: given.fold(0, |rights, ((_, flag), _)| rights | flag) })
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let add = |number: u64, digit: &u8| Some(number << 4 | u64::from(char::from(*digit).to_digit(16)?));
    digits.iter().try_fold(0, add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_any_length_give_range_and_rights() {
        let text = b"1000-3000 rw-p 0 00:00 0 \n7f0000003000-7f0000004000 r-xp 00000000 08:01 123456 /a/long/name/of/a/file\n5000-6000 ---s 0\n";
        let mut lines = Lines { head: [0; HEAD], length: 0 };
        let found: Vec<Mapping> = text.iter().filter_map(|byte| lines.add(*byte)).collect();
        let expected = [
            Mapping { range: 0x1000..0x3000, rights: libc::PROT_READ | libc::PROT_WRITE },
            Mapping { range: 0x7f00_0000_3000..0x7f00_0000_4000, rights: libc::PROT_READ | libc::PROT_EXEC },
            Mapping { range: 0x5000..0x6000, rights: 0 },
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn own_code_is_executable_and_page_zero_unmapped() {
        let code = mapping_at(mapping_at as *const () as u64).map(|mapping| mapping.rights);
        assert_eq!(code, Some(libc::PROT_READ | libc::PROT_EXEC));
        assert_eq!(mapping_at(0x10), None);
    }
}

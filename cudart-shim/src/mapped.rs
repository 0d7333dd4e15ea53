//! What of the process's memory can be read, so that a header that lies about a length is an error and no crash.

use std::io::{BufRead, BufReader};

/// Bytes from `address` on that the process can read. Where the system does not tell, all.
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

/// The range of a line of `/proc/self/maps` (proc(5)), if it can be read.
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
    fn a_buffer_can_be_read_and_the_first_page_cannot() {
        let buffer = vec![0_u8; 100_000];
        assert!(readable_from(buffer.as_ptr() as usize) >= buffer.len());
        assert_eq!(readable_from(8), 0);
    }

    #[test]
    fn ranges_are_read_off_the_lines_of_the_system() {
        assert_eq!(readable_range("1000-2f00 r-xp 00000000 08:01 7  /lib/x"), Some((0x1000, 0x2f00)));
        assert_eq!(readable_range("1000-2f00 ---p 00000000 08:01 7  /lib/x"), None);
    }
}

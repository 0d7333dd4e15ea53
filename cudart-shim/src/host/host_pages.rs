//! The program's access rights to its own memory, as listed in `/proc/self/maps`.

/// Access rights to a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    /// A page is mapped without access.
    Refused,
    /// All pages are readable, some not writable.
    Read,
    /// All pages are readable and writable.
    Written,
}

/// Least access to a range's pages; `None` if a page is unmapped. Without the list everything is
/// allowed.
pub(crate) fn access(address: u64, size: u64) -> Option<Access> {
    match std::fs::read_to_string("/proc/self/maps") {
        Ok(maps) => access_in(&maps, address, size),
        Err(_) => Some(Access::Written),
    }
}

/// Least access according to the list's text, whose lines ascend: `start-end rwxp …`.
fn access_in(maps: &str, address: u64, size: u64) -> Option<Access> {
    let end = address.checked_add(size.max(1))?;
    let (mut next, mut least) = (address, Access::Written);
    for line in maps.lines() {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        let (from, to) = (number(from)?, number(to)?);
        if to <= next {
            continue;
        }
        if from > next {
            return None;
        }
        least = least.min(match rest.as_bytes() {
            [b'r', b'w', ..] => Access::Written,
            [b'r', ..] => Access::Read,
            _ => Access::Refused,
        });
        next = to;
        if next >= end {
            return Some(least);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str =
        "1000-3000 rw-p 0 00:00 0 \n3000-4000 r--p 0 00:00 0 /a file\n5000-6000 ---p 0 00:00 0\n";

    #[test]
    fn the_least_access_of_all_pages_counts() {
        for (address, size, expected) in [
            (0x1000, 0x2000, Some(Access::Written)),
            (0x2fff, 1, Some(Access::Written)),
            (0x2fff, 2, Some(Access::Read)),
            (0x3000, 0x1000, Some(Access::Read)),
            (0x5000, 1, Some(Access::Refused)),
            (0x3fff, 2, None),
            (0xfff, 2, None),
            (0x6000, 1, None),
            (u64::MAX, 2, None),
        ] {
            assert_eq!(access_in(MAPS, address, size), expected, "{address:#x}+{size:#x}");
        }
    }

    #[test]
    fn own_memory_is_writable_and_own_code_is_not() {
        let bytes = vec![0_u8; 10_000];
        assert_eq!(access(bytes.as_ptr() as u64, 10_000), Some(Access::Written));
        assert_eq!(
            access(own_memory_is_writable_and_own_code_is_not as *const () as u64, 1),
            Some(Access::Read)
        );
        assert_eq!(access(0x1000, 1), None);
    }
}

//! Overwrites the starts of functions with jumps.
//!
//! A runtime function may be as short as one jump. Each function gets a 5-byte jump with a reach of
//! 2 GiB, to a long jump in a page mapped near the program.

use std::ffi::c_void;
use std::io;

use crate::symbols::LocalFunction;

/// `jmp rel32`.
const SHORT_JUMP: u8 = 0xe9;
const SHORT_SIZE: usize = 5;
/// `jmp *0(%rip)`, then the address it jumps to.
const LONG_JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
const LONG_SIZE: usize = 16;
/// Distance in bytes below the program of the first attempted mapping, and between attempts.
const STEP: usize = 1 << 24;
const STEPS: usize = 100;

fn long_jump(target: *const c_void) -> [u8; LONG_SIZE] {
    let mut code = [0; LONG_SIZE];
    code[..6].copy_from_slice(&LONG_JUMP);
    code[6..14].copy_from_slice(&(target as usize).to_le_bytes());
    code
}

/// The jump from `from` to `to`; `None` beyond its reach.
fn short_jump(from: usize, to: usize) -> Option<[u8; SHORT_SIZE]> {
    let distance = (to as i64).checked_sub(from as i64)?.checked_sub(SHORT_SIZE as i64)?;
    let [a, b, c, d] = i32::try_from(distance).ok()?.to_le_bytes();
    Some([SHORT_JUMP, a, b, c, d])
}

/// Makes each function jump to its target. Functions shorter than a jump do nothing and stay.
pub(crate) fn patch<'a>(jumps: impl Iterator<Item = (&'a LocalFunction, *const c_void)>) -> io::Result<()> {
    let jumps: Vec<_> = jumps.filter(|(function, _)| function.size >= SHORT_SIZE).collect();
    let Some(first) = jumps.iter().map(|(function, _)| function.address).min() else { return Ok(()) };
    let last = jumps.iter().map(|(function, _)| function.address + SHORT_SIZE).max().unwrap_or(first);
    let executable = libc::PROT_READ | libc::PROT_EXEC;
    let long_jumps = map_near(first, jumps.len() * LONG_SIZE)?;
    protect(first, last, executable | libc::PROT_WRITE)?;
    for (index, (function, target)) in jumps.iter().enumerate() {
        let place = long_jumps + index * LONG_SIZE;
        let Some(jump) = short_jump(function.address, place) else {
            eprintln!("voltsim: {} is out of jump range; the program's own copy stays", function.name);
            continue;
        };
        let long = long_jump(*target);
        // SAFETY: `place` lies in the mapping made for as many long jumps. The function's own code
        // has at least the length of the short jump and is writable since the call above. No other
        // thread exists yet, and this code is not among what is overwritten.
        unsafe {
            std::ptr::copy_nonoverlapping(long.as_ptr(), place as *mut u8, long.len());
            std::ptr::copy_nonoverlapping(jump.as_ptr(), function.address as *mut u8, jump.len());
        }
    }
    protect(long_jumps, long_jumps + jumps.len() * LONG_SIZE, executable)?;
    protect(first, last, executable)
}

/// Maps writable memory in reach of short jumps, below the program.
fn map_near(program: usize, size: usize) -> io::Result<usize> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    for step in 1..=STEPS {
        let hint = program.saturating_sub(step * STEP) & !0xfff;
        // SAFETY: a new mapping; the hint is only a wish.
        let mapped = unsafe { libc::mmap(hint as *mut c_void, size, protection, flags, -1, 0) };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        if short_jump(program, mapped as usize).is_some() {
            return Ok(mapped as usize);
        }
        // SAFETY: the mapping made above.
        unsafe { libc::munmap(mapped, size) };
    }
    Err(io::Error::new(io::ErrorKind::AddrNotAvailable, "no room near the program"))
}

/// Changes the protection of the pages from `start` to `end`.
fn protect(start: usize, end: usize, protection: libc::c_int) -> io::Result<()> {
    // SAFETY: sysconf has no precondition.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    let first = start / page * page;
    // SAFETY: pages of the program's code or of the mapping above; making code writable for a
    // moment takes nothing from it.
    match unsafe { libc::mprotect(first as *mut c_void, end - first, protection) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_jump_is_indirect_through_the_next_address() {
        let code = long_jump(0x1122_3344_5566_7788_usize as *const c_void);
        assert_eq!(code[..14], [0xff, 0x25, 0, 0, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]);
    }

    #[test]
    fn short_jump_is_relative_and_reaches_two_gigabytes() {
        assert_eq!(short_jump(0x1000, 0x2000), Some([0xe9, 0xfb, 0x0f, 0, 0]));
        assert_eq!(short_jump(0x2000, 0x1000), Some([0xe9, 0xfb, 0xef, 0xff, 0xff]));
        assert_eq!(short_jump(0x1000, 0x1_0000_0000), None);
    }
}

//! The log of an instrumented kernel, as it lies in global memory.
//!
//! The module has a variable [`VARIABLE`] that the host fills before the launch: address of the log, first thread, how
//! many threads, first write of each that is kept, and how many are ([`Window`]). A thread's part of the log is the number
//! of its writes (8 bytes), 8 bytes unused, and its entries: number of the write (4 bytes), 4 bytes unused, the register's
//! bits (8 bytes). One part more, without entries, takes the numbers of the threads outside of the window.

/// Name of the variable.
pub const VARIABLE: &str = "voltsim_log";

/// Bytes of the variable.
pub const VARIABLE_BYTES: usize = 40;

/// Bytes of an entry, and of what stands before a thread's entries.
const ENTRY: u64 = 16;

/// The part of an execution that a log holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First thread of the grid, counted CTA by CTA, x before y before z.
    pub first_thread: u64,
    /// Threads from there.
    pub threads: u64,
    /// First write of each thread, counted from 0.
    pub first: u32,
    /// Writes from there.
    pub capacity: u32,
}

/// What a log says of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadLog {
    /// How many writes the thread has executed.
    pub count: u64,
    /// (number of the write, bits), in the order of execution, as far as they lie in the window.
    pub entries: Vec<(u32, u64)>,
}

impl Window {
    /// Bytes of a thread's part.
    fn stride(&self) -> u64 {
        u64::from(self.capacity).saturating_add(1).saturating_mul(ENTRY)
    }

    /// Bytes of the log.
    pub fn bytes(&self) -> u64 {
        self.threads.saturating_mul(self.stride()).saturating_add(ENTRY)
    }

    /// Contents of the variable for a log at this address.
    pub fn variable(&self, address: u64) -> [u8; VARIABLE_BYTES] {
        let fields = [address, self.first_thread, self.threads, self.first.into(), self.capacity.into()];
        let mut bytes = [0; VARIABLE_BYTES];
        for (place, field) in bytes.chunks_exact_mut(8).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    /// Reads a thread's part (counted from the window's first thread) of a log.
    pub fn thread(&self, log: &[u8], thread: u64) -> Option<ThreadLog> {
        let start = usize::try_from(thread.checked_mul(self.stride())?).ok()?;
        let part = log.get(start..)?.get(..usize::try_from(self.stride()).ok()?)?;
        let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let count = word(part) & 0xffff_ffff;
        let kept = count.saturating_sub(self.first.into()).min(self.capacity.into());
        let entries = part.chunks_exact(ENTRY as usize).skip(1).take(kept as usize);
        let entries = entries.map(|entry| (word(entry) as u32, word(entry.get(8..).unwrap_or_default())));
        Some(ThreadLog { count, entries: entries.collect() })
    }
}

/// Declaration of the variable.
pub(super) fn declaration() -> String {
    format!(".visible .global .align 8 .b64 {VARIABLE}[{}];", VARIABLE_BYTES / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threads_part_holds_the_writes_of_the_window() {
        let window = Window { first_thread: 0, threads: 2, first: 10, capacity: 2 };
        let mut log = vec![0; window.bytes() as usize];
        assert_eq!(log.len(), 2 * 48 + 16);
        log[48] = 11;
        log[64] = 7;
        log[72] = 99;
        let part = window.thread(&log, 1).unwrap();
        assert_eq!(part, ThreadLog { count: 11, entries: vec![(7, 99)] });
        assert_eq!(window.thread(&log, 0).unwrap(), ThreadLog { count: 0, entries: Vec::new() });
    }

    #[test]
    fn a_log_that_is_too_short_has_no_such_thread() {
        let window = Window { first_thread: 0, threads: 2, first: 0, capacity: 2 };
        assert_eq!(window.thread(&[0; 48], 1), None);
    }
}

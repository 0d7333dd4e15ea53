//! Log of an instrumented kernel in global memory.
//!
//! The host fills the module's variable [`VARIABLE`] before the launch. The fields are the address of the
//! log, first thread, number of threads, first recorded write of each thread, and number of writes
//! ([`Window`]). A thread's part consists of the number of its writes (8 bytes), 8 unused bytes, and
//! entries. An entry consists of the number of the write (4 bytes), 4 unused bytes, and register bits (8
//! bytes). A last part without entries takes the counts of threads outside of the window.

/// Name of the variable.
pub const VARIABLE: &str = "voltsim_log";

/// Bytes of the variable.
pub const VARIABLE_BYTES: usize = 40;

/// Bytes of an entry, and of a part's header.
const ENTRY: u64 = 16;

/// Part of an execution that a log records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First thread of the grid, counted CTA by CTA, x fastest.
    pub first_thread: u64,
    /// Number of threads.
    pub threads: u64,
    /// First write of each thread, from 0.
    pub first: u32,
    /// Number of writes.
    pub capacity: u32,
}

/// Logged data of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadLog {
    /// Number of writes executed by the thread.
    pub count: u64,
    /// (Number of the write, bits) in execution order, within the window.
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

    /// Content of the variable for a log at this address.
    pub fn variable(&self, address: u64) -> [u8; VARIABLE_BYTES] {
        let fields = [address, self.first_thread, self.threads, self.first.into(), self.capacity.into()];
        let mut bytes = [0; VARIABLE_BYTES];
        for (place, field) in bytes.chunks_exact_mut(8).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    /// Reads the part of thread `thread`, counted from the window's first thread.
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
    fn thread_logs_hold_the_writes_of_the_window() {
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
    fn short_logs_lack_threads() {
        let window = Window { first_thread: 0, threads: 2, first: 0, capacity: 2 };
        assert_eq!(window.thread(&[0; 48], 1), None);
    }
}

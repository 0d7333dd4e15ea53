//! Machine code in memory of its own. A page is writable first and executable afterwards, never both.

use std::ffi::c_void;
use std::io;
use std::ptr::{self, NonNull};

/// Reason for which the host gave no executable memory.
#[derive(Debug, thiserror::Error)]
pub enum ExecutableError {
    /// The host has no memory for the code.
    #[error(
        "no memory for {bytes} bytes of machine code: {error}; lower the size of the code or free memory"
    )]
    NoMemory {
        /// Bytes of the code.
        bytes: usize,
        /// Error of `mmap`.
        error: io::Error,
    },
    /// The host refuses to execute memory that a process has written.
    #[error(
        "the host refuses executable memory: {error}; allow it (SELinux `execmem`, systemd \
         `MemoryDenyWriteExecute`), or use the tier `interpreter`"
    )]
    Refused {
        /// Error of `mprotect`.
        error: io::Error,
    },
}

/// Machine code that the host can execute. The memory is freed with the value.
#[derive(Debug)]
pub struct ExecutableMemory {
    start: NonNull<u8>,
    /// Bytes of the mapping: whole pages.
    mapped: usize,
    /// Bytes of the code.
    bytes: usize,
}

// SAFETY: the value owns its mapping, which nothing writes any more.
unsafe impl Send for ExecutableMemory {}
// SAFETY: as above; shared access only reads or executes.
unsafe impl Sync for ExecutableMemory {}

impl ExecutableMemory {
    /// Copies `code` to new pages and makes these executable and read-only.
    ///
    /// # Errors
    /// The host has no memory, or refuses to execute written memory.
    pub fn new(code: &[u8]) -> Result<ExecutableMemory, ExecutableError> {
        let pages = Pages::map(code.len().max(1))?;
        // SAFETY: the mapping is fresh, writable and at least as long as the code.
        unsafe { ptr::copy_nonoverlapping(code.as_ptr(), pages.start.as_ptr(), code.len()) };
        // SAFETY: the range is the whole mapping, to which no reference exists.
        let refused =
            unsafe { libc::mprotect(pages.address(), pages.mapped, libc::PROT_READ | libc::PROT_EXEC) };
        if refused != 0 {
            return Err(ExecutableError::Refused { error: io::Error::last_os_error() });
        }
        let (start, mapped) = pages.keep();
        Ok(ExecutableMemory { start, mapped, bytes: code.len() })
    }

    /// Address of the byte at `offset`; `None` beyond the code.
    #[must_use]
    pub fn address(&self, offset: usize) -> Option<NonNull<u8>> {
        // SAFETY: the offset lies inside the mapping.
        (offset < self.bytes).then(|| unsafe { self.start.add(offset) })
    }

    /// Bytes of the code.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// True without any code.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

impl Drop for ExecutableMemory {
    fn drop(&mut self) {
        drop(Pages { start: self.start, mapped: self.mapped });
    }
}

/// An anonymous mapping, which ends with the value.
struct Pages {
    start: NonNull<u8>,
    mapped: usize,
}

impl Pages {
    /// Maps writable pages for `bytes` bytes.
    fn map(bytes: usize) -> Result<Pages, ExecutableError> {
        // SAFETY: a new anonymous mapping at an address that the kernel chooses.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        match NonNull::new(start.cast::<u8>()) {
            Some(found) if start != libc::MAP_FAILED => Ok(Pages { start: found, mapped: bytes }),
            _ => Err(ExecutableError::NoMemory { bytes, error: io::Error::last_os_error() }),
        }
    }

    fn address(&self) -> *mut c_void {
        self.start.as_ptr().cast()
    }

    /// Gives the mapping up without ending it.
    fn keep(self) -> (NonNull<u8>, usize) {
        let kept = (self.start, self.mapped);
        std::mem::forget(self);
        kept
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value alone.
        unsafe { libc::munmap(self.address(), self.mapped) };
    }
}

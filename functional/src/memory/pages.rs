//! Memory without an address, as `cuMemCreate` makes it and processes share it.
//!
//! The pages belong to an anonymous file (memfd_create(2)). They can be mapped at several addresses and in
//! several processes, and are freed by the last user.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Mappable host pages.
#[derive(Debug)]
pub struct Pages {
    file: File,
    size: u64,
    charged: Option<Arc<AtomicU64>>,
    of_host: bool,
}

/// Identity of a file on the host: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileIdentity {
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
}

impl Pages {
    /// Creates zeroed host pages; `size` is a whole number of pages.
    pub fn anonymous(size: u64) -> io::Result<Pages> {
        // SAFETY: the name is a C string, and the result is checked.
        let descriptor = unsafe { libc::memfd_create(c"voltsim-memory".as_ptr(), libc::MFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a fresh descriptor without another owner.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(descriptor) });
        file.set_len(size)?;
        Ok(Pages { file, size, charged: None, of_host: false })
    }

    /// Counts the pages in `used` as long as they live.
    pub(super) fn charged_to(mut self, used: Arc<AtomicU64>) -> Pages {
        used.fetch_add(self.size, Ordering::Relaxed);
        self.charged = Some(used);
        self
    }

    /// Marks the pages as accessible to the program's host code.
    pub(super) fn of_host(mut self) -> Pages {
        self.of_host = true;
        self
    }

    /// Takes over pages of another process, or of another part of this one.
    pub fn from_descriptor(descriptor: OwnedFd) -> io::Result<Pages> {
        let file = File::from(descriptor);
        let size = file.metadata()?.len();
        Ok(Pages { file, size, charged: None, of_host: false })
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// True if the program's host code can access the pages.
    pub(super) fn is_of_host(&self) -> bool {
        self.of_host
    }

    /// File of the pages.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Fills the pages from their start.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, 0)
    }

    /// Identity of the file.
    pub fn identity(&self) -> io::Result<FileIdentity> {
        let data = self.file.metadata()?;
        Ok(FileIdentity { device: data.dev(), inode: data.ino() })
    }

    /// Maps `length` bytes of the pages from `offset` on at an address.
    ///
    /// # Safety
    /// Nothing lives in the `length` bytes at `address`, or it has been copied.
    pub(super) unsafe fn show_at(&self, address: u64, offset: u64, length: u64) -> io::Result<()> {
        let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
        // SAFETY: guaranteed by the caller; the kernel checks file and offset.
        let at = unsafe {
            libc::mmap(
                address as *mut _,
                length as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_NORESERVE,
                self.file.as_raw_fd(),
                offset,
            )
        };
        if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if let Some(used) = &self.charged {
            used.fetch_sub(self.size, Ordering::Relaxed);
        }
    }
}

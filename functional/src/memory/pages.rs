//! Memory of its own, without an address: what `cuMemCreate` makes, and what processes share.
//!
//! The pages belong to an anonymous file (memfd_create(2)), so that they can be mapped at several addresses and in several
//! processes, and go when the last of these has let go.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Pages of the host that can be mapped.
#[derive(Debug)]
pub struct Pages {
    file: File,
    size: u64,
    charged: Option<Arc<AtomicU64>>,
    of_host: bool,
}

/// What tells a file from all others of the host: the device it lies on and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileIdentity {
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
}

impl Pages {
    /// New pages of the host's memory, zero; the size is a whole number of pages.
    pub fn anonymous(size: u64) -> io::Result<Pages> {
        // SAFETY: the name is a C string, and the result is checked.
        let descriptor = unsafe { libc::memfd_create(c"voltsim-memory".as_ptr(), libc::MFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor just made, which nobody else owns.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(descriptor) });
        file.set_len(size)?;
        Ok(Pages { file, size, charged: None, of_host: false })
    }

    /// The pages are counted in `used` as long as they live.
    pub(super) fn charged_to(mut self, used: Arc<AtomicU64>) -> Pages {
        used.fetch_add(self.size, Ordering::Relaxed);
        self.charged = Some(used);
        self
    }

    /// The program's own code reaches them too.
    pub(super) fn of_host(mut self) -> Pages {
        self.of_host = true;
        self
    }

    /// Pages that another process, or another part of this one, has made. The caller hands the descriptor over.
    pub fn from_descriptor(descriptor: OwnedFd) -> io::Result<Pages> {
        let file = File::from(descriptor);
        let size = file.metadata()?.len();
        Ok(Pages { file, size, charged: None, of_host: false })
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether they were made for the program's own code too.
    pub(super) fn is_of_host(&self) -> bool {
        self.of_host
    }

    /// The file behind the pages.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Fills the pages from their start.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, 0)
    }

    /// Which file that is.
    pub fn identity(&self) -> io::Result<FileIdentity> {
        let data = self.file.metadata()?;
        Ok(FileIdentity { device: data.dev(), inode: data.ino() })
    }

    /// Shows the pages from `offset` on at an address.
    ///
    /// # Safety
    /// Nothing else lies in the `length` bytes at `address`, or it has been copied.
    pub(super) unsafe fn show_at(&self, address: u64, offset: u64, length: u64) -> io::Result<()> {
        let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
        // SAFETY: as the caller promises; the kernel checks the file and the offset.
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

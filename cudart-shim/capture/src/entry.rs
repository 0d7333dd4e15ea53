//! Device operations in kernel streams.

use serde::{Deserialize, Serialize};
use timing::gpu::Transfer;
use voltsim_checkpoint::contents::Content;

/// A device operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// A launch.
    Launch {
        /// Launch number in the program, from 1.
        number: u64,
        /// Mangled name of the kernel.
        kernel: String,
        /// Manifest without files: a [`Launch`](crate::Launch) as text.
        manifest: String,
        /// The PTX texts.
        modules: Vec<Content>,
        /// Memory of each buffer before the launch.
        buffers: Vec<Content>,
        /// Earlier accesses that caches may hold: an encoded [`Past`](warp_stream::Past); empty if
        /// unknown.
        past: Content,
        /// Allocated memory: an encoded [`Accessible`](crate::Accessible); empty if unknown.
        accessible: Content,
    },
    /// A copy between host and device.
    Copy {
        /// True for a copy to the device.
        to_device: bool,
        /// Device address of the first byte.
        address: u64,
        /// Bytes.
        bytes: u64,
    },
    /// A device copy or fill.
    Transfer(Transfer),
}

/// An operation in streams of versions 2 and 3, which lack the allocated memory.
#[derive(Serialize, Deserialize)]
pub(crate) enum EntryOf3 {
    Launch {
        number: u64,
        kernel: String,
        manifest: String,
        modules: Vec<Content>,
        buffers: Vec<Content>,
        past: Content,
    },
    Copy {
        to_device: bool,
        address: u64,
        bytes: u64,
    },
    Transfer(Transfer),
}

impl From<EntryOf3> for Entry {
    fn from(entry: EntryOf3) -> Entry {
        match entry {
            EntryOf3::Launch { number, kernel, manifest, modules, buffers, past } => {
                let accessible = Content::default();
                Entry::Launch { number, kernel, manifest, modules, buffers, past, accessible }
            }
            EntryOf3::Copy { to_device, address, bytes } => Entry::Copy { to_device, address, bytes },
            EntryOf3::Transfer(transfer) => Entry::Transfer(transfer),
        }
    }
}

//! What a device did, as kernel streams have it.

use serde::{Deserialize, Serialize};
use timing::gpu::Transfer;
use voltsim_checkpoint::contents::Content;

/// What the device did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// A launch.
    Launch {
        /// Its number in the program, from 1.
        number: u64,
        /// The kernel's name in the PTX.
        kernel: String,
        /// Its manifest, without files: a [`Launch`](crate::Launch) as text.
        manifest: String,
        /// The PTX texts.
        modules: Vec<Content>,
        /// The memory of each buffer before it.
        buffers: Vec<Content>,
        /// What came before it, as far as caches may have traces: an encoded [`Past`](warp_stream::Past). Nothing if unknown.
        past: Content,
        /// What was allocated: an encoded [`Accessible`](crate::Accessible). Nothing if unknown.
        accessible: Content,
    },
    /// A copy between host and device.
    Copy {
        /// To the device.
        to_device: bool,
        /// Device address of the first byte.
        address: u64,
        /// Bytes.
        bytes: u64,
    },
    /// A copy within the device, or a fill.
    Transfer(Transfer),
}

/// The same in streams of versions 2 and 3, which do not tell what was allocated.
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

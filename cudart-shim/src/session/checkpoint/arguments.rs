//! Digest of a launch's arguments, which must be equal in every run of the program.
//!
//! The digest covers the parameter bytes that the kernel reads. If the code does not tell which
//! bytes it reads, because the kernel indexes its parameters, the program may have left some unset.
//! For such a launch the digest covers the bytes read at run time, provided the saved run executed
//! it from beginning to end. Otherwise it covers all bytes.

use super::place;
use crate::session::state::Session;
use crate::work::kernel_launch::KernelLaunch;
use functional::parameters::ParameterReads;
use ptx_frontend::analyse::ParametersRead;
use saved_run::{Address, Arguments, Digest};
use std::ops::Range;
use std::slice;
use std::sync::Arc;

/// Digest of the bytes that the code reads.
pub(super) fn of(session: &'static Session, launch: &KernelLaunch) -> Arguments {
    let block = launch.parameters();
    let digest = match launch.parameters_read() {
        ParametersRead::Known(read) => digest(session, block, read),
        ParametersRead::Indexed(_) | ParametersRead::Any => {
            digest(session, block, slice::from_ref(&(0..block.len() as u64)))
        }
    };
    Arguments { read: None, digest }
}

/// Digest of the bytes that the launch read.
pub(super) fn over(session: &'static Session, launch: &KernelLaunch, read: Vec<Range<u64>>) -> Arguments {
    Arguments { digest: digest(session, launch.parameters(), &read), read: Some(read) }
}

/// Recorder for the parameter bytes read at run time, starting with those known from the code.
/// `None` if the code tells all of them.
pub(super) fn reads(launch: &KernelLaunch) -> Option<Arc<ParameterReads>> {
    let ParametersRead::Indexed(known) = launch.parameters_read() else { return None };
    let reads = ParameterReads::of(launch.parameters().len());
    known.iter().for_each(|range| reads.note(range.clone()));
    Some(Arc::new(reads))
}

/// Digest of some bytes of a parameter block. All addresses of unregistered host memory count as
/// equal, because stack addresses differ between runs. An address in registered memory counts as
/// registration and offset.
fn digest(session: &'static Session, block: &[u8], read: &[Range<u64>]) -> Digest {
    let mut bytes = vec![0; block.len()];
    for range in read {
        let range = range.start as usize..(range.end as usize).min(block.len());
        if let (Some(to), Some(from)) = (bytes.get_mut(range.clone()), block.get(range)) {
            to.copy_from_slice(from);
        }
    }
    let mut registered = Vec::new();
    for (index, word) in (0_u64..).zip(bytes.as_chunks_mut::<8>().0) {
        let address = u64::from_le_bytes(*word);
        if let Address::Registered { device, number, offset } = place::of(session, address) {
            registered.extend([index, device, number, offset].map(u64::to_le_bytes));
            *word = [0xfe; 8];
        } else if is_own_memory(session, address) {
            *word = [0xff; 8];
        }
    }
    bytes.extend(registered.concat());
    Digest::of(&bytes)
}

/// Tells whether an address is in host memory that no device can access.
fn is_own_memory(session: &'static Session, address: u64) -> bool {
    /// Host page size in bytes.
    const PAGE: u64 = 4096;
    // Small numbers are not addresses: the system leaves the first pages unmapped.
    if address < 1 << 16
        || session.owner_of(address).is_some()
        || session.started().any(|it| it.device.memory.owns(address))
    {
        return false;
    }
    let page = (address & !(PAGE - 1)) as *mut libc::c_void;
    // SAFETY: with this flag the call changes nothing, and fails for unmapped memory.
    unsafe { libc::msync(page, 1, libc::MS_ASYNC) == 0 }
}

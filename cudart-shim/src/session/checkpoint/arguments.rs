//! What of a launch's arguments is the same in each run of the program: what the kernel reads of them.
//!
//! Where the kernel's code tells which bytes it loads, these count. A kernel that indexes its parameters may load any, of which a
//! program may have written only some: of such a launch those count that it has loaded, if it was executed from its beginning
//! to its end in the run that is saved. Else all count.

use super::place;
use crate::session::launch::KernelLaunch;
use crate::session::simulator::{owner_of, started};
use functional::parameters::ParameterReads;
use ptx_frontend::analyse::ParametersRead;
use saved_run::{Address, Arguments, Digest};
use std::ops::Range;
use std::slice;
use std::sync::Arc;

/// By what the kernel's code tells.
pub(super) fn of(launch: &KernelLaunch) -> Arguments {
    let block = launch.parameters();
    let digest = match launch.parameters_read() {
        ParametersRead::Known(read) => digest(block, read),
        ParametersRead::Indexed(_) | ParametersRead::Any => {
            digest(block, slice::from_ref(&(0..block.len() as u64)))
        }
    };
    Arguments { read: None, digest }
}

/// By what a launch has read.
pub(super) fn over(launch: &KernelLaunch, read: Vec<Range<u64>>) -> Arguments {
    Arguments { digest: digest(launch.parameters(), &read), read: Some(read) }
}

/// Where a launch is to note what it reads of its parameters, if the code does not tell; it has what the code tells.
pub(super) fn reads(launch: &KernelLaunch) -> Option<Arc<ParameterReads>> {
    let ParametersRead::Indexed(known) = launch.parameters_read() else { return None };
    let reads = ParameterReads::of(launch.parameters().len());
    known.iter().for_each(|range| reads.note(range.clone()));
    Some(Arc::new(reads))
}

/// Of some bytes of a parameter block. Addresses of the program's own memory, which the device cannot reach, count as one and the
/// same: they lie on stacks and are another in each run. Those of what it has registered count as which registration it is.
fn digest(block: &[u8], read: &[Range<u64>]) -> Digest {
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
        if let Address::Registered { device, number, offset } = place::of(address) {
            registered.extend([index, device, number, offset].map(u64::to_le_bytes));
            *word = [0xfe; 8];
        } else if is_own_memory(address) {
            *word = [0xff; 8];
        }
    }
    bytes.extend(registered.concat());
    Digest::of(&bytes)
}

/// Whether there is memory of the program's own at an address, which no device can reach.
fn is_own_memory(address: u64) -> bool {
    /// Bytes of a page of the host.
    const PAGE: u64 = 4096;
    // Small numbers are none: the system keeps the first pages empty.
    if address < 1 << 16 || owner_of(address).is_some() || started().any(|it| it.device.memory.owns(address))
    {
        return false;
    }
    let page = (address & !(PAGE - 1)) as *mut libc::c_void;
    // SAFETY: with this flag the call changes nothing; it fails where no memory is.
    unsafe { libc::msync(page, 1, libc::MS_ASYNC) == 0 }
}

//! Choosing the code to run from a container's entries.

use std::collections::{BTreeMap, BTreeSet};

use super::cubin;
use super::entry::{Architecture, Entry, EntryKind, Portability};
use super::error::ContainerError;

/// The PTX entry for a device of compute capability `device` (ten times: 70 for 7.0): the highest architecture not
/// above the device, else the lowest above it. Code above the device is chosen when there is nothing else, because it
/// may well run: an instruction that is not there is reported when its kernel is launched.
///
/// Code for one architecture only (`sm_90a`) counts as not above the device on exactly that device and is then preferred
/// to portable code of the same capability; elsewhere it comes after portable code.
pub fn choose_ptx<'e, 'a>(entries: &'e [Entry<'a>], device: u32) -> Option<&'e Entry<'a>> {
    entries.iter().filter(|entry| entry.kind == EntryKind::Ptx).min_by_key(|entry| {
        let Architecture { capability, portability } = entry.architecture;
        let distance = capability.abs_diff(device);
        let specific = portability as i8;
        if meant_for(entry.architecture, device) {
            (0, distance, -specific)
        } else if capability > device {
            (1, distance, specific)
        } else {
            (2, distance, specific)
        }
    })
}

/// Device code made for `architecture` runs on a device of capability `device` according to the PTX manual, section
/// "PTX Module Directives: .target".
pub fn meant_for(architecture: Architecture, device: u32) -> bool {
    let Architecture { capability, portability } = architecture;
    match portability {
        Portability::Portable => capability <= device,
        Portability::Family => capability <= device && capability / 10 == device / 10,
        Portability::Exact => capability == device,
    }
}

/// Machine code in `entries`: the architectures each kernel exists for. A launch of a kernel that is in no PTX entry
/// fails with these.
pub fn sass_kernels(
    entries: &[Entry<'_>],
) -> Result<BTreeMap<String, BTreeSet<Architecture>>, ContainerError> {
    let mut kernels = BTreeMap::<String, BTreeSet<Architecture>>::new();
    for entry in entries.iter().filter(|entry| entry.kind == EntryKind::Elf) {
        for name in entry.sass_kernel_names()? {
            kernels.entry(name).or_default().insert(entry.architecture);
        }
    }
    Ok(kernels)
}

impl Entry<'_> {
    /// Names of the kernels in an entry of kind [`EntryKind::Elf`].
    pub fn sass_kernel_names(&self) -> Result<Vec<String>, ContainerError> {
        self.expect_kind(EntryKind::Elf, "a cubin")?;
        cubin::kernel_names_at(&self.payload()?, self.place())
    }
}

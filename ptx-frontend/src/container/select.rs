//! Selection of the code to run among a container's entries.

use std::collections::{BTreeMap, BTreeSet};

use super::cubin;
use super::entry::{Architecture, Entry, EntryKind, Portability};
use super::error::ContainerError;
use super::resource_usage::{ResourceUsage, resource_usage_at};

/// PTX entry for a device of compute capability `device` (times ten: 70 for 7.0): the highest architecture
/// not above the device, else the lowest above. Newer code is the last resort because it may still run: a
/// missing instruction is reported when its kernel is launched.
///
/// Code for a single architecture (`sm_90a`) is preferred to portable code on exactly that device, and
/// comes after portable code elsewhere.
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

/// True if a device of capability `device` can run code for `architecture`, according to the PTX manual,
/// section "PTX Module Directives: .target".
pub fn meant_for(architecture: Architecture, device: u32) -> bool {
    let Architecture { capability, portability } = architecture;
    match portability {
        Portability::Portable => capability <= device,
        Portability::Family => capability <= device && capability / 10 == device / 10,
        Portability::Exact => capability == device,
    }
}

/// Machine code in `entries`: architectures of each kernel. A launch of a kernel without PTX fails with
/// these.
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

/// Resource usage of each kernel with machine code for exactly a device of capability `device`.
pub fn resource_usage(
    entries: &[Entry<'_>],
    device: u32,
) -> Result<BTreeMap<String, ResourceUsage>, ContainerError> {
    let is_for = |entry: &&Entry<'_>| entry.kind == EntryKind::Elf && entry.architecture.capability == device;
    let mut usage = BTreeMap::new();
    for entry in entries.iter().filter(is_for) {
        usage.extend(entry.resource_usage()?);
    }
    Ok(usage)
}

impl Entry<'_> {
    /// Resource usage of the kernels in an entry of kind [`EntryKind::Elf`].
    pub fn resource_usage(&self) -> Result<BTreeMap<String, ResourceUsage>, ContainerError> {
        self.expect_kind(EntryKind::Elf, "a cubin")?;
        resource_usage_at(&self.payload()?, self.place())
    }

    /// Kernel names in an entry of kind [`EntryKind::Elf`].
    pub fn sass_kernel_names(&self) -> Result<Vec<String>, ContainerError> {
        self.expect_kind(EntryKind::Elf, "a cubin")?;
        cubin::kernel_names_at(&self.payload()?, self.place())
    }
}

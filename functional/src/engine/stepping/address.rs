//! Addresses of an access for a timing model: memory space and offset.

use warp_stream::{Execution, MemoryOperation, MemorySpace, Residence, local_memory};

use super::WARP;
use crate::engine::address_translation::lanes_of;
use crate::engine::machine::Addresses;
use crate::engine::warp_context::WarpContext;
use crate::memory::{CLUSTER_WINDOWS, WINDOW_SIZE};
use crate::ops::address_operand::AccessSpace;

/// Byte offset of a kernel's parameters in their constant bank (from Volta on; `cuobjdump -sass`).
const PARAMETERS: u64 = 0x160;

/// Extent of an access.
pub(super) struct Reached<'e> {
    pub(super) space: MemorySpace,
    pub(super) lanes: u32,
    pub(super) addresses: &'e [u64; WARP],
    /// Bytes per lane.
    pub(super) width: u8,
}

/// Records space and addresses of the access that the executing lanes are about to make.
pub(super) fn resolve(
    w: &WarpContext<'_>,
    from: Addresses,
    memory: MemoryOperation,
    execution: &mut Execution,
) {
    match from {
        Addresses::Parameter(at) => {
            execution.space = MemorySpace::Constant;
            execution.addresses = [PARAMETERS + u64::from(at); WARP];
        }
        Addresses::Row(site) => {
            site.read_to(w, &mut execution.addresses);
            place(w, site.space, memory, execution);
        }
        Addresses::Within(site) => {
            site.read_to(w, &mut execution.addresses);
            let start = !(u64::from(memory.width) - 1);
            execution.addresses.iter_mut().for_each(|address| *address &= start);
            place(w, site.space, memory, execution);
        }
        Addresses::Tile { site, tile } => {
            let Some(tile) = w.grid.program.matrices.tiles.get(tile as usize) else { return };
            // SAFETY: the binder allocated the rows.
            execution.addresses = unsafe { tile.lane_addresses(w) };
            place(w, site.space, memory, execution);
        }
    }
}

/// Converts addresses of a state space to the memory space that the access reaches, and offsets in it.
fn place(w: &WarpContext<'_>, named: AccessSpace, memory: MemoryOperation, execution: &mut Execution) {
    let addresses = &mut execution.addresses;
    if memory.space == MemorySpace::Constant {
        execution.space = memory.space;
        addresses.iter_mut().for_each(|address| *address = in_bank(w, *address));
        return;
    }
    let (space, start) = space_of(w, named, addresses);
    execution.space = space;
    match space {
        MemorySpace::Shared => {
            addresses.iter_mut().for_each(|address| *address = address.wrapping_sub(start) % WINDOW_SIZE);
        }
        MemorySpace::Local => {
            let base = local_memory_of(w);
            for (address, lane) in addresses.iter_mut().zip(0..) {
                let offset = address.wrapping_sub(start);
                *address = base.wrapping_add(local_offset(offset, lane, memory.width));
            }
        }
        _ => {}
    }
}

/// Offset of a constant: parameters in their bank, others by device address.
fn in_bank(w: &WarpContext<'_>, address: u64) -> u64 {
    let offset = address.wrapping_sub(w.grid.parameter_address);
    if offset < w.grid.parameters.len() as u64 { PARAMETERS + offset } else { address }
}

/// Memory space that most executing lanes access, and its first address.
fn space_of(w: &WarpContext<'_>, named: AccessSpace, addresses: &[u64; WARP]) -> (MemorySpace, u64) {
    match named {
        AccessSpace::Global => (MemorySpace::Global, 0),
        AccessSpace::Shared => (MemorySpace::Shared, 0),
        AccessSpace::Local => (MemorySpace::Local, 0),
        AccessSpace::Generic => {
            let memory = &w.grid.owner.memory;
            let (shared, local) = (memory.shared_window(), memory.local_window());
            let (mut in_shared, mut in_local, mut in_global) = (0, 0, 0);
            for lane in lanes_of(w.mask) {
                let address = addresses[lane];
                if address.wrapping_sub(shared) < CLUSTER_WINDOWS * WINDOW_SIZE {
                    in_shared += 1;
                } else if address.wrapping_sub(local) < WINDOW_SIZE {
                    in_local += 1;
                } else {
                    in_global += 1;
                }
            }
            if in_global >= in_shared.max(in_local) {
                (MemorySpace::Global, 0)
            } else if in_shared >= in_local {
                (MemorySpace::Shared, shared)
            } else {
                (MemorySpace::Local, local)
            }
        }
    }
}

/// Start of the warp's local memory, which belongs to its warp slot on the SM.
fn local_memory_of(w: &WarpContext<'_>) -> u64 {
    let Some(simulated) = &w.cta.simulated else { return local_memory::START };
    let Residence { sm, first_warp } = simulated.residence;
    local_memory::of_warp(sm, first_warp + w.warp, w.grid.device.warps_per_sm, w.local_bytes)
}

/// Offset of a lane's local access in the warp's local memory. Words of neighbouring lanes are adjacent
/// (CUDA programming guide, "Local Memory"), and accesses of a warp to longer elements cover all their
/// words. The offset is undefined for inactive lanes.
fn local_offset(offset: u64, lane: u64, width: u8) -> u64 {
    let width = u64::from(width);
    let row = (offset / 4).wrapping_mul(local_memory::ROW);
    row.wrapping_add(if width > 4 { lane * width } else { lane * 4 + offset % 4 })
}

impl Reached<'_> {
    /// First byte and end.
    pub(super) fn extent(&self) -> (u64, u64) {
        let mut extent = (u64::MAX, 0);
        for lane in lanes_of(self.lanes) {
            let address = self.addresses[lane];
            extent = (extent.0.min(address), extent.1.max(address.saturating_add(self.width.into())));
        }
        extent
    }

    /// True if the accesses, in the same memory, share a byte.
    pub(super) fn overlaps(&self, other: &Reached<'_>) -> bool {
        let meets = |lane: usize| {
            let (address, end) = (self.addresses[lane], self.addresses[lane] + u64::from(self.width));
            lanes_of(other.lanes).any(|lane| {
                let start = other.addresses[lane];
                start < end && address < start + u64::from(other.width)
            })
        };
        lanes_of(self.lanes).any(meets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_words_of_neighbouring_lanes_are_adjacent() {
        assert_eq!([0, 1, 31].map(|lane| local_offset(8, lane, 4)), [256, 260, 380]);
        assert_eq!(local_offset(9, 1, 1), 261);
        assert_eq!(local_offset(8, 1, 16), 272);
    }

    #[test]
    fn inactive_lanes_may_have_any_offset() {
        local_offset(u64::MAX, 31, 16);
    }
}

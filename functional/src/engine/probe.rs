//! Probes: ops that the binder inserts before instructions that watchers observe. A device without watchers
//! has none and pays nothing.

use std::fmt;
use std::sync::Arc;

use ptx_frontend::analyse::Liveness;
use ptx_frontend::ir::{Function, Instruction, InstructionIndex};

use super::lane::WARP;
use super::op::{Flow, Op};
use super::program::BoundFunction;
use super::warp_context::WarpContext;
use crate::memory::{CLUSTER_WINDOWS, WINDOW_SIZE};
use crate::ops::address_operand::AccessSpace;

/// Observer of kernels' execution.
pub trait Watcher: Send + Sync + fmt::Debug {
    /// True to observe this kernel and its callees; called once, at binding.
    fn watches(&self, _kernel: &Function) -> bool {
        true
    }

    /// Probes for this instruction; called once, at binding.
    fn watch(&self, function: &Function, instruction: &Instruction) -> Vec<Watch>;

    /// Probe to run after this instruction with the texels that it touched, in the CTA's `texels`; called
    /// once, at binding.
    fn watch_texels(&self, _: &Function, _: &Instruction) -> Option<Arc<dyn Probe>> {
        None
    }

    /// Called after a function was bound.
    fn bound(&self, _: &BoundFunction, _: &Liveness) {}
}

/// Callback for warps that reach an instruction.
pub trait Probe: Send + Sync + fmt::Debug {
    /// Called before the lanes in [`WarpContext::mask`] execute the instruction at `site`. A fault stops
    /// them; otherwise the probe returns [`Flow::Next`].
    fn reached(&self, warp: &mut WarpContext<'_>, site: &Site) -> Flow;
}

/// A probe with the operands that it reads.
#[derive(Debug)]
pub struct Watch {
    /// The probe.
    pub probe: Arc<dyn Probe>,
    /// Operand whose addresses the probe reads. Accesses to the kernel's parameters are not observed.
    pub address: Option<usize>,
    /// Memory space of these addresses, if it differs from the instruction's state space.
    pub(crate) space: Option<AccessSpace>,
    /// Operands whose values the probe reads; vector elements count separately.
    pub values: Vec<usize>,
}

impl Watch {
    /// A probe that reads no operands.
    pub fn of(probe: Arc<dyn Probe>) -> Watch {
        Watch { probe, address: None, space: None, values: Vec::new() }
    }
}

/// Source of the addresses of an observed operand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SiteAddress {
    pub(crate) space: AccessSpace,
    pub(crate) row: u32,
    pub(crate) wide: bool,
    pub(crate) offset: i64,
}

/// A row of values: frame offset, and true for 64-bit lanes.
pub(crate) type SiteValue = (u32, bool);

/// A probe at an instruction of a program.
#[derive(Debug)]
pub struct Site {
    /// Index in [`super::program::Program::sites`].
    pub number: u32,
    /// Function that contains the instruction, by index in the program.
    pub function: u32,
    /// Instruction after the probe.
    pub instruction: InstructionIndex,
    pub(crate) probe: Arc<dyn Probe>,
    pub(crate) address: Option<SiteAddress>,
    pub(crate) values: Vec<SiteValue>,
}

/// Memory with its own addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Region {
    /// Device memory, by generic address.
    Global,
    /// The CTA's shared memory, by offset.
    Shared,
    /// The thread's local memory, by offset.
    Local,
    /// Shared memory that the sanitizer does not track: that of a multi-CTA cluster by a [`super::cluster`]
    /// address, and the part reserved for the vendor's libraries.
    Unfollowed,
}

impl SiteAddress {
    /// Addresses of the lanes in the instruction's state space; undefined for inactive lanes.
    pub(super) fn read(&self, w: &WarpContext<'_>) -> [u64; WARP] {
        let mut addresses = [0; WARP];
        self.read_to(w, &mut addresses);
        addresses
    }

    /// Writes the addresses of the lanes to `addresses`.
    pub(super) fn read_to(&self, w: &WarpContext<'_>, addresses: &mut [u64; WARP]) {
        let SiteAddress { row, wide, offset, .. } = *self;
        // SAFETY: the binder allocated a row of this width in the warp's frame.
        unsafe {
            if wide {
                let row = &*w.row::<u64>(row).cast::<[u64; WARP]>();
                addresses.iter_mut().zip(row).for_each(|(to, from)| *to = from.wrapping_add(offset as u64));
            } else {
                let row = &*w.row::<u32>(row).cast::<[u32; WARP]>();
                addresses
                    .iter_mut()
                    .zip(row)
                    .for_each(|(to, from)| *to = from.wrapping_add(offset as u32).into());
            }
        }
    }
}

impl Site {
    /// True if the probe reads addresses.
    pub(crate) fn has_address(&self) -> bool {
        self.address.is_some()
    }

    /// Addresses of the lanes in the instruction's state space; undefined for inactive lanes.
    pub(crate) fn addresses(&self, w: &WarpContext<'_>) -> [u64; WARP] {
        self.address.map_or([0; WARP], |address| address.read(w))
    }

    /// Memory that contains an address of this instruction, and the offset in it.
    pub(crate) fn locate(&self, w: &WarpContext<'_>, address: u64) -> (Region, u64) {
        let shared = |address| match w.cluster.ctas {
            1 if !w.grid.is_reserved_shared(address % WINDOW_SIZE) => (Region::Shared, address % WINDOW_SIZE),
            _ => (Region::Unfollowed, address),
        };
        match self.address.map(|address| address.space) {
            Some(AccessSpace::Shared) => shared(address),
            Some(AccessSpace::Local) => (Region::Local, address),
            Some(AccessSpace::Generic) => {
                let memory = &w.grid.owner.memory;
                let in_shared = address.wrapping_sub(memory.shared_window());
                let local = address.wrapping_sub(memory.local_window());
                match (in_shared < CLUSTER_WINDOWS * WINDOW_SIZE, local < WINDOW_SIZE) {
                    (true, _) => shared(in_shared),
                    (_, true) => (Region::Local, local),
                    _ => (Region::Global, address),
                }
            }
            Some(AccessSpace::Global) | None => (Region::Global, address),
        }
    }

    /// Number of value rows that the probe reads.
    pub(crate) fn value_count(&self) -> usize {
        self.values.len()
    }

    /// Lanes of value row `n`.
    pub(crate) fn value(&self, w: &WarpContext<'_>, n: usize) -> [u64; WARP] {
        self.values.get(n).map_or([0; WARP], |&value| read(w, value))
    }
}

fn read(w: &WarpContext<'_>, (row, wide): SiteValue) -> [u64; WARP] {
    // SAFETY: the binder allocated a row of this width.
    unsafe { if wide { w.read_row::<u64>(row) } else { w.read_row::<u32>(row).map(u64::from) } }
}

/// Calls the probe of the site in the immediate.
pub(crate) fn reach(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    w.discount();
    let grid = w.grid;
    let site = &grid.program.sites[op.immediate as usize];
    site.probe.reached(w, site)
}

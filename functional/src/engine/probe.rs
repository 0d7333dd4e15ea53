//! Probes: ops that the binder puts before instructions which somebody wants to watch. A device without watchers has
//! none, so they cost nothing there.

use std::fmt;
use std::sync::Arc;

use ptx_frontend::analyse::Liveness;
use ptx_frontend::ir::{Function, Instruction, InstructionIndex};

use super::lane::WARP;
use super::op::{Flow, Op};
use super::program::BoundFunction;
use super::running::Running;
use crate::memory::{CLUSTER_WINDOWS, WINDOW_SIZE};
use crate::ops::place::AccessSpace;

/// Somebody who watches kernels run.
pub trait Watcher: Send + Sync + fmt::Debug {
    /// Does it watch this kernel and what that calls? Asked once, when the kernel is bound.
    fn watches(&self, _kernel: &Function) -> bool {
        true
    }

    /// What is to be told when warps come to this instruction? Asked once, when the kernel is bound.
    fn watch(&self, function: &Function, instruction: &Instruction) -> Vec<Watch>;

    /// Who is told after this instruction of the texels that it has touched, which are in the CTA's `texels`? Asked once, when the
    /// kernel is bound.
    fn watch_texels(&self, _: &Function, _: &Instruction) -> Option<Arc<dyn Probe>> {
        None
    }

    /// A function has been bound.
    fn bound(&self, _: &BoundFunction, _: &Liveness) {}
}

/// Is told when warps come to an instruction.
pub trait Probe: Send + Sync + fmt::Debug {
    /// The lanes in [`Running::mask`] are about to execute the instruction at `site`. A fault stops them; everything else
    /// goes on with [`Flow::Next`].
    fn reached(&self, warp: &mut Running<'_>, site: &Site) -> Flow;
}

/// A probe, and what it wants to know of the instruction.
#[derive(Debug)]
pub struct Watch {
    /// Is told.
    pub probe: Arc<dyn Probe>,
    /// The operand whose addresses it asks for. An instruction where that is a parameter of the kernel is not watched.
    pub address: Option<usize>,
    /// The memory that those point into, where the instruction's own state space is that of another operand.
    pub(crate) space: Option<AccessSpace>,
    /// Operands whose values it asks for; the elements of a vector count one by one.
    pub values: Vec<usize>,
}

impl Watch {
    /// A probe that asks for nothing.
    pub fn of(probe: Arc<dyn Probe>) -> Watch {
        Watch { probe, address: None, space: None, values: Vec::new() }
    }
}

/// Where addresses of a watched operand come from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SiteAddress {
    pub(crate) space: AccessSpace,
    pub(crate) row: u32,
    pub(crate) wide: bool,
    pub(crate) offset: i64,
}

/// A row of values: its offset in the frame, and whether its lanes are double words.
pub(crate) type SiteValue = (u32, bool);

/// A probe in a program.
#[derive(Debug)]
pub struct Site {
    /// Its position in [`super::program::Program::sites`].
    pub number: u32,
    /// The function that the instruction stands in, by position in the program.
    pub function: u32,
    /// The instruction that it stands before.
    pub instruction: InstructionIndex,
    pub(crate) probe: Arc<dyn Probe>,
    pub(crate) address: Option<SiteAddress>,
    pub(crate) values: Vec<SiteValue>,
}

/// A kind of memory with addresses of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Region {
    /// Device memory; the address is generic.
    Global,
    /// The CTA's memory; the address is an offset.
    Shared,
    /// The thread's memory; the address is an offset.
    Local,
    /// Shared memory that checks do not follow: that of a cluster of several CTAs, which all of them reach (the address is
    /// one of [`super::cluster`]), and the part reserved for the vendor's libraries.
    Unfollowed,
}

impl SiteAddress {
    /// The lanes' addresses, as the instruction's state space counts them. Those of lanes that do not execute mean nothing.
    pub(super) fn read(&self, w: &Running<'_>) -> [u64; WARP] {
        let mut addresses = [0; WARP];
        self.read_to(w, &mut addresses);
        addresses
    }

    /// The same, to where they are wanted.
    pub(super) fn read_to(&self, w: &Running<'_>, addresses: &mut [u64; WARP]) {
        let SiteAddress { row, wide, offset, .. } = *self;
        // SAFETY: the binder has given a row of this width, which belongs to the warp's frame.
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
    /// Whether the probe has been given addresses.
    pub(crate) fn has_address(&self) -> bool {
        self.address.is_some()
    }

    /// The lanes' addresses, as the instruction's state space counts them. Those of lanes that do not execute mean nothing.
    pub(crate) fn addresses(&self, w: &Running<'_>) -> [u64; WARP] {
        self.address.map_or([0; WARP], |address| address.read(w))
    }

    /// What memory an address of this instruction lies in, and where in it.
    pub(crate) fn locate(&self, w: &Running<'_>, address: u64) -> (Region, u64) {
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

    /// How many rows of values the probe has been given.
    pub(crate) fn value_count(&self) -> usize {
        self.values.len()
    }

    /// The lanes of the n-th row of values.
    pub(crate) fn value(&self, w: &Running<'_>, n: usize) -> [u64; WARP] {
        self.values.get(n).map_or([0; WARP], |&value| read(w, value))
    }
}

fn read(w: &Running<'_>, (row, wide): SiteValue) -> [u64; WARP] {
    // SAFETY: the binder has given a row of this width.
    unsafe { if wide { w.read_row::<u64>(row) } else { w.read_row::<u32>(row).map(u64::from) } }
}

/// Tells the probe at the site that the immediate names.
pub(crate) fn reach(w: &mut Running<'_>, op: &Op) -> Flow {
    w.discount();
    let grid = w.grid;
    let site = &grid.program.sites[op.immediate as usize];
    site.probe.reached(w, site)
}

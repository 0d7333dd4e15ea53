//! Executed instructions of a CTA's warps.

use serde::{Deserialize, Serialize};
use warp_stream::{Execution, LaneMask, MachineInstruction, MemorySpace, OperationClass, WARP_SIZE};

/// An executed instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// Position in the kernel's code.
    pub position: u32,
    /// Active lanes.
    pub active: LaneMask,
    /// Memory space; `None` without addresses. The warp's list holds an address for each active
    /// lane.
    pub space: Option<MemorySpace>,
    /// Texel addresses in the warp's list.
    pub texels: u32,
    /// True if the instruction took effect later.
    pub deferred: bool,
    /// Sleep of the warp in nanoseconds.
    pub sleep: u32,
    /// True if the warp first waited for its deferred instructions.
    pub after_deferred: bool,
    /// Release that the warp first waited for: index into the CTA's releases from 1; 0 for none.
    pub release: u32,
}

/// Executed instructions of a warp.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WarpScript {
    /// Instructions in order of execution.
    pub steps: Vec<Step>,
    /// Addresses of active lanes and texels, as differences from the previous one.
    pub addresses: Vec<i64>,
}

/// Executed instructions of a CTA.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CtaScript {
    /// Warps of the CTA.
    pub warps: Vec<WarpScript>,
    /// Releases: barriers and exits that each warp must have issued.
    pub releases: Vec<Vec<u32>>,
}

/// True if other warps may wait for the instruction.
pub(crate) fn is_event(instruction: &MachineInstruction) -> bool {
    matches!(instruction.class, OperationClass::Barrier | OperationClass::Exit)
}

/// Read or write position in a warp's addresses.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cursor {
    index: usize,
    last: u64,
}

impl WarpScript {
    /// Appends a step with the addresses of its lanes and texels, at the write cursor.
    pub fn push(&mut self, cursor: &mut Cursor, step: Step, addresses: impl Iterator<Item = u64>) {
        self.steps.push(step);
        self.addresses.extend(addresses.map(|address| {
            let difference = address.wrapping_sub(cursor.last) as i64;
            cursor.last = address;
            difference
        }));
    }

    /// Restores a step's execution; `None` if addresses are missing.
    pub fn execution(&self, cursor: &mut Cursor, step: &Step, execution: &mut Execution) -> Option<()> {
        let Execution { active, space, addresses, stride, texels, deferred, sleep } = execution;
        *active = step.active;
        (*stride, *deferred) = (None, None);
        *sleep = step.sleep;
        texels.clear();
        if let Some(reached) = step.space {
            *space = reached;
            for lane in (0..WARP_SIZE).filter(|lane| step.active >> lane & 1 != 0) {
                addresses[lane] = cursor.take(&self.addresses)?;
            }
        }
        for _ in 0..step.texels {
            texels.push(cursor.take(&self.addresses)?);
        }
        Some(())
    }
}

impl Cursor {
    fn take(&mut self, differences: &[i64]) -> Option<u64> {
        self.last = self.last.wrapping_add(*differences.get(self.index)? as u64);
        self.index += 1;
        Some(self.last)
    }
}

//! What the warps of a CTA executed.

use serde::{Deserialize, Serialize};
use warp_stream::{Execution, LaneMask, MachineInstruction, MemorySpace, OperationClass, WARP_SIZE};

/// An instruction that a warp executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// Position in the kernel's code.
    pub position: u32,
    /// Lanes.
    pub active: LaneMask,
    /// Memory that it reached; nothing if it has no addresses. An address of each active lane follows in the warp's list.
    pub space: Option<MemorySpace>,
    /// Texels, which follow in the warp's list.
    pub texels: u32,
    /// It took effect later.
    pub deferred: bool,
    /// How long the warp rested. Nanoseconds.
    pub sleep: u32,
    /// Before it the warp waited until what it had deferred was performed.
    pub after_deferred: bool,
    /// Before it the warp waited for others: index of the CTA's releases, from 1; 0 if it did not.
    pub release: u32,
}

/// What a warp executed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WarpScript {
    /// In this order.
    pub steps: Vec<Step>,
    /// Addresses of the steps' active lanes and texels, each less the one before it.
    pub addresses: Vec<i64>,
}

/// What a CTA executed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CtaScript {
    /// Its warps.
    pub warps: Vec<WarpScript>,
    /// What warps waited for: how many barriers and exits each warp had to have issued.
    pub releases: Vec<Vec<u32>>,
}

/// Whether other warps may wait for such an instruction.
pub(crate) fn is_event(instruction: &MachineInstruction) -> bool {
    matches!(instruction.class, OperationClass::Barrier | OperationClass::Exit)
}

/// Where the next address of a warp is taken from or goes to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cursor {
    index: usize,
    last: u64,
}

impl WarpScript {
    /// Adds a step with the addresses of its active lanes and its texels. `cursor` is that of the writing.
    pub fn push(&mut self, cursor: &mut Cursor, step: Step, addresses: impl Iterator<Item = u64>) {
        self.steps.push(step);
        self.addresses.extend(addresses.map(|address| {
            let difference = address.wrapping_sub(cursor.last) as i64;
            cursor.last = address;
            difference
        }));
    }

    /// Tells what a step did; nothing if its addresses are not there.
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

//! Builder: coalesces the executed memory instructions of a launch.

use timing::sm::memory::coalescer::{Coalesced, CoalescerPolicy, Pattern};
use warp_stream::{
    AccessKind, CacheOperator, Execution, Kernel, MachineInstruction, MemoryOperation, MemorySpace,
    OperationClass, Registers, local_memory,
};

use super::{Header, Kind, Launch, LaunchAccesses, line_word};

/// A mask of registers.
type RegisterSet = [u64; 4];

/// An instruction, as the builder needs it.
#[derive(Debug, Clone, Copy)]
struct Decoded {
    /// Registers that the instruction reads or writes.
    used: RegisterSet,
    /// Registers that a load writes.
    loaded: RegisterSet,
    memory: Option<MemoryOperation>,
    is_barrier: bool,
}

/// State of a warp.
#[derive(Debug, Clone, Copy, Default)]
struct Warp {
    /// Registers that outstanding loads write.
    outstanding: RegisterSet,
    /// Instructions since the last access.
    gap: u32,
    /// Set once the warp has used the result of an outstanding load.
    waits: bool,
}

/// Collects the accesses of a launch.
#[derive(Debug)]
pub struct Builder {
    launch: Launch,
    code: Vec<Decoded>,
    warps: Vec<Warp>,
    words: Vec<Vec<u64>>,
    coalesced: Coalesced,
    local_bytes: u64,
}

impl Builder {
    /// A builder for a launch.
    pub fn new(kernel: &Kernel) -> Builder {
        let launch = Launch {
            kernel: kernel.name.clone(),
            number: kernel.launch,
            shape: kernel.shape,
            registers: kernel.registers,
            shared_bytes: kernel.shared_bytes,
            local_bytes: kernel.local_bytes,
            lines: kernel.code.instructions.iter().map(|instruction| instruction.line).collect(),
        };
        let warps = (launch.shape.cta_count() * u64::from(launch.shape.warps_per_cta())) as usize;
        Builder {
            code: kernel.code.instructions.iter().map(decoded).collect(),
            warps: vec![Warp::default(); warps],
            words: vec![Vec::new(); warps],
            coalesced: Coalesced::default(),
            local_bytes: local_memory::size_of_warp(launch.local_bytes).max(local_memory::ROW),
            launch,
        }
    }

    /// Adds an executed instruction of a warp, in the warp's order.
    pub fn issued(&mut self, cta: u64, warp: u32, position: u32, execution: &Execution) {
        let index = (cta * u64::from(self.launch.shape.warps_per_cta())) as usize + warp as usize;
        let (Some(own), Some(decoded)) = (self.warps.get_mut(index), self.code.get(position as usize)) else {
            return;
        };
        if own.outstanding.iter().zip(decoded.used).any(|(one, other)| one & other != 0) {
            own.waits = true;
            own.outstanding = RegisterSet::default();
        }
        let kind = match decoded.memory {
            Some(memory) => kind(memory, execution),
            None => decoded.is_barrier.then_some(Kind::Barrier),
        };
        let Some(kind) = kind else {
            own.gap += 1;
            return;
        };
        self.coalesced.clear();
        let is_local = execution.space == MemorySpace::Local;
        if let Some(memory) = decoded.memory {
            let pattern = Pattern {
                active: execution.active,
                addresses: &execution.addresses,
                stride: execution.stride,
                width: memory.width,
                marks: false,
            };
            if memory.space == MemorySpace::Texture {
                self.coalesced.coalesce_texels(&execution.texels, 1, false);
            } else {
                self.coalesced.coalesce(CoalescerPolicy::Volta, &pattern);
            }
            if self.coalesced.lines.is_empty() {
                own.gap += 1;
                return;
            }
        }
        let words = &mut self.words[index];
        let first = Header { position, lines: 0, kind, waits: own.waits, is_local, gap: own.gap };
        if kind == Kind::Barrier {
            words.push(first.word());
        }
        for (part, lines) in self.coalesced.lines.chunks(Header::MOST_LINES).enumerate() {
            let header = Header { lines: lines.len() as u32, ..first };
            words.push(if part == 0 { header } else { Header { waits: false, gap: 0, ..header } }.word());
            words.extend(lines.iter().map(|line| {
                let address = match is_local {
                    true => line.address.wrapping_sub(local_memory::START) % self.local_bytes,
                    false => line.address,
                };
                line_word(address, line.sectors)
            }));
        }
        (own.gap, own.waits) = (0, false);
        own.outstanding.iter_mut().zip(decoded.loaded).for_each(|(one, other)| *one |= other);
    }

    /// The accesses.
    pub fn finish(self) -> LaunchAccesses {
        LaunchAccesses::new(self.launch, self.words)
    }
}

fn decoded(instruction: &MachineInstruction) -> Decoded {
    let mut used = RegisterSet::default();
    let mut loaded = RegisterSet::default();
    instruction.sources.iter().for_each(|registers| add(&mut used, *registers));
    add(&mut used, instruction.destination);
    if instruction.memory.is_some() {
        add(&mut loaded, instruction.destination);
    }
    Decoded {
        used,
        loaded,
        memory: instruction.memory,
        is_barrier: instruction.class == OperationClass::Barrier,
    }
}

fn add(set: &mut RegisterSet, registers: Registers) {
    for register in registers.iter() {
        set[register as usize / 64 % 4] |= 1 << (register % 64);
    }
}

/// Effect of an executed instruction on L1, if any.
fn kind(memory: MemoryOperation, execution: &Execution) -> Option<Kind> {
    if !matches!(execution.space, MemorySpace::Global | MemorySpace::Local | MemorySpace::Texture) {
        return None;
    }
    let bypasses = matches!(memory.cache, CacheOperator::GlobalOnly | CacheOperator::Coherent)
        || execution.deferred.is_some();
    match memory.kind {
        AccessKind::Load if bypasses => Some(Kind::BypassingLoad),
        AccessKind::Load => Some(Kind::Load),
        AccessKind::Store => Some(Kind::Store),
        AccessKind::Atomic | AccessKind::Reduction => Some(Kind::Atomic),
    }
}

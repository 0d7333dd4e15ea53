//! A live source: two warps load, meet at a barrier, perform an atomic operation, store and exit.

use std::sync::Arc;

use warp_stream::{
    AccessKind, CacheOperator, Execution, Kernel, KernelSource, LaunchShape, MachineCode, MachineInstruction,
    MemoryOperation, MemorySpace, Moment, Next, OperationClass, Registers, Residence, SourceError, WarpSlot,
    WarpSource,
};

pub const BARRIER: u32 = 1;
pub const ATOMIC: u32 = 2;
pub const TEXTURE: u32 = 3;
pub const EXIT: u32 = 5;

pub struct Toy(Kernel);

fn instruction(position: u32, class: OperationClass) -> MachineInstruction {
    let (kind, space) = match class {
        OperationClass::Load => (AccessKind::Load, MemorySpace::Generic),
        OperationClass::Store => (AccessKind::Store, MemorySpace::Global),
        OperationClass::Texture => (AccessKind::Load, MemorySpace::Texture),
        _ => (AccessKind::Atomic, MemorySpace::Global),
    };
    let accesses = class.unit() == warp_stream::Unit::Memory || class == OperationClass::Texture;
    MachineInstruction {
        address: 16 * position,
        class,
        destination: Registers { first: 4, count: 1 },
        sources: [Registers { first: 2, count: 2 }, Registers::NONE, Registers::NONE, Registers::NONE],
        predicates_read: 0,
        predicates_written: 0,
        memory: accesses.then_some(MemoryOperation { space, kind, width: 4, cache: CacheOperator::Default }),
        line: position + 1,
        ptx: 0,
    }
}

impl Toy {
    pub fn new(ctas: u32) -> Toy {
        use OperationClass::{Atomic, Barrier, Exit, Load, Store, Texture};
        let classes = [Load, Barrier, Atomic, Texture, Store, Exit];
        let instructions = (0..).zip(classes).map(|(position, class)| instruction(position, class)).collect();
        Toy(Kernel {
            name: "toy".to_owned(),
            launch: 7,
            stream: 1,
            shape: LaunchShape::new([ctas, 1, 1], [64, 1, 1]),
            code: Arc::new(MachineCode { instructions, instruction_bytes: 16 }),
            code_address: 1 << 40,
            registers: 16,
            register_source: Default::default(),
            shared_bytes: 256,
            local_bytes: 0,
            cooperative: false,
        })
    }
}

impl KernelSource for Toy {
    fn kernel(&self) -> &Kernel {
        &self.0
    }

    fn warps(&self, _: u32) -> Box<dyn WarpSource + '_> {
        Box::new(ToyWarps { cta: 0, position: [0; 2], deferred: [false; 2] })
    }
}

struct ToyWarps {
    cta: u64,
    position: [u32; 2],
    deferred: [bool; 2],
}

impl WarpSource for ToyWarps {
    fn start_cta(&mut self, _: u32, cta: u64, _: Residence) -> Result<(), SourceError> {
        *self = ToyWarps { cta, position: [0; 2], deferred: [false; 2] };
        Ok(())
    }

    fn end_cta(&mut self, _: u32) {}

    fn next(&mut self, warp: WarpSlot) -> Result<Next, SourceError> {
        let own = warp.warp as usize;
        let at_barrier = self.position[own] == BARRIER + 1 && self.position[1 - own] <= BARRIER;
        Ok(match self.position[own] {
            _ if at_barrier || self.deferred[own] => Next::Waiting,
            position if position > EXIT => Next::Finished,
            position => Next::Instruction(position),
        })
    }

    fn issue(&mut self, warp: WarpSlot, _: Moment, execution: &mut Execution) -> Result<(), SourceError> {
        let own = warp.warp as usize;
        let position = self.position[own];
        self.position[own] += 1;
        *execution = Execution { active: 0x8000_00f1 >> own, ..Execution::default() };
        execution.space = if position == 0 { MemorySpace::Shared } else { MemorySpace::Global };
        let base = 0x7000_0000 + self.cta * 4096 + u64::from(position) * 512;
        execution.addresses =
            std::array::from_fn(|lane| if position == 0 { 4 * lane as u64 } else { base + 4 * lane as u64 });
        if position == TEXTURE {
            execution.texels = vec![base, base + 64];
        }
        if position == ATOMIC {
            self.deferred[own] = true;
            execution.deferred = Some(own as u32);
        }
        Ok(())
    }

    fn perform(&mut self, deferred: u32, _: Moment) -> Result<(), SourceError> {
        self.deferred[deferred as usize] = false;
        Ok(())
    }
}

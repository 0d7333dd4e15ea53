//! Recording of the parameter bytes that launches load through addresses. Loads of a kernel that indexes
//! its parameters are known only at run time.
//!
//! A device with a [`ParameterWatcher`] records such loads in the launch's [`ParameterReads`]. Loads by
//! name are known from the code ([`ParametersRead`]) and not recorded. An instruction of unknown extent
//! counts as a load of the whole block.

use std::sync::Arc;

use ptx_frontend::analyse::ParametersRead;
use ptx_frontend::ir::{AddressBase, Function, Instruction, Operand};
use ptx_frontend::isa::{Effect, Memory, Op as Form};

use crate::engine::address_translation::lanes_of;
use crate::engine::grid::Grid;
use crate::engine::op::Flow;
use crate::engine::probe::{Probe, Site, Watch, Watcher};
use crate::engine::warp_context::WarpContext;
use crate::ops::address_operand::{AccessSpace, named_space};
pub use crate::parameter_reads::ParameterReads;

/// Records parameter loads of kernels that index their parameters.
#[derive(Debug)]
pub struct ParameterWatcher;

/// Bytes that each lane loads; `None` for the rest of the block.
#[derive(Debug)]
struct Loads(Option<u64>);

impl Watcher for ParameterWatcher {
    fn watches(&self, kernel: &Function) -> bool {
        matches!(ParametersRead::of(kernel), ParametersRead::Indexed(_))
    }

    fn watch(&self, _: &Function, instruction: &Instruction) -> Vec<Watch> {
        // Parameters have no addresses in these state spaces (PTX manual 5.1).
        let is_elsewhere = matches!(
            named_space(instruction),
            Some(AccessSpace::Global | AccessSpace::Shared | AccessSpace::Local)
        );
        let bytes = match (instruction.op, instruction.op.line().effect) {
            (Form::Memory(Memory::ld | Memory::ld_nc | Memory::ldu), _) if is_elsewhere => return Vec::new(),
            (Form::Memory(Memory::ld | Memory::ld_nc | Memory::ldu), _) => {
                instruction.last_type().map(|ty| u64::from(ty.bytes()) * instruction.vector_length() as u64)
            }
            (Form::Memory(Memory::st), _) => return Vec::new(),
            (
                Form::Memory(_) | Form::Matrix(_) | Form::Atomic(_),
                Effect::Load | Effect::Store | Effect::Atomic,
            ) => None,
            _ => return Vec::new(),
        };
        let is_computed =
            |operand: &Operand| matches!(operand, Operand::Address { base: AddressBase::Register(_), .. });
        let places = instruction.operands.iter().enumerate().filter(|(_, operand)| is_computed(operand));
        let watch = |(place, _)| Watch {
            address: Some(place),
            space: Some(AccessSpace::Generic),
            ..Watch::of(Arc::new(Loads(bytes)))
        };
        places.map(watch).collect()
    }
}

impl Probe for Loads {
    fn reached(&self, warp: &mut WarpContext<'_>, site: &Site) -> Flow {
        let grid = warp.grid;
        if grid.parameter_reads.is_some() {
            let (addresses, length) = (site.addresses(warp), grid.parameters.len() as u64);
            let within = |address: &u64| address.wrapping_sub(grid.parameter_address) < length;
            if addresses.iter().any(within) {
                for address in lanes_of(warp.mask).filter_map(|lane| addresses.get(lane)) {
                    grid.note_parameter_read(*address, self.0);
                }
            }
        }
        Flow::Next
    }
}

impl Grid<'_> {
    /// Records a read of `bytes` bytes at a generic address; `None` means the whole block.
    pub(crate) fn note_parameter_read(&self, address: u64, bytes: Option<u64>) {
        let Some(reads) = &self.parameter_reads else { return };
        let (offset, length) = (address.wrapping_sub(self.parameter_address), self.parameters.len() as u64);
        if offset < length {
            reads.note(bytes.map_or(0..length, |bytes| offset..(offset + bytes).min(length)));
        }
    }
}

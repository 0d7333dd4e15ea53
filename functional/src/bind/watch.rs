//! Probes: ops that report instructions and their rows to watchers.

use std::sync::Arc;

use ptx_frontend::ir::{Instruction, InstructionIndex, Operand};
use ptx_frontend::isa::ScalarType;

use super::{BindError, Binder};
use crate::engine::op::Op;
use crate::engine::probe::{self, Probe, Site, SiteAddress, SiteValue, Watch};
use crate::ops::address_operand::{AccessSpace, AddressOperand, address_operand, address_operand_in};

impl Binder<'_, '_> {
    /// Appends an op for each probe that watchers request at the current instruction.
    pub(super) fn push_probes(&mut self, instruction: &Instruction) {
        let watchers = self.linker.watchers.iter();
        let watches: Vec<Watch> =
            watchers.flat_map(|watcher| watcher.watch(&self.source, instruction)).collect();
        for watch in watches {
            self.push_probe(instruction, watch);
        }
    }

    /// An unreadable operand is reported when the instruction itself is bound, right after.
    fn push_probe(&mut self, instruction: &Instruction, watch: Watch) {
        let operand = |position: usize| instruction.operands.get(position);
        let address = match watch.address.and_then(operand) {
            None => None,
            Some(operand) => match self.watched_place(instruction, operand, watch.space) {
                Ok(AddressOperand::Rows { space, row, wide, offset }) => {
                    Some(SiteAddress { space, row, wide, offset })
                }
                Ok(AddressOperand::Parameter(_)) | Err(_) => return,
            },
        };
        let mut values = Vec::new();
        for operand in watch.values.into_iter().filter_map(operand) {
            self.watched_values(operand, &mut values);
        }
        let immediate = self.push_site(watch.probe, address, values);
        let op = Op { immediate, ..self.op(probe::reach) };
        self.push(op);
    }

    /// Collects the watchers' texel probes for the current instruction.
    pub(super) fn watch_texels(&mut self, instruction: &Instruction) {
        let watchers = self.linker.watchers.iter();
        self.texel_probes =
            watchers.filter_map(|watcher| watcher.watch_texels(&self.source, instruction)).collect();
    }

    /// True if a probe reports the texels of the current instruction.
    pub(crate) fn tells_texels(&self) -> bool {
        self.is_timed() || !self.texel_probes.is_empty()
    }

    /// Appends the texel probes' ops after the current instruction.
    pub(super) fn push_texel_probes(&mut self) {
        for probe in std::mem::take(&mut self.texel_probes) {
            let immediate = self.push_site(probe, None, Vec::new());
            let op = Op { immediate, ..self.unguarded(probe::reach) };
            self.push(op);
        }
    }

    /// Adds a site at the current instruction and returns its number.
    fn push_site(
        &mut self,
        probe: Arc<dyn Probe>,
        address: Option<SiteAddress>,
        values: Vec<SiteValue>,
    ) -> u64 {
        let number = self.linker.sites.len() as u32;
        self.linker.sites.push(Site {
            number,
            function: self.linker.functions.len() as u32,
            instruction: InstructionIndex(self.current as u32),
            probe,
            address,
            values,
        });
        number.into()
    }

    fn watched_place(
        &mut self,
        instruction: &Instruction,
        operand: &Operand,
        space: Option<AccessSpace>,
    ) -> Result<AddressOperand, BindError> {
        match space {
            Some(space) => address_operand_in(self, space, operand),
            None => address_operand(self, instruction, operand),
        }
    }

    fn watched_values(&mut self, operand: &Operand, values: &mut Vec<SiteValue>) {
        match operand {
            Operand::Vector(elements) => {
                elements.iter().for_each(|element| self.watched_values(element, values));
            }
            Operand::Register(register) => match self.register_type(*register) {
                ScalarType::Pred => {}
                ty => {
                    let row = self.register(*register);
                    values.push((row, ty.bits() > 32));
                    if ty.bits() > 64 {
                        values.push((row + HALF_OF_128, true));
                    }
                }
            },
            Operand::Immediate(bits) => values.push((self.constant(*bits, true), true)),
            Operand::Special(register) => {
                let wide = register.ty().bits() == 64;
                values.push((self.special(*register), wide));
            }
            _ => {}
        }
    }
}

/// Bytes between the rows of a 128-bit register's low and high half.
const HALF_OF_128: u32 = 256;

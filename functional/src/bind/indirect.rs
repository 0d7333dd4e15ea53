//! Calls through registers: possible targets and their register demand.

use ptx_frontend::ir::{self, ExternalId, Operand};
use ptx_frontend::isa::{Control, Op as Form};

use super::{Binder, Linker};

/// True if `source` contains a call through a register.
pub(super) fn is_in(source: &ir::Function) -> bool {
    source.instructions.iter().any(|i| {
        i.op == Form::Control(Control::call) && matches!(i.operands.get(1), Some(Operand::Register(_)))
    })
}

impl Linker<'_> {
    /// Queues every device function for binding: a call through a register may reach any of them. A
    /// function that fails to bind spoils only the launches that call it.
    pub(super) fn want_device_functions(&mut self) {
        for name in self.addresses.device_functions() {
            if self.by_name.contains_key(&name) {
                continue;
            }
            if let Some(Ok(function)) = self.addresses.function(&name)
                && let Ok(number) = self.want(function)
            {
                self.optional.insert(number);
            }
        }
    }

    /// 32-bit registers per thread: the maximum over all reachable functions. Calls through registers reach
    /// the functions whose address is taken.
    pub(super) fn registers(&self) -> u32 {
        self.most_registers(self.functions.iter().map(|function| function.registers))
    }

    /// [`Linker::registers`], given the register counts of the queued functions.
    pub(super) fn most_registers(&self, of_each: impl Iterator<Item = u32>) -> u32 {
        let in_variables = self.addresses.functions_in_variables();
        let may_be_called = |number: u32, name: &str| {
            !self.optional.contains(&number) || self.addressed.contains(name) || in_variables.contains(name)
        };
        let functions = (0..).zip(&self.wanted).zip(of_each);
        let called = functions.filter(|((number, source), _)| may_be_called(*number, &source.name));
        called.map(|(_, registers)| registers).max().unwrap_or_default()
    }
}

impl Binder<'_, '_> {
    /// Records that a function's address is taken, so that calls through registers may reach it.
    pub(crate) fn take_address(&mut self, external: ExternalId) {
        self.linker.addressed.insert(self.source.externals[external.0 as usize].name.clone());
    }
}

//! Resources of kernels that are known better than by lowering: from machine code for the modelled
//! architecture, or from the option `--set kernel.registers`.

use crate::code::image::MachineCode;
use crate::host::environment::options;
use crate::objects::shared::Shared;
use functional::assembled::{Assembled, AssembledKernels};
use ptx_frontend::container::resource_usage::ResourceUsage;
use run_options::kernel_registers::KernelRegisters;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use warp_stream::RegisterSource;

/// Registers that the user gives to kernels.
pub(crate) struct GivenRegisters {
    /// In the order of the options, each with a flag that a kernel of the run has the name.
    all: Vec<(KernelRegisters, AtomicBool)>,
}

impl GivenRegisters {
    /// The registers that the run's options give.
    pub(crate) fn of_options() -> Self {
        let given = options().set.iter().flat_map(|changes| changes.of_kernels());
        Self { all: given.map(|given| (given, AtomicBool::new(false))).collect() }
    }

    /// Registers given to a kernel; the last option counts.
    fn of(&self, kernel: &str) -> Option<u32> {
        let matching = self.all.iter().filter(|(given, _)| given.is_of(kernel));
        let noted = matching.inspect(|(_, is_met)| is_met.store(true, Ordering::Relaxed));
        noted.last().map(|(given, _)| given.registers)
    }

    /// Names that no kernel of the run has.
    pub(crate) fn unmet(&self) -> impl Iterator<Item = &str> {
        let unmet = self.all.iter().filter(|(_, is_met)| !is_met.load(Ordering::Relaxed));
        unmet.map(|(given, _)| given.kernel.as_str())
    }
}

/// Known resources of a module's kernels.
#[derive(Debug)]
pub(crate) struct KnownResources {
    machine_code: MachineCode,
    /// Ten times the compute capability of the modelled GPU.
    capability: u32,
    /// Objects of the process, with the registers that the options give.
    shared: &'static Shared,
    /// Usage by kernel, read at the first question.
    read: OnceLock<BTreeMap<String, ResourceUsage>>,
}

impl KnownResources {
    /// Resources of the kernels of a registered or loaded module.
    pub(crate) fn new(machine_code: MachineCode, capability: u32, shared: &'static Shared) -> Self {
        Self { machine_code, capability, shared, read: OnceLock::new() }
    }
}

impl AssembledKernels for KnownResources {
    fn of(&self, kernel: &str) -> Option<Assembled> {
        // SAFETY: the first question is asked by an API call that binds a kernel or queries it, while the
        // module's fat binary is registered. Later questions need the kept answer alone.
        let read = || unsafe { self.machine_code.resource_usage(self.capability) };
        let usage = self.read.get_or_init(read).get(kernel).copied();
        let given = self.shared.given_registers.of(kernel);
        let (registers, source) = match (given, usage) {
            (Some(registers), _) => (registers, RegisterSource::Option),
            (None, usage) => (usage?.registers, RegisterSource::MachineCode),
        };
        Some(Assembled {
            registers,
            source,
            static_shared: usage.map(|usage| usage.static_shared),
            local_bytes: usage.map(|usage| usage.local_bytes),
        })
    }
}

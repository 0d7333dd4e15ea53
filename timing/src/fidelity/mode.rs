//! Modes: named sets of fidelities.

use crate::gpu_file::change::change_of;
use crate::gpu_file::{Document, SpecificationError};
use crate::statistics::Counter;

use super::FidelitySpec;

/// A named set of fidelities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    /// Name, as `--mode` takes it.
    pub name: &'static str,
    /// Meaning.
    pub meaning: &'static str,
    /// Changes of keys that the mode makes.
    pub changes: &'static [&'static str],
}

/// The modes with time, most exact first.
pub const MODES: &[Mode] = &[
    Mode { name: "detailed", meaning: "Every unit in cycles.", changes: &[] },
    Mode {
        name: "hybrid-alu",
        meaning: "Ideal front end, analytical arithmetic, memory in cycles (Swift-Sim-Basic).",
        changes: &["fidelity.front_end=ideal", "fidelity.arithmetic=analytical"],
    },
    Mode {
        name: "hybrid-memory",
        meaning: "As hybrid-alu, with analytical memory (Swift-Sim-Memory).",
        changes: &[
            "fidelity.front_end=ideal",
            "fidelity.arithmetic=analytical",
            "fidelity.load_store=analytical",
            "fidelity.l1=analytical",
            "fidelity.interconnect=analytical",
            "fidelity.l2=analytical",
            "fidelity.dram=analytical",
        ],
    },
];

impl Mode {
    /// The mode with a name.
    pub fn named(name: &str) -> Option<&'static Mode> {
        MODES.iter().find(|mode| mode.name == name)
    }

    /// Fidelities of the mode.
    ///
    /// # Errors
    /// A change of the mode is invalid.
    pub fn fidelity(&self) -> Result<FidelitySpec, SpecificationError> {
        let mut document = Document::default();
        let keys = FidelitySpec::keys();
        self.changes.iter().try_for_each(|text| change_of(&mut document, text, &keys))?;
        FidelitySpec::read(&document)
    }

    /// Tells whether a counter has a value in the mode.
    pub fn models(&self, counter: &Counter) -> bool {
        self.fidelity().is_ok_and(|fidelity| fidelity.models(counter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specification::{GpuSpec, gpu};

    #[test]
    fn every_mode_makes_sense_on_every_gpu() {
        for mode in MODES {
            for name in gpu::timed() {
                let spec = GpuSpec::changed(name, mode.changes.iter().copied()).unwrap();
                assert_eq!(spec.fidelity, mode.fidelity().unwrap(), "{} on {name}", mode.name);
            }
        }
    }
}

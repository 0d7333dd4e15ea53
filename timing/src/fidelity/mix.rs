//! Mixes of fidelities: those that make sense, and the remedy for the others.

use super::{Dram, FidelitySpec, FrontEnd, Interconnect, L1, L2, LoadStore, Rates};
use crate::gpu_file::{Document, SpecificationError};

impl FidelitySpec {
    /// Tells whether queues stand for the memory side, instead of its units in cycles.
    pub fn has_queues(&self) -> bool {
        self.interconnect != Interconnect::Detailed || self.l2 != L2::Detailed
    }

    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let refuse =
            |keys: [&str; 2], remedy| Err(document.disagree(&keys.map(|name| ("fidelity", name)), remedy));
        let has_simple_pipeline = self.load_store == LoadStore::Analytical;
        if has_simple_pipeline && self.front_end == FrontEnd::Detailed {
            return refuse(
                ["load_store", "front_end"],
                "an analytical load/store pipeline has no way to the constant cache: \
                 set fidelity.front_end=ideal",
            );
        }
        if has_simple_pipeline && self.l1 == L1::Detailed {
            return refuse(
                ["load_store", "l1"],
                "an analytical load/store pipeline never retries a load: set fidelity.l1=analytical or ideal",
            );
        }
        if !has_simple_pipeline && self.l1 == L1::Analytical {
            return refuse(
                ["l1", "load_store"],
                "an analytical L1 needs an analytical pipeline: set fidelity.load_store=analytical",
            );
        }
        if self.has_queues() && self.interconnect == Interconnect::Detailed {
            return refuse(
                ["l2", "interconnect"],
                "an L2 that is not detailed takes requests from queues: \
                 set fidelity.interconnect=analytical or ideal",
            );
        }
        if self.has_queues() && self.l2 == L2::Detailed {
            return refuse(
                ["interconnect", "l2"],
                "an interconnect that is not detailed ends at queues: set fidelity.l2=analytical or ideal",
            );
        }
        if self.has_queues() && self.dram == Dram::Detailed {
            return refuse(
                ["l2", "dram"],
                "an L2 that is not detailed sends its misses to queues: \
                 set fidelity.dram=analytical or ideal",
            );
        }
        if self.rates == Rates::ReuseDistance && (!has_simple_pipeline || self.l2 != L2::Analytical) {
            return refuse(
                ["rates", "load_store"],
                "rates are for analytical memory: use --mode hybrid-memory",
            );
        }
        match self.dram_efficiency {
            1..=100 => Ok(()),
            _ => Err(document.wrong("fidelity", "dram_efficiency", "must be 1 to 100 %")),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::specification::GpuSpec;

    #[test]
    fn senseless_mix_is_refused_by_name_with_its_remedy() {
        for (change, remedy) in [
            ("load_store=analytical", "fidelity.front_end=ideal"),
            ("l1=analytical", "fidelity.load_store=analytical"),
            ("l2=analytical", "fidelity.interconnect=analytical"),
            ("l2=ideal", "fidelity.interconnect=analytical"),
            ("interconnect=analytical", "fidelity.l2=analytical"),
            ("rates=reuse-distance", "--mode hybrid-memory"),
        ] {
            let change = format!("fidelity.{change}");
            let said = GpuSpec::changed("tiny", [change.as_str()]).unwrap_err().to_string();
            assert!(said.starts_with("--set: `fidelity.") && said.contains(remedy), "{said}");
        }
    }
}

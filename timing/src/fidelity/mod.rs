//! Fidelity by choice: how exactly each unit of the machine is simulated, and modes as named sets.
//!
//! A unit offers the fidelities that make sense for it, a file each unit. `detailed` follows the
//! unit's mechanism in cycles. `analytical` replaces the mechanism by latencies and queues. `ideal`
//! removes the unit's cost. The file of a unit lists the counters that a fidelity leaves out.

pub mod arithmetic;
pub mod banks;
pub mod coalescer;
pub mod dram;
pub mod front_end;
pub mod interconnect;
pub mod issue;
pub mod l1;
pub mod l2;
pub mod load_store;
mod mix;
mod mode;
pub mod rates;

pub use self::arithmetic::Arithmetic;
pub use self::banks::Banks;
pub use self::coalescer::Coalescer;
pub use self::dram::Dram;
pub use self::front_end::FrontEnd;
pub use self::interconnect::Interconnect;
pub use self::issue::{BlockScheduler, Issue};
pub use self::l1::L1;
pub use self::l2::L2;
pub use self::load_store::LoadStore;
pub use self::mode::{MODES, Mode};
pub use self::rates::{LevelRates, LoadRates, Rates};
use crate::power::events_of;
use crate::statistics::Counter;

crate::specification! {
    /// Fidelity of each unit.
    pub struct FidelitySpec in "fidelity" {
        /// Start of CTAs on SMs.
        block_scheduler: BlockScheduler ["choice"] = "detailed",
        /// Warp schedulers and issue.
        issue: Issue ["choice"] = "detailed",
        /// Fetch, decode, instruction caches and constant caches.
        front_end: FrontEnd ["choice"] = "detailed",
        /// Operand collectors, register banks, execution units and result bus.
        arithmetic: Arithmetic ["choice"] = "detailed",
        /// Memory pipelines, coalescer, shared memory and L1 TLB.
        load_store: LoadStore ["choice"] = "detailed",
        /// Addresses of loads and stores, as the coalescer takes them.
        coalescer: Coalescer ["choice"] = "detailed",
        /// Banks of shared memory and L1.
        banks: Banks ["choice"] = "detailed",
        /// L1 data cache.
        l1: L1 ["choice"] = "detailed",
        /// Crossbar between SMs and L2.
        interconnect: Interconnect ["choice"] = "detailed",
        /// L2 slices.
        l2: L2 ["choice"] = "detailed",
        /// DRAM channels.
        dram: Dram ["choice"] = "detailed",
        /// Source of the levels that serve the loads of an analytical L1.
        rates: Rates ["choice"] = "functional-cache",
        /// Part of the peak bandwidth that an analytical DRAM channel serves. The default is fitted to
        /// the detailed channels of a TITAN V in a sum of two vectors.
        dram_efficiency: u32 ["%"] = 80,
    }
}

impl FidelitySpec {
    /// Tells whether a counter is modelled. Other counters have no value.
    pub fn models(&self, counter: &Counter) -> bool {
        let FidelitySpec { front_end, arithmetic, load_store, l1, interconnect, l2, dram, .. } = self;
        let left_out = front_end.leaves_out(counter)
            || arithmetic.leaves_out(counter)
            || load_store.leaves_out(counter)
            || l1.leaves_out(counter)
            || interconnect.leaves_out(counter)
            || l2.leaves_out(counter)
            || dram.leaves_out(counter);
        // An energy needs all of its events.
        let models = |events: &'static str| {
            let (section, name) = events.split_once('.').unwrap_or_default();
            self.models(&Counter::sum(section, name, "", ""))
        };
        !left_out && events_of(counter).all(models)
    }
}

#[cfg(test)]
mod tests {
    use crate::specification::GpuSpec;
    use crate::statistics::Counters;
    use crate::totals::Totals;

    /// Counters that the fidelities of a GPU with these changes leave out, by section.
    fn left_out(changes: &[&str]) -> Vec<&'static str> {
        let spec = GpuSpec::changed("tiny", changes.iter().copied()).unwrap();
        let mut sections = Vec::new();
        Totals::default().each(&mut |counter, _| {
            if !spec.fidelity.models(counter) && !sections.contains(&counter.section) {
                sections.push(counter.section);
            }
        });
        sections
    }

    #[test]
    fn detailed_mode_models_every_counter() {
        assert!(left_out(&[]).is_empty());
    }

    #[test]
    fn ideal_front_end_counts_no_instruction_fetch() {
        // Energies of fetches and constants lack their events.
        assert_eq!(left_out(&["fidelity.front_end=ideal"]), ["front_end", "constant", "power"]);
    }

    #[test]
    fn unit_without_a_fidelity_names_those_it_has() {
        let said = GpuSpec::changed("tiny", ["fidelity.issue=analytical"]).unwrap_err().to_string();
        assert_eq!(said, "--set: `fidelity.issue = \"analytical\"`: must be one of detailed");
    }
}

//! A channel without commands: its latency, and a queue with its bandwidth.

use super::{Channel, Completed, Incoming};
use crate::dram::DramSpec;

impl Channel {
    /// Serves an access at a DRAM cycle. `efficiency` is the part of the peak bandwidth in per cent,
    /// `None` for any bandwidth. Returns the completed read.
    pub fn pass(
        &mut self,
        spec: &DramSpec,
        efficiency: Option<u32>,
        cycle: u64,
        incoming: &Incoming,
    ) -> Option<Completed> {
        let Incoming { write, slice, slot, sectors, .. } = *incoming;
        let count = u64::from(sectors.count_ones());
        match write {
            true => self.counters.writes += count,
            false => self.counters.reads += count,
        }
        let burst = u64::from(spec.ccd_s) * count;
        let end = match efficiency {
            None => cycle + burst,
            Some(efficiency) => {
                let efficiency = u64::from(efficiency);
                self.passing = self.passing.max(cycle * efficiency) + burst * 100;
                self.passing.div_ceil(efficiency)
            }
        };
        let cycle = end + u64::from(spec.rcd + spec.cl);
        (!write).then_some(Completed { cycle, slice, slot, sectors })
    }
}

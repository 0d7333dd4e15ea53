//! A DRAM channel behaves identically whether sectors of a line arrive together or one by one in a
//! cycle. Skipped idle cycles have the effect of simulated ones.

use std::collections::VecDeque;

use proptest::prelude::*;
use timing::dram::{
    Cell, Channel, ChannelCounts, Completed, DramCounters, DramSpec, Incoming, Queues, RefreshMode,
    Scheduler, Timing,
};

use timing::specification::GpuSpec;

use crate::harness::titan_v;

/// Accesses arriving at a cycle, or later if the queue is full.
type Coming = (u64, Incoming);

/// A read: end of data, slot of the slice, sector.
type Read = (u64, u32, u32);

fn each_sector(sectors: u8) -> impl Iterator<Item = u32> {
    (0..8).filter(move |sector| sectors >> sector & 1 != 0)
}

/// Mode of simulation.
#[derive(Debug, Clone, Copy, Default)]
struct Way {
    /// Delivers accesses sector by sector.
    sector_by_sector: bool,
    /// Simulates every cycle.
    each_cycle: bool,
}

/// Simulates until all accesses are done.
fn run(spec: &DramSpec, coming: &[Coming], way: Way) -> (Vec<Read>, DramCounters, ChannelCounts) {
    let timing = Timing::new(spec);
    let mut channel = Channel::new(spec, &timing, 0);
    let mut coming: VecDeque<Coming> = coming.iter().copied().collect();
    let mut reads = Vec::new();
    let mut note = |completed: Option<Completed>| {
        let Some(Completed { cycle, slot, sectors, .. }) = completed else { return };
        reads.extend(each_sector(sectors).map(|sector| (cycle, slot, sector)));
    };
    for cycle in 0.. {
        assert!(cycle < 1 << 20, "it stands still");
        while let Some((_, incoming)) = coming.pop_front_if(|(from, incoming)| {
            *from <= cycle && channel.room(spec, incoming.write) >= incoming.sectors.count_ones()
        }) {
            match way.sector_by_sector {
                false => note(channel.accept(spec, &timing, cycle, incoming)),
                true => each_sector(incoming.sectors).for_each(|sector| {
                    let one = Incoming { sectors: 1 << sector, ..incoming };
                    note(channel.accept(spec, &timing, cycle, one));
                }),
            }
        }
        let its_own = cycle % u64::from(spec.pseudo_channels) == 0 && !channel.is_idle();
        if channel.next_event() <= cycle || way.each_cycle && its_own {
            note(channel.step(spec, &timing, cycle));
        }
        if coming.is_empty() && channel.is_idle() {
            break;
        }
    }
    assert_eq!(channel.violation(), None);
    (reads, *channel.counters(), channel.counts())
}

prop_compose! {
    /// Accesses to a few lines of two banks, often repeated.
    fn accesses()(
        all in prop::collection::vec(((0_u64..30, 0_u8..2, 0_u64..3), (0_u16..3, any::<bool>(), 1_u8..16)), 1..80)
    ) -> Vec<Coming> {
        let mut cycle = 0;
        all.into_iter().zip(0..).map(|(((later, bank, row), (line, write, sectors)), slot)| {
            cycle += later;
            let cell = Cell { bank, row, column: 4 * line };
            (cycle, Incoming { cell, write, slice: 0, source: (slot % 3) as u16, slot, sectors })
        }).collect()
    }
}

prop_compose! {
    /// Channels with short queues, which fill up, and frequent refreshes.
    fn specs()(
        scheduler in prop::sample::select(Scheduler::ALL), one_queue in any::<bool>(), two_buses in any::<bool>(), write_high in 3_u32..12,
        refresh in prop::sample::select(vec![RefreshMode::None, RefreshMode::PerBank, RefreshMode::AllBank])
    ) -> DramSpec {
        let mut spec = titan_v(|_| ()).dram;
        spec.scheduler = scheduler;
        // The list of BLISS is cleared while accesses wait.
        spec.scheduling = GpuSpec::changed("titan-v", ["dram.bliss_interval=50"]).unwrap().dram.scheduling;
        spec.queues = if one_queue { Queues::One } else { Queues::Apart };
        spec.dual_command_bus = two_buses;
        (spec.write_high, spec.write_low, spec.write_queue) = (write_high, write_high / 2, 16);
        (spec.refresh, spec.refi) = (refresh, spec.refi / 8);
        spec
    }
}

proptest! {
    #[test]
    fn sectors_arriving_together_or_singly_are_served_alike(
        accesses in accesses(), scheduler in prop::sample::select(Scheduler::ALL), request in prop::sample::select(vec![32_u32, 64, 128])
    ) {
        let mut spec = titan_v(|_| ()).dram;
        spec.request = request;
        spec.scheduler = scheduler;
        let sector_by_sector = Way { sector_by_sector: true, ..Way::default() };
        prop_assert_eq!(run(&spec, &accesses, Way::default()), run(&spec, &accesses, sector_by_sector));
    }

    #[test]
    fn channel_is_idle_before_its_next_event(
        accesses in accesses(), spec in specs()
    ) {
        let each_cycle = Way { each_cycle: true, ..Way::default() };
        prop_assert_eq!(run(&spec, &accesses, Way::default()), run(&spec, &accesses, each_cycle));
    }
}

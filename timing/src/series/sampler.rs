//! Taking points while a launch runs.

use super::{Interval, MOST_POINTS, Points, Series, Units};
use crate::dram::ChannelCounts;
use crate::statistics::{Counters as _, Kind};
use crate::totals::Totals;

/// First interval of an automatic series in core cycles.
const FIRST: u64 = 256;
/// Epochs of single SMs before a point of an automatic series, for each SM of the GPU. The cost of
/// a point is below a tenth of these epochs.
const WORK: u64 = 8;
/// Most points of a series with a fixed interval; merged beyond.
const MOST_FIXED: usize = 8_000;
/// Most points of the series of single units.
const MOST_OF_UNITS: usize = 480;

/// Counts of all units at a core cycle.
pub(crate) struct Sample<'a> {
    /// Core cycle.
    pub(crate) cycle: u64,
    /// Sums over units of a kind.
    pub(crate) totals: &'a Totals,
    /// Warp instructions of each SM.
    pub(crate) sms: Vec<u64>,
}

/// Series under way.
pub(crate) struct Sampler {
    /// Most points of the counters.
    most: usize,
    /// Points wait for work.
    is_auto: bool,
    /// Interval in core cycles.
    step: u64,
    /// First interval in core cycles.
    first: u64,
    /// Core cycle from which a point is due; `u64::MAX` while no launch is followed.
    next: u64,
    /// Epochs of single SMs since the last point.
    work: u64,
    /// Epochs of single SMs before a point.
    least_work: u64,
    last: Last,
    counters: Points,
    /// Points of the counters that a point of single units covers.
    group: usize,
    /// Points of the counters since the last one of single units.
    grouped: usize,
    units: Units,
}

/// Counts at the last point.
#[derive(Default)]
struct Last {
    cycle: u64,
    counters: Vec<u64>,
    /// Core cycle and counts of the last point of single units.
    unit_cycle: u64,
    sms: Vec<u64>,
    channels: Vec<u64>,
    banks: Vec<u64>,
}

impl Sampler {
    /// A sampler for launches on a GPU with `sms` SMs.
    pub(crate) fn new(interval: Interval, sms: u32) -> Sampler {
        let (first, most, least_work) = match interval {
            Interval::Cycles(cycles) => (cycles.get(), MOST_FIXED, 0),
            Interval::Auto => (FIRST, MOST_POINTS, WORK * u64::from(sms)),
        };
        Sampler {
            most,
            is_auto: interval == Interval::Auto,
            step: first,
            first,
            next: u64::MAX,
            work: 0,
            least_work,
            last: Last::default(),
            counters: Points::default(),
            group: 1,
            grouped: 0,
            units: Units { sms: Points::default(), channels: Points::default(), banks: Points::default() },
        }
    }

    /// Begins a series.
    pub(crate) fn begin(&mut self, sample: &Sample<'_>) {
        let Sample { cycle, totals, sms } = sample;
        let (channels, banks) = of_dram(&totals.channels);
        self.counters = Points::new(summed(totals).count());
        self.units = Units {
            sms: Points::new(sms.len() + 1),
            channels: Points::new(channels.len() + 1),
            banks: Points::new(banks.len() + 1),
        };
        (self.step, self.group, self.grouped, self.work) = (self.first, 1, 0, 0);
        self.next = cycle + self.step;
        let counters = summed(totals).collect();
        self.last = Last { cycle: *cycle, counters, unit_cycle: *cycle, sms: sms.clone(), channels, banks };
    }

    /// True if a point is due at the end of an epoch in which `active` SMs ran.
    pub(crate) fn is_due(&mut self, cycle: u64, active: usize) -> bool {
        self.work += active as u64;
        cycle >= self.next && (!self.is_auto || self.work >= self.least_work)
    }

    /// Takes a point.
    pub(crate) fn take(&mut self, sample: &Sample<'_>) {
        let point = self.last.pass(sample);
        self.counters.push(point);
        self.grouped += 1;
        if self.grouped == self.group {
            self.take_units(sample);
        }
        self.work = 0;
        self.last.cycle = sample.cycle;
        if self.counters.len() >= self.most {
            self.counters.merge_pairs();
            self.step *= 2;
        }
        self.next = sample.cycle + self.step;
    }

    fn take_units(&mut self, sample: &Sample<'_>) {
        let cycles = sample.cycle.saturating_sub(self.last.unit_cycle);
        let (channels, banks) = of_dram(&sample.totals.channels);
        let Units { sms, channels: of_channels, banks: of_banks } = &mut self.units;
        for (points, last, now) in [
            (sms, &mut self.last.sms, &sample.sms),
            (of_channels, &mut self.last.channels, &channels),
            (of_banks, &mut self.last.banks, &banks),
        ] {
            let more = now.iter().zip(&*last).map(|(now, last)| now.saturating_sub(*last));
            let point: Vec<u64> = std::iter::once(cycles).chain(more).collect();
            match cycles {
                0 => points.add_to_last(&point),
                _ => points.push(point),
            }
            last.clone_from(now);
        }
        self.last.unit_cycle = sample.cycle;
        self.grouped = 0;
        if self.units.sms.len() >= MOST_OF_UNITS {
            self.units.sms.merge_pairs();
            self.units.channels.merge_pairs();
            self.units.banks.merge_pairs();
            self.group *= 2;
        }
    }

    /// Ends the series of a launch; `None` if none began. The launch ends at the sample's cycle,
    /// perhaps before the last point.
    pub(crate) fn end(&mut self, sample: &Sample<'_>) -> Option<Series> {
        if self.next == u64::MAX || self.counters.width() == 0 {
            return None;
        }
        self.next = u64::MAX;
        let now: Vec<u64> = summed(sample.totals).collect();
        let mut rest: Vec<u64> = Vec::with_capacity(now.len());
        for (column, (now, last)) in now.iter().zip(&self.last.counters).enumerate() {
            // Slots of a waiting warp scheduler may be counted under another reason in the end.
            self.counters.take(column, last.saturating_sub(*now));
            rest.push(now.saturating_sub(*last));
        }
        match sample.cycle > self.last.cycle {
            true => self.counters.push(rest),
            false => self.counters.add_to_last(&rest),
        }
        self.take_units(sample);
        let units = Units { sms: Points::default(), channels: Points::default(), banks: Points::default() };
        Some(Series {
            counters: std::mem::take(&mut self.counters),
            units: std::mem::replace(&mut self.units, units),
        })
    }
}

impl Last {
    /// Differences to the last point, whose counts the sample's replace. A count below that of the
    /// last point stands still.
    fn pass(&mut self, sample: &Sample<'_>) -> Vec<u64> {
        let pass = |(last, now): (&mut u64, u64)| {
            let more = now.saturating_sub(*last);
            *last += more;
            more
        };
        self.counters.iter_mut().zip(summed(sample.totals)).map(pass).collect()
    }
}

/// Values of all counters that add up.
fn summed(totals: &Totals) -> impl Iterator<Item = u64> {
    let mut values = Vec::new();
    totals.each(&mut |counter, value| {
        if counter.kind != Kind::Most {
            values.push(value);
        }
    });
    values.into_iter()
}

/// Bus cycles of each channel, and busy cycles of each bank.
fn of_dram(channels: &[ChannelCounts]) -> (Vec<u64>, Vec<u64>) {
    let bus = channels.iter().map(|channel| channel.bus_cycles).collect();
    let banks = channels.iter().flat_map(|channel| &channel.banks).map(|bank| bank.busy_cycles);
    (bus, banks.collect())
}

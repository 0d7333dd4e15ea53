//! Counts of a launch over time: curves, areas and maps.

use crate::draw::curves::{Curve, Plot};
use crate::draw::heat::Heat;
use crate::draw::legend;
use crate::draw::scale::round_up;
use crate::input::{Launch, Map, Series};
use crate::limit::SLOTS;
use crate::sections::power::PARTS;

/// Columns of a map.
const COLUMNS: usize = 240;
/// Bytes of a sector.
const SECTOR: f64 = 32.0;

/// All pictures of a launch, or a line where they would be.
pub(crate) fn of_launch(launch: &Launch, cycle: f64) -> String {
    let Some(series) = launch.series.as_ref().filter(|series| !series.cycles().is_empty()) else {
        return "<p class=\"note\">The file has no time series of this launch: run with <code>--series auto</code> or <code>--report</code>.</p>".to_owned();
    };
    let ends: Vec<f64> = series
        .cycles()
        .iter()
        .scan(0.0, |end, cycles| {
            *end += cycles * cycle;
            Some(*end)
        })
        .collect();
    let over = Over { series, ends: &ends };
    let mut text = String::from("<div class=\"series\">");
    for (title, picture) in [
        ("Warp instructions per core cycle", over.ipc()),
        ("Issue slots by outcome", over.slots()),
        ("Warp instructions by active lanes", over.lanes()),
        ("Hit rates", over.hit_rates()),
        ("Bandwidth", over.bandwidth(cycle)),
        ("DRAM efficiency and utilisation", over.dram()),
        ("Occupancy", over.occupancy()),
        ("Queue lengths", over.queues()),
        ("Power by part", over.power(cycle)),
    ] {
        if picture.is_empty() {
            continue;
        }
        text.push_str(&format!("<figure><figcaption>{title}</figcaption>{picture}</figure>"));
    }
    text.push_str(&maps(series, cycle));
    text.push_str("</div>");
    text
}

/// Series with the ends of their intervals.
struct Over<'a> {
    series: &'a Series,
    ends: &'a [f64],
}

impl Over<'_> {
    /// Quotients of two sums, scaled; 0 where the second is 0.
    fn ratio(&self, scale: f64, over: &[&str], under: &[&str]) -> Vec<f64> {
        let under = self.series.sum(under);
        let parts = self.series.sum(over).into_iter().zip(under);
        parts.map(|(over, under)| if under > 0.0 { scale * over / under } else { 0.0 }).collect()
    }

    fn plot(
        &self,
        label: &str,
        unit: &str,
        curves: Vec<Curve>,
        most: Option<f64>,
        is_stacked: bool,
    ) -> String {
        let plot = Plot { label, unit, ends: self.ends, curves, is_stacked, most, height: 170.0 };
        plot.draw()
    }

    /// Curves with their legend; the classes are the numbers of the colours.
    fn lines(&self, label: &str, unit: &str, curves: Vec<(&str, Vec<f64>)>, most: Option<f64>) -> String {
        let names = curves.iter().enumerate().map(|(place, (name, _))| (format!("l{place}"), *name));
        let legend = if curves.len() > 1 { legend(names) } else { String::new() };
        let curve = |(place, (name, values)): (usize, (&str, Vec<f64>))| Curve {
            name: name.to_owned(),
            class: format!("l{place}"),
            values,
        };
        let curves = curves.into_iter().enumerate().map(curve).collect();
        format!("{legend}{}", self.plot(label, unit, curves, most, false))
    }

    fn ipc(&self) -> String {
        let values = self.ratio(1.0, &["sm.warp_instructions"], &["gpu.cycles"]);
        self.lines("Warp instructions per core cycle over time", "", vec![("IPC", values)], None)
    }

    fn slots(&self) -> String {
        let all: Vec<&str> = SLOTS.iter().map(|(name, _)| *name).collect();
        let used = SLOTS.iter().enumerate().filter(|(_, (name, _))| self.series.counter(name).is_some());
        let used: Vec<(usize, &(&str, &str))> = used.collect();
        let names = legend(used.iter().map(|(place, (_, text))| (format!("s{place}"), *text)));
        let curve = |(place, (name, text)): &(usize, &(&str, &str))| Curve {
            name: (*text).to_owned(),
            class: format!("s{place}"),
            values: self.ratio(100.0, &[*name], &all),
        };
        let curves = used.iter().map(curve).collect();
        format!("{names}{}", self.plot("Issue slots by outcome over time", "%", curves, Some(100.0), true))
    }

    /// Groups of four numbers of lanes, as AerialVision draws them.
    fn lanes(&self) -> String {
        let group =
            |first: usize, last: usize| (first..=last).map(|lanes| format!("lanes.w{lanes}")).collect();
        let groups: Vec<(String, Vec<String>)> = std::iter::once(("W0".to_owned(), group(0, 0)))
            .chain((0..8).map(|place| {
                (format!("W{}–{}", 4 * place + 1, 4 * place + 4), group(4 * place + 1, 4 * place + 4))
            }))
            .collect();
        let all: Vec<String> = (0..=32).map(|lanes| format!("lanes.w{lanes}")).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let mut curves = Vec::new();
        for (place, (name, counters)) in groups.iter().enumerate() {
            let counters: Vec<&str> = counters.iter().map(String::as_str).collect();
            if counters.iter().any(|name| self.series.counter(name).is_some()) {
                let values = self.ratio(100.0, &counters, &all);
                curves.push(Curve { name: name.clone(), class: format!("w{place}"), values });
            }
        }
        let names = curves.iter().map(|curve| (curve.class.clone(), curve.name.as_str()));
        let names = legend(names);
        format!(
            "{names}{}",
            self.plot("Warp instructions by active lanes over time", "%", curves, Some(100.0), true)
        )
    }

    fn hit_rates(&self) -> String {
        let l1 = self.ratio(
            100.0,
            &["l1.load_sector_hits", "l1.load_sectors_merged", "l1.store_sector_hits"],
            &["l1.load_sectors", "l1.store_sectors"],
        );
        let l2 = self.ratio(
            100.0,
            &["l2.read_hits", "l2.pending_hits", "l2.sectors_written", "l2.atomic_hits", "l2.reduction_hits"],
            &["l2.hits", "l2.misses"],
        );
        self.lines("Hit rates of L1 and L2 over time", "%", vec![("L1", l1), ("L2", l2)], Some(100.0))
    }

    fn bandwidth(&self, cycle: f64) -> String {
        let rate = |counters: &[&str]| self.ratio(SECTOR / cycle, counters, &["gpu.cycles"]);
        let curves = vec![
            ("L1", rate(&["l1.load_sectors", "l1.store_sectors"])),
            ("L2", rate(&["l2.hits", "l2.misses"])),
            ("DRAM", rate(&["dram.reads", "dram.writes"])),
        ];
        self.lines("Bandwidth of L1, L2 and DRAM over time", "GB/s", curves, None)
    }

    fn dram(&self) -> String {
        let efficiency = self.ratio(100.0, &["dram.bus_cycles"], &["dram.busy_cycles"]);
        let utilisation = self.ratio(100.0, &["dram.bus_cycles"], &["gpu.dram_cycles"]);
        let curves = vec![
            ("efficiency: share of busy cycles", efficiency),
            ("utilisation: share of all cycles", utilisation),
        ];
        self.lines("DRAM efficiency and utilisation over time", "%", curves, Some(100.0))
    }

    fn occupancy(&self) -> String {
        let values = self.ratio(100.0, &["sm.warp_cycles"], &["gpu.warp_slot_cycles"]);
        self.lines(
            "Resident warps over time",
            "% of the warp slots",
            vec![("resident warps", values)],
            Some(100.0),
        )
    }

    /// Watts of each part on each other; nothing without energies. A picojoule in a nanosecond is a
    /// milliwatt.
    fn power(&self, cycle: f64) -> String {
        let used: Vec<(usize, &(&str, &str))> =
            PARTS.iter().enumerate().filter(|(_, (name, _))| self.series.counter(name).is_some()).collect();
        if self.series.counter("power.energy").is_none() {
            return String::new();
        }
        let names = legend(used.iter().map(|(place, (_, text))| (format!("s{place}"), *text)));
        let curve = |(place, (name, text)): &(usize, &(&str, &str))| Curve {
            name: (*text).to_owned(),
            class: format!("s{place}"),
            values: self.ratio(1e-3 / cycle, &[*name], &["gpu.cycles"]),
        };
        let curves = used.iter().map(curve).collect();
        format!("{names}{}", self.plot("Power of each part over time", "W", curves, None, true))
    }

    fn queues(&self) -> String {
        let curves = vec![
            ("lines outstanding of an L1", self.ratio(1.0, &["l1.miss_occupancy"], &["gpu.sm_cycles"])),
            ("MSHRs in use of an L2 slice", self.ratio(1.0, &["l2.mshr_occupancy"], &["gpu.l2_cycles"])),
            (
                "queued sectors of a DRAM channel",
                self.ratio(
                    1.0,
                    &["dram.read_queue_occupancy", "dram.write_queue_occupancy"],
                    &["gpu.dram_cycles"],
                ),
            ),
        ];
        self.lines("Mean queue lengths over time", "", curves, None)
    }
}

/// Maps of SMs, channels and banks.
fn maps(series: &Series, cycle: f64) -> String {
    let mut text = String::new();
    let mut add =
        |title: &str, unit: &str, measure: &str, map: &Option<Map>, scale: f64, most: Option<f64>| {
            let Some(map) = map else { return };
            let length: f64 = map.cycles.iter().sum();
            let rows: Vec<Vec<f64>> =
                map.units.iter().map(|unit| resampled(&map.cycles, unit, scale)).collect();
            let highest = rows.iter().flatten().copied().fold(0.0, f64::max);
            if highest <= 0.0 {
                return;
            }
            let most = most.unwrap_or_else(|| round_up(highest));
            let heat = Heat { label: title, unit, measure, nanoseconds: length * cycle, rows, most };
            text.push_str(&format!("<figure><figcaption>{title}</figcaption>{}</figure>", heat.draw()));
        };
    let sum = |name: &str| series.counter(name).map_or(0.0, |values| values.iter().sum::<f64>());
    let (dram_cycles, cycles) = (sum("gpu.dram_cycles"), sum("gpu.cycles"));
    add("Warp instructions per core cycle of each SM", "SM", "per cycle", &series.sms, 1.0, None);
    let channels = series.channels.as_ref().map_or(1, |map| map.units.len().max(1)) as f64;
    // DRAM cycles of a channel per core cycle.
    let clock = if cycles > 0.0 { dram_cycles / cycles / channels } else { 1.0 };
    let scale = if clock > 0.0 { 100.0 / clock } else { 0.0 };
    add(
        "Utilisation of each DRAM channel",
        "channel",
        "% of the cycles",
        &series.channels,
        scale,
        Some(100.0),
    );
    add(
        "Busy share of each DRAM bank, channel by channel",
        "bank",
        "% of the cycles",
        &series.banks,
        scale,
        Some(100.0),
    );
    text
}

/// Rates per core cycle in columns of equal length, times `scale`.
fn resampled(cycles: &[f64], counts: &[f64], scale: f64) -> Vec<f64> {
    let all: f64 = cycles.iter().sum();
    let columns = cycles.len().clamp(1, COLUMNS);
    let width = all / columns as f64;
    let mut sums = vec![0.0; columns];
    let mut start = 0.0;
    for (length, count) in cycles.iter().zip(counts) {
        let end = start + length;
        let mut from = start;
        while from < end - 1e-9 {
            let column = ((from / width + 1e-9) as usize).min(columns - 1);
            let to = if column + 1 == columns { end } else { end.min((column + 1) as f64 * width) };
            if let Some(sum) = sums.get_mut(column) {
                *sum += count * (to - from) / length;
            }
            if to <= from {
                break;
            }
            from = to;
        }
        start = end;
    }
    sums.iter().map(|sum| scale * sum / width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resampled_columns_keep_the_sum() {
        let cycles: Vec<f64> = (0..1000).map(|place| f64::from(100 + place % 3)).collect();
        let counts: Vec<f64> = (0..1000).map(|place| f64::from(place % 11)).collect();
        let columns = resampled(&cycles, &counts, 1.0);
        let width = cycles.iter().sum::<f64>() / columns.len() as f64;
        let sum: f64 = columns.iter().map(|rate| rate * width).sum();
        assert_eq!(columns.len(), COLUMNS);
        assert!((sum - counts.iter().sum::<f64>()).abs() < 1e-6, "{sum}");
    }
}

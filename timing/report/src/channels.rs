//! DRAM channels and banks in every format of statistics.

use std::fmt::Write as _;

use serde_json::{Value, json};

use timing::dram::{BankCounts, ChannelCounts};
use timing::statistics::{Counter, Counts, value};

/// CSV columns of channels and banks.
pub(super) fn columns() -> impl Iterator<Item = String> {
    let counters =
        ChannelCounts::COUNTERS.into_iter().chain(BankCounts::COUNTERS).chain(ChannelCounts::RATES);
    counters.map(|counter| format!("dram.{}", counter.name))
}

/// CSV fields of [`columns`]: one number per channel or bank, separated by spaces.
pub(super) fn fields(channels: &[ChannelCounts], counters: &Counts) -> impl Iterator<Item = String> {
    let of_channels = (0..ChannelCounts::COUNTERS.len()).map(|place| list(values(channels, place)));
    let of_banks = (0..BankCounts::COUNTERS.len()).map(|place| list(values_of_banks(channels, place)));
    let rates =
        rates(channels, counters).map(|rates| list(rates.into_iter().map(|rate| rate.unwrap_or(0.0))));
    of_channels.chain(of_banks).chain(rates)
}

/// JSON list of channels: counts, rates, and lists of the banks' counts.
pub(super) fn json(channels: &[ChannelCounts], counters: &Counts) -> Value {
    let [utilisation, efficiency] = rates(channels, counters);
    let object = |(channel, (utilisation, efficiency)): (&ChannelCounts, (Option<f64>, Option<f64>))| {
        let mut object = json!({ "utilisation": utilisation, "efficiency": efficiency });
        for (counter, value) in ChannelCounts::COUNTERS.iter().zip(channel.values()) {
            object[last(counter)] = json!(value);
        }
        let mut banks = json!({});
        for (place, counter) in BankCounts::COUNTERS.iter().enumerate() {
            banks[last(counter)] = channel.banks.iter().map(|bank| bank.values()[place]).collect();
        }
        object["banks"] = banks;
        object
    };
    channels.iter().zip(utilisation.into_iter().zip(efficiency)).map(object).collect()
}

/// Minimum, mean and maximum over channels and over banks.
pub(super) fn text(text: &mut String, channels: &[ChannelCounts], counters: &Counts) {
    let mut line = |Counter { name, unit, .. }: &Counter, values: &[f64]| {
        let Some(mean) = mean(values) else { return };
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = values.iter().copied().fold(0.0, f64::max);
        let name = format!("dram.{name}");
        let _ = writeln!(text, "  {name:<40} {mean:>16.3} {unit}, {lowest:.3} to {highest:.3}");
    };
    for (counter, rates) in ChannelCounts::RATES.iter().zip(rates(channels, counters)) {
        line(counter, &rates.into_iter().flatten().collect::<Vec<f64>>());
    }
    for (place, counter) in ChannelCounts::COUNTERS.iter().enumerate() {
        let values: Vec<f64> = values(channels, place).map(|value| value as f64).collect();
        line(counter, &values);
    }
    for (place, counter) in BankCounts::COUNTERS.iter().enumerate() {
        let values: Vec<f64> = values_of_banks(channels, place).map(|value| value as f64).collect();
        line(counter, &values);
    }
}

/// GPGPU-Sim's lines for each channel, for the values that the model counts, and the banks' reads
/// and writes.
pub(super) fn gpgpu_sim(text: &mut String, channels: &[ChannelCounts], counters: &Counts) {
    let cycles = cycles(channels, counters);
    banks_of_gpgpu_sim(text, "read", channels, |bank| bank.reads);
    banks_of_gpgpu_sim(text, "write", channels, |bank| bank.writes);
    for (number, channel) in channels.iter().enumerate() {
        let ChannelCounts { reads, writes, busy_cycles, banks, .. } = channel;
        let activates: u64 = banks.iter().map(|bank| bank.activates).sum();
        let part = |part: Option<f64>| part.unwrap_or(0.0);
        let _ = writeln!(
            text,
            "DRAM[{number}]:\nn_act={activates} n_req={} n_rd={reads} n_write={writes} bw_util={:.4}\nn_activity={busy_cycles} dram_eff={:.4}",
            reads + writes,
            part(channel.utilisation(cycles)),
            part(channel.efficiency())
        );
    }
}

/// A line per channel with a number per bank.
fn banks_of_gpgpu_sim(
    text: &mut String,
    which: &str,
    channels: &[ChannelCounts],
    of_bank: impl Fn(&BankCounts) -> u64,
) {
    let _ = writeln!(text, "number of total {which} accesses:");
    for (number, channel) in channels.iter().enumerate() {
        let banks: String = channel.banks.iter().map(|bank| format!("{:9} ", of_bank(bank))).collect();
        let _ = writeln!(text, "dram[{number}]: {banks}");
    }
}

/// DRAM cycles of one channel.
fn cycles(channels: &[ChannelCounts], counters: &Counts) -> f64 {
    value(counters, "gpu.dram_cycles").unwrap_or(0) as f64 / channels.len().max(1) as f64
}

/// Utilisation and efficiency of each channel in per cent; `None` for an idle channel.
fn rates(channels: &[ChannelCounts], counters: &Counts) -> [Vec<Option<f64>>; 2] {
    let cycles = cycles(channels, counters);
    let percent = |rate: Option<f64>| rate.map(|rate| 100.0 * rate);
    [
        channels.iter().map(|channel| percent(channel.utilisation(cycles))).collect(),
        channels.iter().map(|channel| percent(channel.efficiency())).collect(),
    ]
}

fn values(channels: &[ChannelCounts], place: usize) -> impl Iterator<Item = u64> {
    channels.iter().map(move |channel| channel.values()[place])
}

fn values_of_banks(channels: &[ChannelCounts], place: usize) -> impl Iterator<Item = u64> {
    channels.iter().flat_map(|channel| &channel.banks).map(move |bank| bank.values()[place])
}

/// Last component of a counter's name.
fn last(counter: &Counter) -> &'static str {
    counter.name.rsplit('.').next().unwrap_or(counter.name)
}

fn list(values: impl Iterator<Item = impl ToString>) -> String {
    values.map(|value| value.to_string()).collect::<Vec<_>>().join(" ")
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    static CYCLES: Counter = Counter::sum("gpu", "dram_cycles", "DRAM cycles", "");

    /// Two channels of two banks in 100 cycles.
    fn example() -> (Vec<ChannelCounts>, Counts) {
        let bank = |reads, writes| BankCounts { reads, writes, row_hits: 1, activates: 2, busy_cycles: 30 };
        let busy = ChannelCounts {
            reads: 6,
            writes: 4,
            bus_cycles: 20,
            busy_cycles: 40,
            banks: vec![bank(4, 3), bank(2, 1)],
        };
        let idle = ChannelCounts { banks: vec![BankCounts::default(); 2], ..ChannelCounts::default() };
        (vec![busy, idle], vec![(&CYCLES, 200)])
    }

    #[test]
    fn csv_lists_channels_and_banks() {
        let (channels, counters) = example();
        let named: Vec<(String, String)> = columns().zip(fields(&channels, &counters)).collect();
        let field = |name: &str| named.iter().find(|(column, _)| column == name).unwrap().1.as_str();
        assert_eq!(named.len(), columns().count());
        assert_eq!(field("dram.channel.reads"), "6 0");
        assert_eq!((field("dram.bank.reads"), field("dram.bank.writes")), ("4 2 0 0", "3 1 0 0"));
        assert_eq!((field("dram.channel.utilisation"), field("dram.channel.efficiency")), ("20 0", "50 0"));
    }

    #[test]
    fn json_has_an_object_per_channel_with_bank_lists() {
        let (channels, counters) = example();
        let value = json(&channels, &counters);
        assert_eq!(
            (&value[0]["banks"]["reads"], &value[0]["banks"]["writes"]),
            (&json!([4, 2]), &json!([3, 1]))
        );
        assert_eq!((&value[0]["writes"], &value[0]["utilisation"]), (&json!(4), &json!(20.0)));
        assert_eq!(value[1]["efficiency"], Value::Null);
    }

    #[test]
    fn gpgpu_sim_format_has_lines_per_channel() {
        let (channels, counters) = example();
        let mut written = String::new();
        gpgpu_sim(&mut written, &channels, &counters);
        let lines: Vec<&str> = written.lines().collect();
        assert_eq!(lines[..2], ["number of total read accesses:", "dram[0]:         4         2 "]);
        assert_eq!(lines[3..5], ["number of total write accesses:", "dram[0]:         3         1 "]);
        assert_eq!(lines[6..8], ["DRAM[0]:", "n_act=4 n_req=10 n_rd=6 n_write=4 bw_util=0.2000"]);
        assert_eq!(lines[8..10], ["n_activity=40 dram_eff=0.5000", "DRAM[1]:"]);
    }

    #[test]
    fn text_shows_mean_and_range() {
        let (channels, counters) = example();
        let mut written = String::new();
        text(&mut written, &channels, &counters);
        let lines: Vec<String> =
            written.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(lines[0], "dram.channel.utilisation 10.000 %, 0.000 to 20.000");
        assert_eq!(lines[1], "dram.channel.efficiency 50.000 %, 50.000 to 50.000");
        assert!(lines.contains(&"dram.bank.reads 1.500 sectors, 0.000 to 4.000".to_owned()), "{written}");
        assert!(lines.contains(&"dram.bank.writes 1.000 sectors, 0.000 to 3.000".to_owned()), "{written}");
        assert_eq!(lines.len(), 11);
    }
}

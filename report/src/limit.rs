//! The unit that bounds a launch, by the shares of its peaks.
//!
//! A unit above [`BUSY`] per cent of its peak bounds the launch. Without such a unit, waits do: the
//! reason with most issue slots. The text names the counters' values alone; advice would need a
//! what-if.

use crate::format::percent;
use crate::input::Counts;

/// Share of a peak from which a unit bounds a launch, in per cent.
pub const BUSY: f64 = 60.0;

/// A throughput as a share of its peak.
#[derive(Debug, Clone, PartialEq)]
pub struct Throughput {
    /// Name of the unit.
    pub unit: &'static str,
    /// Share of the peak in per cent.
    pub share: f64,
    /// Counter that explains it.
    pub counter: &'static str,
}

/// Names and texts of the outcomes of issue slots: counter, short text, whether it is a wait.
pub const SLOTS: [(&str, &str); 11] = [
    ("issue.issued", "issued"),
    ("issue.scoreboard", "waits for results"),
    ("issue.long_scoreboard", "waits for memory"),
    ("issue.instruction_fetch", "waits for instructions"),
    ("issue.unit_busy", "execution unit busy"),
    ("issue.operand_conflict", "no operand collector"),
    ("issue.barrier", "waits at a barrier"),
    ("issue.memory_throttle", "memory queue full"),
    ("issue.held_load", "load held back"),
    ("issue.sleep", "sleeps"),
    ("issue.idle", "no warp"),
];

/// Throughputs of the units of a launch, each with a known peak.
pub fn throughputs(counts: &Counts) -> Vec<Throughput> {
    let mut all = Vec::new();
    let mut add = |unit, counter, share: Option<f64>| {
        if let Some(share) = share.filter(|share| share.is_finite()) {
            all.push(Throughput { unit, share, counter });
        }
    };
    let active = counts.ratio("sm.active_cycles", "gpu.sm_cycles");
    let issue = counts.value("issue.utilisation").zip(active).map(|(share, active)| share * active);
    add("Issue slots", "issue.utilisation", issue);
    let passes = counts.sum(&["l1.passes", "shared.passes"]);
    let cycles = counts.counter("gpu.sm_cycles");
    add("L1 and shared memory", "l1.passes", (cycles > 0.0).then(|| 100.0 * passes / cycles));
    add("L2", "l2.utilisation", counts.value("l2.utilisation"));
    add("DRAM", "dram.utilisation", counts.value("dram.utilisation"));
    all
}

/// A few words: the unit or wait that bounds a launch.
pub fn short(counts: &Counts) -> String {
    match text(counts) {
        text if text.starts_with("latency") => match most_waits(counts) {
            Some((share, text)) => format!("latency: {text} {}", percent(share)),
            None => text,
        },
        text => text,
    }
}

/// Share of the issue slots that were lost for the most frequent reason, in per cent.
fn most_waits(counts: &Counts) -> Option<(f64, &'static str)> {
    let slots: f64 = SLOTS.iter().map(|(name, _)| counts.counter(name)).sum();
    let waits = SLOTS.iter().skip(1).map(|(name, text)| (counts.counter(name), *text));
    let most = waits.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(most, _)| *most > 0.0);
    most.filter(|_| slots > 0.0).map(|(most, text)| (100.0 * most / slots, text))
}

/// One line: the unit or wait that bounds a launch.
pub fn text(counts: &Counts) -> String {
    let all = throughputs(counts);
    let busiest = all.iter().max_by(|a, b| a.share.total_cmp(&b.share));
    if let Some(Throughput { unit, share, .. }) = busiest.filter(|unit| unit.share >= BUSY) {
        return format!("{unit} at {} of the peak", percent(*share));
    }
    let active = counts.ratio("sm.active_cycles", "gpu.sm_cycles").unwrap_or(1.0);
    if active < 0.5 {
        return format!("SMs without a CTA: {} of the SMs' cycles", percent(100.0 * (1.0 - active)));
    }
    match (most_waits(counts), busiest) {
        (Some((wait, text)), Some(Throughput { unit, share, .. })) => format!(
            "latency: {} of the issue slots {}; the busiest unit is {unit} at {}",
            percent(wait),
            clause(text),
            percent(*share)
        ),
        _ => "no instruction was issued".to_owned(),
    }
}

/// A text of [`SLOTS`] as the end of a sentence about slots.
fn clause(text: &str) -> String {
    match text.strip_prefix("waits ") {
        Some(rest) => format!("wait {rest}"),
        None => format!("are lost: {text}"),
    }
}

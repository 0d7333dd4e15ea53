//! Summary for a terminal: a line per kernel with its time and the main stall reasons of its warps.

use std::fmt::Write as _;

use warp_stream::kernel_name::demangled;

use super::sums::Sums;
use super::{Run, Total};
use timing::statistics::{DERIVED, value};

/// Kernels shown: the longest.
const SHOWN: usize = 20;
/// Characters of a kernel's name shown.
const NAME: usize = 40;

/// Issue slot counters and their names in the summary.
const SLOTS: [(&str, &str); 11] = [
    ("issue.issued", ""),
    ("issue.scoreboard", "results"),
    ("issue.long_scoreboard", "memory"),
    ("issue.instruction_fetch", "instructions"),
    ("issue.unit_busy", "busy units"),
    ("issue.operand_conflict", "operands"),
    ("issue.barrier", "barriers"),
    ("issue.memory_throttle", "the memory queue"),
    ("issue.held_load", "the warp scheduler"),
    ("issue.sleep", "sleep"),
    ("issue.idle", "warps"),
];

pub(super) fn write(run: &Run<'_>) -> String {
    let Sums { total: all, kernels, transfers, simulated_cycles, .. } = &run.sums;
    let mut kernels: Vec<(&str, &Total)> = kernels.iter().chain(transfers.iter()).collect();
    // A stable sort keeps equal kernels in program order.
    kernels.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.cycles));
    let mut text = String::new();
    let simulated = simulated_cycles + all.transfers.cycles;
    let part = if simulated < all.cycles { format!(" ({simulated} simulated)") } else { String::new() };
    let _ = writeln!(
        text,
        "{}: {} launches, {} cycles{part}, {} us",
        run.gpu,
        all.launches,
        all.cycles,
        microseconds(all)
    );
    let shown = kernels.iter().take(SHOWN).map(|(name, sum)| row(name, sum, all));
    write_table(&mut text, std::iter::once(HEADING.map(str::to_owned)).chain(shown).collect());
    if kernels.len() > SHOWN {
        let _ = writeln!(text, "and {} shorter kernels", kernels.len() - SHOWN);
    }
    text
}

const HEADING: [&str; 10] =
    ["kernel", "launches", "us", "%", "ipc", "warps %", "L1 %", "L2 %", "DRAM GB/s", "issue slots"];

fn row(name: &str, sum: &Total, all: &Total) -> [String; 10] {
    let share = 100.0 * sum.cycles as f64 / all.cycles.max(1) as f64;
    let ratio = |name: &str, digits: usize| {
        let found = DERIVED.iter().find(|ratio| name.split_once('.') == Some((ratio.section, ratio.name)));
        let value = found.and_then(|ratio| ratio.of(&sum.counters));
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    };
    [
        shortened(&demangled(name)),
        (sum.launches + sum.transfers.number).to_string(),
        microseconds(sum),
        format!("{share:.1}"),
        ratio("sm.ipc_active", 2),
        ratio("sm.occupancy", 0),
        ratio("l1.load_hit_rate", 0),
        ratio("l2.hit_rate", 0),
        ratio("dram.bandwidth", 1),
        slots(sum),
    ]
}

/// Share of slots that issued, and the main stall reasons of the others.
fn slots(sum: &Total) -> String {
    let counts = SLOTS.map(|(counter, _)| value(&sum.counters, counter).unwrap_or(0));
    let all: u64 = counts.iter().sum();
    let share = |count: u64| 100.0 * count as f64 / all.max(1) as f64;
    let mut waits: Vec<(u64, &str)> =
        counts.into_iter().zip(SLOTS).skip(1).map(|(count, (_, name))| (count, name)).collect();
    waits.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let waits = waits.iter().take(2).filter(|(count, _)| *count > 0);
    let waits = waits.map(|(count, name)| format!(", {:.0} % wait for {name}", share(*count)));
    format!("{:.0} % issue", share(counts[0])) + &waits.collect::<String>()
}

fn microseconds(sum: &Total) -> String {
    value(&sum.counters, "gpu.nanoseconds")
        .map_or_else(|| "-".to_owned(), |nanoseconds| format!("{:.1}", nanoseconds as f64 / 1e3))
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}

/// Text aligned left, numbers right.
fn write_table(text: &mut String, rows: Vec<[String; 10]>) {
    let widths: [usize; 10] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    for row in rows {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
            0 => format!("{cell:<width$}"),
            9 => cell.clone(),
            _ => format!("{cell:>width$}"),
        });
        let _ = writeln!(text, "  {}", cells.collect::<Vec<_>>().join("  "));
    }
}

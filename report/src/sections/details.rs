//! A launch in the sections of Nsight Compute, with its metric names where the quantity is equal.

use crate::format::{cut, escape, number, percent, time};
use crate::input::{Kernel, Launch, Run};

use super::explanations::{Explained, Explanations};
use super::{Section, counter_link, memory, series, source, table};

/// Kernels whose longest launch is shown in detail.
const SHOWN: usize = 10;

/// Rows of a section of Nsight Compute: counters or derived statistics.
const SECTIONS: [(&str, &[&str]); 7] = [
    (
        "GPU Speed Of Light Throughput",
        &[
            "gpu.cycles",
            "gpu.nanoseconds",
            "issue.utilisation",
            "l1.hit_rate",
            "l2.utilisation",
            "dram.utilisation",
            "dram.bandwidth",
        ],
    ),
    ("Compute Workload Analysis", &["gpu.ipc", "sm.ipc_active", "sm.active_cycles_mean", "sm.lowering"]),
    (
        "Memory Workload Analysis",
        &[
            "coalescer.sectors_per_global_load",
            "coalescer.sectors_per_global_store",
            "l1.requests",
            "l1.hit_rate",
            "l1.load_hit_rate",
            "l1.passes_per_request",
            "l1.bank_conflicts",
            "shared.passes_per_request",
            "l1.sectors_read_from_l2",
            "l1.sectors_written_to_l2",
            "l1.mean_load_hit_latency",
            "l1.mean_load_miss_latency",
            "memory.mean_latency",
            "l2.hit_rate",
            "l2.read_hit_rate",
            "l2.bandwidth",
            "l2.mean_hit_latency",
            "l2.mean_miss_latency",
            "dram.sectors",
            "dram.efficiency",
            "dram.read_row_hit_rate",
            "dram.mean_read_latency",
        ],
    ),
    ("Scheduler Statistics", &["issue.issued", "issue.utilisation", "issue.idle"]),
    (
        "Warp State Statistics",
        &[
            "issue.scoreboard",
            "issue.long_scoreboard",
            "issue.instruction_fetch",
            "issue.unit_busy",
            "issue.operand_conflict",
            "issue.barrier",
            "issue.memory_throttle",
            "issue.held_load",
            "issue.sleep",
            "sm.lanes",
        ],
    ),
    (
        "Instruction Statistics",
        &[
            "sm.warp_instructions",
            "sm.thread_instructions",
            "sm.ptx_instructions",
            "memory_pipeline.instructions",
        ],
    ),
    ("Occupancy", &["sm.occupancy", "sm.warps", "sm.ctas"]),
];

pub(crate) fn section(run: &Run, kernels: &[Kernel<'_>], explanations: &Explanations) -> Section {
    let cycle = run.cycle_nanoseconds();
    let mut body = String::from(
        "<p>The longest launch of each kernel, in the sections of Nsight Compute. A metric name stands where the quantity is equal.</p>",
    );
    for (place, kernel) in kernels.iter().take(SHOWN).enumerate() {
        let Some(launch) = kernel.longest() else { continue };
        let open = if place == 0 { " open" } else { "" };
        body.push_str(&format!(
            "<details class=\"launch\"{open}><summary><b>{}</b> launch {}, {}, {}</summary>{}</details>",
            escape(&cut(&launch.short, 60)),
            launch.number,
            time(launch.cycles * cycle),
            escape(&launch.sizes()),
            of_launch(launch, &source::hottest(run, kernel), explanations, cycle)
        ));
    }
    if kernels.len() > SHOWN {
        body.push_str(&format!(
            "<p class=\"note\">{} shorter kernels are left out.</p>",
            kernels.len() - SHOWN
        ));
    }
    Section::new("details", "Launches in detail", body)
}

fn of_launch(launch: &Launch, hottest: &str, explanations: &Explanations, cycle: f64) -> String {
    let mut body = format!("<p class=\"full\">{}</p>", escape(&launch.kernel));
    body.push_str(hottest);
    body.push_str(&memory::figure(&launch.counts));
    body.push_str(&series::of_launch(launch, cycle));
    body.push_str("<div class=\"sections\">");
    body.push_str(&launch_statistics(launch));
    for (name, counters) in SECTIONS {
        let rows: Vec<Vec<String>> =
            counters.iter().filter_map(|counter| row(launch, counter, explanations)).collect();
        if !rows.is_empty() {
            let table = table("metrics", &["Quantity", "Nsight Compute", "Value"], 2, &rows);
            body.push_str(&format!("<div class=\"block\"><h3>{name}</h3>{table}</div>"));
        }
    }
    body.push_str("</div>");
    body
}

/// Registers of a thread, and their origin.
fn registers(launch: &Launch) -> String {
    match launch.register_source.as_str() {
        "" => number(launch.registers),
        source => format!("{}, from {}", number(launch.registers), escape(source)),
    }
}

/// The section of the launch's sizes.
fn launch_statistics(launch: &Launch) -> String {
    let occupancy = &launch.occupancy;
    let row = |name: &str, metric: &str, value: String| vec![name.to_owned(), code(metric), value];
    let mut rows = vec![
        row("grid size", "launch__grid_size", number(launch.shape.cta_count() as f64)),
        row("block size", "launch__block_size", number(launch.shape.threads_per_cta().into())),
        row("registers of a thread", "launch__registers_per_thread", registers(launch)),
        row(
            "shared memory of a CTA",
            "launch__shared_mem_per_block",
            format!("{} B", number(launch.shared_bytes)),
        ),
        row(
            "CTAs on an SM",
            "",
            format!("{}, limited by {}", number(occupancy.ctas), escape(&occupancy.limit)),
        ),
        row(
            "theoretical occupancy",
            "sm__maximum_warps_per_active_cycle_pct",
            percent(occupancy.theoretical),
        ),
    ];
    for (resource, ctas) in &occupancy.limits {
        rows.push(row(
            &format!("CTAs by {}", if resource == "ctas" { "CTA slots" } else { resource }),
            "",
            number(*ctas),
        ));
    }
    let table = table("metrics", &["Quantity", "Nsight Compute", "Value"], 2, &rows);
    format!("<div class=\"block\"><h3>Launch Statistics</h3>{table}</div>")
}

fn row(launch: &Launch, counter: &str, explanations: &Explanations) -> Option<Vec<String>> {
    let value = launch.counts.value(counter)?;
    let Explained { metric, unit, .. } = explanations.get(counter)?;
    let text = match *unit {
        "%" => percent(value),
        "ns" => time(value),
        unit => format!("{} <small>{}</small>", number(value), escape(unit)),
    };
    let name = counter.split_once('.').map_or(counter, |(_, name)| name);
    let label = format!("{} {}", counter.split('.').next().unwrap_or_default(), name.replace('_', " "));
    Some(vec![counter_link(counter, &label), code(metric), text])
}

/// A metric's name, breakable at its parts.
fn code(metric: &str) -> String {
    if metric.is_empty() {
        String::new()
    } else {
        format!("<code>{}</code>", escape(metric).replace("__", "__<wbr>").replace('.', "<wbr>."))
    }
}

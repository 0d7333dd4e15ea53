//! Kernels by time, and the outcomes of their issue slots.

use crate::draw::bars::{self, Stack};
use crate::draw::legend;
use crate::format::{cut, escape, grouped, number, percent, time};
use crate::input::{Counts, Kernel};
use crate::limit::{self, SLOTS};

use super::{Section, counter_link, sorted, table};

/// Kernels in pictures.
const DRAWN: usize = 16;
/// Kernels in the table.
const LISTED: usize = 400;

pub(crate) fn section(kernels: &[Kernel<'_>]) -> Section {
    let busy: f64 = kernels.iter().map(|kernel| kernel.nanoseconds).sum();
    let heads =
        ["Kernel", "Limit", "Launches", "Time", "Share", "IPC", "Warps", "L1 hits", "L2 hits", "DRAM"];
    let rows: Vec<Vec<String>> = kernels.iter().take(LISTED).map(|kernel| row(kernel, busy)).collect();
    let mut body = table("sortable", &heads, 2, &rows);
    if kernels.len() > LISTED {
        body.push_str(&format!(
            "<p class=\"note\">{} shorter kernels are left out.</p>",
            kernels.len() - LISTED
        ));
    }
    Section::new("kernels", "Kernels by time", body)
}

fn row(kernel: &Kernel<'_>, busy: f64) -> Vec<String> {
    let counts = &kernel.counts;
    let value = |name: &str| counts.value(name);
    let share = 100.0 * kernel.nanoseconds / busy.max(1e-9);
    let rate = |name: &str| match value(name) {
        Some(value) => sorted(&percent(value), value),
        None => sorted("–", -1.0),
    };
    vec![
        format!("<span title=\"{}\"><b>{}</b></span>", escape(kernel.name), escape(&cut(kernel.short, 60))),
        escape(&limit::short(counts)),
        sorted(&grouped(kernel.launches.len() as f64), kernel.launches.len() as f64),
        sorted(&time(kernel.nanoseconds), kernel.nanoseconds),
        format!("{}<i class=\"meter\" style=\"--p:{share:.1}%\"></i>", sorted(&percent(share), share)),
        sorted(&number(value("gpu.ipc").unwrap_or(0.0)), value("gpu.ipc").unwrap_or(0.0)),
        rate("sm.occupancy"),
        rate("l1.hit_rate"),
        rate("l2.hit_rate"),
        match value("dram.bandwidth") {
            Some(value) => sorted(&format!("{}\u{a0}GB/s", number(value)), value),
            None => sorted("–", -1.0),
        },
    ]
}

/// Issue slots of the longest kernels by outcome.
pub(crate) fn stalls(kernels: &[Kernel<'_>]) -> Section {
    let rows: Vec<Stack> = kernels
        .iter()
        .take(DRAWN)
        .map(|kernel| Stack {
            name: kernel.short.to_owned(),
            parts: slots(&kernel.counts),
            after: time(kernel.nanoseconds),
        })
        .collect();
    let used = |name: &str| kernels.iter().any(|kernel| kernel.counts.counter(name) > 0.0);
    let names = SLOTS.iter().enumerate().filter(|(_, (name, _))| used(name));
    let names = legend(names.map(|(place, (_, text))| (format!("s{place}"), *text)));
    let picture = bars::stacks("Issue slots of each kernel by outcome", &rows);
    let links: Vec<String> =
        SLOTS.iter().filter(|(name, _)| used(name)).map(|(name, text)| counter_link(name, text)).collect();
    let body = format!(
        "<p>Each issue slot of an SM with a CTA either issues an instruction or is lost for one reason.</p>\
         {names}<figure>{picture}</figure><p class=\"note\">Explanations: {}</p>",
        links.join(", ")
    );
    Section::new("stalls", "Issue slots and stall reasons", body)
}

/// Parts of a bar: class, text, slots.
pub(crate) fn slots(counts: &Counts) -> Vec<(String, String, f64)> {
    let part = |(place, (name, text)): (usize, &(&str, &str))| {
        (format!("s{place}"), (*text).to_owned(), counts.counter(name))
    };
    SLOTS.iter().enumerate().map(part).collect()
}

//! Power: parts of each kernel's energy, and where the energies come from.

use crate::draw::bars::{self, Stack};
use crate::draw::legend;
use crate::format::{cut, escape, number};
use crate::input::{Counts, Energies, Kernel, Run};

use super::{Section, counter_link, sorted, table};

/// Kernels in the picture.
const DRAWN: usize = 16;
/// Kernels in the table.
const LISTED: usize = 100;

/// Parts of the energy with their texts. The parts add up to `power.energy`.
pub(crate) const PARTS: [(&str, &str); 8] = [
    ("power.core", "SM cores"),
    ("power.l1", "L1, shared and constant memory"),
    ("power.interconnect", "crossbar"),
    ("power.l2", "L2"),
    ("power.dram", "DRAM"),
    ("power.active_static", "static, active SMs"),
    ("power.idle", "idle SMs"),
    ("power.constant", "constant"),
];

/// Finer parts, for the table.
const EVENTS: [(&str, &str); 12] = [
    ("power.fetches", "Fetch"),
    ("power.issue", "Issue"),
    ("power.registers", "Registers"),
    ("power.integer", "Integer"),
    ("power.fp32", "FP32"),
    ("power.fp64", "FP64"),
    ("power.special_function", "SFU"),
    ("power.tensor", "Tensor"),
    ("power.texture", "Texture"),
    ("power.l1_data", "L1 data"),
    ("power.shared_memory", "Shared"),
    ("power.constant_cache", "Constants"),
];

/// The part; nothing for statistics without a word on energies.
pub(crate) fn section(run: &Run, kernels: &[Kernel<'_>]) -> Option<Section> {
    let body = match &run.energies {
        Energies::Unknown => return None,
        Energies::None => format!(
            "<p class=\"note\">The file of {} has no <code>[power]</code>, so its launches have no watts.</p>",
            escape(&run.gpu)
        ),
        Energies::Of { card, derived } => {
            let card = escape(card);
            let origin = match derived {
                true => format!("derived from those of a {card}, and not compared with this GPU"),
                false => format!("those of a {card}"),
            };
            format!(
                "<p>Energy is events times energies of an event. The energies are {origin}.</p>{}",
                pictures(kernels)
            )
        }
    };
    Some(Section::new("power", "Power", body))
}

fn pictures(kernels: &[Kernel<'_>]) -> String {
    let whole: Vec<&Kernel<'_>> =
        kernels.iter().filter(|kernel| kernel.counts.value("power.watts").is_some()).collect();
    if whole.is_empty() {
        return "<p class=\"note\">The mode of this run leaves out events that energy needs.</p>".to_owned();
    }
    let rows: Vec<Stack> = whole
        .iter()
        .take(DRAWN)
        .map(|kernel| Stack {
            name: kernel.short.to_owned(),
            parts: parts(&kernel.counts),
            after: watts(kernel.counts.value("power.watts").unwrap_or(0.0)),
        })
        .collect();
    let names = PARTS.iter().enumerate().map(|(place, (_, text))| (format!("s{place}"), *text));
    let links: Vec<String> = PARTS.iter().map(|(name, text)| counter_link(name, text)).collect();
    format!(
        "{}<figure>{}</figure><p class=\"note\">Explanations: {}</p>{}",
        legend(names),
        bars::stacks("Energy of each kernel by part", &rows),
        links.join(", "),
        finer(&whole)
    )
}

/// Parts of a bar: class, text, energy.
fn parts(counts: &Counts) -> Vec<(String, String, f64)> {
    let part = |(place, (name, text)): (usize, &(&str, &str))| {
        (format!("s{place}"), (*text).to_owned(), counts.counter(name))
    };
    PARTS.iter().enumerate().map(part).collect()
}

/// A table of watts by unit.
fn finer(kernels: &[&Kernel<'_>]) -> String {
    let used: Vec<&(&str, &str)> = EVENTS
        .iter()
        .filter(|(name, _)| kernels.iter().any(|kernel| kernel.counts.counter(name) > 0.0))
        .collect();
    let heads: Vec<&str> = ["Kernel", "Energy", "Mean power", "pJ per thread instruction"]
        .into_iter()
        .chain(used.iter().map(|(_, text)| *text))
        .collect();
    let row = |kernel: &&Kernel<'_>| {
        let counts = &kernel.counts;
        let energy = counts.counter("power.energy") * 1e-12;
        let power = counts.value("power.watts").unwrap_or(0.0);
        let each = counts.value("power.energy_per_instruction").unwrap_or(0.0);
        let about = [
            format!("<span title=\"{}\">{}</span>", escape(kernel.name), escape(&cut(kernel.short, 60))),
            sorted(&joules(energy), energy),
            sorted(&watts(power), power),
            sorted(&number(each), each),
        ];
        let nanoseconds = counts.nanoseconds().max(1.0);
        let unit = |(name, _): &&(&str, &str)| {
            let power = 1e-3 * counts.counter(name) / nanoseconds;
            sorted(&watts(power), power)
        };
        about.into_iter().chain(used.iter().map(unit)).collect()
    };
    let rows: Vec<Vec<String>> = kernels.iter().take(LISTED).map(row).collect();
    table("sortable", &heads, 1, &rows)
}

fn watts(power: f64) -> String {
    format!("{power:.1}\u{a0}W")
}

fn joules(energy: f64) -> String {
    match energy {
        energy if energy >= 1.0 => format!("{}\u{a0}J", number(energy)),
        energy if energy >= 1e-3 => format!("{}\u{a0}mJ", number(1e3 * energy)),
        energy => format!("{}\u{a0}µJ", number(1e6 * energy)),
    }
}

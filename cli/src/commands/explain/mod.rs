//! `voltsim explain`: what the keys of GPU files and the counters of statistics mean.

mod device;
mod kernel;

use std::io::Write;
use std::process::ExitCode;

use timing::dram::{BankCounts, ChannelCounts};
use timing::fidelity::{MODES, Mode};
use timing::gpu::Totals;
use timing::specification::{Document, GpuSpec, Key, gpu};
use timing::statistics::{Counter, Counters, DERIVED};

use crate::failure::Failure;
use crate::table;

/// Explain the keys of GPU files and the counters of statistics
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A section (`l1`), or a key or counter in one (`l1.latency`); all sections without
    subject: Option<String>,
    /// The GPU whose values are shown
    #[arg(long, value_name = "NAME|FILE", default_value = gpu::DEFAULT)]
    gpu: String,
}

/// Writes the explanation.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let document = crate::gpu_file::document(&args.gpu)?;
    crate::gpu_file::tell_old_layout(&document);
    match args.subject.as_deref() {
        None => sections(out)?,
        Some(device::SECTION) => device::section(&document, out)?,
        Some(subject) if kernel::SECTIONS.contains(&subject) => kernel::section(out)?,
        Some(subject) => match subject.split_once('.') {
            Some((device::SECTION, name)) => device::one(name, &document, out)?,
            Some(("kernel", "registers") | ("registers", "source")) => kernel::section(out)?,
            Some((section, name)) => one(section, name, &document, out)?,
            None => section(subject, &document, out)?,
        },
    }
    Ok(ExitCode::SUCCESS)
}

/// A counter, or what counters give.
struct Count {
    section: &'static str,
    name: &'static str,
    meaning: &'static str,
    unit: &'static str,
    metric: &'static str,
}

impl Count {
    fn of(counter: Counter) -> Count {
        let Counter { section, name, meaning, unit, metric, .. } = counter;
        Count { section, name, meaning, unit, metric }
    }
}

fn counts() -> Vec<Count> {
    let mut counts = Vec::new();
    Totals::default().each(&mut |counter, _| {
        counts.push(Count::of(*counter));
    });
    let of_dram = ChannelCounts::COUNTERS.into_iter().chain(ChannelCounts::RATES).chain(BankCounts::COUNTERS);
    counts.extend(of_dram.map(Count::of));
    counts.extend(DERIVED.iter().map(|ratio| Count {
        section: ratio.section,
        name: ratio.name,
        meaning: ratio.meaning,
        unit: ratio.unit,
        metric: ratio.metric,
    }));
    counts
}

fn unknown(subject: &str) -> Failure {
    Failure::new(format_args!("`{subject}` is no section, key or counter"))
        .remedy("`voltsim explain` lists the sections")
}

/// Tells whether a counter or derived statistic has a value in a mode.
fn has_value(mode: &Mode, counter: &Counter) -> bool {
    let derived = DERIVED.iter().find(|ratio| (ratio.section, ratio.name) == (counter.section, counter.name));
    let sums = derived.map_or(&[][..], |ratio| ratio.numerator);
    let of_ratio = sums.iter().chain(derived.map_or(&[][..], |ratio| ratio.denominator));
    let parts = of_ratio.flat_map(|names| names.iter()).filter_map(|name| name.split_once('.'));
    let models = |(section, name)| mode.models(&Counter::sum(section, name, "", ""));
    mode.models(counter) && parts.into_iter().all(models)
}

fn sections(out: &mut dyn Write) -> Result<(), Failure> {
    let keys = [timing::specification::device::KEYS, &GpuSpec::keys()].concat();
    let counts = counts();
    let mut names: Vec<&str> = Vec::new();
    for name in keys.iter().map(|key| key.section).chain(counts.iter().map(|count| count.section)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let rows: Vec<[String; 3]> = names
        .iter()
        .map(|name| {
            let of_section = keys.iter().filter(|key| key.section == *name).count();
            let counted = counts.iter().filter(|count| count.section == *name).count();
            [(*name).to_owned(), of_section.to_string(), counted.to_string()]
        })
        .collect();
    table::write(out, ["section", "keys", "counters"], &rows)?;
    Ok(())
}

/// A key's value in a GPU's file, or the default.
fn value(key: &Key, document: &Document) -> String {
    match (document.entry(key.section, key.name), key.default) {
        (Some(entry), _) => format!("{} {}", entry.value, entry.unit),
        (None, Some(default)) => format!("{default} {} (default)", key.unit),
        (None, None) => String::new(),
    }
}

fn section(section: &str, document: &Document, out: &mut dyn Write) -> Result<(), Failure> {
    let keys = GpuSpec::keys().into_iter().filter(|key| key.section == section);
    let keys: Vec<[String; 3]> =
        keys.map(|key| [key.name.to_owned(), value(&key, document), key.meaning.to_owned()]).collect();
    let counts = counts().into_iter().filter(|count| count.section == section);
    let counts: Vec<[String; 4]> = counts
        .map(|count| [count.name, count.unit, count.metric, count.meaning].map(str::to_owned))
        .collect();
    if keys.is_empty() && counts.is_empty() {
        return Err(unknown(section));
    }
    if !keys.is_empty() {
        table::write(out, ["key", "value", "meaning"], &keys)?;
    }
    if !counts.is_empty() {
        if !keys.is_empty() {
            writeln!(out)?;
        }
        table::write(out, ["counter", "unit", "profiler's metric", "meaning"], &counts)?;
    }
    Ok(())
}

fn one(section: &str, name: &str, document: &Document, out: &mut dyn Write) -> Result<(), Failure> {
    let key = GpuSpec::keys().into_iter().find(|key| key.section == section && key.name == name);
    let count = counts().into_iter().find(|count| count.section == section && count.name == name);
    if key.is_none() && count.is_none() {
        return Err(unknown(&format!("{section}.{name}")));
    }
    if let Some(key) = key {
        writeln!(out, "{section}.{name}: {}", key.meaning)?;
        for (choice, meaning) in key.choices.iter().zip(key.meanings) {
            writeln!(out, "  {choice}: {meaning}")?;
        }
        writeln!(out, "  value: {}", value(&key, document))?;
        if let Some(entry) = document.entry(section, name) {
            writeln!(out, "  source: {} ({})", entry.source, entry.place)?;
        }
    }
    if let Some(count) = count {
        let counter = Counter::sum(count.section, count.name, count.unit, count.meaning);
        writeln!(out, "{section}.{name}: {} Counted in {}.", count.meaning, count.unit)?;
        if !count.metric.is_empty() {
            writeln!(out, "  profiler's metric: {}", count.metric)?;
        }
        let modes = MODES.iter().filter(|mode| has_value(mode, &counter)).map(|mode| mode.name);
        writeln!(out, "  modes with a value: {}", modes.collect::<Vec<_>>().join(", "))?;
    }
    Ok(())
}

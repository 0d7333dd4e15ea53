//! Pages of the timing model: keys of a GPU's file, and statistics.

use crate::{Page, code};
use timing::dram::{BankCounts, ChannelCounts};
use timing::gpu::Totals;
use timing::specification::{DeviceSpec, Document, GpuSpec, Key, device, gpu};
use timing::statistics::{Counter, Counters, DERIVED, Kind};

/// Keys of `[device]` and `[timing]`, by section, with the values of the default GPU.
pub(crate) fn keys() -> Page {
    let document = gpu::named(gpu::DEFAULT).expect("the default GPU can be read");
    let about = format!(
        "Keys of a GPU's file, by section, with the values of `{}`. Sections of the model stand in `[timing]`,\n\
         as `[timing.l1]`. `--set SECTION.KEY=VALUE` changes a value of one run. `voltsim explain SECTION.KEY`\n\
         adds the source of the value.",
        gpu::DEFAULT
    );
    let mut page = Page::new("GPU keys", &about);
    page.section("`device`");
    page.paragraph(
        "The program is told these values. A file gives only those that nothing else answers: `chip.sms` and\n\
         `clocks.core` answer for a GPU with `[timing]`, and the compute capability answers for limits. Every other\n\
         device attribute may stand here by its CUDA name. `voltsim explain device` lists all answers.",
    );
    page.table(["key", "value", "meaning"], &device_keys(&document));
    let keys = GpuSpec::keys();
    for section in sections(keys.iter().map(|key| key.section)) {
        page.section(&code(section));
        let of_section: Vec<&Key> = keys.iter().filter(|key| key.section == section).collect();
        let rows: Vec<[String; 3]> =
            of_section.iter().map(|key| [code(key.name), value(key, &document), meaning(key)]).collect();
        page.table(["key", "value", "meaning"], &rows);
    }
    page
}

/// Keys of `[device]`, with what the default GPU's program is told.
fn device_keys(document: &Document) -> Vec<[String; 3]> {
    let spec = DeviceSpec::read(document, &|_| true).expect("the default GPU has a device");
    let told = |key: &Key| match (document.entry(key.section, key.name), spec.answers.get(key.name)) {
        (None, Some(answer)) => format!("{} {}", answer.value, key.unit),
        _ => value(key, document),
    };
    device::KEYS.iter().map(|key| [code(key.name), told(key), meaning(key)]).collect()
}

/// A key's value with its unit; a default where the file has none.
fn value(key: &Key, document: &Document) -> String {
    match (document.entry(key.section, key.name), key.default) {
        (Some(entry), _) => format!("{} {}", entry.value, entry.unit),
        (None, Some(default)) => format!("{default} {} (default)", key.unit),
        (None, None) => key.unit.to_owned(),
    }
}

/// A key's meaning, with each choice.
fn meaning(key: &Key) -> String {
    let choices =
        key.choices.iter().zip(key.meanings).map(|(choice, meaning)| format!(" `{choice}`: {meaning}"));
    key.meaning.to_owned() + &choices.collect::<String>()
}

/// Counters and ratios, by section.
pub(crate) fn statistics() -> Page {
    let about = "Counters of a launch and of a run, by unit, and the ratios that Voltsim derives from them.\n\
                 `voltsim explain SECTION.NAME` prints one. A metric is the one of Nsight Compute or nvprof.\n\
                 Values marked *most* are the highest of a launch; other counters add up.\n\
                 `registers.source` of a launch is the origin of its registers: `lowering`, `machine code` or `option`.";
    let mut page = Page::new("Statistics", about);
    let counters = counters();
    let names =
        counters.iter().map(|counter| counter.section).chain(DERIVED.iter().map(|ratio| ratio.section));
    for section in sections(names) {
        page.section(&code(section));
        let counted = counters.iter().filter(|counter| counter.section == section).map(|counter| {
            let unit = match counter.kind {
                Kind::Most => format!("{}, *most*", counter.unit),
                Kind::Sum | Kind::Part => counter.unit.to_owned(),
            };
            [code(counter.name), unit, code(counter.metric), counter.meaning.to_owned()]
        });
        let derived = DERIVED.iter().filter(|ratio| ratio.section == section).map(|ratio| {
            let meaning =
                format!("{} = {}", ratio.meaning, formula(ratio.numerator, ratio.denominator, ratio.scale));
            [code(ratio.name), ratio.unit.to_owned(), code(ratio.metric), meaning]
        });
        let rows: Vec<[String; 4]> = counted.chain(derived).collect();
        page.table(["name", "unit", "metric", "meaning"], &rows);
    }
    page
}

/// Counters of launches, of DRAM channels and of banks.
fn counters() -> Vec<Counter> {
    let mut counters = Vec::new();
    Totals::default().each(&mut |counter, _| counters.push(*counter));
    counters
        .extend(ChannelCounts::COUNTERS.into_iter().chain(ChannelCounts::RATES).chain(BankCounts::COUNTERS));
    counters
}

/// A ratio as products of sums of counters.
fn formula(numerator: &[&[&str]], denominator: &[&[&str]], scale: f64) -> String {
    let sum = |names: &&[&str]| match names {
        [name] => (*name).to_owned(),
        names => format!("({})", names.join(" + ")),
    };
    let product = |sums: &[&[&str]]| sums.iter().map(sum).collect::<Vec<_>>().join(" × ");
    let scale = if scale == 1.0 { String::new() } else { format!("{scale} × ") };
    let divisor = if denominator.is_empty() { String::new() } else { format!(" / {}", product(denominator)) };
    code(&(scale + &product(numerator) + &divisor))
}

/// Names in the order of their first appearance, each once.
fn sections(names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let mut found = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

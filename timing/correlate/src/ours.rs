//! The model's statistics under the profiler's names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::Value;

use super::unit::{Kilo, converted};
use super::{CorrelateError, Launch, cache_model};
use timing::specification::gpu;
use timing::statistics::{Counters, DERIVED};
use timing::totals::Totals;

/// Bytes of a sector.
const SECTOR_BYTES: f64 = 32.0;

/// Duration of a launch.
const DURATION: &str = "gpu__time_duration.sum";

/// Core clock metrics: a launch's cycles over its duration.
const CORE_CLOCK: [&str; 2] = ["gpc__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second"];

/// Metrics that are sums of others.
const SUMS: &[(&str, &[&str])] = &[(
    "dram__sectors_read.sum + dram__sectors_write.sum",
    &["dram__sectors_read.sum", "dram__sectors_write.sum"],
)];

/// Metrics that are means over SMs of other metrics.
const MEANS: &[(&str, &str)] = &[("sm__cycles_active.avg", "sm__cycles_active.sum")];

/// The launches of statistics in JSON, or of a report of the cache model.
///
/// # Errors
/// The text is no such JSON.
pub fn read_statistics(file: &str, text: &str) -> Result<Vec<Launch>, CorrelateError> {
    let error = |reason: String| CorrelateError::Statistics { file: file.to_owned(), reason };
    let value: Value = serde_json::from_str(text).map_err(|reason| error(reason.to_string()))?;
    let capability = value["gpu"].as_str().and_then(gpu::capability);
    if let Some(launches) = cache_model::read(&value) {
        return Ok(launches.into_iter().map(|launch| Launch { capability, ..launch }).collect());
    }
    let launches = value["launches"].as_array().ok_or_else(|| error("`launches` is missing".to_owned()))?;
    let names = metrics();
    let read = |(index, launch)| {
        let launch = read_launch(launch, &names);
        let launch = launch.map(|launch| Launch { capability, ..launch });
        launch.ok_or_else(|| error(format!("launch {index} has no name or no counters")))
    };
    (1..).zip(launches).map(read).collect()
}

/// Metric and unit by the name of a counter or derived statistic.
fn metrics() -> BTreeMap<String, (&'static str, &'static str)> {
    let mut names = BTreeMap::new();
    Totals::default().each(&mut |counter, _| {
        names.insert(format!("{}.{}", counter.section, counter.name), (counter.metric, counter.unit));
    });
    let derived =
        DERIVED.iter().map(|ratio| (format!("{}.{}", ratio.section, ratio.name), (ratio.metric, ratio.unit)));
    names.extend(derived);
    names.retain(|_, (metric, _)| !metric.is_empty());
    names
}

/// True if the model's launches have the metric.
pub(super) fn is_ours(metric: &str) -> bool {
    static NAMES: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        let names = metrics();
        let mut names: BTreeSet<String> = names.values().map(|(metric, _)| (*metric).to_owned()).collect();
        names.extend(names.iter().filter_map(|metric| bytes_of(metric)).collect::<Vec<_>>());
        names.extend(names.iter().filter_map(|metric| rate_of(metric)).collect::<Vec<_>>());
        names.extend(SUMS.iter().map(|(metric, _)| (*metric).to_owned()));
        names.extend(MEANS.iter().map(|(metric, _)| (*metric).to_owned()));
        names.extend(CORE_CLOCK.map(str::to_owned));
        names
    });
    NAMES.contains(metric)
}

/// Byte metric of a sector metric.
fn bytes_of(metric: &str) -> Option<String> {
    let is_count = metric.ends_with(".sum") && metric.contains("_sectors");
    is_count.then(|| metric.replacen("_sectors", "_bytes", 1))
}

/// Rate metric of a byte metric.
fn rate_of(metric: &str) -> Option<String> {
    (metric.ends_with(".sum") && metric.contains("_bytes")).then(|| format!("{metric}.per_second"))
}

/// Adds bytes, byte rates and the clock, computed from sectors, cycles and duration.
fn add_bytes_and_rates(values: &mut BTreeMap<String, f64>) {
    let bytes = |(metric, sectors): (&String, &f64)| Some((bytes_of(metric)?, sectors * SECTOR_BYTES));
    let bytes: Vec<(String, f64)> = values.iter().filter_map(bytes).collect();
    for (metric, value) in bytes {
        values.entry(metric).or_insert(value);
    }
    let Some(seconds) = values.get(DURATION).map(|nanoseconds| nanoseconds / 1e9).filter(|time| *time > 0.0)
    else {
        return;
    };
    let rate = |(metric, bytes): (&String, &f64)| Some((rate_of(metric)?, bytes / seconds));
    let rates: Vec<(String, f64)> = values.iter().filter_map(rate).collect();
    let clock = values.get("gpc__cycles_elapsed.max").map(|cycles| cycles / seconds);
    let clocks = clock.into_iter().flat_map(|clock| CORE_CLOCK.map(|metric| (metric.to_owned(), clock)));
    for (metric, value) in rates.into_iter().chain(clocks) {
        values.entry(metric).or_insert(value);
    }
}

fn read_launch(launch: &Value, names: &BTreeMap<String, (&'static str, &'static str)>) -> Option<Launch> {
    let mut values = BTreeMap::new();
    for object in [&launch["counters"], &launch["derived"]] {
        for (name, value) in object.as_object().into_iter().flatten() {
            if let (Some((metric, unit)), Some(value)) = (names.get(name), value.as_f64()) {
                let value = converted(metric, value, unit, Kilo::Decimal).unwrap_or(value);
                // The first of several equal statistics supplies the metric, as in the profiler
                // format.
                values.entry((*metric).to_owned()).or_insert(value);
            }
        }
    }
    launch["counters"].as_object()?;
    for (metric, parts) in SUMS {
        let sum = parts.iter().map(|part| values.get(*part)).sum::<Option<f64>>();
        sum.map(|sum| values.insert((*metric).to_owned(), sum));
    }
    let cycles = [values.get("sm__cycles_elapsed.sum"), values.get("gpc__cycles_elapsed.max")];
    if let [Some(of_all), Some(of_one)] = cycles {
        let sms = of_all / of_one;
        for (metric, sum) in MEANS {
            let mean = values.get(*sum).map(|sum| sum / sms).filter(|mean| mean.is_finite());
            mean.map(|mean| values.insert((*metric).to_owned(), mean));
        }
    }
    add_bytes_and_rates(&mut values);
    let size = |key: &str| {
        let sides = launch[key].as_array()?;
        let side = |index: usize| u32::try_from(sides.get(index)?.as_u64()?).ok();
        Some([side(0)?, side(1)?, side(2)?])
    };
    Some(Launch {
        program: String::new(),
        kernel: launch["kernel"].as_str()?.to_owned(),
        grid: size("grid"),
        block: size("block"),
        capability: None,
        mean: false,
        values,
    })
}

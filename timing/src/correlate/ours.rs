//! Our statistics as values by the profiler's names.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{CorrelateError, Launch};
use crate::gpu::Totals;
use crate::statistics::{Counters, DERIVED};

/// Metrics that are sums of others.
const SUMS: &[(&str, &[&str])] = &[(
    "dram__sectors_read.sum + dram__sectors_write.sum",
    &["dram__sectors_read.sum", "dram__sectors_write.sum"],
)];

/// Metrics that are means over the SMs of others.
const MEANS: &[(&str, &str)] = &[("sm__cycles_active.avg", "sm__cycles_active.sum")];

/// The launches of statistics that a run has written as JSON.
///
/// # Errors
/// The text is no such JSON.
pub fn read_statistics(file: &str, text: &str) -> Result<Vec<Launch>, CorrelateError> {
    let error = |reason: String| CorrelateError::Statistics { file: file.to_owned(), reason };
    let value: Value = serde_json::from_str(text).map_err(|reason| error(reason.to_string()))?;
    let launches = value["launches"].as_array().ok_or_else(|| error("there are no `launches`".to_owned()))?;
    let names = metrics();
    let read = |(index, launch)| {
        read_launch(launch, &names).ok_or_else(|| error(format!("launch {index} has no name or no counters")))
    };
    (1..).zip(launches).map(read).collect()
}

/// Metrics by the names of our counters and of what they give.
fn metrics() -> BTreeMap<String, &'static str> {
    let mut names = BTreeMap::new();
    Totals::default().each(&mut |counter, _| {
        names.insert(format!("{}.{}", counter.section, counter.name), counter.metric);
    });
    let derived = DERIVED.iter().map(|ratio| (format!("{}.{}", ratio.section, ratio.name), ratio.metric));
    names.extend(derived);
    names.retain(|_, metric| !metric.is_empty());
    names
}

fn read_launch(launch: &Value, names: &BTreeMap<String, &'static str>) -> Option<Launch> {
    let mut values = BTreeMap::new();
    for object in [&launch["counters"], &launch["derived"]] {
        for (name, value) in object.as_object().into_iter().flatten() {
            if let (Some(metric), Some(value)) = (names.get(name), value.as_f64()) {
                // Where several equal a metric, the first counts, as in the profiler's form.
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
        mean: false,
        values,
    })
}

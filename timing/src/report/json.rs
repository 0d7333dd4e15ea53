//! Statistics as JSON.

use serde_json::{Map, Value, json};

use super::{LaunchRecord, Report, Total};
use crate::statistics::{Counter, DERIVED};

/// Version of this form.
const VERSION: u32 = 1;

pub(super) fn write(report: &Report) -> String {
    let launches: Vec<Value> = report.launches.iter().map(launch).collect();
    let streams: Vec<Value> =
        report.streams().iter().map(|(number, sum)| with(json!({ "stream": number }), total(sum))).collect();
    let all = json!({
        "version": VERSION,
        "gpu": report.gpu,
        "launches": launches,
        "streams": streams,
        "total": total(&report.total()),
    });
    format!("{all:#}\n")
}

fn launch(launch: &LaunchRecord) -> Value {
    let about = json!({
        "launch": launch.launch,
        "kernel": launch.kernel,
        "stream": launch.stream,
        "grid": launch.grid,
        "block": launch.block,
        "registers": launch.registers,
        "shared_bytes": launch.shared_bytes,
        "start": launch.start,
        "cycles": launch.cycles,
        "warp_instructions": launch.warp_instructions,
        "shared": launch.shared,
        "extrapolated": launch.simulated.is_some(),
        "simulated_cycles": launch.simulated_cycles(),
    });
    with(about, counts(&launch.counters))
}

fn total(total: &Total) -> Value {
    with(json!({ "launches": total.launches, "cycles": total.cycles }), counts(&total.counters))
}

fn counts(counters: &[(&'static Counter, u64)]) -> Value {
    let named = counters
        .iter()
        .map(|(counter, value)| (format!("{}.{}", counter.section, counter.name), json!(value)));
    let derived =
        DERIVED.iter().map(|ratio| (format!("{}.{}", ratio.section, ratio.name), json!(ratio.of(counters))));
    json!({ "counters": named.collect::<Map<_, _>>(), "derived": derived.collect::<Map<_, _>>() })
}

/// An object with the fields of two.
fn with(mut object: Value, other: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut object, other) {
        fields.extend(more);
    }
    object
}

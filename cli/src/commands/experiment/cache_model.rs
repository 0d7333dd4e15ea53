//! Column copy on a GeForce GTX 470: Nugteren et al., Fig. 3, and the model with parts left out.

use std::io::Write;

use cache_model::column_copy::{MEASURED, accesses};
use cache_model::model::{Group, ModelSpec, run as run_model};
use timing::specification::GpuSpec;

use crate::failure::Failure;
use crate::table;

/// A variant of the model: its name, and the part that it leaves out.
type Variant = (&'static str, fn(&mut ModelSpec));

const VARIANTS: [Variant; 4] = [
    ("model", |_| ()),
    ("without associativity", |spec| spec.geometry.sets = 1),
    ("without latencies", |spec| (spec.latency.minimum, spec.latency.deviation) = (0, 0.0)),
    ("without MSHRs", |spec| spec.misses = u32::MAX),
];

/// Mean absolute errors that the paper has for two benchmark suites, in points.
const PAPER: [&str; 4] = ["6.4", "9.6", "12.1", "7.1"];

pub(super) fn run(out: &mut dyn Write) -> Result<(), Failure> {
    let gpu = GpuSpec::built_in("gtx470").map_err(Failure::new)?;
    writeln!(out, "L1 misses of a column copy on a GeForce GTX 470, in % of line requests.\n")?;
    let mut errors = [[0.0_f64; MEASURED.len()]; VARIANTS.len()];
    let mut rows = Vec::new();
    for (point, (threads, measured)) in MEASURED.into_iter().enumerate() {
        let accesses = accesses(threads);
        let mut row = vec![threads.to_string(), percent(measured)];
        for (errors, (_, leave_out)) in errors.iter_mut().zip(VARIANTS) {
            let mut spec = ModelSpec::of_gpu(&gpu, &accesses.launch);
            leave_out(&mut spec);
            let result = run_model(&accesses, &Group::of_one(spec), None);
            let rate = result.counts.first().map_or(0.0, |counts| counts.miss_rate());
            errors[point] = (rate - measured).abs();
            row.push(percent(rate));
        }
        rows.push(row);
    }
    let summary = |name: &str, of: &dyn Fn(&[f64]) -> f64| {
        let cells = errors.iter().map(|errors| percent(of(errors)));
        [name.to_owned(), String::new()].into_iter().chain(cells).collect::<Vec<_>>()
    };
    rows.push(summary("mean error, points", &|errors| errors.iter().sum::<f64>() / errors.len() as f64));
    rows.push(summary("largest error, points", &|errors| errors.iter().copied().fold(0.0, f64::max)));
    let paper = PAPER.map(str::to_owned);
    rows.push(["paper, two suites".to_owned(), String::new()].into_iter().chain(paper).collect());
    let names = VARIANTS.map(|(name, _)| name);
    let heading = ["threads", "measured", names[0], names[1], names[2], names[3]];
    let rows: Vec<[String; 6]> = rows.into_iter().filter_map(|row| row.try_into().ok()).collect();
    table::write(out, heading, &rows)?;
    writeln!(
        out,
        "\nThe paper's errors are of Parboil and PolyBench/GPU, whose counters are not at hand: they are quoted only."
    )?;
    Ok(())
}

fn percent(part: f64) -> String {
    format!("{:.2}", 100.0 * part)
}

//! From the times of representatives to that of the program.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use launch_capture::{Copies, Plan};
use serde::Serialize;
use timing::gpu::{Copy, Direction, Gpu};
use timing::specification::GpuSpec;

use super::job::{Job, Jobs, Timed};
use crate::failure::Failure;

/// What a program takes on the GPUs of a plan.
#[derive(Serialize)]
pub(super) struct Estimate {
    configurations: Vec<Total>,
}

/// What it takes on one of them.
#[derive(Serialize)]
struct Total {
    configuration: String,
    /// Of all launches, in cycles of the core's clock.
    cycles: f64,
    /// Of all copies between host and device, one after the other.
    copies: u64,
    /// How far that may be off, as a part of it: for each group, by its time, how far the counts of its launches differ, or the times
    /// of those that stand for others, whichever is more.
    bound: f64,
    /// Cycles that were simulated for it.
    timed: u64,
    groups: Vec<Part>,
}

/// A launch's part of the time.
#[derive(Serialize)]
struct Part {
    kernel: String,
    launch: u64,
    /// Of the launch that was timed.
    cycles: u64,
    /// Those of them that were simulated; the others were extrapolated.
    simulated_cycles: u64,
    /// Of all launches for which it stands.
    total: f64,
}

/// Cycles of copies: of one of their mean size, as often as there are copies, as its time is its bytes' and what each waits.
fn of_copies(copies: &Copies, gpu: Option<&Arc<GpuSpec>>) -> Result<u64, Failure> {
    let (Some(gpu), Some(bytes)) = (gpu, copies.bytes.checked_div(copies.number)) else { return Ok(0) };
    let mut gpu = Gpu::new(gpu);
    gpu.copy(Copy { direction: Direction::ToDevice, address: 0, bytes }).map_err(Failure::new)?;
    Ok(gpu.now().cycle.saturating_mul(copies.number))
}

/// How far the times of the launches differ that stand for the others of a group, by their instructions.
fn spread_of_times(results: &[(&Job, Timed)], group: usize) -> f64 {
    // The first launch of a group stands for itself.
    let next = results.iter().filter(|(job, _)| job.group == group).skip(1);
    let times = next.map(|(job, timed)| timed.cycles as f64 / job.launch.instructions.max(1) as f64);
    let times: Vec<f64> = times.collect();
    let (least, most) =
        times.iter().fold((f64::MAX, 0.0_f64), |(least, most), time| (least.min(*time), most.max(*time)));
    let mean = times.iter().sum::<f64>() / times.len().max(1) as f64;
    if mean > 0.0 { (most - least) / mean } else { 0.0 }
}

impl Estimate {
    /// From the results of all jobs.
    pub(super) fn new(plan: &Plan, jobs: &Jobs) -> Result<Estimate, Failure> {
        let mut configurations = Vec::new();
        for (number, configuration) in plan.configurations.iter().enumerate() {
            let mut total = Total {
                configuration: configuration.name.clone(),
                cycles: 0.0,
                copies: of_copies(&plan.copies, jobs.specs.get(number))?,
                bound: 0.0,
                timed: 0,
                groups: Vec::new(),
            };
            let own = jobs.all.iter().filter(|job| job.configuration == number);
            let results = own.map(|job| Ok((job, job.timed()?))).collect::<Result<Vec<_>, Failure>>()?;
            for (job, timed) in &results {
                let Some(group) = plan.groups.get(job.group) else { continue };
                let all = timed.cycles as f64 * job.launch.weight;
                total.cycles += all;
                // A launch that stands for itself alone is what it is.
                let stands_for = (all - timed.cycles as f64).max(0.0);
                total.bound += stands_for * group.spread.max(spread_of_times(&results, job.group));
                total.timed += timed.simulated_cycles;
                let (kernel, launch) = (group.name(), timed.launch);
                let Timed { cycles, simulated_cycles, .. } = *timed;
                total.groups.push(Part { kernel, launch, cycles, simulated_cycles, total: all });
            }
            total.bound /= total.cycles.max(1.0);
            configurations.push(total);
        }
        Ok(Estimate { configurations })
    }

    /// Writes it to the folder of results.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        let file = folder.join("estimate.json");
        let text = serde_json::to_vec_pretty(self).map_err(Failure::new)?;
        fs::write(&file, text).map_err(|error| Failure::in_file(&file, error))
    }

    /// For a reader.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for total in &self.configurations {
            let _ = writeln!(
                text,
                "{}: {:.0} cycles of kernels and {} of copies, within {:.1} % if launches of a group are as alike as what is known of them; {} cycles were simulated",
                total.configuration,
                total.cycles,
                total.copies,
                total.bound * 100.0,
                total.timed
            );
            let mut parts: Vec<&Part> = total.groups.iter().collect();
            parts.sort_by(|a, b| b.total.total_cmp(&a.total));
            for part in parts.iter().take(10) {
                let share = part.total / total.cycles.max(1.0) * 100.0;
                let _ = writeln!(
                    text,
                    "  {share:5.1} %  {} (launch {}, {} cycles)",
                    part.kernel, part.launch, part.cycles
                );
            }
        }
        text
    }
}

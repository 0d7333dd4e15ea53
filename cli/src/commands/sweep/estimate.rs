//! Estimated cycles of a program from the cycles of its timed launches.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use launch_capture::{Copies, Group, Plan};
use serde::Serialize;
use timing::gpu::{Copy, Direction, Gpu, LaunchError, Rows, Transfer};
use timing::specification::GpuSpec;

use super::job::{Jobs, Timed};
use super::kernel_cluster::Portion;
use super::untimed_prior::UntimedPrior;
use crate::failure::Failure;
use crate::outputs;

/// Times of a program on the GPUs of a plan.
#[derive(Serialize)]
pub(super) struct Estimate {
    configurations: Vec<Total>,
}

/// Time of a program on one GPU.
#[derive(Serialize)]
pub(super) struct Total {
    configuration: String,
    /// Core cycles of all launches.
    pub(super) cycles: f64,
    /// Core cycles of all copies between host and device, without overlap.
    copies: u64,
    /// Core cycles of all copies within the device, without overlap.
    device_copies: u64,
    /// Core cycles of all fills, without overlap.
    fills: u64,
    /// Error bound of the cycles, as a fraction of them. Three errors add up: launches that differ
    /// from their representatives, extrapolated ends of launches, and refreshes at other times.
    pub(super) bound: f64,
    /// Simulated cycles.
    timed: u64,
    /// Fraction of all warp instructions that was timed.
    work: f64,
    /// In the order of the plan.
    groups: Vec<Part>,
}

/// A group's part of the time.
#[derive(Default, Serialize)]
struct Part {
    kernel: String,
    launches: u64,
    /// Core cycles of the group's launches.
    cycles: f64,
    /// Error bound of `cycles`.
    bound: f64,
    timed: Vec<Timed>,
}

/// Cycles of all copies or fills of a kind: the time of one of mean size, multiplied by their
/// number. A copy's time is linear in its bytes.
fn of_copies(
    copies: &Copies,
    gpu: Option<&Arc<GpuSpec>>,
    copy: impl FnOnce(&mut Gpu, u64) -> Result<(), LaunchError>,
) -> Result<u64, Failure> {
    let (Some(gpu), Some(bytes)) = (gpu, copies.bytes.checked_div(copies.number)) else { return Ok(0) };
    let mut gpu = Gpu::new(gpu);
    copy(&mut gpu, bytes).map_err(Failure::new)?;
    Ok(gpu.now().cycle.saturating_mul(copies.number))
}

/// Copies to the device.
fn host_copy(gpu: &mut Gpu, bytes: u64) -> Result<(), LaunchError> {
    gpu.copy(Copy { direction: Direction::ToDevice, address: 0, bytes })
}

/// Fills, or copies from elsewhere on the device.
fn transfer(gpu: &mut Gpu, bytes: u64, is_copy: bool) -> Result<(), LaunchError> {
    let from = is_copy.then(|| Rows::row(1 << 40, bytes));
    gpu.transfer(Transfer { to: Rows::row(0, bytes), from }, 0, &mut ()).map(drop)
}

impl Part {
    /// Error bound in cycles from the phase of DRAM refreshes. A timed launch may begin at another
    /// phase than in the program, and meet one refresh more or less. The mean error is half a
    /// refresh.
    fn phase(&self, refresh: u64) -> f64 {
        match self.timed.len() {
            0 => 0.0,
            timed => refresh as f64 / 2.0 * self.launches as f64 / (timed as f64).sqrt(),
        }
    }

    /// Adds the error of extrapolated launches to the bound, scaled to the launches they represent.
    fn add_unsure(&mut self) {
        let of = |count: fn(&Timed) -> u64| self.timed.iter().map(count).sum::<u64>() as f64;
        let [cycles, unsure] = [of(|timed| timed.cycles), of(|timed| timed.unsure_cycles)];
        self.bound += unsure / cycles.max(1.0) * self.cycles;
    }
}

/// Adds the refresh error to each group's bound, and returns the bound of all groups. Refresh
/// errors of groups are independent, so their squares add up.
fn bound_of_all(groups: &mut [Part], refresh: u64) -> f64 {
    let (mut bound, mut squares) = (0.0, 0.0);
    for part in groups {
        let phase = part.phase(refresh);
        bound += part.bound;
        squares += phase * phase;
        part.bound += phase;
    }
    bound + squares.sqrt()
}

impl Total {
    fn new(
        plan: &Plan,
        jobs: &Jobs,
        number: usize,
        chosen: &BTreeSet<usize>,
        control: Option<&Jobs>,
    ) -> Result<Total, Failure> {
        let clusters = jobs.clusters(plan, number, chosen, control)?;
        let results = jobs.results(number, chosen)?;
        let part = |(number, group): (usize, &Group)| {
            let timed = results.iter().filter(|(_, job, _)| job.group == number);
            let timed = timed.filter_map(|(.., timed)| *timed).collect();
            Part { kernel: group.name(), launches: group.launches, timed, ..Part::default() }
        };
        let mut groups: Vec<Part> = plan.groups.iter().enumerate().map(part).collect();
        let prior = UntimedPrior::new(&clusters);
        for cluster in &clusters {
            for (portion, estimated) in cluster.portions.iter().zip(cluster.estimate(prior)) {
                if let Some(part) = groups.get_mut(portion.group) {
                    part.cycles += estimated.cycles;
                    part.bound += estimated.bound;
                }
            }
        }
        groups.iter_mut().for_each(Part::add_unsure);
        let work = clusters.iter().flat_map(|cluster| &cluster.portions).map(Portion::work);
        let (all, timed) = work.fold((0.0, 0.0), |sum, work| (sum.0 + work.0, sum.1 + work.1));
        let gpu = jobs.specs.get(number);
        let cycles: f64 = groups.iter().map(|part| part.cycles).sum();
        let bound = bound_of_all(&mut groups, gpu.map_or(0, |gpu| gpu.refresh_cycles()));
        Ok(Total {
            configuration: plan.configurations.get(number).map_or_else(String::new, |it| it.name.clone()),
            cycles,
            copies: of_copies(&plan.copies, gpu, host_copy)?,
            device_copies: of_copies(&plan.device_copies, gpu, |gpu, bytes| transfer(gpu, bytes, true))?,
            fills: of_copies(&plan.fills, gpu, |gpu, bytes| transfer(gpu, bytes, false))?,
            bound: bound / cycles.max(1.0),
            timed: groups.iter().flat_map(|part| &part.timed).map(|timed| timed.simulated_cycles).sum(),
            work: timed / all.max(1.0),
            groups,
        })
    }
}

impl Estimate {
    /// The estimate from the results of the chosen jobs, with the same jobs in a fast mode as control
    /// variate.
    pub(super) fn new(
        plan: &Plan,
        jobs: &Jobs,
        chosen: &BTreeSet<usize>,
        control: Option<&Jobs>,
    ) -> Result<Estimate, Failure> {
        let numbers = 0..plan.configurations.len();
        let configurations = numbers.map(|number| Total::new(plan, jobs, number, chosen, control));
        Ok(Estimate { configurations: configurations.collect::<Result<_, _>>()? })
    }

    /// The configurations, in the order of the plan.
    pub(super) fn totals(&self) -> impl Iterator<Item = &Total> {
        self.configurations.iter()
    }

    /// Core cycles of the kernels, by configuration.
    pub(super) fn cycles(&self) -> Vec<f64> {
        self.totals().map(|total| total.cycles).collect()
    }

    /// Writes the estimate to a file.
    pub(super) fn write(&self, file: &Path) -> Result<(), Failure> {
        let text = serde_json::to_vec_pretty(self).map_err(Failure::new)?;
        outputs::write(file, text)
    }

    /// The estimate as text.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for total in &self.configurations {
            let launches = total.groups.iter().map(|part| part.launches).sum::<u64>();
            let timed = total.groups.iter().map(|part| part.timed.len()).sum::<usize>();
            let _ = writeln!(
                text,
                "{}: {:.0} cycles of kernels (error bound {:.1} %), {} of copies between host and device, {} of copies within the device and {} of fills; {} cycles were simulated, of {timed} of {launches} launches with {:.1} % of all warp instructions",
                total.configuration,
                total.cycles,
                total.bound * 100.0,
                total.copies,
                total.device_copies,
                total.fills,
                total.timed,
                total.work * 100.0
            );
            let mut parts: Vec<&Part> = total.groups.iter().collect();
            parts.sort_by(|a, b| b.cycles.total_cmp(&a.cycles));
            for part in parts.iter().take(10) {
                let [share, bound] = [part.cycles, part.bound].map(|of| of / total.cycles.max(1.0) * 100.0);
                let timed =
                    part.timed.iter().map(|timed| format!("{}: {} cycles", timed.launch, timed.cycles));
                let timed: Vec<String> = timed.collect();
                let timed = if timed.is_empty() { "none was timed".to_owned() } else { timed.join(", ") };
                let _ = writeln!(
                    text,
                    "  {share:5.1} % ± {bound:.1}  {}, {} launches ({timed})",
                    part.kernel, part.launches
                );
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refresh_error_falls_with_the_root_of_timed_launches() {
        let timed = |launch| Timed { launch, cycles: 100, simulated_cycles: 100, unsure_cycles: 0 };
        let phase = |timed| Part { launches: 8, timed, ..Part::default() }.phase(200);
        assert_eq!(phase(vec![timed(1)]), 800.0);
        assert_eq!(phase((1..=4).map(timed).collect()), 400.0);
        assert_eq!(phase(Vec::new()), 0.0);
    }

    #[test]
    fn bounds_add_up_and_refresh_errors_add_in_squares() {
        let group = |launches, bound| {
            let timed = Timed { launch: 1, cycles: 100, simulated_cycles: 100, unsure_cycles: 0 };
            Part { launches, bound, timed: vec![timed], ..Part::default() }
        };
        let mut groups = [group(3, 10.0), group(4, 20.0)];
        assert_eq!(bound_of_all(&mut groups, 200), 30.0 + 500.0);
        assert_eq!(groups.map(|part| part.bound), [310.0, 420.0]);
    }

    #[test]
    fn extrapolation_error_scales_to_represented_launches() {
        let timed = Timed { launch: 1, cycles: 100, simulated_cycles: 50, unsure_cycles: 5 };
        let mut part = Part { launches: 3, cycles: 300.0, bound: 2.0, timed: vec![timed], ..Part::default() };
        part.add_unsure();
        assert_eq!(part.bound, 17.0);
        let mut untimed = Part { cycles: 300.0, bound: 2.0, ..Part::default() };
        untimed.add_unsure();
        assert_eq!(untimed.bound, 2.0);
    }
}

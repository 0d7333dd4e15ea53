//! From the times of representatives to that of the program.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use launch_capture::{Copies, Group, Plan};
use serde::Serialize;
use timing::gpu::{Copy, Direction, Gpu, LaunchError, Rows, Transfer};
use timing::specification::GpuSpec;

use super::family::Portion;
use super::job::{Jobs, Timed};
use super::strangers::Strangers;
use crate::failure::Failure;
use crate::outputs;

/// Times of a program on the GPUs of a plan.
#[derive(Serialize)]
pub(super) struct Estimate {
    configurations: Vec<Total>,
}

/// Time of a program on one GPU.
#[derive(Serialize)]
struct Total {
    configuration: String,
    /// Of all launches, in cycles of the core's clock.
    cycles: f64,
    /// Of all copies between host and device, one after the other.
    copies: u64,
    /// Of all copies within the device, one after the other.
    device_copies: u64,
    /// Of all fills, one after the other.
    fills: u64,
    /// How far that may be off, as a part of it: by how much launches may take other times than
    /// those that stand for them, and these other ones than were extrapolated, or than they take
    /// where refreshes come at other times.
    bound: f64,
    /// Cycles that were simulated for it.
    timed: u64,
    /// The part of all warp instructions that was timed for it.
    work: f64,
    /// In the order of the plan.
    groups: Vec<Part>,
}

/// A group's part of the time.
#[derive(Default, Serialize)]
struct Part {
    kernel: String,
    launches: u64,
    /// Of all its launches.
    cycles: f64,
    /// How far that may be off.
    bound: f64,
    timed: Vec<Timed>,
}

/// Cycles of copies or fills: of one of their mean size, as often as there are such, as its time is
/// its bytes' and what each waits.
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
    /// Cycles by which its launches may be off as those that were timed began when refreshes were
    /// due at other times than in the program: one that comes in between, or does not, is half of a
    /// refresh for each.
    fn phase(&self, refresh: u64) -> f64 {
        match self.timed.len() {
            0 => 0.0,
            timed => refresh as f64 / 2.0 * self.launches as f64 / (timed as f64).sqrt(),
        }
    }

    /// Adds to its bound how far those that were timed may be off, for all that they stand for.
    fn add_unsure(&mut self) {
        let of = |count: fn(&Timed) -> u64| self.timed.iter().map(count).sum::<u64>() as f64;
        let [cycles, unsure] = [of(|timed| timed.cycles), of(|timed| timed.unsure_cycles)];
        self.bound += unsure / cycles.max(1.0) * self.cycles;
    }
}

/// Adds to each group's bound how far off it may be by when refreshes come; gives how far all of
/// them together may be. Groups know nothing of each other's refreshes, so these do not add up.
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
    fn new(plan: &Plan, jobs: &Jobs, number: usize, chosen: &BTreeSet<usize>) -> Result<Total, Failure> {
        let families = jobs.families(plan, number, chosen)?;
        let results = jobs.results(number, chosen)?;
        let part = |(number, group): (usize, &Group)| {
            let timed = results.iter().filter(|(_, job, _)| job.group == number);
            let timed = timed.filter_map(|(.., timed)| *timed).collect();
            Part { kernel: group.name(), launches: group.launches, timed, ..Part::default() }
        };
        let mut groups: Vec<Part> = plan.groups.iter().enumerate().map(part).collect();
        let strangers = Strangers::new(&families);
        for family in &families {
            for (portion, estimated) in family.portions.iter().zip(family.estimate(strangers)) {
                if let Some(part) = groups.get_mut(portion.group) {
                    part.cycles += estimated.cycles;
                    part.bound += estimated.bound;
                }
            }
        }
        groups.iter_mut().for_each(Part::add_unsure);
        let work = families.iter().flat_map(|family| &family.portions).map(Portion::work);
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
    /// From the results of the jobs that were chosen.
    pub(super) fn new(plan: &Plan, jobs: &Jobs, chosen: &BTreeSet<usize>) -> Result<Estimate, Failure> {
        let numbers = 0..plan.configurations.len();
        let configurations = numbers.map(|number| Total::new(plan, jobs, number, chosen));
        Ok(Estimate { configurations: configurations.collect::<Result<_, _>>()? })
    }

    /// Writes it to the folder of results.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        let file = folder.join("estimate.json");
        let text = serde_json::to_vec_pretty(self).map_err(Failure::new)?;
        outputs::write(&file, text)
    }

    /// For a reader.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for total in &self.configurations {
            let launches = total.groups.iter().map(|part| part.launches).sum::<u64>();
            let timed = total.groups.iter().map(|part| part.timed.len()).sum::<usize>();
            let _ = writeln!(
                text,
                "{}: {:.0} cycles of kernels, {:.1} % more or less if launches are as alike as what is known of them, {} of copies between host and device, {} of copies within the device and {} of fills; {} cycles were simulated, of {timed} of {launches} launches with {:.1} % of all warp instructions",
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
    fn of_more_launches_that_were_timed_less_hangs_on_when_refreshes_come() {
        let timed = |launch| Timed { launch, cycles: 100, simulated_cycles: 100, unsure_cycles: 0 };
        let phase = |timed| Part { launches: 8, timed, ..Part::default() }.phase(200);
        assert_eq!(phase(vec![timed(1)]), 800.0);
        assert_eq!(phase((1..=4).map(timed).collect()), 400.0);
        assert_eq!(phase(Vec::new()), 0.0);
    }

    #[test]
    fn bounds_of_groups_add_up_but_for_their_refreshes() {
        let group = |launches, bound| {
            let timed = Timed { launch: 1, cycles: 100, simulated_cycles: 100, unsure_cycles: 0 };
            Part { launches, bound, timed: vec![timed], ..Part::default() }
        };
        let mut groups = [group(3, 10.0), group(4, 20.0)];
        assert_eq!(bound_of_all(&mut groups, 200), 30.0 + 500.0);
        assert_eq!(groups.map(|part| part.bound), [310.0, 420.0]);
    }

    #[test]
    fn what_is_unsure_of_a_launch_is_so_of_all_that_it_stands_for() {
        let timed = Timed { launch: 1, cycles: 100, simulated_cycles: 50, unsure_cycles: 5 };
        let mut part = Part { launches: 3, cycles: 300.0, bound: 2.0, timed: vec![timed], ..Part::default() };
        part.add_unsure();
        assert_eq!(part.bound, 17.0);
        let mut untimed = Part { cycles: 300.0, bound: 2.0, ..Part::default() };
        untimed.add_unsure();
        assert_eq!(untimed.bound, 2.0);
    }
}

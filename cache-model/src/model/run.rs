//! Runs of the model: all cores of a launch, and configurations that share one order.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::core::{Core, Shared};
use super::counts::{Counts, OrderCounts};
use super::l2::L2;
use super::latency::HalfNormal;
use super::log::Request;
use super::spec::{Geometry, ModelSpec};
use crate::accesses::LaunchAccesses;

/// Most numbers of sets in one run, with the fully associative stack.
pub(super) const MAX_STACKS: usize = 8;

/// Time units that a core runs ahead of the others: as many as keep its lines in the host's caches.
/// CTAs start between two epochs.
const EPOCH: u64 = 1024;

/// A configuration in a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    /// Index of its stacks.
    pub stacks: usize,
    /// Lines of a set.
    pub ways: u32,
    /// Lines of the cache.
    pub lines: u32,
}

/// Constants of a run.
#[derive(Debug)]
pub(super) struct Setting<'a> {
    /// The configuration that makes the order.
    pub spec: &'a ModelSpec,
    /// The launch, with the lines of the configuration.
    pub accesses: &'a LaunchAccesses,
    /// Stacks: the fully associative one first.
    pub stacks: Vec<Geometry>,
    /// Configurations; the first one makes the order.
    pub members: Vec<Member>,
}

/// Configurations that share the order of the first one, and differ in size, sets and ways alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Parameters; its geometry is that of the first configuration.
    pub spec: ModelSpec,
    /// Further sizes and sets.
    pub further: Vec<Geometry>,
}

impl Group {
    /// A group of one configuration.
    pub fn of_one(spec: ModelSpec) -> Group {
        Group { spec, further: Vec::new() }
    }

    /// Geometries of all configurations.
    pub fn geometries(&self) -> impl Iterator<Item = Geometry> + '_ {
        std::iter::once(self.spec.geometry).chain(self.further.iter().copied())
    }
}

/// Counts of a launch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchResult {
    /// Counts per configuration.
    pub counts: Vec<Counts>,
    /// Counts that follow from the order.
    pub order: OrderCounts,
}

/// Runs a launch. The L2 keeps its contents for the next launch.
pub fn run(accesses: &LaunchAccesses, group: &Group, l2: Option<&mut L2>) -> LaunchResult {
    execute(accesses, group, l2, false).0
}

/// [`run`] with a log of the first core's requests.
pub fn run_logged(accesses: &LaunchAccesses, group: &Group) -> (LaunchResult, Vec<Request>) {
    execute(accesses, group, None, true)
}

fn execute(
    accesses: &LaunchAccesses,
    group: &Group,
    mut l2: Option<&mut L2>,
    is_logged: bool,
) -> (LaunchResult, Vec<Request>) {
    let accesses = match group.spec.line {
        128 => Cow::Borrowed(accesses),
        line => Cow::Owned(accesses.with_lines(line)),
    };
    let mut result = LaunchResult::default();
    let mut log = Vec::new();
    for setting in settings(&accesses, group) {
        let (counts, order, logged) = one(&setting, l2.as_deref_mut(), is_logged);
        // Further parts of a large group repeat the order of the first configuration.
        let is_first = result.counts.is_empty();
        result.counts.extend(counts.into_iter().skip(usize::from(!is_first)));
        if is_first {
            (result.order, log) = (order, logged);
        }
    }
    (result, log)
}

/// The runs of a group: one, or more for many numbers of sets.
fn settings<'a>(accesses: &'a LaunchAccesses, group: &'a Group) -> Vec<Setting<'a>> {
    let line = group.spec.line;
    let whole = Geometry { sets: 1, ..group.spec.geometry };
    let start = || Setting { spec: &group.spec, accesses, stacks: vec![whole], members: Vec::new() };
    let mut settings = vec![start()];
    for geometry in group.geometries() {
        let same = |known: &Geometry| known.sets == geometry.sets;
        let is_full =
            |setting: &Setting<'_>| setting.stacks.len() == MAX_STACKS && !setting.stacks.iter().any(same);
        if settings.last().is_none_or(is_full) {
            let mut next = start();
            add(&mut next, group.spec.geometry, line);
            settings.push(next);
        }
        if let Some(setting) = settings.last_mut() {
            add(setting, geometry, line);
        }
    }
    settings
}

fn add(setting: &mut Setting<'_>, geometry: Geometry, line: u32) {
    let known = setting.stacks.iter().position(|known| known.sets == geometry.sets);
    let stacks = known.unwrap_or_else(|| {
        setting.stacks.push(geometry);
        setting.stacks.len() - 1
    });
    setting.members.push(Member { stacks, ways: geometry.ways(line), lines: geometry.lines(line) });
}

/// Starts CTAs while cores have room. Cores take turns, from the one behind the last that got a CTA.
fn start_ctas(cores: &mut [Core<'_>], turn: &mut usize, shared: &mut Shared<'_>) {
    let mut refused = 0;
    while refused < cores.len() && !shared.ctas.is_empty() {
        refused = if cores[*turn].start_cta(shared) { 0 } else { refused + 1 };
        *turn = (*turn + 1) % cores.len();
    }
}

fn one(
    setting: &Setting<'_>,
    l2: Option<&mut L2>,
    is_logged: bool,
) -> (Vec<Counts>, OrderCounts, Vec<Request>) {
    let order = setting.spec.order;
    let mut shared = Shared { ctas: 0..setting.accesses.ctas(), l2 };
    let latency = HalfNormal::new(setting.spec.latency.deviation, 0);
    let cores = u64::from(order.cores).min(setting.accesses.ctas()) as u32;
    let mut cores: Vec<Core<'_>> = (0..cores).map(|number| Core::new(number, setting, &latency)).collect();
    if let Some(core) = cores.first_mut().filter(|_| is_logged) {
        core.log = Some(Vec::new());
    }
    let mut until = 0;
    let mut running: Vec<usize> = (0..cores.len()).collect();
    let mut turn = 0;
    while !running.is_empty() {
        start_ctas(&mut cores, &mut turn, &mut shared);
        until += EPOCH;
        running.retain(|number| cores[*number].advance(until, &mut shared));
        let next = running.iter().map(|number| cores[*number].time).min();
        until = until.max(next.unwrap_or(0));
    }
    let mut counts = vec![Counts::default(); setting.members.len()];
    let mut sums = OrderCounts::default();
    let mut log = Vec::new();
    for core in cores {
        counts.iter_mut().zip(&core.counts).for_each(|(sum, more)| sum.add(more));
        sums.add(&OrderCounts { time: core.time, ..core.order });
        log.extend(core.log.into_iter().flatten());
    }
    (counts, sums, log)
}

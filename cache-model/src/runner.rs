//! Runner: one functional run feeds every configuration, launch after launch.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use timing::specification::GpuSpec;
use warp_stream::LaunchShape;

use crate::accesses::LaunchAccesses;
use crate::model::{Counts, Group, L2, LaunchResult, ModelSpec, OrderCounts, run};
use crate::sweep::{Configuration, SweepError};

/// Configurations that share an order, and their L2.
#[derive(Debug)]
struct Shared {
    /// Indices among all configurations; the first one makes the order.
    members: Vec<usize>,
    l2: Option<L2>,
    result: Result<(LaunchResult, ModelSpec), SweepError>,
}

/// Results of a configuration for a launch.
#[derive(Debug, Clone, Serialize)]
pub struct ConfigurationResult {
    /// Values that differ from the GPU's.
    pub configuration: Configuration,
    /// Bytes of L1, and sets.
    pub l1: (u32, u32),
    /// Counts.
    pub counts: Counts,
    /// Misses with traffic beyond those with unlimited MSHRs; negative if the limit saves misses.
    /// `None` in sweeps.
    pub mshr_misses: Option<i64>,
}

/// Results of a launch.
#[derive(Debug, Clone, Serialize)]
pub struct LaunchReport {
    /// Number of the launch in the run, from 1.
    pub launch: u64,
    /// Mangled name of the kernel.
    pub kernel: String,
    /// CTAs of the grid and threads of a CTA.
    #[serde(flatten)]
    pub shape: LaunchShape,
    /// Results per configuration.
    pub results: Vec<ConfigurationResult>,
    /// Counts that follow from the order of the first configuration.
    #[serde(skip)]
    pub order: OrderCounts,
}

/// Runs launches on all configurations.
#[derive(Debug)]
pub struct Runner {
    gpu: GpuSpec,
    configurations: Vec<Configuration>,
    shared: Vec<Mutex<Shared>>,
    threads: usize,
}

impl Runner {
    /// A runner. `is_exact` gives each configuration an order of its own; otherwise those share one
    /// that differ in size, sets and ways alone.
    pub fn new(gpu: GpuSpec, configurations: Vec<Configuration>, is_exact: bool, threads: usize) -> Runner {
        let mut keys: Vec<(Configuration, Vec<usize>)> = Vec::new();
        for (index, configuration) in configurations.iter().enumerate() {
            let key = configuration.of_order();
            match keys.iter_mut().find(|(known, _)| !is_exact && *known == key) {
                Some((_, members)) => members.push(index),
                None => keys.push((key, vec![index])),
            }
        }
        let shared = |(_, members)| {
            let result = Err(SweepError::Many(0));
            Mutex::new(Shared { members, l2: None, result })
        };
        Runner { gpu, shared: keys.into_iter().map(shared).collect(), configurations, threads }
    }

    /// Orders that a launch needs.
    pub fn orders(&self) -> usize {
        self.shared.len()
    }

    /// Runs a launch.
    ///
    /// # Errors
    /// The values of a configuration contradict one another.
    pub fn launch(&self, accesses: &LaunchAccesses) -> Result<LaunchReport, SweepError> {
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(shared) = self.shared.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut shared = shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                shared.result = self.run(&mut shared, accesses);
            }
        };
        std::thread::scope(|scope| {
            let others = self.threads.min(self.shared.len()).saturating_sub(1);
            (0..others).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        self.report(accesses)
    }

    fn spec(&self, index: usize, accesses: &LaunchAccesses) -> Result<ModelSpec, SweepError> {
        let mut spec = ModelSpec::of_gpu(&self.gpu, &accesses.launch);
        self.configurations[index].apply(&mut spec)?;
        Ok(spec)
    }

    fn run(
        &self,
        shared: &mut Shared,
        accesses: &LaunchAccesses,
    ) -> Result<(LaunchResult, ModelSpec), SweepError> {
        let specs = shared.members.iter().map(|index| self.spec(*index, accesses));
        let specs = specs.collect::<Result<Vec<_>, _>>()?;
        let Some((first, further)) = specs.split_first() else {
            return Err(SweepError::Many(0));
        };
        let further = further.iter().map(|spec| spec.geometry).collect();
        let group = Group { spec: first.clone(), further };
        if shared.l2.is_none() {
            shared.l2 = first.l2.map(L2::new);
        }
        let before = (self.configurations.len() == 1).then(|| shared.l2.clone());
        let mut result = run(accesses, &group, shared.l2.as_mut());
        if let Some(mut l2) = before.filter(|_| result.order.cancelled > 0) {
            // The difference to unlimited MSHRs is the number of MSHR misses.
            let unlimited = Group::of_one(ModelSpec { misses: u32::MAX, ..group.spec });
            result.counts.extend(run(accesses, &unlimited, l2.as_mut()).counts);
        }
        Ok((result, first.clone()))
    }

    fn report(&self, accesses: &LaunchAccesses) -> Result<LaunchReport, SweepError> {
        let mut results = vec![None; self.configurations.len()];
        let mut order = OrderCounts::default();
        for (number, shared) in self.shared.iter().enumerate() {
            let shared = shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let (result, _) = shared.result.as_ref().map_err(Clone::clone)?;
            if number == 0 {
                order = result.order.clone();
            }
            for (index, counts) in shared.members.iter().zip(&result.counts) {
                let spec = self.spec(*index, accesses)?;
                let unlimited = result.counts.get(1).unwrap_or(counts).fetching();
                let mshr_misses = counts.fetching() as i64 - unlimited as i64;
                results[*index] = Some(ConfigurationResult {
                    configuration: self.configurations[*index].clone(),
                    l1: (spec.geometry.size, spec.geometry.sets),
                    counts: counts.clone(),
                    mshr_misses: (self.configurations.len() == 1).then_some(mshr_misses),
                });
            }
        }
        let launch = &accesses.launch;
        Ok(LaunchReport {
            launch: launch.number,
            kernel: launch.kernel.clone(),
            shape: launch.shape,
            results: results.into_iter().flatten().collect(),
            order,
        })
    }
}

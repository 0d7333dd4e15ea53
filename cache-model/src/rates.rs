//! Rates: the parts of a load instruction's executions that L1, L2 and memory serve.

use timing::specification::GpuSpec;

use crate::accesses::LaunchAccesses;
use crate::model::{Group, L2, LevelCounts, ModelSpec, run};

/// Parts of the loads that each level serves; together 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rates {
    /// Part that L1 serves.
    pub l1: f64,
    /// Part that L2 serves.
    pub l2: f64,
    /// Part that memory serves.
    pub memory: f64,
}

/// Rates of a launch, by instruction of the kernel's code.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LaunchRates {
    by_position: Vec<Option<Rates>>,
    whole: Option<Rates>,
}

impl LaunchRates {
    /// Rates of an instruction, or of the whole launch where the instruction had no loads; `None`
    /// for a launch without loads.
    pub fn of(&self, position: u32) -> Option<Rates> {
        self.by_position.get(position as usize).copied().flatten().or(self.whole)
    }
}

/// Predicts the rates of launch after launch. The L2 keeps its contents between launches.
#[derive(Debug)]
pub struct RateModel<'g> {
    gpu: &'g GpuSpec,
    l2: Option<L2>,
}

impl<'g> RateModel<'g> {
    /// A model with empty caches.
    pub fn new(gpu: &'g GpuSpec) -> RateModel<'g> {
        RateModel { gpu, l2: None }
    }

    /// Rates of the next launch.
    pub fn launch(&mut self, accesses: &LaunchAccesses) -> LaunchRates {
        let spec = ModelSpec::of_gpu(self.gpu, &accesses.launch);
        if self.l2.is_none() {
            self.l2 = spec.l2.map(L2::new);
        }
        let result = run(accesses, &Group::of_one(spec), self.l2.as_mut());
        let mut sum = LevelCounts::default();
        result.order.levels.iter().for_each(|levels| sum.add(levels));
        LaunchRates { by_position: result.order.levels.iter().map(rates).collect(), whole: rates(&sum) }
    }
}

fn rates(levels: &LevelCounts) -> Option<Rates> {
    let loads = levels.loads.iter().sum::<u64>();
    let part = |level: usize| levels.loads[level] as f64 / loads as f64;
    (loads > 0).then(|| Rates { l1: part(0), l2: part(1), memory: part(2) })
}

#[cfg(test)]
mod tests {
    use warp_stream::LaunchShape;

    use super::*;
    use crate::accesses::{Header, Kind, Launch, line_word};

    #[test]
    fn second_load_of_a_line_is_served_by_l1() {
        let gpu = GpuSpec::built_in("titan-v").expect("a GPU");
        let launch =
            Launch { shape: LaunchShape::new([1; 3], [32, 1, 1]), lines: vec![0; 3], ..Launch::default() };
        let load = |position, waits| {
            let header = Header { position, lines: 1, kind: Kind::Load, waits, is_local: false, gap: 0 };
            [header.word(), line_word(0x1000, 0xf)]
        };
        let words = [load(0, false), load(1, true)].concat();
        let rates = RateModel::new(&gpu).launch(&LaunchAccesses::new(launch, [words]));
        assert_eq!(rates.of(0), Some(Rates { memory: 1.0, ..Rates::default() }));
        assert_eq!(rates.of(1), Some(Rates { l1: 1.0, ..Rates::default() }));
        assert_eq!(rates.of(2), Some(Rates { l1: 0.5, memory: 0.5, ..Rates::default() }));
    }
}

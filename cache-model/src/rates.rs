//! Rates: the parts of a load instruction's sectors that L1, L2 and memory serve.

use std::path::Path;

use rustc_hash::FxHashMap;
use timing::fidelity::rates::WHOLE;
use timing::fidelity::{LevelRates, LoadRates};
use timing::specification::GpuSpec;
use warp_stream::Kernel;

use crate::accesses::{FileError, LaunchAccesses, Reader};
use crate::model::{Group, L2, LevelCounts, ModelSpec, run};

/// Parts of the sectors that each level serves; together 1. A sector in flight counts as served by
/// L1: another request fetches it.
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

/// Predicts the rates of launch after launch. The L2 keeps its contents between launches, unless
/// caches of the GPU are cold before each (`launch.cold`).
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
        if self.l2.is_none() || self.gpu.launch.cold {
            self.l2 = spec.l2.map(L2::new);
        }
        let result = run(accesses, &Group::of_one(spec), self.l2.as_mut());
        let mut sum = LevelCounts::default();
        result.order.levels.iter().for_each(|levels| sum.add(levels));
        LaunchRates { by_position: result.order.levels.iter().map(rates).collect(), whole: rates(&sum) }
    }
}

fn rates(levels: &LevelCounts) -> Option<Rates> {
    let sectors = levels.sectors.iter().sum::<u64>();
    let part = |level: usize| levels.sectors[level] as f64 / sectors as f64;
    (sectors > 0).then(|| Rates { l1: part(0), l2: part(1), memory: part(2) })
}

impl Rates {
    fn of_levels(self) -> LevelRates {
        let whole = |part: f64| (part * f64::from(WHOLE)).round() as u32;
        LevelRates { l1: whole(self.l1), l2: whole(self.l2) }
    }
}

/// Rates of the launches of a recording, for a timing model.
#[derive(Debug)]
pub struct RecordedRates {
    /// Kernel and rates by the number of the launch.
    launches: FxHashMap<u64, (String, LaunchRates)>,
}

impl RecordedRates {
    /// Reads a recording of `voltsim cache-model --record`, and predicts the rates on a GPU.
    ///
    /// # Errors
    /// The file is no such recording.
    pub fn read(gpu: &GpuSpec, file: &Path) -> Result<RecordedRates, FileError> {
        let mut reader = Reader::open(file)?;
        let mut model = RateModel::new(gpu);
        let mut launches = FxHashMap::default();
        while let Some(accesses) = reader.next_launch()? {
            let rates = model.launch(&accesses);
            launches.insert(accesses.launch.number, (accesses.launch.kernel, rates));
        }
        Ok(RecordedRates { launches })
    }

    fn of_launch(&self, kernel: &Kernel) -> Option<&LaunchRates> {
        let (name, rates) = self.launches.get(&kernel.launch)?;
        (*name == kernel.name).then_some(rates)
    }
}

impl LoadRates for RecordedRates {
    fn has(&self, kernel: &Kernel) -> bool {
        self.of_launch(kernel).is_some()
    }

    fn rates(&self, kernel: &Kernel, position: u32) -> Option<LevelRates> {
        Some(self.of_launch(kernel)?.of(position)?.of_levels())
    }
}

#[cfg(test)]
mod tests {
    use warp_stream::LaunchShape;

    use super::*;
    use crate::accesses::{Header, Kind, Launch, Writer, line_word};

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

    #[test]
    fn recorded_rates_are_those_of_their_launch_alone() {
        let gpu = GpuSpec::built_in("titan-v").expect("a GPU");
        let header =
            Header { position: 0, lines: 1, kind: Kind::Load, waits: false, is_local: false, gap: 0 };
        let launch = Launch {
            kernel: "k".to_owned(),
            number: 4,
            shape: LaunchShape::new([1; 3], [32, 1, 1]),
            lines: vec![0],
            ..Launch::default()
        };
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("accesses");
        let words = vec![header.word(), line_word(0x1000, 0xf)];
        let added = Writer::append(&file)
            .and_then(|mut writer| writer.add(&LaunchAccesses::new(launch.clone(), [words])));
        added.expect("a recording");
        let rates = RecordedRates::read(&gpu, &file).expect("a recording");
        let (_, known) = rates.launches.get(&4).expect("the launch");
        assert_eq!(known.of(0).map(Rates::of_levels), Some(LevelRates { l1: 0, l2: 0 }));
        assert_eq!(rates.launches.len(), 1);
    }
}

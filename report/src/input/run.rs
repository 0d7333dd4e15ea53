//! Statistics of a run.

use std::collections::BTreeMap;
use warp_stream::LaunchShape;

use warp_stream::kernel_name::base_name;

use super::fields::Fields;
use super::series::Series;
use super::source::{Listing, SourceCounts};
use crate::ReportError;

/// Statistics of a run.
#[derive(Debug)]
pub struct Run {
    /// Name of the file.
    pub name: String,
    /// Modelled GPU.
    pub gpu: String,
    /// Origin of the energies.
    pub energies: Energies,
    /// Cause of an early end.
    pub partial: Option<String>,
    /// Launches in the order of their ends.
    pub launches: Vec<Launch>,
    /// Copies within the device, and fills.
    pub transfers: Vec<Transfer>,
    /// Counts of the whole run.
    pub total: Counts,
    /// Code of launches with counts by program counter.
    pub listings: Vec<Listing>,
}

/// Origin of a run's energies.
#[derive(Debug)]
pub enum Energies {
    /// The file does not say.
    Unknown,
    /// The GPU's file has none.
    None,
    /// Values of a card.
    Of {
        /// Name of the card.
        card: String,
        /// The modelled GPU is another one.
        derived: bool,
    },
}

/// One launch.
#[derive(Debug)]
pub struct Launch {
    /// Number in the run, from 1.
    pub number: u64,
    /// Signature of the kernel.
    pub kernel: String,
    /// Short name of the kernel.
    pub short: String,
    /// Names of the NVTX ranges that were open at the call, outermost first.
    pub ranges: Vec<String>,
    /// Number of the stream.
    pub stream: u64,
    /// CTAs of the grid and threads of a CTA.
    pub shape: LaunchShape,
    /// Registers of a thread.
    pub registers: f64,
    /// Origin of the number of registers; empty if the statistics do not say.
    pub register_source: String,
    /// Bytes of shared memory of a CTA.
    pub shared_bytes: f64,
    /// CTAs that fit an SM.
    pub occupancy: Occupancy,
    /// Core cycle of the start.
    pub start: f64,
    /// Duration in core cycles.
    pub cycles: f64,
    /// Other work ran at the same time.
    pub shared: bool,
    /// The end of the launch is extrapolated.
    pub extrapolated: bool,
    /// Counts of the launch.
    pub counts: Counts,
    /// DRAM channels.
    pub channels: Vec<Channel>,
    /// Counts over time.
    pub series: Option<Series>,
    /// Counts by program counter.
    pub source_counts: Option<SourceCounts>,
}

/// CTAs that fit an SM.
#[derive(Debug, Default)]
pub struct Occupancy {
    /// CTAs.
    pub ctas: f64,
    /// Name of the limiting resource.
    pub limit: String,
    /// Share of the warp slots in per cent.
    pub theoretical: f64,
    /// CTAs by resource.
    pub limits: Vec<(String, f64)>,
}

/// One copy within the device, or fill.
#[derive(Debug)]
pub struct Transfer {
    /// `copy` or `fill`.
    pub kind: String,
    /// Number of the stream.
    pub stream: u64,
    /// Bytes written.
    pub bytes: f64,
    /// Core cycle of the start.
    pub start: f64,
    /// Duration in core cycles.
    pub cycles: f64,
}

/// One DRAM channel.
#[derive(Debug)]
pub struct Channel {
    /// Share of all cycles with data on the bus, 0 to 1.
    pub utilisation: f64,
    /// Share of busy cycles with data on the bus, 0 to 1.
    pub efficiency: f64,
    /// Sectors read and written by each bank.
    pub banks: Vec<f64>,
}

/// Counters and derived statistics by name.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    counters: BTreeMap<String, f64>,
    derived: BTreeMap<String, f64>,
}

/// Launches of one kernel.
#[derive(Debug)]
pub struct Kernel<'a> {
    /// Signature.
    pub name: &'a str,
    /// Short name.
    pub short: &'a str,
    /// The launches.
    pub launches: Vec<&'a Launch>,
    /// Sum of the counts.
    pub counts: Counts,
    /// Sum of the durations in nanoseconds.
    pub nanoseconds: f64,
}

impl Counts {
    fn read(fields: &Fields<'_>) -> Result<Counts, ReportError> {
        let mut counts = Counts::default();
        for (name, value) in fields.get("counters").entries()? {
            // A counter of a unit that is not modelled is null.
            if !value.is_missing() {
                counts.counters.insert(name.to_owned(), value.number()?);
            }
        }
        for (name, value) in fields.get("derived").entries()? {
            if !value.is_missing() {
                counts.derived.insert(name.to_owned(), value.number()?);
            }
        }
        Ok(counts)
    }

    /// A counter or derived statistic named `section.name`.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.derived.get(name).or_else(|| self.counters.get(name)).copied()
    }

    /// A counter; 0 if the file does not have it.
    pub fn counter(&self, name: &str) -> f64 {
        self.counters.get(name).copied().unwrap_or(0.0)
    }

    /// Sum of counters.
    pub fn sum(&self, names: &[&str]) -> f64 {
        names.iter().map(|name| self.counter(name)).sum()
    }

    /// Quotient of two counters, if the second is not 0.
    pub fn ratio(&self, over: &str, under: &str) -> Option<f64> {
        let under = self.counter(under);
        (under > 0.0).then(|| self.counter(over) / under)
    }

    /// All counters by name.
    pub fn counters(&self) -> impl Iterator<Item = (&str, f64)> {
        self.counters.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// Duration in nanoseconds.
    pub fn nanoseconds(&self) -> f64 {
        self.counter("gpu.nanoseconds")
    }

    /// Adds counters. Derived statistics are left to [`Counts::value`] of counters alone.
    pub(crate) fn add(&mut self, other: &Counts) {
        for (name, value) in &other.counters {
            *self.counters.entry(name.clone()).or_default() += value;
        }
    }

    /// Counts without derived statistics, from which they are computed anew.
    pub(crate) fn derive(&mut self) {
        for ratio in timing::statistics::DERIVED {
            let product = |sums: &[&[&str]]| sums.iter().map(|names| self.sum(names)).product::<f64>();
            let under = product(ratio.denominator);
            let mut names = ratio.numerator.iter().chain(ratio.denominator).flat_map(|names| names.iter());
            // A counter that the run does not model leaves its ratios without a value.
            let is_known = names.all(|name| self.counters.contains_key(*name));
            if is_known && under > 0.0 {
                let name = format!("{}.{}", ratio.section, ratio.name);
                let value = ratio.scale * product(ratio.numerator) / under;
                self.derived.insert(name, value);
            }
        }
    }
}

impl Run {
    pub(super) fn read(name: &str, fields: &Fields<'_>) -> Result<Run, ReportError> {
        let launches = fields.get("launches").list()?;
        let launches = launches.iter().map(Launch::read).collect::<Result<Vec<_>, _>>()?;
        let transfers = fields.get("transfers").list()?;
        let transfers = transfers.iter().map(Transfer::read).collect::<Result<Vec<_>, _>>()?;
        if launches.is_empty() && transfers.is_empty() {
            return Err(ReportError::Empty(name.to_owned()));
        }
        let partial = fields.get("partial");
        Ok(Run {
            name: name.to_owned(),
            gpu: fields.get("gpu").text()?.to_owned(),
            energies: Energies::read(fields)?,
            partial: (!partial.is_missing()).then(|| partial.text().map(str::to_owned)).transpose()?,
            launches,
            transfers,
            total: Counts::read(&fields.get("total"))?,
            listings: fields.get("listings").list()?.iter().map(Listing::read).collect::<Result<_, _>>()?,
        })
    }

    /// Nanoseconds of a core cycle.
    pub fn cycle_nanoseconds(&self) -> f64 {
        let of_launches = self.launches.iter().map(|launch| &launch.counts);
        let longest = of_launches
            .chain([&self.total])
            .max_by(|a, b| a.counter("gpu.cycles").total_cmp(&b.counter("gpu.cycles")));
        longest.and_then(|counts| counts.ratio("gpu.nanoseconds", "gpu.cycles")).unwrap_or(1.0)
    }

    /// Kernels by the time of their launches, longest first.
    pub fn kernels(&self) -> Vec<Kernel<'_>> {
        let cycle = self.cycle_nanoseconds();
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let mut kernels: Vec<Kernel<'_>> = Vec::new();
        for launch in &self.launches {
            let place = *places.entry(&launch.kernel).or_insert_with(|| {
                kernels.push(Kernel {
                    name: &launch.kernel,
                    short: &launch.short,
                    launches: Vec::new(),
                    counts: Counts::default(),
                    nanoseconds: 0.0,
                });
                kernels.len() - 1
            });
            let Some(kernel) = kernels.get_mut(place) else { continue };
            kernel.launches.push(launch);
            kernel.nanoseconds += launch.cycles * cycle;
            kernel.counts.add(&launch.counts);
        }
        kernels.iter_mut().for_each(|kernel| kernel.counts.derive());
        kernels.sort_by(|a, b| b.nanoseconds.total_cmp(&a.nanoseconds));
        kernels
    }

    /// Core cycle after the last launch or transfer, and that of the first.
    pub fn span(&self) -> (f64, f64) {
        let launches = self.launches.iter().map(|launch| (launch.start, launch.start + launch.cycles));
        let transfers = self.transfers.iter().map(|it| (it.start, it.start + it.cycles));
        launches
            .chain(transfers)
            .fold((f64::INFINITY, 0.0), |(first, last), (start, end)| (first.min(start), last.max(end)))
    }
}

impl Energies {
    fn read(run: &Fields<'_>) -> Result<Energies, ReportError> {
        if !run.has("power") {
            return Ok(Energies::Unknown);
        }
        let power = run.get("power");
        if power.is_missing() {
            return Ok(Energies::None);
        }
        Ok(Energies::Of {
            card: power.get("card").text()?.to_owned(),
            derived: power.get("derived").is_true(),
        })
    }
}

impl Kernel<'_> {
    /// The longest launch.
    pub fn longest(&self) -> Option<&Launch> {
        self.launches
            .iter()
            .copied()
            .max_by(|a, b| a.cycles.total_cmp(&b.cycles).then(b.number.cmp(&a.number)))
    }
}

impl Launch {
    fn read(fields: &Fields<'_>) -> Result<Launch, ReportError> {
        let kernel = fields.get("kernel").text()?.to_owned();
        let mangled = fields.get("mangled");
        let short = if mangled.is_missing() { base_name(&kernel) } else { base_name(mangled.text()?) };
        let channels = fields.get("dram_channels").list()?;
        let series = fields.get("series");
        let source_counts = fields.get("source_counts");
        let ranges = fields.get("ranges").list()?;
        Ok(Launch {
            number: fields.get("launch").number()? as u64,
            short: if short.is_empty() { kernel.clone() } else { short },
            kernel,
            ranges: ranges.iter().map(|range| range.text().map(str::to_owned)).collect::<Result<_, _>>()?,
            stream: fields.get("stream").number_or_zero()? as u64,
            shape: LaunchShape::new(fields.get("grid").sizes()?, fields.get("block").sizes()?),
            registers: fields.get("registers").number_or_zero()?,
            register_source: fields.get("registers.source").text_or_empty()?,
            shared_bytes: fields.get("shared_bytes").number_or_zero()?,
            occupancy: Occupancy::read(&fields.get("occupancy"))?,
            start: fields.get("start").number()?,
            cycles: fields.get("cycles").number()?,
            shared: fields.get("shared").is_true(),
            extrapolated: fields.get("extrapolated").is_true(),
            counts: Counts::read(fields)?,
            channels: channels.iter().map(Channel::read).collect::<Result<_, _>>()?,
            series: (!series.is_missing()).then(|| Series::read(&series)).transpose()?,
            source_counts: (!source_counts.is_missing())
                .then(|| SourceCounts::read(&source_counts))
                .transpose()?,
        })
    }

    /// `name(grid, block)` sizes as text.
    pub fn sizes(&self) -> String {
        let text = |sizes: [u32; 3]| {
            let used = 3 - sizes.iter().rev().take_while(|size| **size == 1).count();
            let sizes: Vec<String> = sizes.iter().take(used.max(1)).map(u32::to_string).collect();
            sizes.join("×")
        };
        format!("{} CTAs of {} threads", text(self.shape.grid), text(self.shape.block))
    }
}

impl Occupancy {
    fn read(fields: &Fields<'_>) -> Result<Occupancy, ReportError> {
        if fields.is_missing() {
            return Ok(Occupancy::default());
        }
        let mut limits = Vec::new();
        for (name, value) in fields.get("limits").entries()? {
            if !value.is_missing() {
                limits.push((name.replace('_', " "), value.number()?));
            }
        }
        Ok(Occupancy {
            ctas: fields.get("ctas_per_sm").number_or_zero()?,
            limit: fields.get("limit").text()?.to_owned(),
            theoretical: fields.get("theoretical").number_or_zero()?,
            limits,
        })
    }
}

impl Transfer {
    fn read(fields: &Fields<'_>) -> Result<Transfer, ReportError> {
        Ok(Transfer {
            kind: fields.get("kind").text()?.to_owned(),
            stream: fields.get("stream").number_or_zero()? as u64,
            bytes: fields.get("bytes").number_or_zero()?,
            start: fields.get("start").number()?,
            cycles: fields.get("cycles").number()?,
        })
    }
}

impl Channel {
    fn read(fields: &Fields<'_>) -> Result<Channel, ReportError> {
        let banks = fields.get("banks");
        let (reads, writes) = (banks.get("reads").numbers()?, banks.get("writes").numbers()?);
        Ok(Channel {
            utilisation: fields.get("utilisation").number_or_zero()?,
            efficiency: fields.get("efficiency").number_or_zero()?,
            banks: reads.iter().zip(&writes).map(|(reads, writes)| reads + writes).collect(),
        })
    }
}

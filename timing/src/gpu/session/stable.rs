//! Launches that stop once their behaviour is stable; the rest is extrapolated.
//!
//! Principal kernel analysis (Baddouh et al., MICRO 2021) ends a kernel when its IPC is stable and
//! one wave of CTAs has ended. The model instead skips whole waves, so that the launch ends with
//! its real last CTAs. Drain time and a partly filled last wave are simulated, not guessed. A wave
//! is as many CTAs as fit on the GPU at once.
//!
//! The first wave sets the time of a wave. After it, the model observes windows that together span
//! one wave, so they cover a CTA's whole work and exclude the wave with cold caches.
//!
//! A stretch of time after these windows supplies the time and counts of skipped CTAs. The windows
//! themselves are biased: stable windows contain no refresh and no burst of writes. The stretch
//! ends where its warp instructions equal those of its completed CTAs, because memory-bound warps
//! issue in bursts and CTAs end in waves.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use warp_stream::KernelSource;

use super::power::account;
use super::{Ended, Session, finish};
use crate::dram::{ChannelCounts, counts};
use crate::gpu::{Gpu, LaunchError, Observer, Progress, Totals};
use crate::message::{LINE_BYTES, SECTOR_BYTES};
use crate::power::PowerSection;
use crate::record::{LaunchRecord, Simulated};
use crate::sm::{Occupancy, Program};
use crate::specification::GpuSpec;
use crate::statistics::{Counter, Counts, Kind, value};

/// Core cycles between checks for the end of the first wave.
const GLANCE: u64 = 256;

/// Growth of L2's contents until the end of the launch, as a fraction of all lines.
const GROWTH: f64 = 0.05;

/// DRAM bus utilisation below which accesses hardly wait for one another.
const AT_EASE: f64 = 0.2;

/// Minimum measurement time of a stable launch, as 1/n of the elapsed time, unless a wave takes
/// longer.
const MEASURED: u64 = 3;

/// Largest relative difference between measured instructions and those of completed CTAs.
const IN_STEP: f64 = 0.005;

/// Sufficient relative standard error of the measurement.
const STEADY: f64 = 0.01;

/// Standard errors that bound 99 % of estimates (Student's t, five degrees of freedom).
const CONFIDENCE: f64 = 4.03;

/// Pieces of a stretch, whose mean has the standard error.
const PIECES: usize = 6;

/// Criterion of stability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stability {
    /// Windows compared; together they span the first wave.
    pub windows: u32,
    /// Largest standard deviation of the windows' IPC, relative to the mean.
    pub deviation: f64,
}

impl Gpu {
    /// Runs a launch as [`Gpu::launch`], but skips CTAs of one that is stable with many CTAs left.
    /// The record states the simulated part; skipped CTAs are the last and never execute.
    /// Cooperative launches run whole.
    ///
    /// # Errors
    /// As for [`Gpu::launch`].
    pub fn launch_until_stable(
        &mut self,
        source: &dyn KernelSource,
        stability: &Stability,
        observer: &mut dyn Observer,
    ) -> Result<LaunchRecord, LaunchError> {
        let program = Program::new(&self.spec, source.kernel());
        let wave = u64::from(Occupancy::new(&self.spec, &program).ctas) * u64::from(self.spec.chip.sms);
        let now = self.now;
        let mut session = self.session();
        session.begin(source, now)?;
        let mut watch = Watch::new(wave, stability);
        while watch.goes_on(&session) {
            let mut until = Until { observer, cycle: session.epochs.gpu.run_to + watch.window };
            match session.run_until_one_ends(&mut until)? {
                Ended::Launch { record, .. } => return Ok(*record),
                Ended::Copy { .. } | Ended::Transfer { .. } => return Err(LaunchError::Nothing),
                Ended::Stopped if session.epochs.is_to_stop(observer) => break,
                Ended::Stopped => {}
            }
            if watch.is_stable(&session) {
                let left_out = session.leave_out(wave);
                let record = finish(session, observer)?;
                if left_out == 0 {
                    return Ok(record);
                }
                let ctas = source.cta_count() - left_out;
                let record = watch.stretch.extrapolated(record, ctas, left_out, &self.spec.power);
                self.now = record.start + record.cycles;
                return Ok(record);
            }
        }
        finish(session, observer)
    }
}

/// An observer that also stops at a core cycle.
struct Until<'o> {
    observer: &'o mut dyn Observer,
    cycle: u64,
}

impl Observer for Until<'_> {
    fn progress(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        self.observer.progress(progress)
    }

    fn stop_at(&self) -> Option<u64> {
        Some(self.observer.stop_at().map_or(self.cycle, |cycle| cycle.min(self.cycle)))
    }

    fn stop_after_ctas(&self) -> Option<u64> {
        self.observer.stop_after_ctas()
    }
}

impl Session<'_, '_> {
    /// Skips the whole waves that the only launch has yet to start, and returns their CTAs.
    fn leave_out(&mut self, wave: u64) -> u64 {
        self.epochs.launches.first_mut().map_or(0, |launch| launch.leave_out(wave))
    }
}

/// Stability test of a launch.
struct Watch {
    /// CTAs that fit the GPU.
    wave: u64,
    stability: Stability,
    /// Core cycles of a window.
    window: u64,
    stretch: Stretch,
    /// Minimum and maximum core cycles of the measurement, once the launch is stable.
    measured_for: Option<[u64; 2]>,
}

impl Watch {
    fn new(wave: u64, stability: &Stability) -> Watch {
        Watch { wave, stability: *stability, window: GLANCE, stretch: Stretch::default(), measured_for: None }
    }

    /// True while CTAs could still be skipped.
    fn goes_on(&self, session: &Session<'_, '_>) -> bool {
        let launch = session.epochs.launches.first();
        launch.is_some_and(|launch| {
            !launch.program.kernel.cooperative && launch.ctas_to_start() >= self.wave.max(1)
        })
    }

    /// Takes the end of a window; true if the launch was stable and is measured.
    fn is_stable(&mut self, session: &Session<'_, '_>) -> bool {
        let now = session.epochs.gpu.run_to;
        let Some(launch) = session.epochs.launches.first().filter(|launch| launch.ended >= self.wave) else {
            return false;
        };
        let Watch { stability: Stability { windows, deviation }, stretch, .. } = self;
        if stretch.ends.is_empty() {
            self.window = ((now - launch.ready) / u64::from(*windows).max(1)).max(1);
        }
        let totals = session.totals(now);
        let instructions = totals.sm.activity.warp_instructions;
        let sample = Sample { mark: Mark { cycle: now, instructions, ctas_ended: launch.ended }, totals };
        if let Some(lengths) = self.measured_for {
            return stretch.measure(sample, lengths, launch.mean_instructions());
        }
        stretch.ends.push_back(sample);
        if stretch.ends.len() <= *windows as usize {
            return false;
        }
        let to_come = launch.mean_instructions() * launch.ctas_to_start() as f64;
        let gpu = &session.epochs.gpu.spec;
        let stable = stretch.deviation() <= *deviation
            && (stretch.leaves_l2_as_it_is(to_come, gpu) || stretch.leaves_dram_at_ease(gpu));
        if stable {
            stretch.ends.drain(..*windows as usize);
            stretch.marks.extend(stretch.ends.front().map(|sample| sample.mark));
            let (wave, before) = (self.window * u64::from(*windows), now - launch.start);
            let shortest = wave.max(before / MEASURED);
            // Long windows would give too few pieces.
            self.window = self.window.min(shortest / PIECES as u64).max(1);
            self.measured_for = Some([shortest, before.max(2 * shortest)]);
        } else {
            stretch.ends.pop_front();
        }
        false
    }
}

/// Progress of a launch at a core cycle.
#[derive(Debug, Clone, Copy)]
struct Mark {
    cycle: u64,
    instructions: u64,
    ctas_ended: u64,
}

impl Mark {
    /// Relative difference between instructions since another mark and those of the CTAs completed
    /// since, at `mean` instructions a CTA.
    fn out_of_step(&self, since: &Mark, mean: f64) -> f64 {
        let instructions = (self.instructions - since.instructions) as f64;
        let of_ended = (self.ctas_ended - since.ctas_ended) as f64 * mean;
        (instructions - of_ended).abs() / instructions.max(1.0)
    }
}

/// Counts up to a core cycle.
struct Sample {
    mark: Mark,
    totals: Totals,
}

/// Standard deviation relative to the mean.
fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    variance.sqrt() / mean
}

/// A stretch of time.
#[derive(Default)]
struct Stretch {
    /// Samples at the ends of its windows, or at its own ends.
    ends: VecDeque<Sample>,
    /// Progress during the measurement.
    marks: Vec<Mark>,
}

impl Stretch {
    /// Standard deviation of the windows' IPC relative to the mean.
    fn deviation(&self) -> f64 {
        let marks = self.ends.iter().map(|sample| sample.mark);
        let windows = marks.clone().zip(marks.skip(1));
        let ipc = windows.map(|(from, to)| {
            (to.instructions - from.instructions) as f64 / (to.cycle - from.cycle).max(1) as f64
        });
        deviation(&ipc.collect::<Vec<_>>())
    }

    /// Extends the stretch to a sample. The stretch ends here if it is long enough and less out of
    /// step than before. True if the measurement suffices.
    fn measure(&mut self, sample: Sample, [shortest, longest]: [u64; 2], mean: f64) -> bool {
        self.marks.push(sample.mark);
        let Some(first) = self.marks.first().copied() else { return false };
        let length = sample.mark.cycle - first.cycle;
        if length < shortest {
            return false;
        }
        let out_of_step = |end: &Sample| end.mark.out_of_step(&first, mean).max(IN_STEP);
        let own = out_of_step(&sample);
        if self.ends.get(1).is_none_or(|end| own <= out_of_step(end)) {
            self.ends.truncate(1);
            self.ends.push_back(sample);
        }
        length >= longest || (own <= IN_STEP && self.standard_error() <= STEADY)
    }

    /// Relative standard error of the pieces' mean speed, in instructions or completed CTAs,
    /// whichever is steadier.
    fn standard_error(&self) -> f64 {
        let end = self.ends.back().map_or(0, |end| end.mark.cycle);
        let marks = &self.marks[..self.marks.partition_point(|mark| mark.cycle <= end)];
        let pieces = PIECES.min(marks.len().saturating_sub(1));
        if pieces < 2 {
            return 1.0;
        }
        let mark = |piece: usize| &marks[piece * (marks.len() - 1) / pieces];
        let error = |count: fn(&Mark) -> u64| {
            let speed = |piece: usize| {
                let (from, to) = (mark(piece), mark(piece + 1));
                (count(to) - count(from)) as f64 / (to.cycle - from.cycle).max(1) as f64
            };
            deviation(&(0..pieces).map(speed).collect::<Vec<_>>()) / (pieces as f64 - 1.0).sqrt()
        };
        error(|mark| mark.instructions).min(error(|mark| mark.ctas_ended))
    }

    /// Counts of the stretch, and the factor that scales its instructions to `instructions`.
    fn repeated(&self, instructions: f64) -> Option<(Counts, f64)> {
        let (first, last) = (self.ends.front()?, self.ends.back()?);
        let counted = (last.mark.instructions - first.mark.instructions) as f64;
        Some((last.totals.since(&first.totals), instructions / counted.max(1.0)))
    }

    /// Counts of DRAM channels in the stretch.
    fn channels(&self) -> Vec<ChannelCounts> {
        let ends = self.ends.front().zip(self.ends.back());
        ends.map_or_else(Vec::new, |(first, last)| last.totals.channels_since(&first.totals))
    }

    /// Lines by which L2's contents grew.
    fn growth(counts: &Counts) -> f64 {
        let of = |name| value(counts, name).unwrap_or(0) as f64;
        of("l2.tag_misses") - of("l2.evictions")
    }

    /// True if L2 would hold about as many lines after `instructions` more. A filling L2 writes
    /// back less than a full one.
    fn leaves_l2_as_it_is(&self, instructions: f64, gpu: &GpuSpec) -> bool {
        let Some((counts, times)) = self.repeated(instructions) else { return false };
        let lines = f64::from(gpu.l2.size) / LINE_BYTES as f64 * f64::from(gpu.partition.all_slices());
        Stretch::growth(&counts) * times <= lines * GROWTH
    }

    /// True if DRAM is nearly idle, and would be even if each new line in L2 were written back.
    fn leaves_dram_at_ease(&self, gpu: &GpuSpec) -> bool {
        let Some((counts, _)) = self.repeated(0.0) else { return false };
        let of = |name| value(&counts, name).unwrap_or(0) as f64;
        let sectors = (of("dram.reads") + of("dram.writes")) * SECTOR_BYTES as f64;
        let movable = gpu.peak_dram_bandwidth() as f64 * of("gpu.nanoseconds") * 1e-9;
        sectors + Stretch::growth(&counts) * LINE_BYTES as f64 <= movable * AT_EASE
    }

    /// Record of a launch of `ctas` CTAs plus `left_out` skipped ones.
    fn extrapolated(
        &self,
        record: LaunchRecord,
        ctas: u64,
        left_out: u64,
        power: &PowerSection,
    ) -> LaunchRecord {
        let LaunchRecord { cycles, warp_instructions, .. } = record;
        let instructions = warp_instructions as f64 / ctas.max(1) as f64 * left_out as f64;
        let Some((mut counts, times)) = self.repeated(instructions) else { return record };
        account(power, &mut counts, None);
        let more = |count: u64| (count as f64 * times).round() as u64;
        let repeated = self.channels();
        let channels = counts::combined(&record.channels, &repeated, |value, count| value + more(count));
        // The record lacks the counters that the GPU does not model.
        let mut repeats = counts.iter();
        let mut repeat = |counter: &Counter| {
            let same = |(other, _): &&(&Counter, u64)| {
                (other.section, other.name) == (counter.section, counter.name)
            };
            repeats.find(same).map_or(0, |(_, count)| *count)
        };
        let counters = record.counters.iter().map(|(counter, value)| (counter, value, repeat(counter)));
        let counters = counters.map(|(counter, value, count)| match counter.kind {
            Kind::Most => (*counter, *value),
            Kind::Sum | Kind::Part => (*counter, value + more(count)),
        });
        let extrapolated = more(value(&counts, "gpu.cycles").unwrap_or(0));
        let unsure = (CONFIDENCE * self.standard_error() * extrapolated as f64).round() as u64;
        LaunchRecord {
            cycles: cycles + extrapolated,
            warp_instructions: warp_instructions + instructions.round() as u64,
            counters: counters.collect(),
            channels,
            simulated: Some(Simulated { ctas, cycles, warp_instructions, unsure }),
            ..record
        }
    }
}

//! A launch of which not all CTAs are run, once it goes on as it has.
//!
//! Principal kernel analysis (Baddouh et al., MICRO 2021) ends a kernel when its IPC is stable and one wave of CTAs has ended. Here
//! whole waves are left out, so that the launch ends with the CTAs with which it would have ended: the time in which SMs run
//! empty, and a last wave that fills some of them only, are run and not guessed. A wave is as many CTAs as fit the GPU.
//!
//! The first wave tells how long one takes. From its end on the IPC of windows is looked at that together are as long, so that all
//! that a CTA does is in them, and the first wave, which finds cold caches, is not. What CTAs that are left out take and count is that
//! of a stretch of time after these windows. It is not that of the windows themselves: they were chosen for having no refresh and no
//! burst of writes in them. The stretch ends where its warp instructions are as many as those of the CTAs that have ended in it: where
//! warps wait for memory, instructions come in bursts, and CTAs end in waves.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use warp_stream::KernelSource;

use super::{Ended, Session, finish};
use crate::dram::{ChannelCounts, counts};
use crate::gpu::{Gpu, LaunchError, Observer, Progress, Totals};
use crate::message::{LINE_BYTES, SECTOR_BYTES};
use crate::report::{LaunchRecord, Simulated};
use crate::sm::{Occupancy, Program};
use crate::specification::GpuSpec;
use crate::statistics::{Counts, Kind, value};

/// Core cycles after which it is looked whether the first wave has ended.
const GLANCE: u64 = 256;

/// Lines by which L2 may come to hold more until the launch ends, as a part of all.
const GROWTH: f64 = 0.05;

/// The part of what DRAM's data buses can move up to which hardly any access waits for others.
const AT_EASE: f64 = 0.2;

/// The part of the time so far that a stable launch is measured for at least, unless a wave takes longer: one over it.
const MEASURED: u64 = 3;

/// The part of its instructions by which what is measured may be out of step with the CTAs that end.
const IN_STEP: f64 = 0.005;

/// The standard error, as a part of what is measured, that will do.
const STEADY: f64 = 0.01;

/// Standard errors of so many pieces by which 99 % of estimates are off at most (Student's t, five degrees of freedom).
const CONFIDENCE: f64 = 4.03;

/// Pieces of a stretch of which the standard error is that of their mean.
const PIECES: usize = 6;

/// When a launch is taken to go on as it has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stability {
    /// Windows of time that are compared; together they are as long as the first wave.
    pub windows: u32,
    /// Standard deviation of their IPC over its mean, at most.
    pub deviation: f64,
}

impl Gpu {
    /// As [`Gpu::launch`], but of a launch that is stable while many CTAs are still to be started some are left out. Its record says
    /// what was simulated; the CTAs from that number on were not executed. One whose CTAs wait for all others is run whole.
    ///
    /// # Errors
    /// As of [`Gpu::launch`].
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
                let record = watch.stretch.extrapolated(record, source.cta_count() - left_out, left_out);
                self.now = record.start + record.cycles;
                return Ok(record);
            }
        }
        finish(session, observer)
    }
}

/// Watches as another observer does, and stops at a core cycle.
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
    /// Whole waves that the only launch has still to start are left out. Gives the number of their CTAs.
    fn leave_out(&mut self, wave: u64) -> u64 {
        self.epochs.launches.first_mut().map_or(0, |launch| launch.leave_out(wave))
    }
}

/// Whether a launch is stable.
struct Watch {
    /// CTAs that fit the GPU.
    wave: u64,
    stability: Stability,
    /// Core cycles of a window.
    window: u64,
    stretch: Stretch,
    /// It was stable, and is measured for so many core cycles at least, and at most.
    measured_for: Option<[u64; 2]>,
}

impl Watch {
    fn new(wave: u64, stability: &Stability) -> Watch {
        Watch { wave, stability: *stability, window: GLANCE, stretch: Stretch::default(), measured_for: None }
    }

    /// Whether there may still be CTAs to be left out of the launch.
    fn goes_on(&self, session: &Session<'_, '_>) -> bool {
        let launch = session.epochs.launches.first();
        launch.is_some_and(|launch| {
            !launch.program.kernel.cooperative && launch.ctas_to_start() >= self.wave.max(1)
        })
    }

    /// A window is over. Says whether the launch was stable and has been measured since.
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
            // Of few windows there would be too few pieces.
            self.window = self.window.min(shortest / PIECES as u64).max(1);
            self.measured_for = Some([shortest, before.max(2 * shortest)]);
        } else {
            stretch.ends.pop_front();
        }
        false
    }
}

/// How far a launch was at a core cycle.
#[derive(Debug, Clone, Copy)]
struct Mark {
    cycle: u64,
    instructions: u64,
    ctas_ended: u64,
}

impl Mark {
    /// How far instructions since another mark are from those of the CTAs that have ended since, as a part of them, if a CTA has so
    /// many on average.
    fn out_of_step(&self, since: &Mark, mean: f64) -> f64 {
        let instructions = (self.instructions - since.instructions) as f64;
        let of_ended = (self.ctas_ended - since.ctas_ended) as f64 * mean;
        (instructions - of_ended).abs() / instructions.max(1.0)
    }
}

/// What was counted up to a core cycle.
struct Sample {
    mark: Mark,
    totals: Totals,
}

/// Standard deviation of values over their mean.
fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    variance.sqrt() / mean
}

/// A stretch of time.
#[derive(Default)]
struct Stretch {
    /// Ends of its windows, or its own.
    ends: VecDeque<Sample>,
    /// Where it was while it was measured.
    marks: Vec<Mark>,
}

impl Stretch {
    /// Standard deviation of the windows' IPC over its mean.
    fn deviation(&self) -> f64 {
        let marks = self.ends.iter().map(|sample| sample.mark);
        let windows = marks.clone().zip(marks.skip(1));
        let ipc = windows.map(|(from, to)| {
            (to.instructions - from.instructions) as f64 / (to.cycle - from.cycle).max(1) as f64
        });
        deviation(&ipc.collect::<Vec<_>>())
    }

    /// It goes on to this sample, and ends here if it is long enough and not more out of step than where it ended before. Says whether
    /// it will do as it is.
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

    /// By how much what was measured may be off, as a part of it: the standard error of the mean speed of its pieces, in instructions
    /// or in CTAs that end, whichever is steadier.
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

    /// Counts of the whole stretch, and how often as many instructions as in it are in so many.
    fn repeated(&self, instructions: f64) -> Option<(Counts, f64)> {
        let (first, last) = (self.ends.front()?, self.ends.back()?);
        let counted = (last.mark.instructions - first.mark.instructions) as f64;
        Some((last.totals.since(&first.totals), instructions / counted.max(1.0)))
    }

    /// What channels of DRAM have counted meanwhile.
    fn channels(&self) -> Vec<ChannelCounts> {
        let ends = self.ends.front().zip(self.ends.back());
        ends.map_or_else(Vec::new, |(first, last)| last.totals.channels_since(&first.totals))
    }

    /// Lines that L2 has come to hold.
    fn growth(counts: &Counts) -> f64 {
        let of = |name| value(counts, name).unwrap_or(0) as f64;
        of("l2.tag_misses") - of("l2.evictions")
    }

    /// Whether L2 holds about as many lines after so many more instructions: as long as it fills, less is written back than later.
    fn leaves_l2_as_it_is(&self, instructions: f64, gpu: &GpuSpec) -> bool {
        let Some((counts, times)) = self.repeated(instructions) else { return false };
        let lines = f64::from(gpu.l2.size) / LINE_BYTES as f64 * f64::from(gpu.partition.all_slices());
        Stretch::growth(&counts) * times <= lines * GROWTH
    }

    /// Whether DRAM has hardly anything to do, and would not have even if each line that L2 comes to hold were written back.
    fn leaves_dram_at_ease(&self, gpu: &GpuSpec) -> bool {
        let Some((counts, _)) = self.repeated(0.0) else { return false };
        let of = |name| value(&counts, name).unwrap_or(0) as f64;
        let sectors = (of("dram.reads") + of("dram.writes")) * SECTOR_BYTES as f64;
        let movable = gpu.peak_dram_bandwidth() as f64 * of("gpu.nanoseconds") * 1e-9;
        sectors + Stretch::growth(&counts) * LINE_BYTES as f64 <= movable * AT_EASE
    }

    /// The record of a launch of so many CTAs, with more that were left out.
    fn extrapolated(&self, record: LaunchRecord, ctas: u64, left_out: u64) -> LaunchRecord {
        let LaunchRecord { cycles, warp_instructions, .. } = record;
        let instructions = warp_instructions as f64 / ctas.max(1) as f64 * left_out as f64;
        let Some((counts, times)) = self.repeated(instructions) else { return record };
        let more = |count: u64| (count as f64 * times).round() as u64;
        let repeated = self.channels();
        let channels = counts::combined(&record.channels, &repeated, |value, count| value + more(count));
        let counters = record.counters.iter().zip(&counts);
        let counters = counters.map(|((counter, value), (_, count))| match counter.kind {
            Kind::Most => (*counter, *value),
            Kind::Sum | Kind::Part => (*counter, value + more(*count)),
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

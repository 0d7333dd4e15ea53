//! Sweep of an approximate function over all operands: largest errors, and violations of the manual's
//! bounds.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::format::Format;
use crate::kernel::text;
use crate::machine::{Engine, Job, Machine, MachineError};
use crate::oracle::{Bound, Function, Near, ulp};
use crate::variant::Variant;

/// Operands of a launch.
const BATCH: u64 = 1 << 20;

/// Number of operands up to which the reference judges each.
const SHORT: u64 = 1 << 24;

/// Error with its operand.
#[derive(Debug, Clone, Copy, Default)]
pub struct Worst {
    /// Magnitude.
    pub error: f64,
    /// Bits of the operand.
    pub operand: u64,
    /// Bits of the result.
    pub result: u64,
}

impl Worst {
    fn take(&mut self, other: Worst) {
        if other.error > self.error {
            *self = other;
        }
    }
}

/// Errors for operands with the same bound.
#[derive(Debug, Clone, Copy)]
pub struct Errors {
    /// Bound in the manual.
    pub bound: Bound,
    /// Number of finite results.
    pub results: u64,
    /// Error in units in the last place.
    pub ulp: Worst,
    /// Absolute error.
    pub absolute: Worst,
    /// Relative error, without subnormal results.
    pub relative: Worst,
}

/// Result of a sweep.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Errors by bound.
    pub errors: Vec<Errors>,
    /// Number of wrong results.
    pub wrong: u64,
    /// Operand and result of the first wrong result.
    pub first_wrong: Option<(u64, u64)>,
}

impl Report {
    fn of(bound: Bound) -> Errors {
        let none = Worst::default();
        Errors { bound, results: 0, ulp: none, absolute: none, relative: none }
    }

    fn add(&mut self, operand: u64, near: &Near, result: u64) {
        if !near.allows(result) {
            self.wrong += 1;
            self.first_wrong.get_or_insert((operand, result));
        }
        let found = near.format.to_f64(result);
        let least = near.format.to_f64(1 << near.format.fraction());
        let flushed = near.ftz && near.exact.value.abs() < least;
        if !found.is_finite() || !near.exact.value.is_finite() || flushed {
            return;
        }
        let place = self.errors.iter().position(|errors| errors.bound == near.bound);
        let place = place.unwrap_or_else(|| {
            self.errors.push(Report::of(near.bound));
            self.errors.len() - 1
        });
        let Some(errors) = self.errors.get_mut(place) else { return };
        let difference = near.exact.distance(found);
        let worst = |error: f64| Worst { error, operand, result };
        errors.results += 1;
        errors.ulp.take(worst(difference / ulp(near.format, near.exact.value)));
        errors.absolute.take(worst(difference));
        if near.exact.value.abs() >= least {
            errors.relative.take(worst(difference / near.exact.value.abs()));
        }
    }

    /// Recomputes the errors of the same operands with `near`.
    fn refined(mut self, near: impl Fn(u64) -> Near) -> Report {
        for errors in &mut self.errors {
            for (worst, unit) in [
                (&mut errors.ulp, (|near| ulp(near.format, near.exact.value)) as fn(&Near) -> f64),
                (&mut errors.absolute, |_| 1.0),
                (&mut errors.relative, |near| near.exact.value.abs()),
            ] {
                if worst.error > 0.0 {
                    let near = near(worst.operand);
                    worst.error = near.exact.distance(near.format.to_f64(worst.result)) / unit(&near);
                }
            }
        }
        self
    }

    fn merge(&mut self, other: Report) {
        self.wrong += other.wrong;
        self.first_wrong = self.first_wrong.or(other.first_wrong);
        for theirs in other.errors {
            match self.errors.iter_mut().find(|ours| ours.bound == theirs.bound) {
                None => self.errors.push(theirs),
                Some(ours) => {
                    ours.results += theirs.results;
                    ours.ulp.take(theirs.ulp);
                    ours.absolute.take(theirs.absolute);
                    ours.relative.take(theirs.relative);
                }
            }
        }
    }
}

/// Runs a variant of one operand, described by `function`, on every `step`-th operand value. For doubles,
/// only the upper halves vary. Long sweeps use the host's functions, and the reference for close calls and
/// for the largest errors.
pub fn sweep(
    variant: &Variant,
    function: Function,
    format: Format,
    step: u64,
    threads: usize,
) -> Result<Report, MachineError> {
    let ftz = variant.has(ptx_frontend::isa::Modifier::Ftz);
    let text = text(variant);
    let count = (1u64 << format.bits().min(32)).div_ceil(step.max(1));
    let shift = format.bits().saturating_sub(32);
    let judge = |operand: u64, result: u64| {
        let near = function.near_by_host(format, operand, ftz);
        let is_clear = near.allows(result) && !near.is_close_call(result);
        if count > SHORT && is_clear { near } else { function.near(format, operand, ftz) }
    };
    let next = AtomicU64::new(0);
    let whole = Mutex::new(Ok(Report::default()));
    let work = || -> Result<Report, MachineError> {
        let mut engine = Engine::new()?;
        let mut report = Report::default();
        loop {
            let first = next.fetch_add(BATCH, Ordering::Relaxed);
            if first >= count {
                return Ok(report);
            }
            let operands: Vec<u64> =
                (first..count.min(first + BATCH)).map(|number| (number * step.max(1)) << shift).collect();
            let job = Job { text: &text, operands: &operands, operand_words: 1, result_words: 1 };
            for (operand, result) in operands.iter().zip(engine.run(job)?) {
                report.add(*operand, &judge(*operand, result), result);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                let part = work();
                if let Ok(mut whole) = whole.lock() {
                    match (whole.as_mut(), part) {
                        (Ok(whole), Ok(part)) => whole.merge(part),
                        (Ok(_), Err(error)) => *whole = Err(error),
                        (Err(_), _) => {}
                    }
                }
            });
        }
    });
    let whole = whole.into_inner().map_err(|_| MachineError::Failed("a thread has panicked".to_owned()))?;
    whole.map(|report| report.refined(|operand| function.near(format, operand, ftz)))
}

/// Returns the variants that can be swept: approximate functions of one unpacked operand with 32
/// significant bits.
pub fn swept() -> Vec<(Variant, Function, Format)> {
    use ptx_frontend::isa::{self, Modifier, TypeClass};
    let mut found = Vec::new();
    for line in isa::table().filter(|line| line.group == "float") {
        let mut random = crate::random::Random::new(0, line.name);
        for mut variant in Variant::all(line, &mut random).unwrap_or_default() {
            let (Some(function), Some(ty)) =
                (Function::of(line.parsed().mnemonic), variant.types().last().copied())
            else {
                continue;
            };
            let Some(format) = crate::format::Format::of(ty) else { continue };
            let plain = variant.has(Modifier::Approx) && ty.class() != TypeClass::Packed;
            if plain && (format != Format::F64 || variant.has(Modifier::Ftz)) {
                variant.setting = crate::variant::Setting::Plain;
                found.push((variant, function, format));
            }
        }
    }
    found
}

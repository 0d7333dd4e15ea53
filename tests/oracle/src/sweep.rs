//! An approximate function over all its operands: the worst errors, and whether the manual's bounds hold.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::format::Format;
use crate::kernel::text;
use crate::machine::{Engine, Job, Machine, MachineError};
use crate::oracle::{Bound, Function, Near, ulp};
use crate::variant::Variant;

/// Operands of a launch.
const BATCH: u64 = 1 << 20;

/// An error, and where it is met.
#[derive(Debug, Clone, Copy, Default)]
pub struct Worst {
    /// How large it is.
    pub error: f64,
    /// The operand's bits.
    pub operand: u64,
}

impl Worst {
    fn take(&mut self, other: Worst) {
        if other.error > self.error {
            *self = other;
        }
    }
}

/// The errors for the operands with the same bound.
#[derive(Debug, Clone, Copy)]
pub struct Errors {
    /// What the manual allows.
    pub bound: Bound,
    /// Results that are finite numbers.
    pub results: u64,
    /// In units in the last place.
    pub ulp: Worst,
    /// Of the difference.
    pub absolute: Worst,
    /// As a part of the exact result, without results that are subnormal.
    pub relative: Worst,
}

/// What a sweep has found.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// By bound.
    pub errors: Vec<Errors>,
    /// Results that the manual does not allow.
    pub wrong: u64,
    /// The first of them: operand and result.
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
        if !found.is_finite() || !near.exact.is_finite() {
            return;
        }
        let place = self.errors.iter().position(|errors| errors.bound == near.bound);
        let place = place.unwrap_or_else(|| {
            self.errors.push(Report::of(near.bound));
            self.errors.len() - 1
        });
        let Some(errors) = self.errors.get_mut(place) else { return };
        let difference = (found - near.exact).abs();
        let worst = |error: f64| Worst { error, operand };
        errors.results += 1;
        errors.ulp.take(worst(difference / ulp(near.format, near.exact)));
        errors.absolute.take(worst(difference));
        if near.exact.abs() >= near.format.to_f64(1 << near.format.fraction()) {
            errors.relative.take(worst(difference / near.exact.abs()));
        }
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

/// Runs a variant of one operand of at most 32 bits, which `function` describes, on every `step`-th value of it.
pub fn sweep(
    variant: &Variant,
    function: Function,
    format: Format,
    step: u64,
    threads: usize,
) -> Result<Report, MachineError> {
    let ftz = variant.has(ptx_frontend::isa::Modifier::Ftz);
    let text = text(variant);
    let count = (1u64 << format.bits()).div_ceil(step.max(1));
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
                (first..count.min(first + BATCH)).map(|number| number * step.max(1)).collect();
            let job = Job { text: &text, operands: &operands, operand_words: 1, result_words: 1 };
            for (operand, result) in operands.iter().zip(engine.run(job)?) {
                report.add(*operand, &function.near(format, *operand, ftz), result);
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
    whole.into_inner().map_err(|_| MachineError::Failed("a thread has panicked".to_owned()))?
}

/// The variants that can be swept: approximate functions of one operand of at most 32 bits that is not packed.
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
            if plain && format != Format::F64 {
                variant.setting = crate::variant::Setting::Plain;
                found.push((variant, function, format));
            }
        }
    }
    found
}

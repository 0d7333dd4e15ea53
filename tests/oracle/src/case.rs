//! Test case: a variant of a form with its kernel, its rows of operands and its oracle.

use ptx_frontend::isa::OpLine;

use crate::kernel::{text, widths};
use crate::machine::Job;
use crate::operands::rows;
use crate::oracle::{Answer, Judge, Unjudged, answers, judge};
use crate::random::Random;
use crate::variant::Variant;

/// Amount of testing and seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Rows for each variant.
    pub rows: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// Test case.
pub struct Case {
    /// Executed variant.
    pub variant: Variant,
    /// Text of the module.
    pub text: String,
    operands: Vec<u64>,
    judge: Judge,
}

/// Reason why a form has no cases.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoCases {
    /// An operand is not a value.
    #[error("its operands are not all values, and no reason is listed")]
    Operands,
    /// A variant has no oracle.
    #[error("no oracle for {0}, and no reason is listed")]
    Unknown(String),
    /// The manual defines no variant.
    #[error("no variant of it was judged")]
    None,
}

impl Case {
    /// Returns the cases of a form, which depend only on the effort.
    pub fn all(line: &'static OpLine, effort: Effort) -> Result<Vec<Case>, NoCases> {
        let mut random = Random::new(effort.seed, line.name);
        let variants = Variant::all(line, &mut random).ok_or(NoCases::Operands)?;
        let mut cases = Vec::with_capacity(variants.len());
        for variant in variants {
            let judge = match judge(&variant) {
                Ok(judge) => judge,
                Err(Unjudged::NotInManual) => continue,
                Err(Unjudged::Unknown) => return Err(NoCases::Unknown(variant.text())),
            };
            let operands = rows(&variant, effort.rows, &mut random);
            cases.push(Case { text: text(&variant), variant, operands, judge });
        }
        if cases.is_empty() { Err(NoCases::None) } else { Ok(cases) }
    }

    /// Returns the machine's job.
    pub fn job(&self) -> Job<'_> {
        let (operand_words, result_words) = widths(&self.variant);
        Job { text: &self.text, operands: &self.operands, operand_words, result_words }
    }

    /// Returns a row of operands.
    pub fn operands(&self, row: usize) -> &[u64] {
        self.operands.chunks(self.job().operand_words).nth(row).unwrap_or(&[])
    }

    /// Returns the allowed results of a row.
    pub fn answers(&self, row: usize) -> Vec<Answer> {
        answers(&self.variant, &self.judge, row, self.operands(row))
    }

    /// Describes the first wrong row of `results`.
    pub fn first_wrong(&self, results: &[u64]) -> Option<String> {
        let job = self.job();
        results.chunks(job.result_words).enumerate().find_map(|(row, found)| {
            let wanted = self.answers(row);
            let agree = wanted.iter().zip(found).all(|(wanted, found)| wanted.allows(*found));
            let shown: Vec<String> = wanted.iter().map(ToString::to_string).collect();
            (!agree).then(|| self.complaint(row, found, &shown.join(", ")))
        })
    }

    /// Describes a row with wrong results.
    pub fn complaint(&self, row: usize, found: &[u64], wanted: &str) -> String {
        let list =
            |words: &[u64]| words.iter().map(|word| format!("{word:#x}")).collect::<Vec<_>>().join(", ");
        format!("{} of {}: {}, not {wanted}", self.variant.text(), list(self.operands(row)), list(found))
    }
}

//! One variant of a form with its kernel, its rows of operands, and the judge of its results.

use ptx_frontend::isa::OpLine;

use crate::kernel::{text, widths};
use crate::machine::Job;
use crate::operands::rows;
use crate::oracle::{Answer, Judge, Unjudged, answers, judge};
use crate::random::Random;
use crate::variant::Variant;

/// How much is tried, and with which random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Rows for each variant.
    pub rows: usize,
    /// Where the random numbers start.
    pub seed: u64,
}

/// A kernel and all that belongs to it.
pub struct Case {
    /// What it executes.
    pub variant: Variant,
    /// Its module.
    pub text: String,
    operands: Vec<u64>,
    judge: Judge,
}

/// Why a form has no cases.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoCases {
    /// An operand is no value.
    #[error("its operands are not all values, and no reason is listed")]
    Operands,
    /// A variant has no oracle.
    #[error("no oracle for {0}, and no reason is listed")]
    Unknown(String),
    /// The manual has none of its variants.
    #[error("no variant of it was judged")]
    None,
}

impl Case {
    /// Those of a form; the same for the same effort.
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

    /// What a machine is to do.
    pub fn job(&self) -> Job<'_> {
        let (operand_words, result_words) = widths(&self.variant);
        Job { text: &self.text, operands: &self.operands, operand_words, result_words }
    }

    /// A row of operands.
    pub fn operands(&self, row: usize) -> &[u64] {
        self.operands.chunks(self.job().operand_words).nth(row).unwrap_or(&[])
    }

    /// What a row's results may be.
    pub fn answers(&self, row: usize) -> Vec<Answer> {
        answers(&self.variant, &self.judge, row, self.operands(row))
    }

    /// What is wrong with the first row of `results` that is.
    pub fn first_wrong(&self, results: &[u64]) -> Option<String> {
        let job = self.job();
        results.chunks(job.result_words).enumerate().find_map(|(row, found)| {
            let wanted = self.answers(row);
            let agree = wanted.iter().zip(found).all(|(wanted, found)| wanted.allows(*found));
            let shown: Vec<String> = wanted.iter().map(ToString::to_string).collect();
            (!agree).then(|| self.complaint(row, found, &shown.join(", ")))
        })
    }

    /// Says that a row's results are others than wanted.
    pub fn complaint(&self, row: usize, found: &[u64], wanted: &str) -> String {
        let list =
            |words: &[u64]| words.iter().map(|word| format!("{word:#x}")).collect::<Vec<_>>().join(", ");
        format!("{} of {}: {}, not {wanted}", self.variant.text(), list(self.operands(row)), list(found))
    }
}

//! Statistics of ours beside what a profiler counted on a card: launch by launch, metric by metric.
//!
//! Counters of ours name the profiler's metric that they equal, so whatever both have is compared.

mod accelwattch;
mod comparison;
mod csv;
mod kernel_name;
mod matching;
mod ours;
mod profiler;
mod unit;

use std::collections::BTreeMap;

pub use comparison::{Comparison, MetricError};
pub use matching::{Match, Program};
pub use ours::read_statistics;
pub use profiler::read_profiler;

/// What was counted in a launch, on whichever side.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Launch {
    /// The program, where the file tells several apart; empty otherwise.
    pub program: String,
    /// Name of the kernel, as the file has it. Several possible ones are separated by ` / `.
    pub kernel: String,
    /// CTAs along x, y, z, if the file tells.
    pub grid: Option<[u32; 3]>,
    /// Threads of a CTA along x, y, z, if the file tells.
    pub block: Option<[u32; 3]>,
    /// Compute capability of the card or the modelled GPU, ten times, if the file tells.
    pub capability: Option<u32>,
    /// The values are means over all launches of the kernel.
    pub mean: bool,
    /// Values by Nsight Compute's names of their metrics, in the base units: ns, B, B/s, Hz, %.
    pub values: BTreeMap<String, f64>,
}

/// Why a file cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CorrelateError {
    /// It is no JSON of ours.
    #[error("{file}: these are no statistics of ours: {reason}")]
    Statistics {
        /// File.
        file: String,
        /// What is the matter.
        reason: String,
    },
    /// It is no profiler's CSV.
    #[error("{file}, line {line}: {reason}")]
    Profiler {
        /// File.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is the matter.
        reason: String,
    },
}

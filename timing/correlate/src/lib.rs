//! Compares statistics with a profiler's counts on a card, launch by launch and metric by metric.
//!
//! Each counter names the profiler metric that it equals; the comparison covers every metric that
//! both sides have.

mod accelwattch;
mod cache_model;
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

/// Counts of one launch, from model or card.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Launch {
    /// Program, if the file distinguishes programs; else empty.
    pub program: String,
    /// Kernel name as in the file. ` / ` separates alternatives.
    pub kernel: String,
    /// CTAs along x, y, z, if given.
    pub grid: Option<[u32; 3]>,
    /// Threads of a CTA along x, y, z, if given.
    pub block: Option<[u32; 3]>,
    /// Compute capability times ten of card or model, if given.
    pub capability: Option<u32>,
    /// The values are means over all launches of the kernel.
    pub mean: bool,
    /// Values by Nsight Compute's metric names, in base units: ns, B, B/s, Hz, %.
    pub values: BTreeMap<String, f64>,
}

/// An error of a file to compare.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CorrelateError {
    /// The file holds no statistics of Voltsim.
    #[error("{file}: no statistics of Voltsim: {reason}")]
    Statistics {
        /// File.
        file: String,
        /// Violated rule.
        reason: String,
    },
    /// The file is no profiler's CSV.
    #[error("{file}, line {line}: {reason}")]
    Profiler {
        /// File.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Violated rule.
        reason: String,
    },
}

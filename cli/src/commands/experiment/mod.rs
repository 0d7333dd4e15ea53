//! `voltsim experiment`: experiments of papers on the timing model, each with the paper's values
//! beside ours.
//!
//! An experiment measures a [`Workload`] (kernels in `kernels.ptx`) on GPUs
//! that differ in one respect. The command starts itself once for each GPU, with the model's
//! settings in the environment, and reads the statistics of the run (`measure.rs`).

mod cache_model;
mod cache_parameters;
mod coalescer;
mod frfcfs;
mod frontend;
mod hybrid;
mod l1_contention;
mod l2_write_policy;
mod measure;
mod stream;
mod workload;

use std::io::Write;
use std::process::ExitCode;

use crate::failure::Failure;
use workload::Workload;

/// Repeat an experiment of a paper on the timing model
///
/// The report shows the result of each configuration beside the paper's.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which experiment
    experiment: Experiment,

    /// Elements of the kernels' arrays, a power of two: fewer take less time, but three arrays of
    /// 2^19 fit no L2
    #[arg(long, value_name = "N", default_value_t = workload::ELEMENTS, value_parser = elements)]
    elements: u32,

    /// Launch these kernels in this process, whose environment is prepared
    #[arg(long, hide = true)]
    here: Option<Workload>,
}

fn elements(text: &str) -> Result<u32, String> {
    let few = workload::FEWEST;
    let number: u32 = text.parse().map_err(|error| format!("{error}"))?;
    let right = number.is_power_of_two() && (few..=1 << 28).contains(&number);
    right.then_some(number).ok_or_else(|| format!("a power of two from {few} to {} is needed", 1 << 28))
}

/// Experiments by name. The papers:
/// * Xu et al., "Swift-Sim: A Modular and Hybrid GPU Architecture Simulation Framework".
/// * Khairy et al., "Exploring Modern GPU Memory System Design Challenges through Accurate Modeling".
/// * Huerta et al., "Analyzing and Improving Hardware Modeling of Accel-Sim".
/// * Nugteren et al., "A Detailed GPU Cache Model Based on Reuse Distance Theory".
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Experiment {
    /// Sectors of a warp's accesses against the stride of its lanes (Khairy et al., Fig. 4)
    Coalescer,
    /// Reads of L2 after writes of part of a sector (Khairy et al., Fig. 5)
    L2WritePolicy,
    /// FR-FCFS against FCFS in the old and the new memory model (Khairy et al., Fig. 13)
    Frfcfs,
    /// Reservation failures of L1 in the old and the new model (Khairy et al., Fig. 14)
    L1Contention,
    /// Bandwidth of STREAM on all SMs, and on 4 and 2 of each GPC, with L1 and without (Khairy et
    /// al., Fig. 15)
    Stream,
    /// Front end, result bus and memory pipeline of a sub-core against those of Accel-Sim (Huerta
    /// et al., Figs. 6 and 7)
    Frontend,
    /// Speed and error of each simplification of the hybrid modes, alone and together (Xu et al.,
    /// Figs. 4 and 5)
    Hybrid,
    /// L1 misses of a column copy, with parts of the cache model left out (Nugteren et al., Fig. 3)
    CacheModel,
    /// L1 misses against associativity, size, line size and MSHRs (Nugteren et al., Fig. 12)
    CacheParameters,
}

/// Runs the experiment, or one configuration's kernels for it.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    if let Some(workload) = args.here {
        workload.run(args.elements)?;
        return Ok(ExitCode::SUCCESS);
    }
    let elements = args.elements;
    match args.experiment {
        Experiment::Coalescer => coalescer::run(elements, out)?,
        Experiment::L2WritePolicy => l2_write_policy::run(elements, out)?,
        Experiment::Frfcfs => frfcfs::run(elements, out)?,
        Experiment::L1Contention => l1_contention::run(elements, out)?,
        Experiment::Stream => stream::run(elements, out)?,
        Experiment::Frontend => frontend::run(elements, out)?,
        Experiment::Hybrid => hybrid::run(elements, out)?,
        Experiment::CacheModel => cache_model::run(out)?,
        Experiment::CacheParameters => cache_parameters::run(elements, out)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The mean of ratios.
fn geometric_mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_and_its_inverse_have_the_mean_of_1() {
        assert!((geometric_mean(&[4.0, 0.25]) - 1.0).abs() < 1e-12);
    }
}

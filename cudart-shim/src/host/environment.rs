//! Options of this run and variables of CUDA, read once. Only this file reads the environment.

use run_options::system::CudaVariables;
use run_options::{Reading, RunOptions};
use std::sync::LazyLock;

static READING: LazyLock<Reading> = LazyLock::new(|| {
    let reading = Reading::of_environment();
    for mistake in &reading.mistakes {
        eprintln!("voltsim: {mistake}");
    }
    reading
});

static CUDA: LazyLock<CudaVariables> = LazyLock::new(CudaVariables::of_environment);

/// The options of this run.
pub(crate) fn options() -> &'static RunOptions {
    &READING.options
}

/// True if a reported mistake in the options keeps devices from starting.
pub(crate) fn is_refused() -> bool {
    READING.is_refused
}

/// CUDA's own variables.
pub(crate) fn cuda() -> &'static CudaVariables {
    &CUDA
}

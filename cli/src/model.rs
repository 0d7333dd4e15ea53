//! Options of the timing model: how launches are executed, on which GPU, and where the statistics go.

use std::path::{Path, PathBuf};
use std::process::Command;

use launch_capture::{Configuration, Selection, UntilStable, WarmUp};
use timing::gpu::Stability;
use timing::report::Format;
use timing::specification::{GpuSpec, gpu};

use crate::failure::Failure;
use crate::gpu_file;
use crate::libraries;
use crate::outputs;
use crate::program::absolute;

/// How the kernels of a program are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Mode {
    /// As fast as the host can
    Functional,
    /// With a cycle-level model of the GPU
    Detailed,
}

/// The GPU that is modelled.
#[derive(clap::Args)]
#[group(id = "chosen-gpu")]
pub(crate) struct ChosenGpu {
    /// GPU that is modelled: a name (`voltsim gpus` lists them) or a file ending in .toml
    #[arg(long = "gpu", value_name = "NAME|FILE")]
    name: Option<String>,

    /// Change a value of the GPU: section.key=value, where the value may have a unit (l1.size=32KiB, clocks.core=1.2GHz); may be given several times
    #[arg(long = "set", value_name = "CHANGE")]
    changes: Vec<String>,
}

impl ChosenGpu {
    /// Its name or file.
    pub(crate) fn name(&self) -> &str {
        let name = self.name.as_deref().unwrap_or(gpu::DEFAULT);
        gpu::spelt(name).unwrap_or(name)
    }

    /// It as a configuration of a plan, if one is chosen.
    pub(crate) fn configuration(&self) -> Result<Option<Configuration>, Failure> {
        if self.name.is_none() && self.changes.is_empty() {
            return Ok(None);
        }
        self.spec()?;
        let name = std::iter::once(self.name()).chain(self.changes.iter().map(String::as_str));
        let name = name.collect::<Vec<_>>().join(" ");
        Ok(Some(Configuration { name, gpu: named(self.name())?, set: self.changes.clone() }))
    }

    /// The options that choose it, as words of a command line.
    pub(crate) fn options(&self) -> impl Iterator<Item = String> {
        let name = self.name.iter().map(|name| format!("--gpu={name}"));
        name.chain(self.changes.iter().map(|change| format!("--set={change}")))
    }

    /// What it is.
    pub(crate) fn spec(&self) -> Result<GpuSpec, Failure> {
        let mut document = gpu_file::document(self.name())?;
        gpu_file::tell_old_layout(&document);
        let changed = self.changes.iter().try_for_each(|change| gpu::change(&mut document, change));
        let spec = changed.and_then(|()| GpuSpec::read(&document));
        let spec = spec.map_err(|error| Failure::new(&error).remedy(error.remedy()))?;
        // The program is told of this GPU.
        gpu_file::spec(&document).map(|_| spec)
    }
}

/// The name of a GPU, or the path of its file, wherever it is used.
pub(crate) fn named(gpu: &str) -> Result<String, Failure> {
    match gpu::is_file(gpu) {
        true => Ok(absolute(Path::new(gpu))?.to_string_lossy().into_owned()),
        false => Ok(gpu::spelt(gpu).unwrap_or(gpu).to_owned()),
    }
}

/// The form of a file for statistics.
pub(crate) fn format(file: &Path) -> Result<Format, Failure> {
    Format::of_file(file).map_err(|error| {
        Failure::in_file(file, error).remedy("end the name in .json, .csv, .ncu.csv, .gpgpusim or .txt")
    })
}

/// Has the program's NVTX ranges told to its libraries, if launches are chosen by them.
pub(crate) fn follow_ranges(command: &mut Command, selection: &Selection) -> Result<(), Failure> {
    if selection.needs_ranges() {
        command.env("NVTX_INJECTION64_PATH", libraries::core()?);
    }
    Ok(())
}

/// When a timed launch ends early.
#[derive(clap::Args)]
#[group(id = "early-end")]
pub(crate) struct Stop {
    /// Of a timed launch leave whole waves of CTAs out once one has ended and the IPC of N windows of time, together as long as a wave, deviates by no more than D of its mean (8 and 0.1 by default), and extrapolate
    #[arg(long, value_name = "windows=N,deviation=D", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) until_stable: Option<UntilStable>,
}

impl Stop {
    /// For a model.
    pub(crate) fn stability(&self) -> Option<Stability> {
        self.until_stable.map(|UntilStable { windows, deviation }| Stability { windows, deviation })
    }
}

/// Whether and how launches are timed.
#[derive(clap::Args)]
#[group(id = "model")]
pub(crate) struct Options {
    /// Execute only, or say how long the GPU would have taken
    #[arg(long, value_enum, default_value = "functional")]
    mode: Mode,

    /// Time only these launches, and execute the others: keys with commas between, of kernel=GLOB, launch=A..B, nvtx=GLOB (an NVTX range is open), operator=GLOB (a framework's), profiler=on (between cudaProfilerStart and cudaProfilerStop), ctas=A..B (of a launch, only these)
    #[arg(long, value_name = "SELECTION")]
    only: Option<String>,

    /// What is executed before something timed leaves its traces in the caches: launches=N (so many before a timed one), ctas=M (the last M of these, and of those before timed CTAs)
    #[arg(long, value_name = "EXTENT")]
    warm_up: Option<String>,

    #[command(flatten)]
    stop: Stop,

    #[command(flatten)]
    gpu: ChosenGpu,

    /// Write statistics of each launch when the program ends; the name's ending chooses the form: .json, .csv, .ncu.csv (Nsight Compute's names), .gpgpusim (GPGPU-Sim's), and .txt or none (text). Without, a summary goes to standard error
    #[arg(long, value_name = "FILE")]
    statistics: Option<PathBuf>,
}

impl Options {
    /// Tells the program's libraries, once it is known that they can do what is asked.
    pub(crate) fn set(&self, command: &mut Command) -> Result<(), Failure> {
        if self.mode == Mode::Functional {
            return self.refuse_without_model();
        }
        command.env("VOLTSIM_MODE", "detailed");
        if let Some(only) = &self.only {
            let selection = only.parse().map_err(|error| Failure::new(format_args!("--only: {error}")))?;
            follow_ranges(command, &selection)?;
            command.env("VOLTSIM_ONLY", only);
        }
        if let Some(warm_up) = &self.warm_up {
            warm_up.parse::<WarmUp>().map_err(|error| Failure::new(format_args!("--warm-up: {error}")))?;
            command.env("VOLTSIM_WARM_UP", warm_up);
        }
        if let Some(stable) = &self.stop.until_stable {
            command.env("VOLTSIM_UNTIL_STABLE", stable.to_string());
        }
        self.gpu.spec()?;
        command.env("VOLTSIM_GPU", named(self.gpu.name())?);
        if !self.gpu.changes.is_empty() {
            command.env("VOLTSIM_SET", self.gpu.changes.join("\n"));
        }
        if let Some(file) = &self.statistics {
            format(file)?;
            outputs::name(command, "VOLTSIM_STATISTICS", "--statistics", file)?;
        }
        Ok(())
    }

    /// An option of the model would be without effect.
    fn refuse_without_model(&self) -> Result<(), Failure> {
        let given = [
            ("--gpu", self.gpu.name.is_some()),
            ("--only", self.only.is_some()),
            ("--set", !self.gpu.changes.is_empty()),
            ("--statistics", self.statistics.is_some()),
            ("--until-stable", self.stop.until_stable.is_some()),
            ("--warm-up", self.warm_up.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Failure::new(format_args!("{option} is an option of the timing model"))
                .remedy("add --mode detailed")),
            None => Ok(()),
        }
    }
}

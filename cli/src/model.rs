//! Options of the timing model: how launches are executed, on which GPU, and where the statistics go.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use launch_capture::Selection;
use timing::specification::{Document, GpuSpec, gpu};

use crate::failure::Failure;
use crate::program::absolute;

/// How the kernels of a program are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Mode {
    /// As fast as the host can
    Functional,
    /// With a cycle-level model of the GPU
    Detailed,
}

/// Whether and how launches are timed.
#[derive(clap::Args)]
#[group(id = "model")]
pub(crate) struct Options {
    /// Execute only, or say how long the GPU would have taken
    #[arg(long, value_enum, default_value = "functional")]
    mode: Mode,

    /// GPU that is modelled: a name (`voltsim gpus` lists them) or a file ending in .toml
    #[arg(long, value_name = "NAME|FILE")]
    gpu: Option<PathBuf>,

    /// Time only these launches, and execute the others: kernel=GLOB,launch=A..B
    #[arg(long, value_name = "SELECTION")]
    only: Option<String>,

    /// Change a value of the GPU: section.key=value; may be given several times
    #[arg(long = "set", value_name = "CHANGE")]
    changes: Vec<String>,

    /// Write statistics of each launch when the program ends; the name's ending chooses .json, .csv or text
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
            only.parse::<Selection>().map_err(|error| Failure::new(format_args!("--only: {error}")))?;
            command.env("VOLTSIM_ONLY", only);
        }
        let name = self.gpu.as_deref().unwrap_or(Path::new("titan-v"));
        let mut document = document(name)?;
        for change in &self.changes {
            gpu::change(&mut document, change).map_err(|error| {
                Failure::new(format_args!("--set: {error}")).remedy("`voltsim explain` lists the keys")
            })?;
        }
        GpuSpec::read(&document).map_err(Failure::new)?;
        let is_file = name.extension().is_some();
        command.env("VOLTSIM_GPU", if is_file { absolute(name)? } else { name.to_owned() });
        if !self.changes.is_empty() {
            command.env("VOLTSIM_SET", self.changes.join("\n"));
        }
        if let Some(file) = &self.statistics {
            // A file that cannot be written should be known before the program runs for hours.
            fs::write(file, "").map_err(|error| Failure::in_file(file, error))?;
            command.env("VOLTSIM_STATISTICS", absolute(file)?);
        }
        Ok(())
    }

    /// An option of the model would be without effect.
    fn refuse_without_model(&self) -> Result<(), Failure> {
        let given = [
            ("--gpu", self.gpu.is_some()),
            ("--only", self.only.is_some()),
            ("--set", !self.changes.is_empty()),
            ("--statistics", self.statistics.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Failure::new(format_args!("{option} is an option of the timing model"))
                .remedy("add --mode detailed")),
            None => Ok(()),
        }
    }
}

/// The document of a GPU, by its name or file.
pub(crate) fn document(name: &Path) -> Result<Document, Failure> {
    match name.extension() {
        None => gpu::built_in(&name.to_string_lossy())
            .map_err(|error| Failure::new(error).remedy("`voltsim gpus` lists them")),
        Some(_) => {
            let text = fs::read_to_string(name).map_err(|error| Failure::in_file(name, error))?;
            gpu::document(&name.to_string_lossy(), &text).map_err(Failure::new)
        }
    }
}

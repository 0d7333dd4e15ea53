//! Options of the timing model: the GPU, the mode that options imply, and the form of statistics.

use std::path::Path;

use launch_capture::{Configuration, UntilStable};
use launch_report::Format;
use run_options::values::Mode;
use run_options::{DECLARATIONS, Declaration, Key, RunOptions};
use timing::fidelity;
use timing::gpu::Stability;
use timing::specification::{Document, GpuSpec, gpu};

use crate::columns;
use crate::failure::Failure;
use crate::given::with_variables;
use crate::gpu_file;
use crate::paths::absolute;

/// Name or file of the GPU that the options name, or of the default.
pub(crate) fn name(options: &RunOptions) -> &str {
    let name = options.gpu.as_deref().unwrap_or(gpu::DEFAULT);
    gpu::spelt(name).unwrap_or(name)
}

/// The GPU that the options describe.
pub(crate) fn spec(options: &RunOptions) -> Result<GpuSpec, Failure> {
    let document = document(options)?;
    let spec = read(&document)?;
    // The program is told of this GPU.
    gpu_file::spec(&document).map(|_| spec)
}

/// The document of the GPU that the options describe, with its changes.
fn document(options: &RunOptions) -> Result<Document, Failure> {
    let mut document = gpu_file::document(name(options))?;
    gpu_file::tell_old_layout(&document);
    if !of_mode(options).is_empty() {
        // The changes of a mode would hide that the GPU has no timing.
        read(&document)?;
    }
    let mut all = of_mode(options).iter().copied().chain(changes(options));
    let changed = all.try_for_each(|change| gpu::change(&mut document, change));
    changed.map_err(|error| Failure::new(&error).remedy(error.remedy()))?;
    Ok(document)
}

fn read(document: &Document) -> Result<GpuSpec, Failure> {
    GpuSpec::read(document).map_err(|error| Failure::new(&error).remedy(error.remedy()))
}

/// Changes of fidelities that the mode makes.
fn of_mode(options: &RunOptions) -> &'static [&'static str] {
    let mode = options.mode.and_then(|mode| fidelity::Mode::named(mode.name()));
    mode.map_or(&[], |mode| mode.changes)
}

/// Changes of the GPU's values.
fn changes(options: &RunOptions) -> impl Iterator<Item = &str> {
    options.set.iter().flat_map(|changes| changes.of_gpu())
}

/// The configuration of a plan that the options describe, if they name a GPU or change one; without
/// the mode.
pub(crate) fn configuration(options: &RunOptions) -> Result<Option<Configuration>, Failure> {
    if options.set.iter().flat_map(|changes| changes.of_kernels()).next().is_some() {
        return Err(Failure::new("--set kernel.registers is of a kernel, and a sweep changes the GPU")
            .remedy("give it to `voltsim run` or `voltsim time`"));
    }
    if options.gpu.is_none() && options.set.is_none() {
        return Ok(None);
    }
    spec(options)?;
    let name = std::iter::once(name(options)).chain(changes(options)).collect::<Vec<_>>().join(" ");
    let set = changes(options).map(str::to_owned).collect();
    Ok(Some(Configuration { name, gpu: named(self::name(options))?, set }))
}

/// The options `--gpu` and `--set`, as words of a command line.
pub(crate) fn words(options: &RunOptions) -> impl Iterator<Item = String> {
    let gpu = options.gpu.iter().map(|name| format!("--gpu={name}"));
    gpu.chain(changes(options).map(|change| format!("--set={change}")))
}

/// The name of a GPU, or the absolute path of its file.
pub(crate) fn named(gpu: &str) -> Result<String, Failure> {
    match gpu::is_file(gpu) {
        true => Ok(absolute(Path::new(gpu))?.to_string_lossy().into_owned()),
        false => Ok(gpu::spelt(gpu).unwrap_or(gpu).to_owned()),
    }
}

/// The form of a file for statistics.
pub(crate) fn format(file: &Path) -> Result<Format, Failure> {
    Format::of_file(file).map_err(|error| {
        Failure::in_file(file, error)
            .remedy("end the name in .json, .parquet, .csv, .ncu.csv, .gpgpusim or .txt")
    })
}

/// The point from which launches are extrapolated.
pub(crate) fn stability(options: &RunOptions) -> Option<Stability> {
    options.until_stable.map(|UntilStable { windows, deviation }| Stability { windows, deviation })
}

/// Decides the mode of a run, and checks the options of the timing model before the program starts.
pub(crate) fn settle(options: &mut RunOptions) -> Result<(), Failure> {
    let all = with_variables(options);
    let of_model = || DECLARATIONS.iter().filter(|declaration| declaration.implies_timing);
    let implied = of_model().any(|declaration| options.text(declaration.key).is_some());
    match all.mode {
        None if !implied => Ok(()),
        Some(Mode::Functional) => {
            let is_untimed = |option: &&Declaration| {
                let is_of_device = match option.key {
                    Key::gpu => true,
                    Key::set => changes_device(options),
                    _ => false,
                };
                !is_of_device && options.text(option.key).is_some()
            };
            if let Some(option) = of_model().find(is_untimed) {
                return Err(refuse_untimed(option, options));
            }
            if options.gpu.is_some() || options.set.is_some() {
                // The program may be told about a GPU that cannot be timed.
                gpu_file::spec(&document(&all)?)?;
            }
            options.gpu = options.gpu.as_deref().map(named).transpose()?;
            Ok(())
        }
        None | Some(Mode::Detailed | Mode::HybridAlu | Mode::HybridMemory) => {
            spec(&all)?;
            match &all.statistics {
                Some(file) if columns::is_parquet(file) => options.statistics = Some(file.clone()),
                Some(file) => {
                    format(file)?;
                }
                None => {}
            }
            options.mode = all.mode.or(Some(Mode::Detailed));
            options.gpu = Some(named(name(&all))?);
            Ok(())
        }
    }
}

/// True if all changes are of what the program is told.
fn changes_device(options: &RunOptions) -> bool {
    let mut of_kernels = options.set.iter().flat_map(|changes| changes.of_kernels());
    of_kernels.next().is_none() && changes(options).all(|change| change.trim_start().starts_with("device."))
}

/// An option of the timing model beside mode functional.
fn refuse_untimed(option: &Declaration, options: &RunOptions) -> Failure {
    let (mode, remedy) = match options.mode {
        Some(_) => ("--mode functional", "leave --mode functional out, or give --mode detailed"),
        None => ("VOLTSIM_MODE=functional", "give --mode detailed, or unset VOLTSIM_MODE"),
    };
    let option = option.flag();
    Failure::new(format_args!("{option} is an option of the timing model, and {mode} times nothing"))
        .remedy(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(options: RunOptions) -> Result<Option<Mode>, String> {
        let mut options = options;
        settle(&mut options).map(|()| options.mode).map_err(|failure| failure.to_string())
    }

    #[test]
    fn option_of_the_model_implies_detailed_mode() {
        assert_eq!(settled(RunOptions::default()), Ok(None));
        let gpu = || Some("tiny".to_owned());
        assert_eq!(settled(RunOptions { gpu: gpu(), ..RunOptions::default() }), Ok(Some(Mode::Detailed)));
        let only = "launch=1".parse().ok();
        assert_eq!(settled(RunOptions { only, ..RunOptions::default() }), Ok(Some(Mode::Detailed)));
        let device = Some("v100".to_owned());
        assert_eq!(settled(RunOptions { device, ..RunOptions::default() }), Ok(None));
    }

    #[test]
    fn functional_mode_takes_the_gpu_and_refuses_other_options() {
        let (gpu, mode) = (Some("tiny".to_owned()), Some(Mode::Functional));
        assert_eq!(settled(RunOptions { gpu: gpu.clone(), mode, ..RunOptions::default() }), Ok(mode));
        let statistics = Some("s.json".into());
        let said = settled(RunOptions { gpu, mode, statistics, ..RunOptions::default() });
        let said = said.expect_err("functional mode times nothing");
        assert!(said.contains("--statistics") && said.contains("--mode detailed"), "{said}");
    }

    #[test]
    fn device_that_cannot_be_timed_is_refused_with_its_option() {
        let said = settled(RunOptions { gpu: Some("h100".to_owned()), ..RunOptions::default() });
        let said = said.expect_err("there is no model of h100");
        assert!(said.contains("h100") && said.contains("--device h100"), "{said}");
    }
}

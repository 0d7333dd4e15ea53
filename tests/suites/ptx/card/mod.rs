//! File tests on any CUDA driver, such as a real GPU's: `VOLTSIM_PTX_DRIVER` is the path of its
//! `libcuda.so.1`.
//!
//! A kernel that faults or hangs makes the driver unusable for its process. Therefore separate processes
//! run the files, several each as long as none fails.

mod textures;
mod workers;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cuda_driver::{Array, Driver, DriverError, Sizes};
use functional::launch::LaunchShape;
use launch_capture::Image;

use crate::directives::{self, Expectation, FileTest};
use crate::launch::differences;

/// Path of the driver.
pub(crate) const DRIVER: &str = "VOLTSIM_PTX_DRIVER";
/// Environment variable of the files that this process runs, one per line. The parent process reads the
/// results.
pub(crate) const FILES: &str = "VOLTSIM_PTX_DRIVER_FILES";

/// Result of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// The results match the file.
    Agrees,
    /// The results differ.
    Differs,
    /// The driver refuses the module.
    Refused,
    /// The file is not applicable to a card.
    LeftOut,
    /// A call failed, and the process is not reused.
    Failed,
    /// The kernel exceeded its time limit.
    Hangs,
}

const VERDICTS: [(Verdict, &str); 6] = [
    (Verdict::Agrees, "agrees"),
    (Verdict::Differs, "differs"),
    (Verdict::Refused, "refused"),
    (Verdict::LeftOut, "skipped"),
    (Verdict::Failed, "failed"),
    (Verdict::Hangs, "hangs"),
];

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = VERDICTS.iter().find(|(verdict, _)| verdict == self);
        f.write_str(found.map_or("", |(_, name)| name))
    }
}

/// Runs the files on the driver, and prints the results of those that do not match.
pub(crate) fn run(driver: &Path, root: &Path, files: &[PathBuf]) -> ExitCode {
    let outcomes = workers::run(driver, files);
    let mut counts = VERDICTS.map(|(verdict, _)| (verdict, 0));
    for (path, verdict, message) in &outcomes {
        let name = path.strip_prefix(root).unwrap_or(path).with_extension("");
        if *verdict != Verdict::Agrees {
            println!("{verdict}: {}: {message}", name.display());
        }
        counts.iter_mut().filter(|(counted, _)| counted == verdict).for_each(|(_, count)| *count += 1);
    }
    let counts: Vec<String> = counts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
    println!("{}", counts.join(", "));
    let fine = |verdict: Verdict| matches!(verdict, Verdict::Agrees | Verdict::LeftOut);
    if outcomes.iter().all(|(_, verdict, _)| fine(*verdict)) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs files in this process and prints a line with each result, until a failure.
pub(crate) fn serve(driver: &Path, files: &str) -> ExitCode {
    let driver = match Driver::open(driver) {
        Ok(driver) => driver,
        Err(error) => {
            eprintln!("{}: {error}", driver.display());
            return ExitCode::FAILURE;
        }
    };
    for file in files.lines() {
        let (verdict, message) = match one(&driver, Path::new(file)) {
            Ok(()) => (Verdict::Agrees, String::new()),
            Err((verdict, message)) => (verdict, message),
        };
        println!("{}", workers::line(verdict, &message));
        if verdict == Verdict::Failed {
            break;
        }
    }
    ExitCode::SUCCESS
}

/// Result and message of a file that does not match.
type Complaint = (Verdict, String);

fn failed(error: DriverError) -> Complaint {
    let verdict = if error.is_refusal() { Verdict::Refused } else { Verdict::Failed };
    (verdict, error.to_string())
}

fn left_out(reason: impl fmt::Display) -> Complaint {
    (Verdict::LeftOut, reason.to_string())
}

fn one(driver: &Driver, path: &Path) -> Result<(), Complaint> {
    let text = std::fs::read_to_string(path).map_err(left_out)?;
    let test = directives::parse(&text).map_err(left_out)?;
    let is_ours = |expectation: &Expectation| !matches!(expectation, Expectation::Buffer { .. });
    if test.expectations.iter().any(is_ours) {
        return Err(left_out("it tests faults, refusals or output"));
    }
    if test.parameters.iter().any(|parameter| !parameter.multicast.is_empty()) {
        return Err(left_out("it needs several devices"));
    }
    for shape in test.shapes() {
        let LaunchShape { grid, block } = shape;
        launch(driver, &test, &text, shape)
            .map_err(|(verdict, message)| (verdict, format!("grid {grid:?}, block {block:?}: {message}")))?;
    }
    Ok(())
}

/// Location of a parameter's values.
enum ParameterLocation {
    Scalar,
    Memory(u64),
    Array(Array, Image),
}

fn launch(driver: &Driver, test: &FileTest, text: &str, shape: LaunchShape) -> Result<(), Complaint> {
    let name = kernel(test, text).ok_or_else(|| left_out("it has several kernels or none"))?;
    let module = driver.load(&[text.to_owned()]).map_err(failed)?;
    let kernel = driver.function(module, &name).map_err(failed)?;
    let mut parameters: Vec<u8> = Vec::new();
    let mut places = Vec::new();
    for parameter in &test.parameters {
        let bytes: Vec<u8> = parameter.values.iter().flat_map(|value| parameter.kind.bytes(*value)).collect();
        let (argument, place) = match (&parameter.texture, parameter.count) {
            (Some(declared), _) => textures::place(declared, driver, module, text, &parameter.name, &bytes)?,
            (None, None) => (bytes, ParameterLocation::Scalar),
            (None, Some(_)) => {
                let address = driver.allocate(bytes.len().max(1) as u64).map_err(failed)?;
                driver.write(address, &bytes).map_err(failed)?;
                (address.to_le_bytes().to_vec(), ParameterLocation::Memory(address))
            }
        };
        places.push(place);
        if !argument.is_empty() {
            parameters.resize(parameters.len().next_multiple_of(argument.len()), 0);
            parameters.extend(argument);
        }
    }
    let sizes = Sizes { cluster: test.cluster, dynamic_shared: test.shared, ..Sizes::of(shape) };
    driver.launch(kernel, sizes, &mut parameters, &[]).map_err(failed)?;
    driver.synchronize().map_err(failed)?;
    for expectation in &test.expectations {
        let Expectation::Buffer { parameter, tolerance, values } = expectation else { continue };
        let buffer = &test.parameters[*parameter];
        let mut bytes = vec![0; values.len() * buffer.kind.size];
        match &places[*parameter] {
            ParameterLocation::Scalar => {}
            ParameterLocation::Memory(address) => {
                bytes = driver.read(*address, bytes.len() as u64).map_err(failed)?
            }
            ParameterLocation::Array(array, image) => {
                driver.read_level(array, image, 0, &mut bytes).map_err(failed)?
            }
        }
        differences(buffer, &bytes, *tolerance, values).map_err(|text| (Verdict::Differs, text))?;
    }
    for place in places {
        if let ParameterLocation::Memory(address) = place {
            driver.free(address).map_err(failed)?;
        }
    }
    driver.unload(module).map_err(failed)
}

/// Returns the kernel named by the file, or the only kernel.
fn kernel(test: &FileTest, text: &str) -> Option<String> {
    if let Some(name) = &test.kernel {
        return Some(name.clone());
    }
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut names = code.filter_map(|line| {
        let (_, rest) = line.split_once(".entry")?;
        rest.trim_start().split(['(', ' ', '{']).next().map(str::to_owned)
    });
    let name = names.next()?;
    names.next().is_none().then_some(name)
}

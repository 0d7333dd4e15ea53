//! `isa-oracle`: tests single instructions on any CUDA driver, measures the errors of approximate
//! functions, and compares the op table with the vendor's assembler.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use cuda_driver::Driver;
use isa_oracle::assembler::Assembler;
use isa_oracle::assembler::agreement::Comparison;
use isa_oracle::case::Effort;
use isa_oracle::machine::bytes_of;
use isa_oracle::oracle::Bound;
use isa_oracle::recording::{Recording, RecordingError, forms};
use isa_oracle::sweep::{Errors, Worst, sweep, swept};
use ptx_frontend::isa::OpLine;

/// Test single instructions
#[derive(Parser)]
enum Command {
    /// Write the modules of all forms and their operands to a folder
    Emit {
        /// Destination folder
        folder: PathBuf,
        /// Rows of operands for each module
        #[arg(long, default_value_t = 64)]
        rows: usize,
        /// Seed of the random numbers
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Run all modules with a CUDA driver and save its answers
    Record {
        /// Driver: a path to libcuda.so.1
        driver: PathBuf,
        /// Folder of the recording
        #[arg(default_value = "tests/isa/recorded")]
        folder: PathBuf,
        /// Rows of operands for each module
        #[arg(long, default_value_t = 64)]
        rows: usize,
        /// Seed of the random numbers
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Print the largest errors of the approximate functions over all operands
    Sweep {
        /// Opcodes, such as sin.approx.f32; default: all
        opcodes: Vec<String>,
        /// Test only every N-th operand
        #[arg(long, default_value_t = 1)]
        step: u64,
    },
    /// Print differences between the front end and the vendor's assembler in supported instructions
    Agree {
        /// Assembler: a path to ptxas
        ptxas: PathBuf,
        /// Names of forms or groups, and PTX files; default: all forms
        subjects: Vec<String>,
    },
}

/// Returns whether all is well, or an error.
type Outcome = Result<bool, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Emit { folder, rows, seed } => emit(&folder, Effort { rows, seed }),
        Command::Record { driver, folder, rows, seed } => record(&driver, &folder, Effort { rows, seed }),
        Command::Sweep { opcodes, step } => sweep_all(&opcodes, step),
        Command::Agree { ptxas, subjects } => agree(&ptxas, &subjects),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Compares the named forms, or all, and the files.
fn agree(ptxas: &Path, subjects: &[String]) -> Outcome {
    let assembler = Assembler::open(ptxas)?;
    let (files, forms): (Vec<_>, Vec<_>) = subjects.iter().partition(|subject| subject.ends_with(".ptx"));
    let mut comparison = Comparison::default();
    for path in &files {
        comparison.add(assembler.on_file(Path::new(path))?);
    }
    let is_wanted = |line: &&OpLine| match forms.as_slice() {
        [] => files.is_empty(),
        named => named.iter().any(|form| *form == line.name || *form == line.group),
    };
    comparison.add(assembler.on_forms(ptx_frontend::isa::table().filter(is_wanted))?);
    comparison.disagreements.iter().for_each(|disagreement| println!("{disagreement}"));
    let (major, minor) = assembler.version;
    println!("PTX {major}.{minor}: {comparison}");
    Ok(comparison.disagreements.is_empty())
}

/// Writes a folder for each form with a module and its operands (64-bit little-endian words) for each
/// variant.
fn emit(folder: &Path, effort: Effort) -> Outcome {
    for form in forms(effort) {
        let (name, cases) = form?;
        let folder = folder.join(name);
        let write = |path: PathBuf, bytes: &[u8]| {
            std::fs::write(&path, bytes).map_err(|source| RecordingError::File { path, source })
        };
        let failed = |source| RecordingError::File { path: folder.clone(), source };
        std::fs::create_dir_all(&folder).map_err(failed)?;
        for (number, case) in cases.iter().enumerate() {
            write(folder.join(format!("{number:04}.ptx")), case.text.as_bytes())?;
            write(folder.join(format!("{number:04}.operands")), &bytes_of(case.job().operands))?;
        }
    }
    Ok(true)
}

fn record(driver: &Path, folder: &Path, effort: Effort) -> Outcome {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let names = Driver::open(driver)?.names()?;
    let (recording, refused) = Recording::make(|| Ok(Driver::open(driver)?), threads, names, effort)?;
    for variant in &refused {
        println!("refused: {variant}");
    }
    let path = recording.write(folder)?;
    println!(
        "{}, driver {}: {} modules executed, {} refused; {}",
        recording.card,
        recording.driver,
        recording.answers.len(),
        refused.len(),
        path.display()
    );
    Ok(true)
}

fn sweep_all(opcodes: &[String], step: u64) -> Outcome {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all_allowed = true;
    println!(
        "| instruction | the manual allows | results | worst, ulp | worst, absolute | worst, relative |"
    );
    println!("|---|---|---|---|---|---|");
    for (variant, function, format) in swept() {
        let opcode = variant.opcode();
        if !opcodes.is_empty() && !opcodes.contains(&opcode) {
            continue;
        }
        let report = sweep(&variant, function, format, step, threads)?;
        report.errors.iter().for_each(|errors| print_errors(&opcode, errors));
        if let Some((operand, result)) = report.first_wrong {
            println!("{opcode}: {} results are wrong, first for {operand:#x}: {result:#x}", report.wrong);
            all_allowed = false;
        }
    }
    Ok(all_allowed)
}

fn print_errors(opcode: &str, errors: &Errors) {
    let ulp = |worst: Worst| format!("{:.3} at {:#x}", worst.error, worst.operand);
    let power = |worst: Worst| format!("2^{:.2} at {:#x}", worst.error.log2(), worst.operand);
    let absolute = match errors.bound {
        Bound::Absolute(_) => power(errors.absolute),
        _ => String::new(),
    };
    println!(
        "| `{opcode}` | {} | {} | {} | {absolute} | {} |",
        errors.bound,
        errors.results,
        ulp(errors.ulp),
        power(errors.relative)
    );
}

//! `cargo xtask registers`: registers and instructions of lowered kernels beside those of the vendor's
//! assembler.
//!
//! A folder of PTX files is outside of the repository. Both sides make code for the same target.

use super::machine_words::{self, Counts};
use crate::error::{Error, Result};
use crate::process;
use crate::toolchain::Toolchain;
use crate::workspace::Workspace;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Which PTX files, and which assembler.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder with PTX files for the target or an older one; folders in it are suites.
    folder: PathBuf,
    /// CUDA version of the assembler.
    #[arg(long, value_name = "VERSION", default_value = "12.9", value_parser = ["11.8", "12.9"])]
    ptxas: String,
    /// Architecture of the machine code. `ptxas` knows no `sm_20`.
    #[arg(long, value_name = "SM", default_value = "sm_70", value_parser = TARGETS)]
    target: String,
    /// Target of lowering, if another one: shows how far one target's code is from another's.
    #[arg(long, value_name = "SM", value_parser = TARGETS)]
    lowered_for: Option<String>,
    /// First kernels of each file that count, since a template gives many of a kind.
    #[arg(long, value_name = "N", default_value_t = 6)]
    per_file: usize,
    /// Print the kernels that are apart, the farthest first.
    #[arg(long)]
    list: bool,
}

/// Targets of lowering that `ptxas` knows.
const TARGETS: [&str; 5] = ["sm_60", "sm_70", "sm_75", "sm_80", "sm_86"];

/// A kernel on both sides.
struct Kernel {
    suite: String,
    file: String,
    name: String,
    /// By `ptxas`, and by lowering.
    assembler: Code,
    lowered: Code,
}

/// Code of a kernel on one side.
#[derive(Debug, Clone, Default)]
struct Code {
    registers: u32,
    /// Machine instructions by class.
    counts: Counts,
}

impl Code {
    fn instructions(&self) -> u32 {
        self.counts.values().sum()
    }
}

impl Kernel {
    /// Within four registers or a tenth of the assembler's count.
    fn is_near(&self) -> bool {
        let apart = self.assembler.registers.abs_diff(self.lowered.registers);
        apart <= 4 || apart * 10 <= self.assembler.registers
    }

    fn is_twice(&self) -> bool {
        let (assembler, lowered) = (self.assembler.registers, self.lowered.registers);
        lowered > 2 * assembler || assembler > 2 * lowered
    }

    fn has_same_occupancy(&self, most: u32) -> bool {
        warps(self.assembler.registers, most) == warps(self.lowered.registers, most)
    }

    /// Difference of the numbers of instructions, as a part of the assembler's.
    fn instructions_apart(&self) -> f64 {
        let [assembler, lowered] = [&self.assembler, &self.lowered].map(|of| f64::from(of.instructions()));
        (lowered - assembler).abs() / assembler.max(1.0)
    }
}

/// Resident warps of an SM, at most `most`, that its 65,536 registers allow. A warp's registers are
/// allocated in units of eight a thread.
fn warps(registers: u32, most: u32) -> u32 {
    (65_536 / (registers.max(1).next_multiple_of(8) * 32)).min(most)
}

/// Resident warps of an SM (CUDA programming guide, technical specifications).
fn most_warps(target: &str) -> u32 {
    match target {
        "sm_75" => 32,
        "sm_86" => 48,
        _ => 64,
    }
}

/// Prints, for each suite and in all, how near lowering comes to the assembler.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find();
    let [ptxas11, ptxas12, _] = Toolchain::set_up(&workspace)?.assemblers;
    let ptxas = if arguments.ptxas == "11.8" { ptxas11 } else { ptxas12 };
    let mut build =
        workspace.cargo(&["build", "--release", "--package", "ptx-frontend", "--example", "lower"]);
    if !process::shown(&mut build)? {
        return Err(Error::Steps("building the example `lower`".to_owned()));
    }
    let lower = workspace.target.join("release/examples/lower");
    let cubin = workspace.target.join("registers.cubin");
    let mut kernels = Vec::new();
    let mut refused = 0;
    for file in ptx_files(&arguments.folder)? {
        let target = &arguments.target;
        let lowered_for = arguments.lowered_for.as_ref().unwrap_or(target);
        match (by_assembler(&ptxas, &cubin, &file, target), by_lowering(&lower, &file, lowered_for)) {
            (Ok(mut assembler), Ok(lowered)) => {
                let both =
                    lowered.into_iter().filter_map(|(name, of)| Some((assembler.remove(&name)?, of, name)));
                kernels.extend(both.take(arguments.per_file).map(|(assembler, lowered, name)| Kernel {
                    suite: suite(&arguments.folder, &file),
                    file: file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
                    name,
                    assembler,
                    lowered,
                }));
            }
            (Err(error), _) | (_, Err(error)) => {
                eprintln!("{}: {error}", file.display());
                refused += 1;
            }
        }
    }
    print(&kernels, refused, arguments);
    Ok(())
}

fn print(kernels: &[Kernel], refused: usize, arguments: &Arguments) {
    println!(
        "{:24} {:>8} {:>8} {:>8} {:>10} {:>13} {:>10}",
        "suite", "kernels", "near", "twice", "occupancy", "instructions", "within 10%"
    );
    let mut suites: BTreeMap<&str, Vec<&Kernel>> = BTreeMap::new();
    kernels.iter().for_each(|kernel| suites.entry(&kernel.suite).or_default().push(kernel));
    for (suite, of) in suites.into_iter().chain([("all", kernels.iter().collect())]) {
        let percent = |is: &dyn Fn(&Kernel) -> bool| {
            100.0 * of.iter().filter(|kernel| is(kernel)).count() as f64 / of.len().max(1) as f64
        };
        let twice = of.iter().filter(|kernel| kernel.is_twice()).count();
        let most = most_warps(&arguments.target);
        let (near, occupancy) = (percent(&Kernel::is_near), percent(&|of| of.has_same_occupancy(most)));
        print!("{suite:24} {:>8} {near:>7.1}% {twice:>8} {occupancy:>9.1}%", of.len());
        if machine_words::knows(&arguments.target) {
            let within = percent(&|of| of.instructions_apart() <= 0.1);
            let apart = of.iter().map(|of| of.instructions_apart()).sum::<f64>() / of.len().max(1) as f64;
            println!(" {:>12.1}% {within:>9.1}%", 100.0 * apart);
        } else {
            println!(" {:>13} {:>10}", "-", "-");
        }
    }
    println!(
        "near: within 4 registers or 10 % of ptxas {} for {}; instructions: mean difference of a kernel; \
         {refused} files refused by a side",
        arguments.ptxas, arguments.target
    );
    if machine_words::knows(&arguments.target) {
        print_classes(kernels);
    }
    if arguments.list {
        let mut apart: Vec<&Kernel> = kernels.iter().filter(|kernel| !kernel.is_near()).collect();
        apart.sort_by_key(|of| {
            let (assembler, lowered) = (of.assembler.registers, of.lowered.registers);
            std::cmp::Reverse(1000 * assembler.abs_diff(lowered) / assembler.max(1))
        });
        for of in apart {
            println!(
                "{:>4} ptxas {:>4} lowered  {:>6} {:>6} instructions  {} {}",
                of.assembler.registers,
                of.lowered.registers,
                of.assembler.instructions(),
                of.lowered.instructions(),
                of.file,
                of.name
            );
        }
    }
}

/// Prints the instructions of all kernels by class.
fn print_classes(kernels: &[Kernel]) {
    let sum = |side: fn(&Kernel) -> &Code| {
        let mut sum = Counts::new();
        for (class, count) in kernels.iter().flat_map(|kernel| &side(kernel).counts) {
            *sum.entry(class).or_default() += count;
        }
        sum
    };
    let (assembler, lowered) = (sum(|of| &of.assembler), sum(|of| &of.lowered));
    println!("\n{:24} {:>10} {:>10} {:>8}", "class", "ptxas", "lowered", "apart");
    let row = |class: &str, assembler: u32, lowered: u32| {
        let apart = 100.0 * (f64::from(lowered) - f64::from(assembler)) / f64::from(assembler.max(1));
        println!("{class:24} {assembler:>10} {lowered:>10} {apart:>+7.1}%");
    };
    let of = |counts: &Counts, class: &str| counts.get(class).copied().unwrap_or(0);
    let classes: BTreeSet<&str> = assembler.keys().chain(lowered.keys()).copied().collect();
    for class in classes {
        row(class, of(&assembler, class), of(&lowered, class));
    }
    row("all", assembler.values().sum(), lowered.values().sum());
}

/// PTX files below a folder, in the order of their names.
fn ptx_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(Error::file(&folder))? {
            let path = entry.map_err(Error::file(&folder))?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ptx") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The folder of a file below `folder`.
fn suite(folder: &Path, file: &Path) -> String {
    let below = file.strip_prefix(folder).unwrap_or(file);
    below.parent().map_or_else(String::new, |parent| parent.display().to_string())
}

/// Code by kernel: registers as `ptxas -v` prints them, and instructions of the cubin.
fn by_assembler(ptxas: &Path, cubin: &Path, file: &Path, target: &str) -> Result<BTreeMap<String, Code>> {
    let mut command = Command::new(ptxas);
    command.arg("-v").arg(format!("-arch={target}")).arg("-o").args([cubin, file]);
    let printed = process::errors(&mut command)?;
    let bytes = fs::read(cubin).map_err(Error::file(cubin))?;
    let mut counts = match machine_words::knows(target) {
        true => machine_words::of_cubin(&bytes).unwrap_or_default(),
        false => BTreeMap::new(),
    };
    let mut codes = BTreeMap::new();
    let mut kernel = None;
    for line in printed.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            kernel = rest.split('\'').next().map(str::to_owned);
        } else if let Some((_, rest)) = line.split_once("Used ")
            && let Some(registers) = rest.split(' ').next().and_then(|count| count.parse().ok())
            && let Some(kernel) = kernel.take()
        {
            let counts = counts.remove(&kernel).unwrap_or_default();
            codes.insert(kernel, Code { registers, counts });
        }
    }
    Ok(codes)
}

/// Kernels in the order of the file with their code, as the example `lower` prints them.
fn by_lowering(lower: &Path, file: &Path, target: &str) -> Result<Vec<(String, Code)>> {
    let printed = process::quiet(Command::new(lower).arg(format!("--target={target}")).arg(file))?;
    let kernel = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, _, _, registers, classes] = fields[..] else { return None };
        let mut counts = Counts::new();
        for (class, count) in classes.split(' ').filter_map(|class| class.split_once('=')) {
            *counts.entry(machine_words::of_lowered(class)).or_default() += count.parse().unwrap_or(0);
        }
        Some((name.to_owned(), Code { registers: registers.parse().ok()?, counts }))
    };
    let unknown = |line: &str| {
        let reason = format!("the example `lower` printed an unknown line: {line}");
        Error::File { path: file.to_owned(), source: std::io::Error::other(reason) }
    };
    printed.lines().map(|line| kernel(line).ok_or_else(|| unknown(line))).collect()
}

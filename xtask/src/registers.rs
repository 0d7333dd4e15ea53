//! `cargo xtask registers`: registers of lowered kernels beside those of the vendor's assembler.
//!
//! A folder of PTX files is outside of the repository. Both sides judge each kernel for `sm_70`.

use crate::error::{Error, Result};
use crate::process;
use crate::toolchain::Toolchain;
use crate::workspace::Workspace;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Which PTX files, and which assembler.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder with PTX files for sm_70 or an older target; folders in it are suites.
    folder: PathBuf,
    /// CUDA version of the assembler.
    #[arg(long, value_name = "VERSION", default_value = "12.9", value_parser = ["11.8", "12.9"])]
    ptxas: String,
    /// First kernels of each file that count, since a template gives many of a kind.
    #[arg(long, value_name = "N", default_value_t = 6)]
    per_file: usize,
    /// Print the kernels that are apart, the farthest first.
    #[arg(long)]
    list: bool,
}

/// A kernel on both sides.
struct Kernel {
    suite: String,
    file: String,
    name: String,
    /// Registers of a thread by `ptxas`, and by lowering.
    assembler: u32,
    lowered: u32,
}

impl Kernel {
    /// Within four registers or a tenth of the assembler's count.
    fn is_near(&self) -> bool {
        let apart = self.assembler.abs_diff(self.lowered);
        apart <= 4 || apart * 10 <= self.assembler
    }

    fn is_twice(&self) -> bool {
        self.lowered > 2 * self.assembler || self.assembler > 2 * self.lowered
    }

    fn has_same_occupancy(&self) -> bool {
        warps(self.assembler) == warps(self.lowered)
    }
}

/// Resident warps that an SM's 65,536 registers allow; a warp's registers are allocated in units of eight a thread.
fn warps(registers: u32) -> u32 {
    (65_536 / (registers.max(1).next_multiple_of(8) * 32)).min(64)
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
    let mut kernels = Vec::new();
    let mut refused = 0;
    for file in ptx_files(&arguments.folder)? {
        match (by_assembler(&ptxas, &file), by_lowering(&lower, &file)) {
            (Ok(assembler), Ok(lowered)) => {
                let both =
                    lowered.into_iter().filter_map(|(name, of)| Some((*assembler.get(&name)?, of, name)));
                kernels.extend(both.take(arguments.per_file).map(|(assembler, lowered, name)| Kernel {
                    suite: suite(&arguments.folder, &file),
                    file: file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
                    name,
                    assembler,
                    lowered,
                }));
            }
            _ => refused += 1,
        }
    }
    print(&kernels, refused, arguments);
    Ok(())
}

fn print(kernels: &[Kernel], refused: usize, arguments: &Arguments) {
    println!("{:24} {:>8} {:>8} {:>8} {:>10}", "suite", "kernels", "near", "twice", "occupancy");
    let mut suites: BTreeMap<&str, Vec<&Kernel>> = BTreeMap::new();
    kernels.iter().for_each(|kernel| suites.entry(&kernel.suite).or_default().push(kernel));
    for (suite, of) in suites.into_iter().chain([("all", kernels.iter().collect())]) {
        let percent = |is: fn(&Kernel) -> bool| {
            100.0 * of.iter().filter(|kernel| is(kernel)).count() as f64 / of.len().max(1) as f64
        };
        let twice = of.iter().filter(|kernel| kernel.is_twice()).count();
        let (near, occupancy) = (percent(Kernel::is_near), percent(Kernel::has_same_occupancy));
        println!("{suite:24} {:>8} {near:>7.1}% {twice:>8} {occupancy:>9.1}%", of.len());
    }
    println!(
        "near: within 4 registers or 10 % of ptxas {}; {refused} files refused by a side",
        arguments.ptxas
    );
    if arguments.list {
        let mut apart: Vec<&Kernel> = kernels.iter().filter(|kernel| !kernel.is_near()).collect();
        apart.sort_by_key(|of| {
            std::cmp::Reverse(1000 * of.assembler.abs_diff(of.lowered) / of.assembler.max(1))
        });
        for of in apart {
            println!("{:>4} ptxas {:>4} lowered  {} {}", of.assembler, of.lowered, of.file, of.name);
        }
    }
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

/// Registers by kernel, as `ptxas -v` prints them.
fn by_assembler(ptxas: &Path, file: &Path) -> Result<BTreeMap<String, u32>> {
    let mut command = Command::new(ptxas);
    command.args(["-v", "-arch=sm_70", "-o", "/dev/null"]).arg(file);
    let printed = process::errors(&mut command)?;
    let mut registers = BTreeMap::new();
    let mut kernel = None;
    for line in printed.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            kernel = rest.split('\'').next().map(str::to_owned);
        } else if let Some((_, rest)) = line.split_once("Used ")
            && let Some(count) = rest.split(' ').next().and_then(|count| count.parse().ok())
            && let Some(kernel) = kernel.take()
        {
            registers.insert(kernel, count);
        }
    }
    Ok(registers)
}

/// Kernels in the order of the file with their registers, as the example `lower` prints them.
fn by_lowering(lower: &Path, file: &Path) -> Result<Vec<(String, u32)>> {
    let printed = process::quiet(Command::new(lower).arg(file))?;
    let kernel = |line: &str| {
        let mut fields = line.split('\t');
        Some((fields.next()?.to_owned(), fields.next_back()?.parse().ok()?))
    };
    Ok(printed.lines().filter_map(kernel).collect())
}
